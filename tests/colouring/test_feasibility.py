import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sdpbb.problem import Infeasibility, InfeasibilityKind, Instance, contract
from sdpbb.problem.colouring import decide
from sdpbb.problem.colouring.decide import ColouringLimits
from sdpbb.problem.colouring.exact import Colourability
from sdpbb.problem.feasibility import find_feasible
from sdpbb.runtime.backends.programme import MilpSolution, MilpStatus
from tests.examples import examples
from tests.graphs import (
    clusterings,
    complete,
    contraction_of,
    cycle,
    mycielski,
    proper,
    random_graph,
)


def check(adjacency, k, labels):
    assert labels.shape == (len(adjacency),)
    assert proper(adjacency, labels)
    assert np.array_equal(np.unique(labels), np.arange(k))


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.floats(0, 1))
@examples(60)
def test_the_verdict_is_that_of_enumeration(seed, m, density):
    rng = np.random.default_rng(seed)
    adjacency = random_graph(rng, m, density)
    for k in range(1, min(m, 4) + 1):
        verdict = find_feasible(contraction_of(adjacency, k, rng))
        if isinstance(verdict, Infeasibility):
            assert not clusterings(adjacency, k)
        else:
            check(adjacency, k, verdict)


def test_every_cluster_is_used_where_one_colour_would_do():
    rng = np.random.default_rng(0)
    adjacency = np.zeros((6, 6), dtype=bool)
    for k in range(1, 7):
        check(adjacency, k, find_feasible(contraction_of(adjacency, k, rng)))


def test_a_clique_is_named_by_its_points():
    adjacency = np.zeros((7, 7), dtype=bool)
    adjacency[2:6, 2:6] = complete(4)
    contraction = contraction_of(adjacency, 3, np.random.default_rng(1))
    verdict = find_feasible(contraction)
    expected = tuple(contraction.representatives[2:6].tolist())
    assert verdict == Infeasibility(InfeasibilityKind.CLIQUE, expected)


def test_the_integer_programme_rejects_what_has_no_large_clique():
    groetzsch = mycielski(cycle(5))
    pairs = np.argwhere(np.triu(groetzsch))
    points = np.random.default_rng(2).normal(size=(13, 2))  # two points without cannot-links
    contraction = contract(Instance(points, 3, cannot_link=pairs))
    verdict = find_feasible(contraction)
    assert verdict == Infeasibility(InfeasibilityKind.NOT_COLOURABLE, tuple(range(11)))
    labels = find_feasible(contract(Instance(points, 4, cannot_link=pairs)))
    check(np.pad(groetzsch, (0, 2)), 4, labels)


def test_the_integer_programme_accepts_what_the_greedy_colouring_misses(monkeypatch):
    monkeypatch.setattr(decide, "greedy_colouring", lambda graph, k: None)
    rng = np.random.default_rng(3)
    for _ in range(10):
        adjacency = random_graph(rng, 8, 0.5)
        verdict = find_feasible(contraction_of(adjacency, 3, rng))
        if isinstance(verdict, Infeasibility):
            assert not clusterings(adjacency, 3)
        else:
            check(adjacency, 3, verdict)


def test_no_verdict_of_the_solver_is_no_verdict(monkeypatch):
    unknown = MilpSolution(MilpStatus.TIME_LIMIT)
    monkeypatch.setattr(decide, "solve_binary_programme", lambda programme, **_: unknown)
    contraction = contraction_of(mycielski(cycle(5)), 3, np.random.default_rng(4))
    assert find_feasible(contraction, time_limit=1.0) is None


def test_a_programme_that_cannot_be_presolved_in_the_time_left_is_not_begun(monkeypatch):
    monkeypatch.setattr(decide, "solve_binary_programme", None)
    contraction = contraction_of(mycielski(cycle(5)), 3, np.random.default_rng(4))
    assert find_feasible(contraction, time_limit=1e-4) is None
    assert find_feasible(contraction, stop=lambda: True) is None


def test_branching_decides_before_the_solver_is_asked(monkeypatch):
    monkeypatch.setattr(decide, "solve_binary_programme", None)
    found = decide.decide(csr_array(mycielski(cycle(5))), 3, ColouringLimits(nodes=10**6))
    assert (found.answer, found.is_exact) == (Colourability.NO, True)


def test_what_cannot_be_decided_hides_no_proof_elsewhere():
    """The first component is too large for the time, and the second a clique."""
    both = np.zeros((15, 15), dtype=bool)
    both[:11, :11] = mycielski(cycle(5))
    both[11:, 11:] = complete(4)
    found = decide.decide(csr_array(both), 3, ColouringLimits(time_left=lambda: 0.0))
    assert (found.answer, found.is_clique) == (Colourability.NO, True)
    assert found.vertices.tolist() == [11, 12, 13, 14]
    assert decide.decide(csr_array(both[:11, :11]), 3, ColouringLimits(time_left=lambda: 0.0)) is (
        decide.UNKNOWN
    )


@pytest.mark.long
def test_no_matrix_of_all_blocks_is_held():
    n = 20_000
    points = np.random.default_rng(0).normal(size=(n, 2))
    ring = np.column_stack([np.arange(n), (np.arange(n) + 1) % n])
    chords = np.column_stack([np.arange(n), (np.arange(n) + 7) % n])
    contraction = contract(Instance(points, 4, cannot_link=np.concatenate([ring, chords])))
    tracemalloc.start()
    labels = find_feasible(contraction)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    i, j = contraction.cannot_link.T
    assert (labels[i] != labels[j]).all()
    assert peak < 100e6
