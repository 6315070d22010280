"""Contracts of the local search, over instances with pairs, soft pairs, weights and limits."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics import local_search
from heuristics.local_search import LocalSearch
from sdpbb.problem import Infeasibility, Instance, contract
from sdpbb.problem.feasibility import find_feasible
from sdpbb.problem.graph import connected_components
from tests.any_instance import any_instance
from tests.enumeration import feasible_clusterings
from tests.examples import examples
from tests.graphs import contraction_of, random_graph
from tests.heuristics.looks import Countdown

PARTS = ("equal points", "far groups", "pairs", "weights", "sizes", "weight limits", "soft pairs")


def moved(labels, contraction):
    """Yield the labels after each move of a block."""
    for i, c in product(range(len(labels)), range(contraction.k)):
        yield np.where(np.arange(len(labels)) == i, c, labels)


def exchanged(labels, contraction):
    """Yield the labels after each move, each swap and each exchange of a Kempe chain."""
    m = len(labels)
    yield from moved(labels, contraction)
    for i, j in combinations(range(m), 2):
        swapped = labels.copy()
        swapped[[i, j]] = labels[[j, i]]
        yield swapped
    for a, b in combinations(range(contraction.k), 2):
        both = (labels == a) | (labels == b)
        ends = contraction.cannot_link[both[contraction.cannot_link].all(axis=1)]
        component = connected_components(m, ends)
        for number in np.unique(component[both]):
            chain = both & (component == number)
            yield np.where(chain, a + b - labels, labels)


def check(search, contraction, labels, neighbours):
    """Check what a local search ends with from labels (m,)."""
    before = labels.copy()
    found = search(labels)
    slack = 1e-9 * (contraction.total + np.abs(contraction.soft.weights).sum())
    cost = contraction.cost(found)
    assert np.array_equal(labels, before)
    assert contraction.keeps(found)
    assert np.array_equal(np.unique(found), np.arange(contraction.k))
    assert cost <= contraction.cost(labels) + slack
    for other in neighbours(found, contraction):
        if len(np.unique(other)) == contraction.k and contraction.keeps(other):
            assert contraction.cost(other) >= cost - slack


@given(any_instance(*PARTS), st.sampled_from([(2_000, exchanged), (0, moved)]))
@examples(150)
def test_a_local_optimum_keeps_all_constraints_and_no_exchange_improves_it(instance, kind):
    """Of many blocks only moves, and chains of blocks with pairs, are looked at."""
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility):
        return
    swap_blocks, neighbours = kind
    search = LocalSearch(contraction, swap_blocks)
    for clustering in feasible_clusterings(instance)[:5]:
        check(search, contraction, clustering[contraction.representatives], neighbours)


@pytest.mark.parametrize("with_soft_pairs", [False, True])
@pytest.mark.parametrize(
    "limits", [{}, {"min_size": 11, "max_size": 13}, {"sizes": [10, 11, 12, 13, 14]}]
)
@pytest.mark.parametrize("seed", range(5))
def test_no_exchange_of_many_blocks_improves_a_local_optimum(seed, limits, with_soft_pairs):
    """Most clusters and most blocks are passed over by their bounds."""
    rng = np.random.default_rng(seed)
    n, k = 60, 5
    weights = None if seed == 0 else rng.uniform(0.2, 4.0, n)
    pairs = rng.permutation(n)[:40].reshape(-1, 2)
    labels = np.repeat(np.arange(k), limits.get("sizes", n // k))
    cannot_link = [(i, j) for i, j in pairs.tolist() if labels[i] != labels[j]]
    points = rng.normal(size=(n, 2)) + rng.normal(size=(n, 2)) * (seed > 2)
    drawn = [rng.choice(n, 2, replace=False) for _ in range(40)] if with_soft_pairs else []
    soft = [(int(i), int(j), rng.uniform(0.0, 5.0)) for i, j in drawn]
    instance = Instance(
        points,
        k,
        cannot_link=cannot_link,
        soft_must_link=soft[::2],
        soft_cannot_link=soft[1::2],
        weights=weights,
        **limits,
    )
    contraction = contract(instance)
    check(LocalSearch(contraction), contraction, labels, exchanged)


@pytest.mark.parametrize("swap_blocks", [0, 2_000])
def test_pieces_of_a_sweep_come_to_the_same_and_end_where_no_time_is_left(monkeypatch, swap_blocks):
    rng = np.random.default_rng(3)
    contraction = contraction_of(random_graph(rng, 300, 0.001), 6, rng)
    labels = find_feasible(contraction)
    search = LocalSearch(contraction, swap_blocks)
    whole = search(labels)
    monkeypatch.setattr(local_search, "WORK", 500)
    assert np.array_equal(search(labels), whole)
    costs = [contraction.cost(labels)]
    for n_looks in (1, 5, 25):
        left = Countdown(n_looks)
        found = search(labels, left)
        assert left.n_looks == n_looks + 1
        assert contraction.keeps(found)
        assert np.array_equal(np.unique(found), np.arange(6))
        costs.append(contraction.cost(found))
    costs.append(contraction.cost(whole))
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[1] > costs[4]
