"""The search over places finds the greatest value that a cluster has, as enumeration does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.places.search import PlaceSearch
from sdpbb.time_left import OutOfTime, no_limit

SEEDS = st.integers(0, 2**32 - 1)


def random_problem(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points in one to three dimensions, weights, and prices from hardly any to all of the data."""
    points = np.zeros((n, 3))
    points[:, : rng.integers(1, 4)] = 1.0
    points *= rng.normal(size=(n, 3)) if rng.random() < 0.7 else rng.integers(-2, 3, (n, 3))
    weights = rng.integers(1, 5, n).astype(float)
    return points, weights, rng.uniform(-0.5, rng.uniform(0.1, 6.0), n)


def greatest_by_enumeration(points: np.ndarray, weights: np.ndarray, prices: np.ndarray) -> float:
    """The greatest price of a set of points less its sum of squares; 0 for the empty set."""
    n = len(points)
    sets = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    total = sets @ weights
    sums = sets @ (weights[:, None] * points)
    squares = sets @ (weights * (points**2).sum(axis=1)) - (sums**2).sum(axis=1) / total
    return max(0.0, float((sets @ (weights * prices) - squares).max()))


@given(SEEDS, st.integers(1, 10), st.sampled_from([1e-6, 1e-3, 0.1]))
def test_least_upper_bound(seed: int, n: int, tolerance: float) -> None:
    points, weights, prices = random_problem(np.random.default_rng(seed), n)
    truth = greatest_by_enumeration(points, weights, prices)
    found = PlaceSearch(points, weights, prices, 0.0, tolerance).run(no_limit)
    assert truth - 1e-12 * (1.0 + truth) <= found <= truth + tolerance + 1e-9


@given(SEEDS)
def test_known_value_and_pauses_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights, prices = random_problem(rng, 200)
    tolerance = 1e-3 * float(weights @ np.abs(prices))
    first = PlaceSearch(points, weights, prices, 0.0, tolerance)
    found = first.run(no_limit)
    again = PlaceSearch(points, weights, prices, max(0.0, found - tolerance), tolerance)
    assert abs(again.run(no_limit) - found) <= tolerance * (1.0 + 1e-6)
    places = rng.uniform(points.min(axis=0), points.max(axis=0), (2000, 3))
    worth = prices - ((points - places[:, None]) ** 2).sum(axis=2)
    assert (np.maximum(worth, 0.0) @ weights).max() <= found
    for place in first.met[:20]:
        worth = prices - ((points - place) ** 2).sum(axis=1)
        assert np.maximum(worth, 0.0) @ weights <= found


def test_no_time_proves_nothing() -> None:
    points, weights, prices = random_problem(np.random.default_rng(1), 100_000)
    with pytest.raises(OutOfTime):
        PlaceSearch(points, weights, prices + 5.0, 0.0, 1e-9).run(lambda: 0.0)
