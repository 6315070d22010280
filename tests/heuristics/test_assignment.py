import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics import Assignment
from heuristics.assignment import cannot_links, integer_programme
from heuristics.assignment.branch_and_bound import cheapest_labels, partition_into_cliques
from heuristics.assignment.cannot_links import PROGRAMME_SHARE
from heuristics.assignment.integer_programme import AssignmentProgramme, ProgrammeSolution
from heuristics.assignment.potts import adjacency_lists
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance, contract
from sdpbb.runtime.time_left import OutOfTime
from tests.examples import examples
from tests.graphs import (
    clusterings,
    complete,
    contraction_of,
    cycle,
    proper,
    proper_colourings,
    random_graph,
)

# By dynamic programming, by integer programming alone, and by both.
BUDGETS = (np.inf, 0, 20)
# What a programme comes back with whose time was too short.
UNSOLVED = ProgrammeSolution(None, False, False, -np.inf)


def cost_of(costs, labels):
    return costs[np.arange(len(labels)), labels].sum()


@pytest.mark.parametrize("budget", BUDGETS)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.floats(0, 0.8), st.integers(1, 4))
@examples(30)
def test_minimum_over_all_labels_that_keep_the_cannot_links(budget, seed, m, density, k):
    rng = np.random.default_rng(seed)
    adjacency = random_graph(rng, m, density)
    contraction = contraction_of(adjacency, k, rng)
    feasible = proper_colourings(adjacency, k)
    if not feasible or m < k:
        return
    assignment = Assignment(contraction, budget)
    for _ in range(2):  # the second time with other costs on the same tables and models
        costs = rng.normal(size=(m, k))
        labels = assignment.minimise(costs)
        assert proper(adjacency, labels)
        expected = min(cost_of(costs, x) for x in feasible)
        assert cost_of(costs, labels) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("budget", BUDGETS)
def test_no_labels_at_all(budget):
    contraction = contraction_of(complete(4), 3, np.random.default_rng(10))
    with pytest.raises(ParameterError, match="no clustering"):
        Assignment(contraction, budget).minimise(np.zeros((4, 3)))


def test_labels_are_feasible_when_time_runs_out():
    rng = np.random.default_rng(11)
    adjacency = random_graph(rng, 60, 0.2)
    assignment = Assignment(contraction_of(adjacency, 8, rng), 0, time_limit=1e-6)
    for _ in range(3):
        assert proper(adjacency, assignment.minimise(rng.normal(size=(60, 8))))


def test_integer_programmes_get_a_share_of_the_time_there_is(monkeypatch):
    """Of the caller's where that is less than their own; none is begun where there is none."""
    seconds = []
    monkeypatch.setattr(
        AssignmentProgramme,
        "minimise",
        lambda *arguments: seconds.append(arguments[-2]) or UNSOLVED,
    )
    rng = np.random.default_rng(11)
    adjacency = random_graph(rng, 60, 0.2)
    contraction = contraction_of(adjacency, 8, rng)
    # A component that the branch and bound does not finish.
    assignment = Assignment(contraction, 0, time_limit=1e6)
    for left, n_begun in ((1e9, 1), (500.0, 2), (1e-9, 2)):
        labels = assignment.minimise(rng.normal(size=(60, 8)), lambda left=left: left)
        assert proper(adjacency, labels)
        assert len(seconds) == n_begun
    assert seconds == pytest.approx([PROGRAMME_SHARE * 1e6, PROGRAMME_SHARE * 500.0])


def test_a_step_without_time_left_is_given_up():
    rng = np.random.default_rng(11)
    for budget in (0, np.inf):
        contraction = contraction_of(cycle(60), 8, rng)
        assignment = Assignment(contraction, budget)
        with pytest.raises(OutOfTime):
            assignment.minimise(rng.normal(size=(60, 8)), lambda: 0.0)


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.floats(0, 1), st.integers(2, 5))
@examples(60)
def test_branch_and_bound_finds_the_minimum(seed, m, density, k):
    rng = np.random.default_rng(seed)
    adjacency = random_graph(rng, m, density)
    feasible = proper_colourings(adjacency, k)
    if not feasible:
        return
    pairs = np.argwhere(np.triu(adjacency))
    neighbours = adjacency_lists(m, pairs)
    cliques = partition_into_cliques([set(np.flatnonzero(row).tolist()) for row in adjacency])
    members = np.split(cliques.members, cliques.starts[1:-1])
    assert sorted(cliques.members) == list(range(m))
    for clique in members:
        assert adjacency[np.ix_(clique, clique)].sum() == len(clique) * (len(clique) - 1)
    costs = rng.normal(size=(m, k)) * 10.0 ** rng.integers(-3, 4)
    known = np.array(feasible[rng.integers(len(feasible))])
    labels, is_proven = cheapest_labels(costs, neighbours, cliques, known)
    assert is_proven
    assert proper(adjacency, labels)
    assert cost_of(costs, labels) == pytest.approx(min(cost_of(costs, x) for x in feasible))
    # The search is as long as it is allowed to be, and never worse than what was known.
    for work in (0, m * m * k, 4 * m * m * k):
        cut, _ = cheapest_labels(costs, neighbours, cliques, known, work)
        assert proper(adjacency, cut)
        assert cost_of(costs, cut) <= cost_of(costs, known)


def test_a_clique_with_as_many_labels_is_a_matter_of_a_moment(monkeypatch):
    """Eight blocks that exclude each other and three more, over eight clusters: the tables of an
    elimination would have 8^8 entries, and no integer programme is needed."""
    monkeypatch.setattr(integer_programme, "AssignmentProgramme", None)
    monkeypatch.setattr(cannot_links, "improve", None)
    clique = [2, 4, 5, 6, 7, 8, 9, 11]
    pairs = [(i, j) for i in clique for j in clique if i < j]
    pairs += [(1, 2), (1, 4), (1, 11), (0, 6), (7, 10), (9, 10)]
    points = np.array([-5.0, -1, -1, -4, -3, 1, -1, 3, -1, 2, -4, 5, -2, 2])
    contraction = contract(Instance(points[:, None], 8, cannot_link=pairs))
    rng = np.random.default_rng(0)
    assignment = Assignment(contraction)
    for _ in range(100):
        centres = contraction.means[rng.permutation(contraction.n_blocks)[:8]]
        assert proper(contraction.adjacency, assignment(centres))


def test_both_solvers_agree_on_a_larger_graph():
    rng = np.random.default_rng(5)
    adjacency = random_graph(rng, 40, 0.08)
    contraction = contraction_of(adjacency, 4, rng, r=3)
    by_tables, by_programme = Assignment(contraction), Assignment(contraction, 0)
    for _ in range(3):
        costs = rng.normal(size=(40, 4))
        expected = cost_of(costs, by_programme.minimise(costs))
        assert cost_of(costs, by_tables.minimise(costs)) == pytest.approx(expected)


def test_centres_are_distances_weighted_by_sizes():
    rng = np.random.default_rng(6)
    contraction = contraction_of(cycle(7), 3, rng)
    for _ in range(10):
        centres = contraction.means[rng.permutation(7)[:3]]
        squared = ((contraction.means[:, None] - centres) ** 2).sum(axis=2)
        costs = contraction.weights[:, None] * squared
        expected = min(cost_of(costs, x) for x in clusterings(cycle(7), 3))
        labels = Assignment(contraction)(centres)
        assert proper(cycle(7), labels)
        assert cost_of(costs, labels) <= expected + 1e-9


def test_empty_clusters_are_filled_by_the_best_single_move():
    rng = np.random.default_rng(7)
    adjacency = cycle(6)
    contraction = contraction_of(adjacency, 3, rng)
    far = np.full(2, 1e3)  # no block is nearest to this centre, and the even cycle needs two
    before = Assignment(contraction).minimise(np.tile([0.0, 0.0, 1e9], (6, 1)))
    assert len(np.unique(before)) == 2
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
    contraction = contraction_of(complete(k), k, np.random.default_rng(8))
    labels = Assignment(contraction)(np.zeros((k, 2)))
    assert sorted(labels) == list(range(k))


def test_costs_must_be_finite():
    assignment = Assignment(contraction_of(cycle(4), 2, np.random.default_rng(9)))
    with pytest.raises(ParameterError, match="finite"):
        assignment.minimise(np.full((4, 2), np.inf))
