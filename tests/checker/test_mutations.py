from dataclasses import replace

import numpy as np
import pytest

from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.problem import Instance
from tests.checker.building import built, random_instance, verified
from tests.checker.forged import assert_rejected_or_true


def instances() -> list[Instance]:
    rng = np.random.default_rng(7)
    drawn = [random_instance(rng, n=5, k=k, pairs=2) for k in (1, 2, 2, 3, 3, 4)]
    return [*drawn, Instance(rng.normal(size=(5, 1)), 2, cannot_link=[(0, 1), (1, 2), (2, 0)])]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(7))
def test_what_is_changed_is_rejected_or_still_true(seed):
    instance = instances()[seed]
    certificate, rng = built(instance, fixing=True), np.random.default_rng(seed)
    assert_rejected_or_true(certificate.data, instance, certificate.verified, rng, 400, 300)


def test_every_byte_that_is_damaged_is_rejected_or_says_the_same():
    """Dates of members, and the like, say nothing."""
    instance = Instance([[0.0], [1.0], [5.0]], 2)
    data = built(instance).data
    expected = replace(verified(data, instance), seconds=0.0)
    assert expected.status == "optimal"
    rejected = 0
    for at in range(len(data)):
        for flipped in (data[at] ^ 1, data[at] ^ 128):
            try:
                verdict = verified(data[:at] + bytes([flipped]) + data[at + 1 :], instance)
            except Rejected:
                rejected += 1
                continue
            assert replace(verdict, seconds=0.0) == expected
    assert rejected > len(data)
    for end in range(len(data)):
        with pytest.raises(Rejected):
            verified(data[:end], instance)
