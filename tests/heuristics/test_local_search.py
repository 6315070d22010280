from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics import LocalSearch
from heuristics.local_search import (
    _adjacency_lists,
    _cluster_sums,
    _exchange,
    _kempe_chain,
    _relabel,
)
from sdpbb.feasibility import find_feasible
from sdpbb.problem import Infeasibility
from tests.graphs import contraction_of, proper, random_graph

seeds = st.integers(0, 2**32 - 1)


def feasible_case(seed: int, m: int = 14, density: float = 0.15, k: int = 3):
    """A contraction and a clustering of it, or None."""
    rng = np.random.default_rng(seed)
    contraction = contraction_of(random_graph(rng, m, density), k, rng)
    labels = find_feasible(contraction)
    return None if isinstance(labels, Infeasibility) else (contraction, labels)


def kernel_state(contraction, labels):
    weighted = contraction.sizes[:, None] * contraction.means
    gram = weighted @ weighted.T
    return gram, *_cluster_sums(labels.astype(np.int64), contraction.k, contraction.sizes, gram)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_exchanges_keep_the_cannot_links_and_change_the_cost_as_said(seed):
    case = feasible_case(seed)
    if case is None:
        return
    contraction, labels = case
    m, k = contraction.n_blocks, contraction.k
    gram, count, weight, square, inner = kernel_state(contraction, labels)
    starts, neighbours = _adjacency_lists(contraction)
    stamp, chain = np.full(m, -1), np.empty(m, np.int64)
    sizes = contraction.sizes
    number = 0
    for i in range(m):
        a = labels[i]
        for b in set(range(k)) - {a}:
            length = _kempe_chain(i, b, labels, starts, neighbours, stamp, number, chain)
            number += 1
            members = chain[:length]
            exchanged = labels.copy()
            exchanged[members] = np.where(labels[members] == a, b, a)
            assert proper(contraction.adjacency, exchanged)
            change = _exchange(
                chain, length, a, b, labels, sizes, gram, count, weight, square, inner
            )
            if len(np.unique(exchanged)) < k:
                assert change == np.inf
            else:
                expected = contraction.cost(exchanged) - contraction.cost(labels)
                assert change == pytest.approx(expected, abs=1e-9)


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_sums_are_kept_up_with(seed):
    case = feasible_case(seed, density=0.0)
    contraction, labels = case
    gram, _, weight, square, inner = kernel_state(contraction, labels)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        j, target = rng.integers(contraction.n_blocks), rng.integers(contraction.k)
        if labels[j] != target:
            _relabel(j, target, labels, contraction.sizes, gram, weight, square, inner)
    _, _, expected_weight, expected_square, expected_inner = kernel_state(contraction, labels)
    assert weight == pytest.approx(expected_weight)
    assert square == pytest.approx(expected_square, abs=1e-9)
    assert inner == pytest.approx(expected_inner, abs=1e-9)


@given(seeds, st.floats(0, 0.3), st.integers(2, 4))
@settings(max_examples=60, deadline=None)
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


def test_it_ends_after_the_sweep_in_which_it_is_stopped():
    rng = np.random.default_rng(0)
    contraction = contraction_of(random_graph(rng, 80, 0.01), 8, rng)
    labels = find_feasible(contraction)
    search, costs = LocalSearch(contraction), [contraction.cost(labels)]
    for answers in ([True], [False, True]):
        asked = iter(answers)
        found = search(labels, partial(next, asked))
        assert next(asked, None) is None
        assert proper(contraction.adjacency, found)
        costs.append(contraction.cost(found))
    costs.append(contraction.cost(search(labels)))
    assert costs[0] > costs[1] > costs[2] > costs[3]
