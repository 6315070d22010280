"""Searches of the engine: starts, local search, swaps of centres, recombination, many starts."""

import tracemalloc
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from heuristics import MultiStart, MultiStartParameters, centre_swaps, local_search, starts
from heuristics.alternating import cluster_means
from heuristics.best_of import BestOf
from heuristics.centre_state import TRIALS, Clusters, Trial, undo
from heuristics.centre_swaps import CentreSwaps, swap
from heuristics.cluster_state import BlockData
from heuristics.descent import Descent
from heuristics.incumbents import recombine
from heuristics.local_search import LocalSearch
from heuristics.starts import coreset, from_affinity, from_pivots, smoothed_means, truncated_means
from sdpbb.errors import ParameterError
from sdpbb.problem import Infeasibility, Instance, Partition, contract
from sdpbb.problem.feasibility import find_feasible
from sdpbb.problem.graph import connected_components
from tests.any_instance import any_instance
from tests.enumeration import clustering_matrix, clusterings, feasible_clusterings
from tests.examples import examples
from tests.graphs import complete, contraction_of, proper, random_graph
from tests.heuristics.looks import Countdown

SEEDS = st.integers(0, 2**32 - 1)
PARTS = ("equal points", "far groups", "pairs", "weights", "sizes", "weight limits", "soft pairs")


def free(m, k, seed=0, r=2):
    """A contraction of m blocks without pairs."""
    return contraction_of(np.zeros((m, m), bool), k, np.random.default_rng(seed), r)


# Starts


@pytest.mark.parametrize("move", [smoothed_means, truncated_means])
@pytest.mark.parametrize("dense", [starts.DENSE, 0])
def test_the_affinity_of_a_clustering_gives_its_means(move, dense, monkeypatch):
    monkeypatch.setattr(starts, "DENSE", dense)
    contraction, labels = free(30, 4, r=3), np.random.default_rng(1).permutation(np.arange(30) % 4)
    rows = move(contraction, clustering_matrix(labels, contraction.weights))
    expected = cluster_means(contraction, labels)
    assert rows == pytest.approx(expected[labels], abs=1e-9)
    centres = from_affinity(contraction, rows, np.random.default_rng(2))
    order, expected_order = np.argsort(centres[:, 0]), np.argsort(expected[:, 0])
    assert centres[order] == pytest.approx(expected[expected_order], abs=1e-9)


def test_pivots_of_the_affinity_of_a_clustering_are_one_block_of_each_cluster():
    rng, contraction = np.random.default_rng(0), free(60, 25)
    labels = rng.permutation(np.arange(60) % 25)
    # Neither the rounding of the method nor what is missing from the rank matters.
    affinity = clustering_matrix(labels, contraction.weights)
    affinity += 1e-3 * rng.random((60, 60)) / contraction.weights.sum()
    found = from_pivots(contraction, smoothed_means(contraction, affinity), affinity)
    distance = np.linalg.norm(found[:, None] - cluster_means(contraction, labels), axis=2)
    assert sorted(np.argmin(distance, axis=1)) == list(range(25))


def test_centres_are_expected_to_cost_as_much_in_a_coreset_as_on_all_blocks(monkeypatch):
    monkeypatch.setattr(starts, "CORESET_DRAWS", 60)
    monkeypatch.setattr(starts, "DRAWS_PER_CLUSTER", 0)
    rng, contraction = np.random.default_rng(9), free(300, 2, 9)
    contraction.means[0] = [100.0, 0.0]  # far out by itself
    centres = rng.normal(size=(2, 2))

    def cost(blocks):
        apart = ((blocks.means[:, None] - centres) ** 2).sum(axis=2).min(axis=1)
        return float(blocks.weights @ apart)

    drawn = [coreset(contraction, rng) for _ in range(400)]
    assert all(60 >= few.n_blocks == len(np.unique(few.means, axis=0)) for few in drawn)
    assert all(contraction.means[0] in few.means for few in drawn)
    costs = [cost(few) for few in drawn]
    error = np.std(costs) / np.sqrt(len(costs))
    assert abs(np.mean(costs) - cost(contraction)) <= 4.0 * error
    assert error <= 0.01 * cost(contraction)


# Local search


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


def check_optimum(search, contraction, labels, neighbours):
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
    """Of many blocks, and without limits, there are only moves and chains of blocks with pairs."""
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility):
        return
    swap_blocks, neighbours = kind if contraction.has_limits else (2_000, moved)
    search = LocalSearch(contraction, swap_blocks)
    for clustering in feasible_clusterings(instance)[:5]:
        check_optimum(search, contraction, clustering[contraction.representatives], neighbours)


@pytest.mark.parametrize("with_soft_pairs", [False, True])
@pytest.mark.parametrize(
    "limits", [{"min_size": 11, "max_size": 13}, {"sizes": [10, 11, 12, 13, 14]}]
)
@pytest.mark.parametrize("seed", [0, 1, 4])
def test_no_exchange_of_many_blocks_improves_a_local_optimum(seed, limits, with_soft_pairs):
    """Most clusters and most blocks are passed over by their bounds."""
    rng = np.random.default_rng(seed)
    n, k = 60, 5
    weights = None if seed == 0 else rng.uniform(0.2, 4.0, n)
    pairs = rng.permutation(n)[:40].reshape(-1, 2)
    labels = np.repeat(np.arange(k), limits.get("sizes", n // k))
    apart = pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]]
    points = rng.normal(size=(n, 2)) + rng.normal(size=(n, 2)) * (seed > 2)
    drawn = [rng.choice(n, 2, replace=False) for _ in range(40)] if with_soft_pairs else []
    soft = [(int(i), int(j), rng.uniform(0.0, 5.0)) for i, j in drawn]
    softly = {"soft_must_link": soft[::2], "soft_cannot_link": soft[1::2]}
    instance = Instance(points, k, cannot_link=apart, weights=weights, **softly, **limits)
    contraction = contract(instance)
    check_optimum(LocalSearch(contraction), contraction, labels, exchanged)


# Swaps of centres


def check_state(contraction, clusters):
    """Check that counts, weights, centres and lists belong to the labels."""
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


@given(SEEDS, st.floats(0, 0.3), st.integers(2, 6), st.integers(1, 5))
@examples(60)
def test_a_trial_changes_the_cost_as_said_and_is_undone(seed, density, k, n_near):
    rng = np.random.default_rng(seed)
    contraction = contraction_of(random_graph(rng, 18, density), k, rng)
    labels = find_feasible(contraction)
    if isinstance(labels, Infeasibility):
        return
    clusters = Clusters.of(contraction, labels, min(n_near, k - 1))
    trial = Trial.of(BlockData.of(contraction), clusters, 1e-9)
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
    found = CentreSwaps(contraction)(labels, rng, 0.1)
    assert proper(contraction.adjacency, found)
    assert np.array_equal(np.unique(found), np.arange(k))
    assert contraction.cost(found) <= contraction.cost(labels) + 1e-12


def test_swaps_find_sixty_four_groups_from_arbitrary_labels():
    rng = np.random.default_rng(5)
    places = np.array([[10.0 * i, 10.0 * j] for i in range(8) for j in range(8)])
    points = np.repeat(places, 5, axis=0) + rng.normal(size=(320, 2))
    contraction, start = contract(Instance(points, 64)), np.arange(320) % 64
    of_groups = contraction.cost(np.repeat(np.arange(64), 5))
    assert contraction.cost(CentreSwaps(contraction)(start, rng)) <= of_groups


@pytest.mark.parametrize(
    ("prepared", "n_looks"),
    [
        (lambda contraction: LocalSearch(contraction, 0), (1, 5, 25)),
        (lambda contraction: LocalSearch(contraction), (1, 5, 25)),
        (CentreSwaps, (5, 50)),
    ],
)
def test_pieces_come_to_the_same_and_end_where_no_time_is_left(prepared, n_looks, monkeypatch):
    rng = np.random.default_rng(3)
    contraction = contraction_of(random_graph(rng, 300, 0.001), 9, rng)
    labels, search = find_feasible(contraction), prepared(contraction)

    def run(*time_left):
        draws = [np.random.default_rng(2), 0.5] if isinstance(search, CentreSwaps) else []
        return search(labels, *draws, *time_left)

    whole = run()
    for module in (local_search, centre_swaps):
        monkeypatch.setattr(module, "WORK", 500)
    assert np.array_equal(run(), whole)
    costs = [contraction.cost(labels)]
    for n in n_looks:
        left = Countdown(n)
        found = run(left)
        assert left.n_looks == n + 1
        assert contraction.keeps(found)
        assert np.array_equal(np.unique(found), np.arange(9))
        costs.append(contraction.cost(found))
    costs.append(contraction.cost(whole))
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-2] >= costs[-1]


# Recombination


def clusters_of(labels):
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}


@given(SEEDS, st.integers(2, 7), st.floats(0, 0.2))
@examples(80)
def test_the_cheapest_choice_of_regions(seed, k, density):
    """Regions are blocks that are whole clusters of both clusterings."""
    rng = np.random.default_rng(seed)
    contraction = contraction_of(random_graph(rng, 16, density), k, rng)
    first = find_feasible(contraction)
    if isinstance(first, Infeasibility):
        return
    # Another clustering that keeps the cannot-links and has clusters in common with the first one.
    second = first.copy()
    for block in rng.integers(16, size=6):
        changed = second.copy()
        changed[block] = rng.integers(k)
        if proper(contraction.adjacency, changed) and len(np.unique(changed)) == k:
            second = changed
    found = recombine(contraction, first, second)
    assert np.array_equal(np.unique(found), np.arange(k))
    assert proper(contraction.adjacency, found)
    assert clusters_of(found) <= clusters_of(first) | clusters_of(second)
    region = connected_components(2 * k, np.column_stack([first, k + second]))[first]
    best = np.inf
    for choice in product([False, True], repeat=len(np.unique(region))):
        labels = np.where(np.array(choice)[region], second, first) + k * region
        names, labels = np.unique(labels, return_inverse=True)
        if len(names) == k:
            best = min(best, contraction.cost(labels))
    assert contraction.cost(found) == pytest.approx(best, abs=1e-9)


def test_regions_with_more_clusters_are_paid_by_others():
    contraction = free(12, 4)
    contraction.means[:] = 0.0
    contraction.weights[:] = 1.0
    contraction.means[:, 0] = [0, 0, 5, 5, 100, 100, 101, 101, 200, 200, 220, 220]
    second = np.array([0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3])
    third = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3])
    assert clusters_of(recombine(contraction, second, third)) == clusters_of(third)


# Many starts

FEW = MultiStartParameters(n_starts=3, n_relocations=3)


def overlapping(n, k, n_pairs, seed=0):
    """Five coordinates, overlapping clusters, constraints that their labels keep."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    points = rng.normal(size=(k, 5))[truth] * 1.5 + rng.normal(size=(n, 5))
    pairs = rng.integers(n, size=(20 * n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return Instance(points, k, pairs[same][:n_pairs], pairs[~same][:n_pairs])


@pytest.fixture
def many(monkeypatch):
    """Take 40 blocks for many, and 20 for those of a coreset."""
    monkeypatch.setattr(starts, "LARGE_BLOCKS", 40)
    monkeypatch.setattr(starts, "CORESET_DRAWS", 20)
    monkeypatch.setattr(starts, "DRAWS_PER_CLUSTER", 0)


@pytest.mark.long
def test_optimal_on_most_tiny_instances():
    optimal = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        contraction = contraction_of(random_graph(rng, 8, 0.2), 3, rng)
        feasible = [x for x in clusterings(8, 3) if proper(contraction.adjacency, x)]
        best = min(contraction.cost(labels) for labels in feasible)
        found = MultiStart(MultiStartParameters(n_starts=5, n_relocations=10)).run(contraction, rng)
        assert found.cost >= best - 1e-9
        optimal += found.cost <= best + 1e-9
    assert optimal >= 19


def test_the_affinity_of_a_local_optimum_leads_back_to_it():
    rng = np.random.default_rng(2)
    contraction = contraction_of(random_graph(rng, 30, 0.05), 3, rng)
    optimum = MultiStart().run(contraction, rng)
    affinity = clustering_matrix(optimum.labels, contraction.weights)
    found = MultiStart(MultiStartParameters(n_starts=2, n_relocations=0)).run(
        contraction, rng, affinity
    )
    assert found.source == "sdp"
    assert found.cost == pytest.approx(optimum.cost, rel=1e-12)


@pytest.mark.parametrize("is_many", [False, True])
def test_each_cheaper_clustering_is_told_and_none_is_dearer_than_a_given_one(is_many, request):
    if is_many:
        request.getfixturevalue("many")
    instance = overlapping(400, 8, 100)
    contraction, rng = contract(instance), np.random.default_rng(0)
    assert starts.is_large(contraction) == is_many
    descent, told = Descent(contraction, FEW), []
    best = MultiStart(FEW).run(contraction, rng, descent=descent, found=told.append)
    assert told[-1] is best
    costs = [solution.cost for solution in told]
    assert costs == sorted(set(costs), reverse=True)
    assert len(costs) > 1
    for solution in told:
        assert contraction.keeps(solution.labels)
        assert solution.cost == contraction.cost(solution.labels)
    lifted = Partition(contraction.lift(best.labels))
    assert lifted.is_feasible(instance)
    assert lifted.sum_of_squares(instance.points) == pytest.approx(best.cost, rel=1e-12)
    for labels in (best.labels, find_feasible(contraction)):
        alone = replace(FEW, n_starts=0)
        better = MultiStart(alone).run(
            contraction, rng, descent=Descent(contraction, alone, labels)
        )
        assert better.source == "given"
        assert better.cost <= contraction.cost(labels)


def test_equal_points(many):
    few = contract(Instance(np.repeat([[0.0], [1.0], [5.0]], 30, axis=0), 3))
    one = contract(Instance(np.ones((60, 2)), 3))
    for contraction in (few, one):
        assert MultiStart(FEW).run(contraction, np.random.default_rng(0)).cost == 0.0


def test_as_cheap_as_many_starts_of_k_means_on_twenty_thousand_points_without_a_large_matrix():
    """Costs of an assignment are 2 MB, 20,000 x 20,000 flags would be 400 MB."""
    rng = np.random.default_rng(8)
    truth = rng.integers(12, size=20_000)
    points = 2.0 * rng.normal(size=(12, 4))[truth] + rng.normal(size=(20_000, 4))
    tracemalloc.start()
    contraction = contract(Instance(points, 12, cannot_link=[(0, 1), (1, 2)]))
    MultiStart(FEW).run(contraction, rng, stop=iter([False] * 50 + [True] * 50).__next__)
    assert tracemalloc.get_traced_memory()[1] < 60e6
    tracemalloc.stop()
    contraction = contract(Instance(points, 12))
    found = MultiStart(FEW).run(contraction, rng)
    reference = KMeans(12, n_init=5, random_state=0).fit(points)
    assert found.cost <= contraction.cost(reference.labels_) * (1.0 + 1e-6)


def test_an_infeasible_contraction_is_refused():
    contraction = contraction_of(complete(4), 3, np.random.default_rng(5))
    with pytest.raises(ParameterError, match="no clustering"):
        MultiStart(FEW).run(contraction, np.random.default_rng(5))


LISTED = Instance(np.random.default_rng(0).normal(size=(60, 2)), 5, sizes=[4, 8, 12, 16, 20])


@pytest.mark.parametrize("instance", [overlapping(150, 12, 20), LISTED])
def test_more_runs_never_end_worse(instance):
    """Parts of two clusterings put together may have other sizes than those listed."""
    effort = {"n_starts": 1, "n_relocations": 0, "swap_effort": 0}
    results = [BestOf(n_runs=n_runs, **effort).run(instance, 3) for n_runs in (1, 2, 6)]
    costs = [result.sum_of_squares for result in results]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0] or instance is LISTED
    assert all(Partition(result.labels).keeps_sizes(instance) for result in results)


def test_the_same_with_two_workers():
    few = {"n_runs": 2, "n_starts": 2, "n_relocations": 5}
    instance = overlapping(60, 4, 10)
    one, two = (BestOf(workers=workers, **few).run(instance, 5) for workers in (1, 2))
    assert np.array_equal(one.labels, two.labels)
    assert one.n_iterations == two.n_iterations
