"""The assignment step against enumeration, by every way of solving it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.assignment import AssignmentParameters, PairwiseAssignment
from sdpbb.errors import ParameterError
from sdpbb.runtime.time_left import at_most, no_limit
from tests.examples import examples
from tests.heuristics.assignment.programmes import (
    minimum,
    objective,
    pairs_of,
    random_lists,
    random_pairs,
)

SEEDS = st.integers(0, 2**32 - 1)
# By dynamic programming, by what there is for wide components, and by both.
BUDGETS = (1e6, 0, 20)


def assign_by(budget, contraction):
    return PairwiseAssignment(contraction, AssignmentParameters(table_budget=budget))


@pytest.mark.parametrize("budget", BUDGETS)
@given(SEEDS, st.integers(1, 5), st.floats(0, 1), st.integers(1, 4), st.booleans())
@examples(40)
def test_minimum_over_all_labels(budget, seed, m, density, k, listed):
    rng = np.random.default_rng(seed)
    # Blocks whose pairs are all cannot-links need few labels.
    kinds = ("hard", "apart", "together")[: rng.integers(1, 4)]
    contraction = random_pairs(rng, m, k, density, kinds)
    assign = assign_by(budget, contraction)
    q = int(rng.integers(1, k + 1))
    for _ in range(2):  # the second time on what was prepared the first time
        allowed = random_lists(rng, m, k, q) if listed else None
        costs = np.round(rng.normal(size=(m, k)), int(rng.integers(0, 4)))
        penalty = float(rng.choice([0.0, 0.3, 1.0, 10.0]))
        expected = minimum(contraction, costs, allowed, penalty)
        found = assign(costs, allowed, penalty, fill=False)
        assert found.is_infeasible == (expected == np.inf)
        if found.is_infeasible:
            assert found.labels is None
            continue
        assert allowed is None or allowed[np.arange(m), found.labels].all()
        value = objective(contraction, costs, penalty, found.labels)
        assert found.is_optimal
        assert value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("budget", BUDGETS)
@given(SEEDS, st.integers(1, 6), st.floats(0, 1), st.integers(1, 4), st.integers(1, 4))
@examples(40)
def test_no_cluster_is_left_empty(budget, seed, m, density, k, q):
    rng = np.random.default_rng(seed)
    contraction = random_pairs(rng, m, k, density)
    costs = rng.normal(size=(m, k)) + 5.0 * (rng.random(k) < 0.5)
    allowed = random_lists(rng, m, k, min(q, k))
    found = assign_by(budget, contraction)(costs, allowed)
    if found.labels is None or m < k:
        return
    assert len(np.unique(found.labels)) == k
    assert objective(contraction, costs, 1.0, found.labels) < np.inf


def test_the_cheapest_move_fills_an_empty_cluster():
    # Blocks 0 and 1 are held together by a must-link; block 2 is dear in cluster 1.
    contraction = pairs_of(4, 2, [[0, 1]], [-1.0])
    costs = np.array([[0.0, 0.5], [0.0, 0.5], [0.0, 2.0], [0.0, 1.4]])
    found = PairwiseAssignment(contraction)(costs)
    assert found.labels.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("q", [2, 8])
def test_the_time_limit_cuts_in(q):
    rng = np.random.default_rng(1)
    m, k = 300, 8
    contraction = random_pairs(rng, m, k, 0.2, ("apart", "together"))
    allowed = random_lists(rng, m, k, q)
    assign = PairwiseAssignment(contraction, AssignmentParameters(time_limit=1e-3))
    for seconds in (np.inf, 1e-4):
        costs = rng.random((m, k))
        found = assign(costs, allowed, 5.0, time_left=at_most(no_limit, seconds), fill=False)
        assert not found.is_optimal
        assert allowed[np.arange(m), found.labels].all()


def test_labels_to_begin_from_are_not_lost():
    rng = np.random.default_rng(2)
    m, k = 60, 3
    contraction = random_pairs(rng, m, k, 0.2, ("apart", "together"))
    costs = rng.random((m, k))
    parameters = AssignmentParameters(time_limit=1e-3, table_budget=0)
    quick = PairwiseAssignment(contraction, parameters)
    for _ in range(5):
        start = rng.integers(0, k, m)
        found = quick(costs, start=start, fill=False)
        reached = objective(contraction, costs, 1.0, found.labels)
        assert reached <= objective(contraction, costs, 1.0, start) + 1e-9


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
    contraction = pairs_of(m, k, pairs, weights)
    ways = [assign_by(budget, contraction) for budget in (1e6, 0, 200)]
    n_feasible = 0
    for _ in range(6):
        allowed, costs = random_lists(rng, m, k, q), rng.normal(size=(m, k))
        exact, *others = [way(costs, allowed, fill=False) for way in ways]
        n_feasible += not exact.is_infeasible
        for other in others:
            assert other.is_infeasible == exact.is_infeasible
            assert other.is_optimal == exact.is_optimal
            if exact.labels is not None:
                values = [objective(contraction, costs, 1.0, x.labels) for x in (exact, other)]
                assert values[1] == pytest.approx(values[0])
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
    contraction = pairs_of(n, k, pairs, np.full(len(pairs), np.inf))
    found = PairwiseAssignment(contraction)(costs)
    assert (found.labels[pairs[:, 0]] != found.labels[pairs[:, 1]]).all()
    assert len(np.unique(found.labels)) == k
    reached = costs[np.arange(n), found.labels].sum()
    assert reached <= costs[np.arange(n), planted].sum() + 1e-9
    again = PairwiseAssignment(contraction)(costs)
    assert np.array_equal(found.labels, again.labels)
