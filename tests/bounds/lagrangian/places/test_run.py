"""The bound by prices and places holds for every clustering, and is near the cost of clear ones."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.incumbents import MultiStart
from sdpbb.bounds.lagrangian.places.run import PlaceRun
from sdpbb.bounds.lagrangian.reach import has_one_quantity, has_places
from sdpbb.problem import Contraction, Instance, Partition, contract
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.runtime.time_left import no_limit
from tests.bounds.nodes import Node, contracted, nodes
from tests.constants import constants

SEEDS = st.integers(0, 2**32 - 1)
AT = "bounds.lagrangian.places.run."
SMALL = {f"{AT}PLACES": 50, f"{AT}NEW_PLACES": 20, f"{AT}MAX_ROUNDS": 5}


def of_blocks(contraction: Contraction, labels: np.ndarray) -> np.ndarray:
    return np.unique(labels[contraction.representatives], return_inverse=True)[1]


def begun(instance: Instance, labels: np.ndarray) -> PlaceRun | None:
    """A run from the labels of points."""
    contraction = contract(instance)
    return PlaceRun.begin(contraction, of_blocks(contraction, labels))


def bounds_of(run: PlaceRun | None, cutoff: float) -> list[float]:
    """The bounds of all rounds."""
    bounds = [] if run is None else [run.advance(cutoff)]
    while run is not None and not (bounds[-1].stalled or bounds[-1].bound.value >= cutoff):
        bounds.append(run.advance(cutoff))
    return [progress.bound.value for progress in bounds]


def is_known(node: Node) -> bool:
    """Whether places know the rules of the node, which has clusterings."""
    contraction = node.contraction
    one = not contraction.has_limits or has_one_quantity(contraction)
    return node.truth.is_feasible and one and has_places(contraction)


SIZES = {"n": (4, 8), "k": (2, 3), "d": (1, 3), "where": is_known}
FREE = nodes("equal points", "units", "pairs", **SIZES)
LIMITED = st.one_of(
    nodes("pairs", always=["sizes"], **SIZES), nodes("pairs", always=["weight limits"], **SIZES)
)


@given(st.one_of(FREE, LIMITED))
@constants(SMALL)
def test_never_above_the_optimum(node: Node) -> None:
    """Whatever clustering it begins with; nor of its children, from the prices of the parent."""
    rng, parent, least = node.rng(), node.contraction, node.optimum
    labels = node.truth.labels[rng.integers(len(node.truth.labels))]
    run = PlaceRun.begin(parent, of_blocks(parent, labels))
    bounds = bounds_of(run, least * (1.0 - 1e-3))
    for bound in bounds:
        assert bound <= least * (1.0 + 1e-9)
    i, j = sorted(rng.permutation(node.instance.n_points)[:2].tolist())
    for child, costs in node.children(i, j) if run is not None else ():
        if child.n_blocks > child.k:
            best = float(costs.min(initial=math.inf))
            inherited = PlaceRun.inherit(child, run.warm_start())
            for bound in bounds_of(inherited, min(best, 2.0 * least + parent.total)):
                assert bound <= best * (1.0 + 1e-9)
            if not len(child.cannot_link) and not parent.has_limits:
                # Its first bound is what the parent's prices prove, but for its tolerance.
                assert inherited.values[0] >= bounds[-1] - 0.2 * (2.0 * least + parent.total)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_clear_clusters(d: int) -> None:
    rng = np.random.default_rng(d)
    labels = np.repeat(np.arange(4), 500)
    points = 8.0 * np.arange(4)[labels][:, None] + rng.normal(size=(2000, d))
    cost = Partition(labels).sum_of_squares(points)
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
    labels = MultiStart().run(contracted(points, 6), rng).labels
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


@pytest.mark.long
def test_limits_that_bind_raise_the_bound() -> None:
    instance, labels, cost = limited_blobs()
    free = bounds_of(begun(Instance(instance.points, 3), labels), cost)[-1]
    bound = bounds_of(begun(instance, labels), cost)[-1]
    assert free < 0.9 * cost
    assert bound >= 0.97 * cost
