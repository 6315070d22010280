import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics import centre_swaps
from heuristics.centre_state import TRIALS, Clusters, Trial, undo
from heuristics.centre_swaps import CentreSwaps, swap
from heuristics.cluster_state import BlockData
from sdpbb.problem import Infeasibility, Instance, contract
from sdpbb.problem.feasibility import find_feasible
from tests.enumeration import clusterings
from tests.examples import examples
from tests.graphs import contraction_of, proper, random_graph
from tests.heuristics.looks import Countdown

seeds = st.integers(0, 2**32 - 1)


def case_of(seed: int, m: int, density: float, k: int):
    """A contraction of m blocks and a clustering of it, or None."""
    rng = np.random.default_rng(seed)
    contraction = contraction_of(random_graph(rng, m, density), k, rng)
    labels = find_feasible(contraction)
    return None if isinstance(labels, Infeasibility) else (contraction, labels)


def trial_of(contraction, labels, n_near):
    """The trial before the first one of a search."""
    clusters = Clusters.of(contraction, labels, n_near)
    return Trial.of(BlockData.of(contraction), clusters, 1e-9)


def check_state(contraction, clusters):
    """Check that counts, weights, centres and lists are those of the labels."""
    expected = Clusters.of(contraction, clusters.labels, clusters.near.shape[1])
    assert np.array_equal(clusters.n_blocks, expected.n_blocks)
    assert clusters.weight == pytest.approx(expected.weight, rel=1e-12)
    assert clusters.centres == pytest.approx(expected.centres, abs=1e-9)
    for c in range(contraction.k):
        listed, i, last = [], clusters.first[c], -1
        while i >= 0:
            assert clusters.before[i] == last
            listed.append(i)
            last, i = i, clusters.after[i]
        assert sorted(listed) == np.flatnonzero(clusters.labels == c).tolist()
        assert c not in clusters.near[c]
        assert len(set(clusters.near[c])) == clusters.near.shape[1]


@given(seeds, st.floats(0, 0.3), st.integers(2, 6), st.integers(1, 5))
@examples(60)
def test_a_trial_changes_the_cost_as_said_and_is_undone(seed, density, k, n_near):
    case = case_of(seed, 18, density, k)
    if case is None:
        return
    contraction, labels = case
    rng = np.random.default_rng(seed)
    trial = trial_of(contraction, labels, min(n_near, k - 1))
    clusters = trial.clusters
    for number in range(1, 12):
        trial.counts[TRIALS] = number
        before = Clusters(*(array.copy() for array in clusters))
        cost = contraction.cost(clusters.labels)
        a, place = rng.integers(k), rng.integers(contraction.n_blocks)
        if clusters.labels[place] == a:
            continue
        change = swap(a, place, np.inf if number % 2 else 0.0, trial)
        if change < np.inf:
            check_state(contraction, clusters)
            assert proper(contraction.adjacency, clusters.labels)
            assert contraction.cost(clusters.labels) - cost == pytest.approx(change, abs=1e-8)
        if number % 3 == 0 or change == np.inf:
            undo(clusters, trial.journal)
            check_state(contraction, clusters)
            for name in ("labels", "n_blocks", "weight", "centres", "near"):
                assert np.array_equal(getattr(clusters, name), getattr(before, name))


@given(seeds, st.floats(0, 0.3), st.integers(1, 6), st.floats(0, 1))
@examples(60)
def test_the_cost_never_rises_and_constraints_are_kept(seed, density, k, effort):
    case = case_of(seed, 20, density, k)
    if case is None:
        return
    contraction, labels = case
    given_labels = labels.copy()
    found = CentreSwaps(contraction)(labels, np.random.default_rng(seed), effort)
    assert np.array_equal(labels, given_labels)
    assert proper(contraction.adjacency, found)
    assert np.array_equal(np.unique(found), np.arange(k))
    assert contraction.cost(found) <= contraction.cost(labels) + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_optimal_on_tiny_instances_without_constraints(seed):
    rng = np.random.default_rng(seed)
    contraction = contraction_of(random_graph(rng, 9, 0.0), 4, rng)
    best = min(contraction.cost(labels) for labels in clusterings(9, 4))
    found = CentreSwaps(contraction)(np.arange(9) % 4, rng, 5.0)
    assert contraction.cost(found) == pytest.approx(best, rel=1e-12)


def test_finds_sixty_four_groups_from_arbitrary_labels():
    rng = np.random.default_rng(5)
    places = np.array([[10.0 * i, 10.0 * j] for i in range(8) for j in range(8)])
    points = np.repeat(places, 5, axis=0) + rng.normal(size=(320, 2))
    contraction = contract(Instance(points, 64))
    of_groups = contraction.cost(np.repeat(np.arange(64), 5))
    start = np.arange(320) % 64
    found = CentreSwaps(contraction)(start, rng)
    assert contraction.cost(found) <= of_groups


def test_equal_points_and_single_blocks():
    rng = np.random.default_rng(0)
    same = contract(Instance(np.ones((12, 2)), 4))
    assert same.cost(CentreSwaps(same)(np.arange(12) % 4, rng)) == 0.0
    single = contract(Instance(rng.normal(size=(4, 2)), 4))
    assert single.cost(CentreSwaps(single)(np.arange(4), rng)) == 0.0


def test_pieces_come_to_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    contraction = contraction_of(random_graph(rng, 120, 0.01), 9, rng)
    labels = find_feasible(contraction)
    whole = CentreSwaps(contraction)(labels, np.random.default_rng(2))
    monkeypatch.setattr(centre_swaps, "WORK", 50)
    pieces = CentreSwaps(contraction)(labels, np.random.default_rng(2))
    assert np.array_equal(whole, pieces)


def test_a_search_ends_where_no_time_is_left(monkeypatch):
    monkeypatch.setattr(centre_swaps, "WORK", 100)
    rng = np.random.default_rng(3)
    contraction = contraction_of(random_graph(rng, 200, 0.002), 20, rng)
    labels = find_feasible(contraction)
    costs = [contraction.cost(labels)]
    for n_looks in (0, 5, 50):
        left = Countdown(n_looks)
        found = CentreSwaps(contraction)(labels, np.random.default_rng(2), 3.0, left)
        assert left.n_looks == n_looks + 1
        assert contraction.keeps(found)
        costs.append(contraction.cost(found))
    assert costs[0] == costs[1] > costs[2] > costs[3]
