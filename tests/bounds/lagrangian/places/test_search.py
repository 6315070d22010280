"""The search over places finds the greatest value that a cluster has, as enumeration does."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.lagrangian.places.conflict_kernels import charge, lost_in_box
from sdpbb.bounds.lagrangian.places.dual import PlaceDual
from sdpbb.bounds.lagrangian.places.search import PlaceProblem, PlaceSearch
from sdpbb.bounds.lagrangian.places.value_kernels import NO_LIMITS, AmountLimits
from sdpbb.runtime.time_left import OutOfTime, no_limit
from tests.enumeration import all_sets
from tests.examples import examples

SEEDS = st.integers(0, 2**32 - 1)


def random_problem(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points in one to three dimensions, weights, and prices from hardly any to all of the data."""
    points = np.zeros((n, 3))
    points[:, : rng.integers(1, 4)] = 1.0
    points *= rng.normal(size=(n, 3)) if rng.random() < 0.7 else rng.integers(-2, 3, (n, 3))
    weights = rng.integers(1, 5, n).astype(float)
    return points, weights, rng.uniform(-0.5, rng.uniform(0.1, 6.0), n)


def problem_of(
    points: np.ndarray,
    weights: np.ndarray,
    pairs: list[tuple[int, int]] | None = None,
    limits: AmountLimits = NO_LIMITS,
    amounts: np.ndarray | None = None,
) -> PlaceProblem:
    linked = np.array(pairs or [], np.int64).reshape(-1, 2)
    amounts = np.zeros(len(points)) if amounts is None else amounts
    ends = np.unique(linked)
    return PlaceProblem(2, points, weights, linked, ends, np.eye(3), limits, amounts)


def greatest_by_enumeration(of: PlaceProblem, prices: np.ndarray) -> float:
    """The greatest price of a set of points without a pair, less its sum of squares; 0 for none."""
    points, weights = of.points, of.weights
    sets = all_sets(len(points)).astype(int)
    for i, j in of.pairs:
        sets = sets[sets[:, i] + sets[:, j] < 2]
    if of.is_limited:
        has = sets @ of.amounts
        sets = sets[(of.limits.least <= has) & (has <= of.limits.most)]
        if not len(sets):
            return 0.0
    total = sets @ weights
    sums = sets @ (weights[:, None] * points)
    squares = sets @ (weights * (points**2).sum(axis=1)) - (sums**2).sum(axis=1) / total
    return max(0.0, float((sets @ (weights * prices) - squares).max()))


KINDS = ("free", "matched", "pairs", "limits of points", "limits and pairs")


@given(SEEDS, st.integers(1, 10), st.sampled_from([1e-6, 1e-3, 0.1]), st.sampled_from(KINDS))
@examples(150)
def test_least_upper_bound(seed: int, n: int, tolerance: float, kind: str) -> None:
    """Exact without pairs and limits, with pairs that share no point, and where all points count
    alike; elsewhere no less than the truth, and with pairs no more than without them."""
    rng = np.random.default_rng(seed)
    points, weights, prices = random_problem(rng, n)
    amounts, limits, pairs = np.ones(n), NO_LIMITS, []
    if kind == "matched":
        order = rng.permutation(n)
        pairs = [(order[i], order[i + 1]) for i in range(0, n - 1, 2)]
    elif "pairs" in kind:
        every = list(combinations(range(n), 2))
        pairs = [every[e] for e in rng.permutation(len(every))[: rng.integers(len(every) + 1)]]
    if "limits" in kind:
        if pairs:
            amounts = rng.integers(1, 5, n).astype(float)
        least, most = np.sort(rng.integers(0, int(amounts.sum()) + 1, 2)).astype(float)
        least = min(least, amounts.sum() - 1.0)
        limits = AmountLimits(least, max(most, least, 1.0))
    of = problem_of(points, weights, pairs, limits, amounts)
    truth = greatest_by_enumeration(of, prices)
    found = PlaceSearch(of, prices, 0.0, tolerance, 0.9).run(no_limit)
    assert truth - 1e-12 * (1.0 + truth) <= found
    # Ties, and blocks that are worth the same at a limit, take so many boxes that the tolerance is
    # loosened, the more the finer it is.
    if kind == "free":
        assert found <= truth + tolerance + 1e-9
    elif kind == "limits of points" and (points != np.round(points)).any():
        assert found <= truth + 16.0 * max(tolerance, 1e-2)
    elif kind == "matched":
        assert found <= truth + 16.0 * max(tolerance, 0.1)
    elif kind == "pairs":
        free = greatest_by_enumeration(problem_of(points, weights), prices)
        assert found <= free + 16.0 * max(tolerance, 0.1)


@given(SEEDS)
def test_known_value_and_pauses_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights, prices = random_problem(rng, 200)
    tolerance = 1e-3 * float(weights @ np.abs(prices))
    of = problem_of(points, weights)
    first = PlaceSearch(of, prices, 0.0, tolerance, 0.9)
    found = first.run(no_limit)
    again = PlaceSearch(of, prices, max(0.0, found - tolerance), tolerance, 0.9)
    assert abs(again.run(no_limit) - found) <= tolerance * (1.0 + 1e-6)
    places = rng.uniform(points.min(axis=0), points.max(axis=0), (2000, 3))
    worth = prices - ((points - places[:, None]) ** 2).sum(axis=2)
    assert (np.maximum(worth, 0.0) @ weights).max() <= found
    for *place, value in first.met[:20]:
        worth = prices - ((points - place) ** 2).sum(axis=1)
        assert np.maximum(worth, 0.0) @ weights == pytest.approx(value)
        assert value <= found


def test_no_time_proves_nothing() -> None:
    points, weights, prices = random_problem(np.random.default_rng(1), 100_000)
    with pytest.raises(OutOfTime):
        PlaceSearch(problem_of(points, weights), prices + 5.0, 0.0, 1e-9, 0.9).run(lambda: 0.0)


@given(SEEDS)
def test_what_is_lost_in_a_box_is_lost_at_each_of_its_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights, prices = random_problem(rng, 8)
    of = problem_of(points, weights, [(0, 1), (1, 2), (3, 4), (5, 6), (4, 5)])
    middle, half = rng.normal(size=3), rng.uniform(0.0, 0.5, 3)
    data, scratch = of.data(prices), np.zeros(8)
    least, in_middle = lost_in_box(data, of.pairs, of.ends, middle, half, 0.0, scratch)
    assert 0.0 <= least <= in_middle
    for place in middle + half * rng.uniform(-1.0, 1.0, (20, 3)):
        worth = weights * np.maximum(0.0, prices - ((points - place) ** 2).sum(axis=1))
        covers = (np.arange(2**8)[:, None] >> np.arange(8)) & 1
        for i, j in of.pairs:
            covers = covers[covers[:, i] + covers[:, j] > 0]
        cover = float((covers @ worth).min())
        assert least <= cover + 1e-12
        assert -charge(0.0, of.pairs, worth.copy()) <= cover + 1e-12


def test_what_many_pairs_cost_is_not_rounded_up() -> None:
    """One pair costs 1, many others so little that a sum rounds each of them up to 2^-52."""
    n, little = 20_000, 1.01 * 2.0**-53
    data = np.column_stack(
        [np.zeros((2 * n, 3)), np.full(2 * n, little), np.ones(2 * n), np.zeros(2 * n)]
    )
    data[:2, 3] = 1.0
    pairs = np.arange(2 * n).reshape(-1, 2)
    nowhere = np.zeros(3)
    least, _ = lost_in_box(data, pairs, np.arange(2 * n), nowhere, nowhere, 0.0, np.zeros(2 * n))
    assert 1.0 - 1e-10 <= least <= 1.0 + (n - 1) * little


@given(SEEDS)
def test_masses_are_derivatives_of_values(seed: int) -> None:
    """Those of the values by prices, through pairs and chains of them, and through limits."""
    rng = np.random.default_rng(seed)
    points, weights, prices = random_problem(rng, 300)
    linked = [tuple(pair) for pair in rng.integers(0, 300, (60, 2)).tolist() if pair[0] != pair[1]]
    amounts = rng.integers(1, 4, 300).astype(float)
    limits = AmountLimits(*np.sort(rng.integers(0, 600, 2)).astype(float))
    is_limited = rng.random() < 0.7
    of = problem_of(points, weights, linked, limits if is_limited else NO_LIMITS, amounts)
    dual = PlaceDual(of, rng.normal(size=(5, 3)), 1.0)
    masses = rng.uniform(size=5)
    values = dual.values(prices, no_limit)
    served = dual._served(masses, no_limit)
    way = rng.normal(size=300)
    step = 1e-7
    ahead = (dual.values(prices + step * way, no_limit) - values) @ masses / step
    behind = (values - dual.values(prices - step * way, no_limit)) @ masses / step
    slope = float(weights @ (served * way))
    # Between the two where no worth changes sign in between.
    margin = 1e-4 * float(weights @ np.abs(way))
    assert min(ahead, behind) - margin <= slope <= max(ahead, behind) + margin
    worth = weights * np.maximum(0.0, prices - squares_from(points, dual.places))
    if not is_limited:
        for value, worths in zip(values, worth, strict=True):
            assert np.isclose(value, charge(worths.sum(), of.pairs, worths.copy()))


@given(SEEDS)
def test_values_within_limits(seed: int) -> None:
    """They are the least over all rates, which is at one of the gains or at 0."""
    rng = np.random.default_rng(seed)
    points, weights, prices = random_problem(rng, 300)
    amounts = rng.integers(1, 4, 300).astype(float)
    least, most = np.sort(rng.integers(0, 600, 2)).astype(float)
    of = problem_of(points, weights, None, AmountLimits(least, most), amounts)
    dual = PlaceDual(of, rng.normal(size=(5, 3)), 1.0)
    gains = weights * (prices - squares_from(points, dual.places))
    for value, gain in zip(dual.values(prices, no_limit), gains, strict=True):
        rates = np.append(gain / amounts, 0.0)[:, None]
        over = np.maximum(0.0, gain - rates * amounts).sum(axis=1)
        limit = np.where(rates > 0.0, most, least)[:, 0]
        assert np.isclose(value, (over + rates[:, 0] * limit).min())


def squares_from(points: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Squared distances of points from each place."""
    return np.asarray(((points - places[:, None]) ** 2).sum(axis=2))
