from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.best_of import BestOf
from heuristics.multi_start import recombine
from heuristics.result import Stop
from sdpbb.problem import Infeasibility, Instance, Partition
from sdpbb.problem.feasibility import find_feasible
from tests.examples import examples
from tests.graphs import contraction_of, proper, random_graph


def random_points(n=60, k=4):
    cannot_link = [(i, i + 1) for i in range(30)]
    points = np.random.default_rng(0).normal(size=(n, 3))
    return Instance(points, k, [(40, 41), (42, 43)], cannot_link)


FLAT = np.random.default_rng(0).normal(size=(60, 2))
LISTED = Instance(FLAT, 5, sizes=[4, 8, 12, 16, 20])


@pytest.mark.parametrize("instance", [random_points(150, 12), LISTED])
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
    one, two = (BestOf(workers=workers, **few).run(random_points(), 5) for workers in (1, 2))
    assert np.array_equal(one.labels, two.labels)
    assert one.n_iterations == two.n_iterations


@pytest.mark.long
def test_the_time_limit_ends_a_long_run_with_a_clustering():
    for workers in (1, 2):
        method = BestOf(n_runs=2, n_relocations=10**7, workers=workers, time_limit=0.3)
        result = method.run(random_points(), 0)
        assert result.stop is Stop.TIME_LIMIT
        assert result.keeps_hard_constraints


# Recombination of the runs


def clusters_of(labels):
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}


def regions_of(first, second):
    """Pairs of lists of clusters, of either clustering, that hold the same blocks."""
    regions = []
    for cluster in clusters_of(first) | clusters_of(second):
        touched = [blocks for blocks in regions if blocks & cluster]
        regions = [blocks for blocks in regions if not blocks & cluster]
        regions.append(frozenset(cluster).union(*touched))
    return regions


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.floats(0, 0.2))
@examples(80)
def test_the_cheapest_choice_of_regions(seed, k, density):
    rng = np.random.default_rng(seed)
    contraction = contraction_of(random_graph(rng, 16, density), k, rng)
    first = find_feasible(contraction)
    if isinstance(first, Infeasibility):
        return
    # Another clustering that keeps the cannot-links and has clusters in common with the first one.
    second = first.copy()
    for block in rng.integers(16, size=6):
        moved = second.copy()
        moved[block] = rng.integers(k)
        if proper(contraction.adjacency, moved) and len(np.unique(moved)) == k:
            second = moved
    found = recombine(contraction, first, second)
    assert np.array_equal(np.unique(found), np.arange(k))
    assert proper(contraction.adjacency, found)
    assert clusters_of(found) <= clusters_of(first) | clusters_of(second)
    regions = regions_of(first, second)
    best = np.inf
    for choice in product((first, second), repeat=len(regions)):
        labels = np.empty(16, np.intp)
        for number, (region, chosen) in enumerate(zip(regions, choice, strict=True)):
            blocks = sorted(region)
            labels[blocks] = number * k + chosen[blocks]
        names, labels = np.unique(labels, return_inverse=True)
        if len(names) == k:
            best = min(best, contraction.cost(labels))
    assert contraction.cost(found) == pytest.approx(best, abs=1e-9)


def test_regions_with_more_clusters_are_paid_by_others():
    rng = np.random.default_rng(0)
    contraction = contraction_of(random_graph(rng, 12, 0.0), 4, rng)
    contraction.means[:] = 0.0
    contraction.weights[:] = 1.0
    contraction.means[:, 0] = [0, 0, 5, 5, 100, 100, 101, 101, 200, 200, 220, 220]
    first = np.array([0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3])
    second = np.array([0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3])
    third = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3])
    assert len(clusters_of(recombine(contraction, first, second)) & clusters_of(second)) == 4
    assert clusters_of(recombine(contraction, second, third)) == clusters_of(third)
