"""The bound by prices and places holds for every clustering, and is near the cost of clear ones."""

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.multi_start import MultiStart
from sdpbb.bounds.lagrangian.places.run import PlaceRun
from sdpbb.bounds.lagrangian.reach import has_places
from sdpbb.problem import Contraction, Instance, Partition, contract
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.runtime.time_left import no_limit
from tests.constants import constants
from tests.enumeration import feasible_clusterings, optimum, sums_of_squares

SEEDS = st.integers(0, 2**32 - 1)
AT = "bounds.lagrangian.places.run."
CELLS, MAX_ROUNDS = f"{AT}CELLS", "bounds.lagrangian.places.run.MAX_ROUNDS"
SMALL = {CELLS: 50, f"{AT}PLACES": 50, f"{AT}NEW_PLACES": 20, MAX_ROUNDS: 5}


def contracted(instance: Instance, *more: object) -> Contraction:
    contraction = contract(instance, *more)
    assert isinstance(contraction, Contraction)
    return contraction


def of_blocks(contraction: Contraction, labels: np.ndarray) -> np.ndarray:
    return np.unique(labels[contraction.representatives], return_inverse=True)[1]


def begun(instance: Instance, labels: np.ndarray) -> PlaceRun | None:
    """A run from the labels of points."""
    contraction = contracted(instance)
    return PlaceRun.begin(contraction, of_blocks(contraction, labels))


def bounds_of(run: PlaceRun | None, cutoff: float) -> list[float]:
    """The bounds of all rounds."""
    bounds = [] if run is None else [run.advance(cutoff)]
    while run is not None and not (bounds[-1].stalled or bounds[-1].bound.value >= cutoff):
        bounds.append(run.advance(cutoff))
    return [progress.bound.value for progress in bounds]


def drawn_limits(rng: np.random.Generator, n: int, k: int) -> dict[str, Any]:
    """Limits on sizes, listed ones, or limits on weights: the arguments of an instance."""
    kind = rng.integers(4)
    if kind == 0:
        ends = np.sort(rng.integers(1, n - k + 1, k - 1, endpoint=True))
        sizes = np.diff(np.concatenate([[0], ends + np.arange(k - 1), [n]]))
        return {"sizes": sizes.tolist()}
    low, high = rng.uniform(0.3, 1.0), rng.uniform(1.0, 1.6)
    if kind == 1:
        weights = rng.uniform(0.5, 2.0, n)
        mean = weights.sum() / k
        return {"weights": weights, "min_weight": low * mean, "max_weight": high * mean}
    if kind == 2:
        return {"max_size": max(1, int(high * n / k))}
    return {"min_size": max(1, int(low * n / k)), "max_size": max(1, int(high * n / k))}


def drawn(
    seed: int, n_max: int = 8, is_limited: bool = False
) -> tuple[Instance, np.ndarray, float]:
    """An instance with links, any clustering that keeps them, and the optimum."""
    rng = np.random.default_rng(seed)
    while True:
        n, k, d = int(rng.integers(4, n_max + 1)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
        points = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4)
        if rng.random() < 0.3:
            points = np.round(points)
        pairs = rng.permutation(np.column_stack(np.triu_indices(n, 1))).tolist()
        cut = int(rng.integers(0, 4))
        must_link = pairs[:1] if rng.random() < 0.5 else []
        limits = drawn_limits(rng, n, k) if is_limited else {}
        instance = Instance(points, k, must_link, pairs[1 : 1 + cut], **limits)
        labels = feasible_clusterings(instance)
        labels = labels[[len(np.unique(row)) == k for row in labels]]
        if len(labels) and isinstance(contract(instance), Contraction):
            return instance, labels[rng.integers(len(labels))], optimum(instance)


@given(SEEDS, st.booleans())
def test_never_above_the_optimum(seed: int, is_limited: bool) -> None:
    """Whatever clustering it begins with, pairs that are cannot-linked, and limits there are."""
    instance, labels, least = drawn(seed, is_limited=is_limited)
    with constants(SMALL):
        bounds = bounds_of(begun(instance, labels), least * (1.0 - 1e-3))
    for bound in bounds:
        assert bound <= least * (1.0 + 1e-9)


@given(SEEDS, st.booleans())
@constants(SMALL)
def test_children_never_above_their_optimum(seed: int, is_limited: bool) -> None:
    """From the prices of a parent: with two of its blocks together, and apart."""
    instance, labels, least = drawn(seed, 7, is_limited)
    run, parent = begun(instance, labels), contracted(instance)
    bounds = bounds_of(run, least)
    free = np.argwhere(np.triu(~parent.adjacency, 1))
    if run is None or not len(free) or parent.n_blocks <= parent.k:
        return
    rng = np.random.default_rng(seed)
    pair = parent.representatives[free[rng.integers(len(free))]].tolist()
    every = feasible_clusterings(instance)
    is_together = every[:, pair[0]] == every[:, pair[1]]
    for decision, keep in ((((pair,), ()), is_together), (((), (pair,)), ~is_together)):
        child = contract(instance, *decision, parent.block_of)
        if not isinstance(child, Contraction) or child.n_blocks <= child.k:
            continue
        costs = sums_of_squares(instance.points, every[keep], instance.weights)
        best = float(costs.min(initial=math.inf))
        inherited = PlaceRun.inherit(child, run.warm_start())
        for bound in bounds_of(inherited, min(best, 2.0 * least + 1.0)):
            assert bound <= best * (1.0 + 1e-9)
        if not len(child.cannot_link):
            # Its first bound is what the parent's prices prove, but for the search's tolerance.
            assert inherited.values[0] >= bounds[-1] - 0.2 * (2.0 * least + 1.0)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_clear_clusters(d: int) -> None:
    rng = np.random.default_rng(d)
    labels = np.repeat(np.arange(4), 500)
    points = 8.0 * np.arange(4)[labels][:, None] + rng.normal(size=(2000, d))
    cost = Partition(labels).sum_of_squares(points)
    with constants({CELLS: 200}):
        bounds = bounds_of(begun(Instance(points, 4), labels), cost * (1.0 - 1e-4))
    assert bounds == sorted(bounds)
    assert cost * (1.0 - 1e-4) <= bounds[-1] <= cost * (1.0 + 1e-12)


@pytest.mark.parametrize("most_in_double_precision", [0, 20_000])
@pytest.mark.parametrize("unit", [1e-25, 1e-9, 1e-3, 1e9, 1e25])
def test_the_unit_of_the_data_does_not_matter(
    unit: float, most_in_double_precision: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sdpbb.bounds.lagrangian.places.dual._FEW", most_in_double_precision)
    rng = np.random.default_rng(1)
    labels = np.arange(400) % 6
    points = unit * (rng.normal(size=(6, 2)) * 6.0)[labels] + unit * rng.normal(size=(400, 2))
    labels = MultiStart().run(contracted(Instance(points, 6)), rng).labels
    cost = Partition(labels).sum_of_squares(points)
    run = begun(Instance(points, 6), labels)
    assert 0.999 * cost <= bounds_of(run, 0.999 * cost)[-1] <= cost


@constants(SMALL)
def test_links_are_kept() -> None:
    """Two clouds that cannot-links mix: without these the bound would be far lower."""
    rng = np.random.default_rng(5)
    points = np.vstack([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 6.0])
    labels = np.repeat([0, 1], 60)
    cannot_link = [(i, i + 1) for i in range(0, 40, 2)]
    instance = Instance(points, 2, [(i, i + 2) for i in range(60, 118, 2)], cannot_link)
    result = solve(instance, SolverParameters(bounding="sdp"))
    cost, found = result.objective, result.partition.labels
    assert 0.98 * cost <= bounds_of(begun(instance, found), cost)[-1] <= cost
    assert Partition(labels).sum_of_squares(points) <= 0.6 * cost


@constants(SMALL)
def test_affinity_is_that_of_clear_clusters() -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(3), [20, 30, 50])
    points = 20.0 * np.eye(3)[labels] + rng.normal(size=(100, 3))
    run = begun(Instance(points, 3), labels)
    assert run is not None
    bounds_of(run, Partition(labels).sum_of_squares(points) * (1.0 - 1e-4))
    same = labels[:, None] == labels
    assert np.allclose(run.affinity(), same / same.sum(axis=1), atol=1e-2 / 20)


def test_reach() -> None:
    rng = np.random.default_rng(0)
    for d, k, expected in ((3, 2, True), (4, 2, False), (2, 1, False), (2, 10, False)):
        contraction = contracted(Instance(rng.normal(size=(10, d)), k))
        assert has_places(contraction) is expected


def test_no_time_changes_nothing() -> None:
    points = np.random.default_rng(0).normal(size=(50, 2))
    run = begun(Instance(points, 2), (points[:, 0] > 0).astype(np.intp))
    assert run is not None
    before = copy.deepcopy(run)
    progress = run.advance(1.0, lambda: -math.inf)
    assert progress.is_cut
    assert not progress.stalled
    assert progress.bound.value == 0.0
    assert np.array_equal(run.prices, before.prices)
    assert run.values == ()
    assert run.advance(1.0, no_limit).bound.value > 0.0


def test_a_clustering_that_costs_nothing_has_no_prices() -> None:
    points = np.repeat([[0.0, 0.0], [1.0, 1.0]], 4, axis=0)
    assert begun(Instance(points, 2), np.repeat([0, 1], 4)) is None


def limited_blobs() -> tuple[Instance, np.ndarray, float]:
    """Three clouds of 60, 100 and 140 points that have to be clusters of 90 to 110."""
    rng = np.random.default_rng(3)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    points = np.repeat(centres, [60, 100, 140], axis=0) + rng.normal(size=(300, 2))
    instance = Instance(points, 3, min_size=90, max_size=110)
    result = solve(instance, SolverParameters(gap=0.3))
    return instance, result.partition.labels, result.objective


def test_limits_that_bind_raise_the_bound() -> None:
    instance, labels, cost = limited_blobs()
    free = bounds_of(begun(Instance(instance.points, 3), labels), cost)[-1]
    bound = bounds_of(begun(instance, labels), cost)[-1]
    assert free < 0.9 * cost
    assert bound >= 0.97 * cost
