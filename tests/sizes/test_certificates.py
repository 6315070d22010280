"""Certificates of instances whose sizes are limited."""

import numpy as np
import pytest

from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.sizes import Measure, SizeLimits
from sdpbb.checker.packing import is_packable


def test_packings_are_given_up_in_time():
    counts = np.full(60, 7)
    limits = SizeLimits(420, 6, 69, 71)
    with pytest.raises(Rejected, match="could not be decided"):
        is_packable([Measure(counts, limits)], np.zeros((60, 60), bool), steps=20)
