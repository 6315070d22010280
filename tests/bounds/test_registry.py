from typing import get_args

import pytest

from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.registry import BOUNDING_METHODS, Bounding, bounding_method
from sdpbb.bounds.sdp.bounding import MOST_CONIC, SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.run.kernels import PLACES

CONIC = SdpParameters(solver="clarabel")


def test_every_name_is_a_method():
    assert get_args(Bounding) == tuple(BOUNDING_METHODS)


@pytest.mark.parametrize("name", BOUNDING_METHODS)
def test_a_method_takes_the_parameters_of_the_semidefinite_bound(name):
    made = bounding_method(name, CONIC)
    assert isinstance(made, BoundingMethod)
    assert made.most_blocks_here == MOST_CONIC
    assert bounding_method(name).most_blocks_here > MOST_CONIC
    relaxation = made if isinstance(made, SdpBounding) else made.sdp
    assert relaxation.parameters is CONIC
    methods = {part.removesuffix("-rare") for part in BOUNDING_METHODS[name].kernels}
    assert methods <= {*BOUNDING_METHODS, PLACES}
