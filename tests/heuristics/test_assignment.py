"""Assignment steps against enumeration, by every way of solving them, and beyond it by planting."""

from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics import Assignment
from heuristics.assignment import potts_solver, steps
from heuristics.assignment.potts import AssignmentSolution, Potts, signed_pairs
from heuristics.assignment.search import construct, improve
from heuristics.assignment.steps import PROGRAMME_SHARE
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction
from sdpbb.problem.feasibility import find_feasible
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.time_left import OutOfTime, at_most, no_limit
from tests.examples import examples
from tests.graphs import contraction_of, cycle, proper, random_graph

SEEDS = st.integers(0, 2**32 - 1)
# By dynamic programming, by what there is for wide components, and by both.
BUDGETS = (1e6, 0, 20)
# What a programme comes back with whose time was too short.
UNSOLVED = AssignmentSolution(None)


@contextmanager
def limits(table_budget=1e6, fills=True):
    """Dynamic programming of at most this number of steps for a component; empty clusters stay."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(potts_solver, "TABLE_BUDGET", table_budget)
        if not fills:
            patch.setattr(steps, "fill_by_objective", lambda potts, labels: labels)
        yield


def pairs_of(m, k, pairs, weights, rng=None):
    """A contraction of m blocks with these pairs: hard ones of weight inf, and soft ones."""
    pairs, weights = np.reshape(pairs, (-1, 2)).astype(np.intp), np.asarray(weights, float)
    hard = np.isinf(weights)
    soft = SoftBlocks(pairs[~hard], weights[~hard])
    drawn = (np.ones(m), np.zeros((m, 1))) if rng is None else (rng.random(m), rng.random((m, 2)))
    return Contraction(k, np.arange(m), *drawn, np.zeros(m), pairs[hard], soft=soft)


def random_pairs(rng, m, k, density, kinds=("hard", "apart", "together")):
    """Pairs of random kinds, weights with ties."""
    i, j = np.nonzero(np.triu(rng.random((m, m)) < density, 1))
    kind = rng.choice(kinds, len(i))
    weight = rng.choice([0.25, 0.5, 1.0, rng.uniform(0.01, 2)], len(i))
    signed = np.select([kind == "hard", kind == "apart"], [np.inf, weight], -weight)
    return pairs_of(m, k, np.column_stack([i, j]), signed, rng)


def random_lists(rng, m, k, q):
    """Marks (m, k) of q allowed clusters of each block."""
    return rng.permuted(np.tile(np.arange(k) < q, (m, 1)), axis=1)


def objective(contraction, costs, penalty, labels):
    """Of clusters (m,), by the definition; inf if a cannot-link is not kept."""
    total = costs[np.arange(len(labels)), labels].sum()
    i, j = contraction.cannot_link.T
    if (labels[i] == labels[j]).any():
        return np.inf
    for (i, j), weight in zip(contraction.soft.pairs, contraction.soft.weights, strict=True):
        if (labels[i] == labels[j]) == (weight > 0):
            total += penalty * abs(weight)
    return total


def minima(contraction, costs, penalty=1.0):
    """The least objective, inf if nothing is feasible, and whether its labels use all clusters."""
    m, k = costs.shape
    every = [np.array(labels) for labels in product(range(k), repeat=m)]
    values = np.array([objective(contraction, costs, penalty, labels) for labels in every])
    least = values.min()
    used = [len(np.unique(every[at])) == k for at in np.flatnonzero(values <= least + 1e-9)]
    return least, least < np.inf and all(used)


@pytest.mark.parametrize("budget", BUDGETS)
@given(SEEDS, st.integers(1, 5), st.floats(0, 1), st.integers(1, 4), st.booleans())
@examples(40)
def test_labels_are_the_cheapest_and_leave_no_cluster_empty(budget, seed, m, density, k, listed):
    rng = np.random.default_rng(seed)
    # Blocks whose pairs are all cannot-links need few labels.
    kinds = ("hard", "apart", "together")[: rng.integers(1, 4)]
    contraction = random_pairs(rng, m, k, density, kinds)
    assign = Assignment(contraction, is_thorough=True)
    q = int(rng.integers(1, k + 1))
    for _ in range(2):  # the second time on what was prepared the first time
        allowed = random_lists(rng, m, k, q) if listed else None
        costs = np.round(rng.normal(size=(m, k)), int(rng.integers(0, 4)))
        penalty = float(rng.choice([0.0, 0.3, 1.0, 10.0]))
        limited = costs if allowed is None else np.where(allowed, costs, np.inf)
        expected, _ = minima(contraction, limited, penalty)
        with limits(budget, fills=False):
            found = assign.of_costs(costs, allowed, penalty)
        assert found.is_infeasible == (found.labels is None) == (expected == np.inf)
        if found.is_infeasible:
            continue
        assert allowed is None or allowed[np.arange(m), found.labels].all()
        value = objective(contraction, costs, penalty, found.labels)
        assert found.is_optimal
        assert value == pytest.approx(expected, abs=1e-9)
        with limits(budget):
            filled = assign.of_costs(costs, allowed, penalty).labels
        assert len(np.unique(filled)) == k or m < k
        assert objective(contraction, costs, penalty, filled) < np.inf


@pytest.mark.parametrize("budget", BUDGETS)
@given(SEEDS, st.integers(1, 6), st.floats(0, 1), st.integers(1, 4))
@examples(40)
def test_for_centres_they_are_the_cheapest_by_squared_distances(budget, seed, m, density, k):
    rng = np.random.default_rng(seed)
    contraction, k = random_pairs(rng, m, min(k, m), density), min(k, m)
    centres = rng.normal(size=(k, 2))
    squares = ((contraction.means[:, None] - centres) ** 2).sum(axis=2)
    costs = contraction.weights[:, None] * squares
    least, uses_all = minima(contraction, costs)
    assign = Assignment(contraction)
    if least == np.inf:
        with limits(budget), pytest.raises(ParameterError, match="no clustering"):
            assign(centres)
        return
    with limits(budget):
        labels = assign(centres)
    assert np.array_equal(np.unique(labels), np.arange(k))
    value = objective(contraction, costs, 1.0, labels)
    assert value == pytest.approx(least, abs=1e-9) if uses_all else value >= least - 1e-9


def test_an_empty_cluster_is_filled_by_the_cheapest_move():
    # Blocks 0 and 1 are held together by a must-link; block 2 is dear in cluster 1.
    contraction = pairs_of(4, 2, [[0, 1]], [-1.0])
    costs = np.array([[0.0, 0.5], [0.0, 0.5], [0.0, 2.0], [0.0, 1.4]])
    assert Assignment(contraction).of_costs(costs).labels.tolist() == [0, 0, 0, 1]
    # For centres it is the move that lowers the sum of squares most: of the block far out.
    contraction = pairs_of(4, 2, [[0, 1]], [-1.0], np.random.default_rng(0))
    contraction.means[:, 0] = [0.0, 0.0, 9.0, 1.0]
    assert Assignment(contraction)(np.array([[0.0, 0.0], [1e3, 0.0]])).tolist() == [0, 0, 1, 0]


@given(SEEDS, st.integers(1, 6), st.floats(0, 1), st.integers(1, 4))
@examples(100)
def test_local_search_keeps_the_hard_pairs_and_ends_where_no_block_gains(seed, m, density, k):
    rng = np.random.default_rng(seed)
    costs = np.round(rng.normal(size=(m, k)), int(rng.integers(0, 4)))
    costs[~random_lists(rng, m, k, int(rng.integers(1, k + 1)))] = np.inf
    potts = Potts(costs, *signed_pairs(random_pairs(rng, m, k, density)))
    labels = construct(potts)
    if labels is None:
        return  # no promise; that it is rare is tested on larger graphs
    value, better = potts.value(labels), improve(potts, labels)
    assert np.isfinite(value)
    assert potts.value(better) <= value + 1e-9
    for i, label in product(range(m), range(k)):
        moved = np.where(np.arange(m) == i, label, better)
        assert potts.value(moved) >= potts.value(better) - 1e-9


@pytest.mark.parametrize(
    ("n", "k", "n_pairs"), [(600, 3, 30_000), (600, 30, 30_000), (1500, 30, 9000)]
)
@pytest.mark.parametrize("informed", [True, False])
def test_planted_labels_of_many_hard_pairs_are_found(n, k, n_pairs, informed, monkeypatch):
    rng = np.random.default_rng(n + k)
    planted = rng.integers(0, k, n)
    i, j = np.sort(rng.integers(0, n, (2, 2 * n_pairs)), axis=0)
    keys = np.unique((i * n + j)[planted[i] != planted[j]])[:n_pairs]
    pairs = np.column_stack(np.divmod(keys, n))
    costs = rng.normal(size=(n, k))
    if informed:
        costs[np.arange(n), planted] -= 5.0
    contraction = pairs_of(n, k, pairs, np.full(len(pairs), np.inf))
    monkeypatch.setattr(potts_solver, "MAX_ROWS", 0)
    found = Assignment(contraction, is_thorough=True).of_costs(costs)
    reached = objective(contraction, costs, 1.0, found.labels)
    assert reached < np.inf
    assert not informed or reached <= costs[np.arange(n), planted].sum() + 1e-9
    assert len(np.unique(found.labels)) == k


# The time


@pytest.mark.parametrize("q", [2, 8])
def test_labels_are_allowed_and_no_dearer_than_the_start_when_time_runs_out(q):
    rng = np.random.default_rng(1)
    m, k = 300, 8
    contraction = random_pairs(rng, m, k, 0.2, ("apart", "together"))
    allowed = random_lists(rng, m, k, q)
    assign = Assignment(contraction, step_limit=1e-3, is_thorough=True)
    for seconds in (np.inf, 1e-4):
        costs, start = rng.random((m, k)), rng.permuted(np.where(allowed, 1, 0), axis=1).argmax(1)
        start = np.where(allowed[np.arange(m), start], start, allowed.argmax(axis=1))
        limit = at_most(no_limit, seconds)
        with limits(0, fills=False):
            found = assign.of_costs(costs, allowed, 5.0, start, limit)
        assert not found.is_optimal
        assert allowed[np.arange(m), found.labels].all()
        reached = objective(contraction, costs, 5.0, found.labels)
        assert reached <= objective(contraction, costs, 5.0, start) + 1e-9


def test_integer_programmes_get_a_share_of_the_time_there_is(monkeypatch):
    """Of the caller's where that is less than their own; none is begun where there is none."""
    seconds = []
    monkeypatch.setattr(
        potts_solver,
        "minimise_by_programme",
        lambda *arguments: seconds.append(arguments[2]) or UNSOLVED,
    )
    rng = np.random.default_rng(11)
    adjacency = random_graph(rng, 60, 0.2)
    contraction = contraction_of(adjacency, 8, rng)
    known = find_feasible(contraction)
    monkeypatch.setattr(potts_solver, "TABLE_BUDGET", 0)
    assignment = Assignment(contraction, 1e6, known)
    for left, n_begun in ((1e9, 1), (500.0, 2), (1e-6, 2)):
        limit = no_limit if left == 1e9 else at_most(no_limit, left)
        try:
            labels = assignment(rng.normal(size=(8, contraction.means.shape[1])), limit)
            assert proper(adjacency, labels)
        except OutOfTime:
            assert left < 1.0
        assert len(seconds) == n_begun
    assert seconds == pytest.approx([PROGRAMME_SHARE * 1e6, PROGRAMME_SHARE * 500.0], rel=1e-2)


@pytest.mark.parametrize("budget", [0, np.inf])
def test_a_step_without_time_left_is_given_up(budget):
    contraction = contraction_of(cycle(60), 8, np.random.default_rng(11))
    with limits(budget), pytest.raises(OutOfTime):
        Assignment(contraction)(contraction.means[:8], lambda: 0.0)
