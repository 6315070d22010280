import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.local_search import LocalSearch
from heuristics.local_search import search as local_search
from heuristics.local_search.chains import change_by_chain, kempe_chain, relabel
from heuristics.local_search.state import ClusterSums
from heuristics.neighbours import neighbour_lists
from sdpbb.problem import Infeasibility
from sdpbb.problem.feasibility import find_feasible
from tests.examples import examples
from tests.graphs import contraction_of, proper, random_graph
from tests.heuristics.looks import Countdown

seeds = st.integers(0, 2**32 - 1)


def feasible_case(seed: int, m: int = 14, density: float = 0.15, k: int = 3):
    """A contraction and a clustering of it, or None."""
    rng = np.random.default_rng(seed)
    contraction = contraction_of(random_graph(rng, m, density), k, rng)
    labels = find_feasible(contraction)
    return None if isinstance(labels, Infeasibility) else (contraction, labels)


def kernel_state(contraction, labels):
    rows = contraction.weights[:, None] * contraction.means
    labels = labels.astype(np.int64)
    return rows, ClusterSums.of(labels, contraction.k, contraction.weights, contraction.means)


@given(seeds)
@examples(60)
def test_exchanges_keep_the_cannot_links_and_change_the_cost_as_said(seed):
    case = feasible_case(seed)
    if case is None:
        return
    contraction, labels = case
    m, k = contraction.n_blocks, contraction.k
    rows, sums = kernel_state(contraction, labels)
    net = np.empty(rows.shape[1])
    graph = neighbour_lists(m, contraction.cannot_link)
    stamp, chain = np.full(m, -1), np.empty(m, np.int64)
    sizes = contraction.weights
    number = 0
    for i in range(m):
        a = labels[i]
        for b in set(range(k)) - {a}:
            length = kempe_chain(i, b, labels, graph, stamp, number, chain)
            number += 1
            members = chain[:length]
            exchanged = labels.copy()
            exchanged[members] = np.where(labels[members] == a, b, a)
            assert proper(contraction.adjacency, exchanged)
            change = change_by_chain(chain, length, a, b, labels, sizes, rows, *sums, net)
            if len(np.unique(exchanged)) < k:
                assert change == np.inf
            else:
                expected = contraction.cost(exchanged) - contraction.cost(labels)
                assert change == pytest.approx(expected, abs=1e-9)


@given(seeds)
@examples(20)
def test_sums_are_kept_up_with(seed):
    case = feasible_case(seed, density=0.0)
    contraction, labels = case
    rows, sums = kernel_state(contraction, labels)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        j, target = rng.integers(contraction.n_blocks), rng.integers(contraction.k)
        if labels[j] != target:
            relabel(j, target, labels, contraction.weights, rows, *sums)
    for kept_up, expected in zip(sums, kernel_state(contraction, labels)[1], strict=True):
        assert kept_up == pytest.approx(expected, abs=1e-9)


@given(seeds, st.floats(0, 0.3), st.integers(1, 4))
@examples(60)
def test_moves_one_by_one_end_in_a_local_optimum(seed, density, k):
    case = feasible_case(seed, density=density, k=k)
    if case is None:
        return
    contraction, labels = case
    given_labels = labels.copy()
    found = LocalSearch(contraction, swap_blocks=0)(labels)
    assert np.array_equal(labels, given_labels)
    assert np.array_equal(np.unique(found), np.arange(k))
    check_moves(contraction, found, contraction.cost(labels))


def test_moves_one_by_one_of_many_blocks_come_to_the_same_in_pieces(monkeypatch):
    rng = np.random.default_rng(3)
    contraction = contraction_of(random_graph(rng, 300, 0.001), 6, rng)
    labels = find_feasible(contraction)
    whole = LocalSearch(contraction, swap_blocks=0)(labels)
    check_moves(contraction, whole, contraction.cost(labels))
    monkeypatch.setattr(local_search, "WORK", 500)
    assert np.array_equal(LocalSearch(contraction, swap_blocks=0)(labels), whole)
    for n_looks in (1, 5, 25):
        left = Countdown(n_looks)
        found = LocalSearch(contraction, swap_blocks=0)(labels, left)
        assert left.n_looks == n_looks + 1
        assert contraction.keeps(found)
        assert contraction.cost(whole) < contraction.cost(found) < contraction.cost(labels)


def check_moves(contraction, found, before):
    """Check that no single block improves a clustering which is no worse than one before."""
    cost, m, k = contraction.cost(found), contraction.n_blocks, contraction.k
    assert contraction.keeps(found)
    assert cost <= before + 1e-12
    for i in range(m):
        for target in range(k):
            moved = np.where(np.arange(m) == i, target, found)
            if contraction.keeps(moved) and len(np.unique(moved)) == k:
                assert contraction.cost(moved) >= cost - 1e-9


@given(seeds, st.floats(0, 0.3), st.integers(2, 4))
@examples(60)
def test_local_optimum_of_feasible_exchanges(seed, density, k):
    case = feasible_case(seed, density=density, k=k)
    if case is None:
        return
    contraction, labels = case
    given_labels = labels.copy()
    found = LocalSearch(contraction)(labels)
    assert np.array_equal(labels, given_labels)
    assert proper(contraction.adjacency, found)
    assert np.array_equal(np.unique(found), np.arange(k))
    cost = contraction.cost(found)
    assert cost <= contraction.cost(labels) + 1e-12
    for neighbour in moves_and_swaps(found, k):
        if proper(contraction.adjacency, neighbour) and len(np.unique(neighbour)) == k:
            assert contraction.cost(neighbour) >= cost - 1e-9


def moves_and_swaps(labels, k):
    m = len(labels)
    for i in range(m):
        for target in range(k):
            yield np.where(np.arange(m) == i, target, labels)
        for j in range(i):
            swapped = labels.copy()
            swapped[[i, j]] = labels[[j, i]]
            yield swapped


def test_identical_points_terminate():
    contraction, labels = feasible_case(1)
    contraction.means[:] = 0.0
    assert np.array_equal(LocalSearch(contraction)(labels), labels)


def test_a_sweep_ends_where_no_time_is_left(monkeypatch):
    monkeypatch.setattr(local_search, "WORK", 100)
    rng = np.random.default_rng(0)
    contraction = contraction_of(random_graph(rng, 80, 0.01), 8, rng)
    labels = find_feasible(contraction)
    search, costs = LocalSearch(contraction), [contraction.cost(labels)]
    for n_looks in (1, 5, 25):
        left = Countdown(n_looks)
        found = search(labels, left)
        assert left.n_looks == n_looks + 1
        assert proper(contraction.adjacency, found)
        assert np.array_equal(np.unique(found), np.arange(8))
        costs.append(contraction.cost(found))
    costs.append(contraction.cost(search(labels)))
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[2] > costs[4]


def test_pieces_of_a_sweep_come_to_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    contraction = contraction_of(random_graph(rng, 60, 0.02), 5, rng)
    labels = find_feasible(contraction)
    whole = LocalSearch(contraction)(labels)
    monkeypatch.setattr(local_search, "WORK", 50)
    assert np.array_equal(LocalSearch(contraction)(labels), whole)
