"""What a search leaves behind as a proof, and what that proves."""

import math

import numpy as np

from sdpbb.bounds.certified import BoundProof, FixingProof
from sdpbb.certificates.pruning import values
from sdpbb.search.proof import NewChild, SearchProof

BLOCKS = np.arange(4)


def bound(value: float, blocks: np.ndarray = BLOCKS) -> BoundProof:
    return BoundProof(blocks, value, None)


def value(proof: SearchProof) -> float:
    return values(proof.nodes)[0]


def test_the_best_bound_of_the_same_blocks_is_kept():
    proof = SearchProof()
    for each in (2.0, 3.0, 1.0):
        proof.bounded(0, bound(each))
    assert [step.bound for step in proof.node(0).steps] == [3.0]
    assert value(proof) == 3.0
    proof.bounded(0, bound(5.0, np.array([0, 0, 1, 2])))
    assert len(proof.node(0).steps) == 2


def test_a_split_proves_what_both_children_do():
    proof = SearchProof()
    proof.bounded(0, bound(1.0))
    proof.split(0, (0, 1), NewChild(1), NewChild(None, is_infeasible=True))
    assert value(proof) == 1.0
    proof.bounded(1, bound(4.0))
    assert value(proof) == 4.0
    proof.split(1, (1, 2), NewChild(2, proof=bound(6.0)), NewChild(3, proof=bound(5.0)))
    assert value(proof) == 5.0
    proof.infeasible(3)
    assert value(proof) == 6.0
    proof.infeasible(2)
    assert value(proof) == math.inf


def test_what_follows_fixed_pairs_proves_no_more_than_what_fixed_them():
    none = np.empty((0, 2), np.intp)
    proof = SearchProof()
    proof.fixed(0, FixingProof(3.0, none, None, none))
    assert not proof.node(0).steps
    proof.fixed(0, FixingProof(3.0, none, None, np.array([[0, 1]])))
    proof.bounded(0, bound(7.0))
    assert value(proof) == 3.0


def test_refuted_pairs_hold_as_far_as_their_alternatives_prove():
    for other, expected in (
        (NewChild(None, is_infeasible=True), 7.0),
        (NewChild(None, proof=bound(2.0)), 2.0),
        (NewChild(None), 0.0),  # a child that was not bounded is not one without clusterings
    ):
        proof = SearchProof()
        proof.refuted(0, 2.0, [((0, 1), True, other)])
        proof.bounded(0, bound(7.0))
        assert value(proof) == expected
