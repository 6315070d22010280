"""What a search leaves behind as a proof, and what that proves."""

import math

import numpy as np

from sdpbb.bounds.certified import BoundProof, FixingProof
from sdpbb.certificates.pruning import values
from sdpbb.search.proof import SearchProof

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
    proof.split(0, (0, 1), 1, 2)
    assert value(proof) == 1.0
    proof.infeasible(2)
    proof.bounded(1, bound(4.0))
    assert value(proof) == 4.0
    proof.split(1, (1, 2), 3, 4)
    proof.bounded(3, bound(6.0))
    proof.bounded(4, bound(5.0))
    assert value(proof) == 5.0
    proof.infeasible(4)
    assert value(proof) == 6.0
    proof.infeasible(3)
    assert value(proof) == math.inf


def test_what_follows_fixed_pairs_proves_no_more_than_what_fixed_them():
    none = np.empty((0, 2), np.intp)
    proof = SearchProof()
    proof.fixed(0, FixingProof(3.0, none, None, none))
    assert not proof.node(0).steps
    proof.fixed(0, FixingProof(3.0, none, None, np.array([[0, 1]])))
    proof.bounded(0, bound(7.0))
    assert value(proof) == 3.0
