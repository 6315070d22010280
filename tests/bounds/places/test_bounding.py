"""The bound by prices and places holds for every clustering, and is near the cost of clear ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.places.bounding import PlaceBounding, is_within_reach
from sdpbb.bounds.places.parameters import PlaceParameters
from sdpbb.problem import Contraction, Instance, Partition, contract
from sdpbb.time_left import OutOfTime, no_limit
from tests.enumeration import optimum

SEEDS = st.integers(0, 2**32 - 1)
SMALL = PlaceParameters(cells=50, places=50, new_places=20, rounds=3)


def bounded(
    instance: Instance, labels: np.ndarray, parameters: PlaceParameters = SMALL, gap: float = 1e-3
) -> list[float]:
    """The bounds of all rounds, from the labels of points."""
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    blocks = np.unique(labels[contraction.representatives], return_inverse=True)[1]
    bounding = PlaceBounding(contraction, blocks, parameters, gap)
    return [done.bound.value for done in bounding.rounds(no_limit)]


@given(SEEDS)
def test_never_above_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, d = int(rng.integers(4, 9)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
    points = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4)
    if rng.random() < 0.3:
        points = np.round(points)
    must_link = [(0, 1)] if rng.random() < 0.5 else []
    cannot_link = [(2, 3)] if rng.random() < 0.5 else []
    instance = Instance(points, k, must_link, cannot_link)
    least = optimum(instance)
    labels = rng.integers(0, k, n)  # any clustering will do to begin with
    labels[:k] = np.arange(k)
    if must_link:
        labels[1] = labels[0]
    if len(np.unique(labels)) < k:
        return
    for bound in bounded(instance, labels):
        assert bound <= least * (1.0 + 1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_clear_clusters(d: int) -> None:
    rng = np.random.default_rng(d)
    labels = np.repeat(np.arange(4), 500)
    points = 8.0 * np.arange(4)[labels][:, None] + rng.normal(size=(2000, d))
    instance = Instance(points, 4)
    cost = Partition(labels).sum_of_squares(points)
    bounds = bounded(instance, labels, PlaceParameters(cells=200, places=200), gap=1e-4)
    assert bounds == sorted(bounds)
    assert cost * (1.0 - 2e-4) <= bounds[-1] <= cost * (1.0 + 1e-12)


def test_must_links_are_blocks() -> None:
    rng = np.random.default_rng(5)
    points = np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 20.0])
    instance = Instance(points, 2, [(i, i + 1) for i in range(0, 200, 2)])
    labels = np.repeat([0, 1], 100)
    cost = Partition(labels).sum_of_squares(points)
    assert cost * 0.999 <= bounded(instance, labels)[-1] <= cost * (1.0 + 1e-12)


def test_reach() -> None:
    rng = np.random.default_rng(0)
    for d, k, expected in ((3, 2, True), (4, 2, False), (2, 1, False), (2, 10, False)):
        contraction = contract(Instance(rng.normal(size=(10, d)), k))
        assert isinstance(contraction, Contraction)
        assert is_within_reach(contraction) is expected


def test_no_time() -> None:
    points = np.random.default_rng(0).normal(size=(50, 2))
    contraction = contract(Instance(points, 2))
    assert isinstance(contraction, Contraction)
    bounding = PlaceBounding(contraction, (points[:, 0] > 0).astype(np.intp), SMALL, 1e-4)
    with pytest.raises(OutOfTime):
        next(bounding.rounds(lambda: -math.inf))
