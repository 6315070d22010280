"""The assignment step against enumeration, by every way of solving it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.assignment import AssignmentParameters, PairGraph, PairwiseAssignment
from sdpbb.errors import ParameterError
from sdpbb.runtime.time_left import at_most, no_limit
from tests.examples import examples
from tests.heuristics.assignment.programmes import (
    minimum,
    objective,
    random_candidates,
    random_pairs,
)

SEEDS = st.integers(0, 2**32 - 1)
# By dynamic programming, by what there is for wide components, and by both.
BUDGETS = (1e6, 0, 20)


def parameters(budget):
    return AssignmentParameters(table_budget=budget)


@pytest.mark.parametrize("budget", BUDGETS)
@given(SEEDS, st.integers(1, 5), st.floats(0, 1), st.integers(1, 4), st.booleans())
@examples(40)
def test_minimum_over_all_labels(budget, seed, m, density, k, listed):
    rng = np.random.default_rng(seed)
    # Blocks whose pairs are all cannot-links need few labels.
    kinds = ("hard", "apart", "together")[: rng.integers(1, 4)]
    graph = random_pairs(rng, m, density, kinds)
    assign = PairwiseAssignment(graph, k, parameters(budget))
    q = int(rng.integers(1, k + 1)) if listed else k
    for _ in range(2):  # the second time on what was prepared the first time
        candidates = random_candidates(rng, m, k, q) if listed else None
        costs = np.round(rng.normal(size=(m, q)), int(rng.integers(0, 4)))
        penalty = float(rng.choice([0.0, 0.3, 1.0, 10.0]))
        expected = minimum(graph, k, costs, candidates, penalty)
        found = assign(costs, candidates=candidates, penalty=penalty, fill=False)
        assert found.is_infeasible == (expected == np.inf)
        if found.is_infeasible:
            assert found.labels is None
            assert found.objective == np.inf
            continue
        value = objective(graph, costs, candidates, penalty, found.labels)
        assert found.objective == pytest.approx(value, abs=1e-9)
        assert found.is_optimal
        assert value == pytest.approx(expected, abs=1e-9)
        assert found.bound == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("budget", BUDGETS)
@given(SEEDS, st.integers(1, 6), st.floats(0, 1), st.integers(1, 4))
@examples(40)
def test_no_cluster_is_left_empty(budget, seed, m, density, k):
    rng = np.random.default_rng(seed)
    graph = random_pairs(rng, m, density)
    costs = rng.normal(size=(m, k)) + 5.0 * (rng.random(k) < 0.5)
    found = PairwiseAssignment(graph, k, parameters(budget))(costs)
    if found.labels is None or m < k:
        return
    assert len(np.unique(found.labels)) == k
    assert found.objective == pytest.approx(objective(graph, costs, None, 1.0, found.labels))
    assert found.objective < np.inf
    assert found.bound <= minimum(graph, k, costs, onto=True) + 1e-9


@given(SEEDS, st.integers(2, 6), st.integers(2, 4))
@examples(100)
def test_clusters_are_filled_within_the_candidates(seed, m, k):
    rng = np.random.default_rng(seed)
    q = int(rng.integers(1, k + 1))
    candidates = random_candidates(rng, m, k, q)
    costs = rng.normal(size=(m, q))
    graph = PairGraph(m, np.empty((0, 2), int), np.empty(0))
    found = PairwiseAssignment(graph, k)(costs, candidates=candidates)
    assert all(label in row for label, row in zip(found.labels, candidates, strict=True))
    if minimum(graph, k, costs, candidates, onto=True) < np.inf:
        assert len(np.unique(found.labels)) == k


def test_the_cheapest_move_fills_an_empty_cluster():
    # Blocks 0 and 1 are held together by a must-link; block 2 is dear in cluster 1.
    graph = PairGraph(4, np.array([[0, 1]]), np.array([-1.0]))
    costs = np.array([[0.0, 0.5], [0.0, 0.5], [0.0, 2.0], [0.0, 1.4]])
    found = PairwiseAssignment(graph, 2)(costs)
    assert found.labels.tolist() == [0, 0, 0, 1]
    assert found.objective == pytest.approx(1.4)
    assert found.bound == pytest.approx(0.0)


@given(SEEDS, st.integers(1, 5), st.integers(1, 4))
@examples(40)
def test_infinite_costs_forbid_candidates(seed, m, k):
    rng = np.random.default_rng(seed)
    graph = random_pairs(rng, m, 0.6)
    costs = np.where(rng.random((m, k)) < 0.4, np.inf, rng.normal(size=(m, k)))
    expected = minimum(graph, k, costs)
    for budget in BUDGETS:
        found = PairwiseAssignment(graph, k, parameters(budget))(costs, fill=False)
        assert found.is_infeasible == (expected == np.inf)
        assert found.objective == pytest.approx(expected)


@pytest.mark.parametrize("q", [2, 8])
def test_the_time_limit_cuts_in(q):
    rng = np.random.default_rng(1)
    m, k = 300, 8
    graph = random_pairs(rng, m, 0.2, ("apart", "together"))
    candidates = random_candidates(rng, m, k, q)
    assign = PairwiseAssignment(graph, k, AssignmentParameters(time_limit=1e-3))
    for seconds in (np.inf, 1e-4):
        costs = rng.random((m, q))
        found = assign(
            costs, candidates=candidates, penalty=5.0, time_left=at_most(no_limit, seconds)
        )
        assert not found.is_optimal
        value = objective(graph, costs, candidates, 5.0, found.labels)
        assert found.objective == pytest.approx(value)
        assert found.bound <= value


def test_labels_to_begin_from_are_not_lost():
    rng = np.random.default_rng(2)
    m, k = 60, 3
    graph = random_pairs(rng, m, 0.2, ("apart", "together"))
    costs = rng.random((m, k))
    quick = PairwiseAssignment(graph, k, AssignmentParameters(time_limit=1e-3, table_budget=0))
    for _ in range(5):
        start = rng.integers(0, k, m)
        found = quick(costs, start=start, fill=False)
        assert found.objective <= objective(graph, costs, None, 1.0, start) + 1e-9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"costs": np.zeros((3, 3))}, "costs: shape"),
        ({"costs": np.full((3, 2), np.nan)}, "finite"),
        ({"costs": np.full((3, 2), -np.inf)}, "finite"),
        ({"candidates": np.array([[0, 1], [0, 2], [0, 1]])}, "clusters 0 to 1"),
        ({"candidates": np.array([[0, 1], [-1, 0], [0, 1]])}, "clusters 0 to 1"),
        ({"candidates": np.array([[0, 1], [1, 1], [0, 1]])}, "twice"),
        ({"start": np.array([0, 1])}, "start"),
        ({"start": np.array([0, 1, 2])}, "start"),
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": np.inf}, "penalty"),
    ],
)
def test_wrong_arguments(arguments, message):
    assign = PairwiseAssignment(PairGraph(3, np.array([[0, 1]]), np.ones(1)), 2)
    with pytest.raises(ParameterError, match=message):
        assign(**{"costs": np.zeros((3, 2)), **arguments})


@pytest.mark.parametrize(
    "wrong", [{"solver": "cplex"}, {"table_budget": -1}, {"time_limit": 0}, {"max_rows": -1}]
)
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        AssignmentParameters(**wrong)


@pytest.mark.parametrize("q", [2, 3, 4])
def test_all_ways_agree_on_larger_graphs(q):
    rng = np.random.default_rng(q)
    m, k = 60, 4
    # A band, so that elimination is narrow, with every kind of pair.
    i = np.repeat(np.arange(m - 4), 4)
    pairs = np.column_stack([i, i + np.tile(np.arange(1, 5), m - 4)])[rng.random(len(i)) < 0.6]
    weights = rng.choice([np.inf, 0.5, 1.0, -0.5, -1.0], len(pairs), p=[0.1, 0.2, 0.2, 0.25, 0.25])
    graph = PairGraph(m, pairs, weights)
    ways = [PairwiseAssignment(graph, k, parameters(budget)) for budget in (1e6, 0, 200)]
    n_feasible = 0
    for _ in range(6):
        candidates = random_candidates(rng, m, k, q)
        costs = rng.normal(size=(m, q))
        exact, *others = [way(costs, candidates=candidates, fill=False) for way in ways]
        n_feasible += not exact.is_infeasible
        for other in others:
            assert other.is_infeasible == exact.is_infeasible
            assert other.is_optimal == exact.is_optimal
            assert other.objective == pytest.approx(exact.objective)
            assert other.bound == pytest.approx(exact.bound)
    assert n_feasible or q == 2


def test_thousands_of_hard_pairs():
    rng = np.random.default_rng(4)
    n, k, p = 1500, 30, 40_000
    planted = rng.integers(0, k, n)
    i, j = np.sort(rng.integers(0, n, (2, 2 * p)), axis=0)
    keys = np.unique((i * n + j)[planted[i] != planted[j]])
    pairs = np.column_stack(np.divmod(keys, n))
    costs = rng.random((n, k))
    costs[np.arange(n), planted] -= 0.9
    assign = PairwiseAssignment(PairGraph(n, pairs, np.full(len(pairs), np.inf)), k)
    found = assign(costs)
    assert (found.labels[pairs[:, 0]] != found.labels[pairs[:, 1]]).all()
    assert len(np.unique(found.labels)) == k
    assert found.bound <= found.objective <= costs[np.arange(n), planted].sum() + 1e-9
    again = PairwiseAssignment(PairGraph(n, pairs, np.full(len(pairs), np.inf)), k)(costs)
    assert np.array_equal(found.labels, again.labels)
