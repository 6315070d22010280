"""The assignment step of a contraction: cheapest labels for centres, no cluster empty."""

import numpy as np
import pytest

from heuristics import Assignment
from heuristics.assignment import AssignmentParameters, AssignmentSolution, potts_solver
from heuristics.assignment.steps import PROGRAMME_SHARE
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance, contract
from sdpbb.problem.feasibility import find_feasible
from sdpbb.runtime.time_left import OutOfTime
from tests.graphs import clusterings, complete, contraction_of, cycle, proper, random_graph

# By dynamic programming, by search and integer programmes alone, and by both.
BUDGETS = (np.inf, 0, 20)
# What a programme comes back with whose time was too short.
UNSOLVED = AssignmentSolution(None)


def by(budget):
    return AssignmentParameters(table_budget=budget)


def cost_of(costs, labels):
    return costs[np.arange(len(labels)), labels].sum()


@pytest.mark.parametrize("budget", BUDGETS)
def test_no_labels_at_all(budget):
    contraction = contraction_of(complete(4), 3, np.random.default_rng(10))
    with pytest.raises(ParameterError, match="no clustering"):
        Assignment(contraction, by(budget))(contraction.means[:3])


def test_labels_are_feasible_when_time_runs_out():
    rng = np.random.default_rng(11)
    adjacency = random_graph(rng, 60, 0.2)
    contraction = contraction_of(adjacency, 8, rng)
    known = find_feasible(contraction)
    short = AssignmentParameters(table_budget=0, time_limit=1e-6)
    for parameters, time_limit in ((by(0), 1e-6), (short, 1.0)):
        assignment = Assignment(contraction, parameters, time_limit, known)
        for _ in range(3):
            labels = assignment(rng.normal(size=(8, contraction.means.shape[1])))
            assert proper(adjacency, labels)


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
    assignment = Assignment(contraction, by(0), 1e6, known)
    for left, n_begun in ((1e9, 1), (500.0, 2)):
        labels = assignment(
            rng.normal(size=(8, contraction.means.shape[1])), lambda left=left: left
        )
        assert proper(adjacency, labels)
        assert len(seconds) == n_begun
    assert seconds == pytest.approx([PROGRAMME_SHARE * 1e6, PROGRAMME_SHARE * 500.0], rel=1e-4)


@pytest.mark.parametrize("budget", [0, np.inf])
def test_a_step_without_time_left_is_given_up(budget):
    contraction = contraction_of(cycle(60), 8, np.random.default_rng(11))
    with pytest.raises(OutOfTime):
        Assignment(contraction, by(budget))(contraction.means[:8], lambda: 0.0)


def test_a_clique_of_as_many_blocks_as_clusters():
    """Eight blocks that exclude each other and three more, over eight clusters: the tables of an
    elimination would have 8^8 entries."""
    clique = [2, 4, 5, 6, 7, 8, 9, 11]
    pairs = [(i, j) for i in clique for j in clique if i < j]
    pairs += [(1, 2), (1, 4), (1, 11), (0, 6), (7, 10), (9, 10)]
    points = np.array([-5.0, -1, -1, -4, -3, 1, -1, 3, -1, 2, -4, 5, -2, 2])
    contraction = contract(Instance(points[:, None], 8, cannot_link=pairs))
    rng = np.random.default_rng(0)
    assignment = Assignment(contraction)
    for _ in range(20):
        centres = contraction.means[rng.permutation(contraction.n_blocks)[:8]]
        assert proper(contraction.adjacency, assignment(centres))


@pytest.mark.parametrize("budget", BUDGETS)
def test_centres_are_distances_weighted_by_sizes(budget):
    rng = np.random.default_rng(6)
    contraction = contraction_of(cycle(7), 3, rng)
    for _ in range(10):
        centres = contraction.means[rng.permutation(7)[:3]]
        squared = ((contraction.means[:, None] - centres) ** 2).sum(axis=2)
        costs = contraction.weights[:, None] * squared
        expected = min(cost_of(costs, x) for x in clusterings(cycle(7), 3))
        labels = Assignment(contraction, by(budget))(centres)
        assert proper(cycle(7), labels)
        assert cost_of(costs, labels) <= expected + 1e-9


def test_empty_clusters_are_filled_by_the_best_single_move():
    rng = np.random.default_rng(7)
    adjacency = cycle(6)
    contraction = contraction_of(adjacency, 3, rng)
    far = np.full(2, 1e3)  # no block is nearest to this centre, and the even cycle needs two
    centres = np.array([contraction.means[0], contraction.means[1], far])
    labels = Assignment(contraction)(centres)
    assert proper(adjacency, labels)
    assert np.array_equal(np.unique(labels), [0, 1, 2])
    (moved,) = np.flatnonzero(labels == 2)
    unfilled = [np.where(np.arange(6) == moved, c, labels) for c in (0, 1)]
    unfilled = next(x for x in unfilled if proper(adjacency, x))
    single_moves = [np.where(np.arange(6) == i, 2, unfilled) for i in range(6)]
    costs = [contraction.cost(x) for x in single_moves if len(np.unique(x)) == 3]
    assert contraction.cost(labels) == pytest.approx(min(costs))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_as_many_clusters_as_blocks(k):
    labels = Assignment(contraction_of(complete(k), k, np.random.default_rng(8)))(np.zeros((k, 2)))
    assert sorted(labels) == list(range(k))
