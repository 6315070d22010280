"""Colourings of cannot-link graphs: colourings, proofs, and undecided cases."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sdpbb.problem import Infeasibility, InfeasibilityKind, Instance, colouring, contract
from sdpbb.problem.colouring import (
    UNKNOWN,
    colour_exactly,
    decide,
    greedy_clique,
    induced,
    k_core,
    sparse_graph,
)
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
    proper_colourings,
    random_graph,
)

GROETZSCH = mycielski(cycle(5))
GRAPHS = st.builds(
    lambda seed, m, density: random_graph(np.random.default_rng(seed), m, density),
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.floats(0, 1),
)
PLENTY = 10**6


@given(GRAPHS, st.integers(1, 4))
@examples(100)
def test_colourings_are_those_of_enumeration(adjacency, k):
    """A first descent finds a colouring whenever two colours suffice; the core decides."""
    graph, is_possible = csr_array(adjacency), bool(proper_colourings(adjacency, k))
    verdict, colours = colour_exactly(graph, k, budget=PLENTY)
    assert verdict is is_possible
    greedy = colour_exactly(graph, k, budget=len(adjacency))[1]
    for labels in (colours, greedy):
        if labels is not None:
            assert is_possible
            assert proper(adjacency, labels)
            assert set(labels.tolist()) <= set(range(k))
    assert (colours is not None) == is_possible
    assert greedy is not None or not (is_possible and (k == 2 or len(adjacency) <= k))
    clique = greedy_clique(graph)
    assert len(clique) >= 1
    assert np.array_equal(adjacency[np.ix_(clique, clique)], complete(len(clique)))
    inner = induced(graph, k_core(graph, k)[0])
    assert colour_exactly(inner, k, PLENTY)[0] is is_possible
    assert decide(graph, k).is_possible is is_possible
    edges = np.argwhere(np.triu(adjacency))
    assert np.array_equal(sparse_graph(len(adjacency), edges).toarray(), adjacency)


def test_graphs_of_known_numbers():
    """Complete and empty graphs, and a graph without triangles that needs four colours."""
    for m in (1, 4, 9, 800):
        graph = csr_array(complete(m))
        assert len(greedy_clique(graph)) == m
        assert sorted(colour_exactly(graph, m, budget=m)[1]) == list(range(m))
        assert m == 1 or colour_exactly(graph, m - 1, budget=m)[1] is None
    groetzsch, nothing = csr_array(GROETZSCH), csr_array((0, 0), dtype=bool)
    assert len(greedy_clique(groetzsch)) == 2
    assert colour_exactly(groetzsch, 3, budget=11) == (None, None)
    assert colour_exactly(groetzsch, 4, budget=11)[0] is True
    assert len(greedy_clique(nothing)) == 0
    verdict, colours = colour_exactly(nothing, 1, budget=0)
    assert (verdict, len(colours)) == (True, 0)


def check(verdict, adjacency, k):
    """A clustering that uses all clusters, or a proof that no clustering exists."""
    if isinstance(verdict, Infeasibility):
        assert not clusterings(adjacency, k)
    else:
        assert verdict.shape == (len(adjacency),)
        assert proper(adjacency, verdict)
        assert np.array_equal(np.unique(verdict), np.arange(k))


@pytest.mark.parametrize("misses", [False, True])
@given(adjacency=GRAPHS)
@examples(40)
def test_the_verdict_is_that_of_enumeration(misses, adjacency):
    """Also for the integer programme, which decides if the search is switched off."""
    rng = np.random.default_rng(len(adjacency))
    with pytest.MonkeyPatch.context() as patch:
        if misses:
            patch.setattr(colouring, "colour_exactly", lambda *_: (None, None))
        for k in range(1, min(len(adjacency), 4) + 1):
            check(find_feasible(contraction_of(adjacency, k, rng)), adjacency, k)


def test_a_proof_names_its_points():
    adjacency = np.zeros((7, 7), dtype=bool)
    for k in range(1, 7):
        check(find_feasible(contraction_of(adjacency, k, np.random.default_rng(0))), adjacency, k)
    adjacency[2:6, 2:6] = complete(4)
    contraction = contraction_of(adjacency, 3, np.random.default_rng(1))
    expected = tuple(contraction.representatives[2:6].tolist())
    assert find_feasible(contraction) == Infeasibility(InfeasibilityKind.CLIQUE, expected)
    pairs = np.argwhere(np.triu(GROETZSCH))
    points = np.random.default_rng(2).normal(size=(13, 2))  # two points without cannot-links
    verdict = find_feasible(contract(Instance(points, 3, cannot_link=pairs)))
    assert verdict == Infeasibility(InfeasibilityKind.NOT_COLOURABLE, tuple(range(11)))
    labels = find_feasible(contract(Instance(points, 4, cannot_link=pairs)))
    check(labels, np.pad(GROETZSCH, (0, 2)), 4)


def test_no_verdict_of_the_solver_is_no_verdict(monkeypatch):
    """A programme too large for the remaining time is not solved; branching needs no programme."""
    contraction = contraction_of(GROETZSCH, 3, np.random.default_rng(4))
    unknown = MilpSolution(MilpStatus.TIME_LIMIT)
    monkeypatch.setattr(colouring, "solve_binary_programme", lambda *_: unknown)
    assert find_feasible(contraction) is None
    monkeypatch.setattr(colouring, "solve_binary_programme", None)
    assert find_feasible(contraction, lambda: 1e-4) is None
    assert find_feasible(contraction, lambda: 0.0) is None
    assert decide(csr_array(GROETZSCH), 3, nodes=PLENTY).is_possible is False


def test_what_cannot_be_decided_hides_no_proof_elsewhere():
    """The first component is too large for the time, but the second is a clique."""
    both = np.zeros((15, 15), dtype=bool)
    both[:11, :11] = GROETZSCH
    both[11:, 11:] = complete(4)
    found = decide(csr_array(both), 3, time_left=lambda: 0.0)
    assert (found.is_possible, found.is_clique) == (False, True)
    assert found.vertices.tolist() == [11, 12, 13, 14]
    assert decide(csr_array(both[:11, :11]), 3, time_left=lambda: 0.0) is UNKNOWN


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
