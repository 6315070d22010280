"""The proof that is recorded of a search, and its value."""

import math

import numpy as np

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.certified import FixingProof
from sdpbb.run.certificates.recorder import ProofRecorder
from sdpbb.run.certificates.writer import values

BLOCKS = np.arange(4)


def record(recorder: ProofRecorder, number: int, bound: float, blocks: np.ndarray = BLOCKS) -> None:
    recorder.record_bound(number, blocks, ProvenBound(bound))


def value(recorder: ProofRecorder) -> float:
    return values(recorder.proof.nodes)[0]


def test_the_best_bound_of_the_same_blocks_is_kept():
    recorder = ProofRecorder()
    for each in (0.0, 2.0, 3.0, 1.0):
        record(recorder, 0, each)
    assert [step.bound for step in recorder.proof.node(0).steps] == [3.0]
    assert value(recorder) == 3.0
    record(recorder, 0, 5.0, np.array([0, 0, 1, 2]))
    assert len(recorder.proof.node(0).steps) == 2


def test_a_split_proves_what_both_children_do():
    recorder = ProofRecorder()
    record(recorder, 0, 1.0)
    recorder.record_split(0, (0, 1), 1, 2)
    assert value(recorder) == 1.0
    recorder.record_infeasible(2)
    record(recorder, 1, 4.0)
    assert value(recorder) == 4.0
    recorder.record_split(1, (1, 2), 3, 4)
    record(recorder, 3, 6.0)
    record(recorder, 4, 5.0)
    assert value(recorder) == 5.0
    recorder.record_infeasible(4)
    assert value(recorder) == 6.0
    recorder.record_infeasible(3)
    assert value(recorder) == math.inf


def test_what_follows_fixed_pairs_proves_no_more_than_what_fixed_them():
    none = np.empty((0, 2), np.intp)
    recorder = ProofRecorder()
    recorder.record_fixings(0, FixingProof(3.0, none, None, none))
    assert not recorder.proof.node(0).steps
    recorder.record_fixings(0, FixingProof(3.0, none, None, np.array([[0, 1]])))
    record(recorder, 0, 7.0)
    assert value(recorder) == 3.0
