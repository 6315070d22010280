"""Heuristics can be left at any moment: work is counted in looks at the time, never in seconds."""

import tracemalloc

import numpy as np
import pytest

import heuristics
from heuristics import MultiStart, MultiStartParameters, starts
from heuristics.descent import Descent
from heuristics.registry import METHODS
from heuristics.result import HeuristicStatus, Stop
from sdpbb.problem import Instance, contract
from sdpbb.problem.feasibility import find_feasible
from sdpbb.runtime import time_left
from sdpbb.runtime.time_left import OutOfTime, at_most, check_time, chunks, no_limit, with_stop
from tests.heuristics.looks import Countdown

# Methods that look at hard constraints only as a price, or not at all.
SOFT = {"kmeans", "bh-kmeans"}
# Looks of a run between the first without time left and its end: one where each loop is left.
LOOKS_TO_LEAVE = 25


def overlapping(n, k, n_pairs, seed=0):
    """Five coordinates, overlapping clusters, constraints that their labels keep."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    points = rng.normal(size=(k, 5))[truth] * 1.5 + rng.normal(size=(n, 5))
    pairs = rng.integers(n, size=(20 * n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return Instance(points, k, pairs[same][:n_pairs], pairs[~same][:n_pairs])


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("allowed", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55])
def test_a_method_can_be_left_at_every_look(name, allowed, monkeypatch):
    monkeypatch.setattr(time_left, "WORK", 500)
    instance = overlapping(120, 6, 60)
    left = Countdown(allowed)
    result = heuristics.registry.method(name).run(instance, 1, left.is_over)
    if left.n_looks <= allowed:
        assert result.stop is not Stop.INTERRUPTED
        return
    assert left.n_looks <= allowed + LOOKS_TO_LEAVE
    if result.status is HeuristicStatus.NOT_FOUND:
        assert result.stop in {Stop.INTERRUPTED, Stop.DEAD_END}
    elif name not in SOFT:
        assert result.keeps_hard_constraints


@pytest.mark.parametrize("many_blocks", [10_000, 100])
@pytest.mark.parametrize("allowed", [0, 1, 2, 4, 8, 16, 32, 64, 128])
def test_the_engine_has_a_clustering_whenever_it_leaves(allowed, many_blocks, monkeypatch):
    monkeypatch.setattr(time_left, "WORK", 500)
    monkeypatch.setattr(starts, "LARGE_BLOCKS", many_blocks)
    monkeypatch.setattr(starts, "DRAWS", 50)
    monkeypatch.setattr(starts, "DRAWS_PER_CLUSTER", 0)
    contraction = contract(overlapping(200, 6, 60))
    assert starts.is_large(contraction) == (many_blocks == 100)
    known = find_feasible(contraction)
    left = Countdown(allowed)
    descent = Descent(contraction, MultiStartParameters(), known, left)
    solution = MultiStart().run(contraction, np.random.default_rng(0), descent=descent)
    assert left.n_looks > allowed
    assert left.n_looks <= allowed + LOOKS_TO_LEAVE
    assert contraction.keeps(solution.labels)
    assert len(np.unique(solution.labels)) == 6
    assert solution.cost == contraction.cost(solution.labels)
    assert (solution.source == "colouring") == np.array_equal(solution.labels, known)


def test_each_cheaper_clustering_is_told_and_the_first_after_one_assignment():
    contraction = contract(overlapping(400, 8, 100))
    descent = Descent(contraction, MultiStartParameters())
    told, iterations = [], []

    def found(solution):
        assert contraction.keeps(solution.labels)
        assert solution.cost == contraction.cost(solution.labels)
        told.append(solution)
        iterations.append(descent.assign.n_steps)

    best = MultiStart().run(contraction, np.random.default_rng(0), descent=descent, found=found)
    assert iterations[0] == 1
    costs = [solution.cost for solution in told]
    assert costs == sorted(costs, reverse=True)
    assert len(set(costs)) == len(costs) > 1
    assert told[-1] is best


def test_no_matrix_over_pairs_of_blocks_is_held():
    """The points, their blocks and the costs of an assignment: 20,000 x 10 numbers are 1.6 MB,
    20,000 x 20,000 flags 400 MB."""
    instance = overlapping(20_000, 10, 1_000)
    one_start = MultiStart(MultiStartParameters(n_starts=1, n_relocations=0))
    first: list[float] = []
    tracemalloc.start()
    contraction = contract(instance)
    known = find_feasible(contraction)
    descent = Descent(contraction, one_start.parameters, known)
    one_start.run(
        contraction,
        np.random.default_rng(0),
        descent=descent,
        stop=lambda: len(first) > 0,
        found=lambda solution: first.append(solution.cost),
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert first
    assert peak < 60e6


@pytest.mark.parametrize("n", [0, 1, 7, 100])
@pytest.mark.parametrize("each", [0, 1, 10**6, 10**9])
def test_pieces_make_up_the_whole(n, each):
    parts = list(chunks(n, each, no_limit))
    assert [i for first, last in parts for i in range(first, last)] == list(range(n))
    for first, last in parts:
        assert (last - first) * each <= time_left.WORK or last == first + 1


def test_time_runs_out():
    with pytest.raises(OutOfTime):
        check_time(lambda: 0.0)
    check_time(no_limit)
    assert at_most(no_limit, np.inf)() == np.inf
    assert at_most(lambda: 1.0, 1e9)() == 1.0
    assert at_most(no_limit, 1e-9)() <= 0.0
    assert with_stop(no_limit, lambda: True)() == 0.0
    assert with_stop(lambda: 2.0, lambda: False)() == with_stop(lambda: 2.0, None)() == 2.0
