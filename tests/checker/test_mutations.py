from itertools import islice

import numpy as np
import pytest

from sdpbb.checker.rejection import Rejected
from sdpbb.problem import Instance
from tests.checker.building import built, random_instance, verified
from tests.checker.corrupted import mutations
from tests.enumeration import optimum


def instances() -> list[Instance]:
    rng = np.random.default_rng(7)
    drawn = [random_instance(rng, n=5, k=k, pairs=2) for k in (1, 2, 2, 3, 3, 4)]
    return [*drawn, Instance(rng.normal(size=(5, 1)), 2, cannot_link=[(0, 1), (1, 2), (2, 0)])]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(7))
def test_what_is_changed_is_rejected_or_still_true(seed):
    """Whatever a changed certificate claims and is verified is what enumeration says."""
    instance = instances()[seed]
    certificate = built(instance, fixing=True)
    truth = optimum(instance)
    rejected = 0
    for description, data in islice(mutations(certificate.data, np.random.default_rng(seed)), 400):
        try:
            verdict = verified(data, instance)
        except Rejected:
            rejected += 1
            continue
        assert (verdict.n, verdict.d, verdict.k) == (5, instance.n_features, instance.k)
        assert (verdict.status == "infeasible") <= (truth is None), description
        if truth is None:
            assert verdict.status in ("infeasible", "unknown"), description
            continue
        rounding = 1e-12 * truth + 1e-28
        assert verdict.lower_bound <= truth + rounding, description
        if verdict.cost is not None:
            assert verdict.cost >= truth - rounding, description
        if verdict.status == "optimal":
            slack = (max(verdict.tolerance, 1e-12) + 1e-12) * verdict.cost
            assert verdict.cost - truth <= slack + rounding, description
    assert rejected >= 300  # what is left changed a name, or claims less


def test_every_byte_is_under_the_seal():
    instance = Instance([[0.0], [1.0], [5.0]], 2)
    data = built(instance).data
    assert verified(data, instance).status == "optimal"
    for at in range(len(data)):
        for flipped in (data[at] ^ 1, data[at] ^ 128):
            with pytest.raises(Rejected):
                verified(data[:at] + bytes([flipped]) + data[at + 1 :], instance)
    for end in range(len(data)):
        with pytest.raises(Rejected):
            verified(data[:end], instance)
