"""No place of a mean is overlooked, and what no cluster exceeds is proven in few boxes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.geometry import Contracted
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import Limit
from sdpbb.checker.kernel.sizes import Measure, SizeLimits
from sdpbb.checker.pricing import place_bounds, places, proven_least
from sdpbb.checker.pricing.place_bounds import PlacedBlocks
from sdpbb.checker.pricing.places import greatest_value
from tests.checker.priced import Priced
from tests.examples import examples

# Relative to the sum of the profits.
MARGIN = 1e-12

NO_PAIRS = np.empty((0, 2), np.int64)


def random_blocks(rng, m, d, n_links):
    """Blocks with profits that add up to 1, whole or not, some of them in one place."""
    means = rng.normal(size=(m, d))
    if rng.random() < 0.5:
        means = np.round(means)
    sizes = rng.choice([1.0, 1.0, 2.0, 5.0], m)
    profits = sizes * rng.gamma(3.0, 1.0, m)
    profits = np.round(profits) + 1.0 if rng.random() < 0.3 else profits
    linked = np.zeros((m, m), bool)
    for i, j in rng.permutation(list(combinations(range(m), 2)))[:n_links]:
        linked[i, j] = linked[j, i] = True
    total = profits.sum()
    return sizes, means / math.sqrt(total), profits / total, linked


@pytest.mark.parametrize(("least", "most"), [(30, 500), (45, 60), (50, 50)])
def test_least_sizes_are_part_of_the_bounds(least, most):
    """Of 500 points in clouds of 50, at prices at which a cloud is worth most without some."""
    means, _ = clouds(500, 2, 10, seed=7)
    prices = np.full(500, 1.5)
    best = 0.0
    for place in means:
        for _ in range(100):
            order = np.argsort(((means - place) ** 2).sum(axis=1))
            gains = np.cumsum(1.5 - ((means[order] - place) ** 2).sum(axis=1))
            count = least + int(gains[least - 1 : most].argmax())
            best, place = max(best, gains[count - 1]), means[order[:count]].mean(axis=0)
    limits = SizeLimits(500, 10, least, most)
    rules = (
        Limit(np.ones(500, np.int64), NO_PAIRS, int(most)),
        Measure(np.ones(500, np.int64), limits),
    )
    contracted = Contracted(500, np.ones(500), means, np.zeros(500), 0.0)
    free = np.zeros((500, 500), bool)
    proven = proven_least(contracted, free, prices, -best * (1.0 + 1e-4), 50_000, rules)
    assert -best * (1.0 + 1.01e-4) <= proven <= -best
    with pytest.raises(Rejected):
        proven_least(contracted, free, prices, -best * (1.0 - 1e-4), 50_000, rules)


@pytest.mark.parametrize("batch", [50, 100_000])
@pytest.mark.parametrize(("m", "d", "n_links"), [(12, 1, 0), (12, 2, 8), (13, 2, 40), (11, 3, 6)])
def test_all_boxes_are_looked_at(m, d, n_links, batch, monkeypatch):
    """In batches of all sizes: what is right is proven, and what is above that is not."""
    monkeypatch.setattr(places, "_BATCH", batch)
    rng = np.random.default_rng(m + n_links)
    sizes, means, profits, linked = random_blocks(rng, m, d, n_links)
    contracted = Contracted(int(sizes.sum()), sizes, means, np.zeros(m), 0.0)
    true = -float(min(Priced(contracted, linked, profits).values().values()))
    placed = PlacedBlocks.of(sizes, profits, means, linked, 0)
    assert true <= greatest_value(placed, true + 1e-10, 100_000) <= true + 2e-10
    assert greatest_value(placed, true - 1e-10, 100_000) == math.inf


def clouds(m, d, k, seed):
    """Points about k centres, with the prices at which each point is worth what its cluster has."""
    rng = np.random.default_rng(seed)
    labels = np.arange(m) % k
    means = rng.uniform(0.0, 10.0, (k, d))[labels] + rng.normal(size=(m, d))
    return means, rng.uniform(0.5, 4.0, m)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_many_points(d):
    """No place that is met is worth more than is proven, and one is worth nearly as much."""
    means, prices = clouds(1500, d, 15, seed=d)
    value = best_place(means, prices)
    contracted = Contracted(len(means), np.ones(len(means)), means, np.zeros(len(means)), 0.0)
    free = np.zeros((len(means), len(means)), bool)
    least = -value * (1.0 + 1e-6)
    proven = proven_least(contracted, free, prices, least, max_nodes=100_000)
    assert least * (1.0 + 1e-12) <= proven <= least


def best_place(means, prices, size=None, weights=None):
    """Climb from every point, as the mean of what is worth its price is a better place.

    size : at most so many of the best points
    weights : of the points, 1 without any
    """
    best, weights = 0.0, np.ones(len(means)) if weights is None else weights
    for place in means:
        value = 0.0
        for _ in range(200):
            values = weights * np.maximum(prices - ((means - place) ** 2).sum(axis=1), 0.0)
            inside = np.argsort(-values)[:size]
            inside = inside[values[inside] > 0.0]
            if values[inside].sum() <= value:
                break
            value = values[inside].sum()
            place = np.average(means[inside], axis=0, weights=weights[inside])
        best = max(best, value)
    return best


def test_limits_are_part_of_the_bounds():
    """Of 500 points in clouds of 50, the 20 that are near a place are worth the most."""
    means, _ = clouds(500, 2, 10, seed=7)
    prices = np.full(500, 3.0)
    size = Limit(np.ones(500, np.int64), NO_PAIRS, 20)
    value = best_place(means, prices, 20)
    contracted = Contracted(500, np.ones(500), means, np.zeros(500), 0.0)
    free = np.zeros((500, 500), bool)
    least = -value * (1.0 + 1e-6)
    proven = proven_least(contracted, free, prices, least, 50_000, (size,))
    assert least * (1.0 + 1e-12) <= proven <= least


@pytest.mark.parametrize("most", [3, 5, 7])
def test_points_on_a_grid_with_a_limit(most):
    """Several are equally far from a mean, and a limit leaves some of them out: no box is so small
    that it tells which."""
    means = np.array([(i, j) for i in range(6) for j in range(6)], np.float64)
    prices = np.round(np.random.default_rng(0).uniform(2.0, 6.0, 36), 1)
    total, free, size = (
        prices.sum(),
        np.zeros((36, 36), bool),
        Limit(np.ones(36, np.int64), NO_PAIRS, int(most)),
    )
    of_grid = means / math.sqrt(total)
    placed = PlacedBlocks.of(np.ones(36), prices / total, of_grid, free, 0, (size,))
    value = best_place(means, prices, most) / total
    target = value * (1.0 + 1e-9)
    assert value * (1.0 - MARGIN) <= greatest_value(placed, target, 2_000) <= target + MARGIN


def test_what_is_not_for_places():
    """Many dimensions, one place, coordinates whose squares overflow."""
    ones, free = np.ones(3) / 3.0, np.zeros((3, 3), bool)
    for means in (np.eye(3, 4), np.zeros((3, 0)), np.ones((3, 2)), np.eye(3) * 1e200):
        placed = PlacedBlocks.of(np.ones(3), ones, means, free, 0)
        assert greatest_value(placed, 0.5, 1000) is None


def test_the_search_gives_up():
    means, prices = clouds(300, 2, 10, seed=1)
    total = prices.sum()
    free = np.zeros((300, 300), bool)
    placed = PlacedBlocks.of(np.ones(300), prices / total, means / math.sqrt(total), free, 0)
    target = best_place(means, prices) / total * (1.0 + 1e-6)
    assert greatest_value(placed, target, 100) is None
    assert greatest_value(placed, target, 10_000) <= target * (1.0 + MARGIN)


def test_what_is_no_number_rules_nothing_out(monkeypatch):
    computed = places.bound_boxes

    def none(placed, boxes):
        bounds = computed(placed, boxes)
        return bounds._replace(value=np.full_like(bounds.value, np.nan))

    sizes, means, profits, linked = random_blocks(np.random.default_rng(2), 5, 2, 0)
    placed = PlacedBlocks.of(sizes, profits, means, linked, 0)
    assert greatest_value(placed, 1.0, 10_000) <= 1.0
    monkeypatch.setattr(places, "bound_boxes", none)
    assert greatest_value(placed, 1.0, 10_000) is None


@examples(100)
@given(st.integers(0, 10**6))
def test_a_bound_of_a_box_is_above_its_places(seed):
    """Exactly, wherever the box is: what is left out of a box is worth nothing there."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    sizes, means, profits, linked = random_blocks(rng, 8, d, int(rng.integers(0, 12)))
    placed = PlacedBlocks.of(sizes, profits, means, linked, 0)
    low = rng.normal(size=(1, d)) * 0.3
    high = low + rng.choice([0.0, 1e-9, 0.1, 1.0]) * rng.random((1, d))
    marks = np.zeros((1, 8), bool)
    boxes = place_bounds.within_reach(placed, place_bounds.Boxes(low, high, marks, ~marks))
    bounds = place_bounds.bound_boxes(placed, boxes)
    bound = Fraction(float(bounds.value[0] + bounds.rounding[0]))
    for share in (0.0, 0.3, 1.0):
        place = np.clip(low[0] + share * (high - low)[0], low[0], high[0])
        assert greatest_at(placed, place) <= bound


def greatest_at(placed, place):
    """The greatest sum of what blocks that are not linked are worth at a place, exactly."""
    values = []
    for e, a, mean in zip(placed.weights, placed.profits, placed.means, strict=True):
        squares = sum((Fraction(x) - Fraction(y)) ** 2 for x, y in zip(mean, place, strict=True))
        values.append(Fraction(a) - Fraction(e) * squares)
    best = Fraction(0)
    for number in range(1 << len(values)):
        inside = [i for i in range(len(values)) if number >> i & 1]
        if placed.linked is None or not placed.linked[np.ix_(inside, inside)].any():
            best = max(best, sum((values[i] for i in inside), Fraction(0)))
    return best
