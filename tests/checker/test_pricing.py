"""No cluster that is worth less is overlooked, and what is right is proven."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdpbb.checker.kernel.geometry import Contracted
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.pricing import bounds as pricing_bounds
from sdpbb.checker.pricing import places, proven_least
from sdpbb.checker.pricing import search as pricing_search
from sdpbb.checker.pricing.place_bounds import PlacedBlocks
from sdpbb.checker.pricing.problem import CheckedPricing
from tests.checker.clusters import (
    SEARCHES,
    contracted_blocks,
    exact_values,
    least_value,
    searching,
)
from tests.examples import examples

MARGIN = 1e-12


@st.composite
def problems(draw):
    """Blocks, cannot-links and prices, often with sets of the same value."""
    contracted, adjacency = draw(contracted_blocks())
    m = contracted.m
    spread = float(np.ptp(contracted.means, axis=0).max(initial=0.0)) or 1.0
    kind = draw(st.sampled_from(["any", "equal", "leaving"]))
    if kind == "any":
        steps = draw(st.lists(st.integers(-4, 30), min_size=m, max_size=m))
        factor = draw(st.sampled_from([0.01, 0.1, 1.0, 10.0])) * spread**2
        return contracted, adjacency, factor * np.array(steps, np.float64)
    if kind == "equal":
        factor = draw(st.floats(0.01, 3.0)) * spread**2
        return contracted, adjacency, factor * contracted.weights + contracted.scatter
    # Blocks of a set that are each worth what it gains by them, to rounding.
    among = draw(st.lists(st.booleans(), min_size=m, max_size=m).filter(any))
    e, c = contracted.weights, contracted.means
    size = e[among].sum()
    mean = e[among] @ c[among] / size
    squares = ((c - mean) ** 2).sum(axis=1)
    factors = np.where(among, size / np.maximum(size - e, 1.0), size / (size + e))
    return contracted, adjacency, e * factors * squares + contracted.scatter


def scale_of(contracted, prices):
    return float(np.abs(prices).sum() + contracted.scatter.sum())


@pytest.mark.long
@pytest.mark.parametrize("by", SEARCHES)
@examples(250)
@given(
    problem=problems(),
    off=st.sampled_from([-1.0, -1e-3, -1e-11, 0.0, 1e-14, 1e-12, 1e-9, 1e-3, 1.0]),
)
def test_nothing_above_the_least_value_is_proven(by, problem, off):
    contracted, adjacency, prices = problem
    true = least_value(contracted, adjacency, prices)
    least = float(true) + off * scale_of(contracted, prices)
    try:
        with searching(by):
            proven = proven_least(contracted, adjacency, prices, least)
    except Rejected:
        assert off > -MARGIN  # what is right is proven
        return
    assert proven <= least
    assert Fraction(proven) <= true


@pytest.mark.long
@pytest.mark.parametrize("by", SEARCHES)
@examples(250)
@given(problem=problems())
def test_the_least_value_is_proven(by, problem):
    contracted, adjacency, prices = problem
    true = least_value(contracted, adjacency, prices)
    least = float(true)
    while Fraction(least) > true:
        least = math.nextafter(least, -math.inf)
    with searching(by):
        proven = proven_least(contracted, adjacency, prices, least)
    assert least - MARGIN * scale_of(contracted, prices) <= proven <= least
    higher = least + 4.0 * MARGIN * scale_of(contracted, prices)
    assume(higher > least)
    with searching(by), pytest.raises(Rejected, match="is worth less than"):
        proven_least(contracted, adjacency, prices, higher)


def random_problem(rng, m, d, n_links):
    sizes = rng.integers(1, 4, m).astype(np.float64)
    means = rng.normal(size=(m, d))
    scatter = np.where(sizes > 1, rng.exponential(0.1, m), 0.0)
    adjacency = np.zeros((m, m), bool)
    for i, j in rng.permutation(list(combinations(range(m), 2)))[:n_links]:
        adjacency[i, j] = adjacency[j, i] = True
    prices = scatter + sizes * rng.gamma(3.0, 0.3 * d, m)
    return Contracted(int(sizes.sum()), sizes, means, scatter, 0.0), adjacency, prices


@pytest.mark.parametrize(
    ("m", "d", "n_links"), [(12, 1, 0), (12, 2, 8), (13, 2, 40), (12, 6, 6), (10, 1, 10)]
)
@pytest.mark.parametrize("seed", [0, 1, 2, 6])
@pytest.mark.parametrize("sizes", [(64, 512), (3, 2)])
def test_all_sets_are_looked_at(m, d, n_links, seed, sizes, monkeypatch):
    """Of more blocks, in groups and batches of all sizes; values with a gap to the least."""
    monkeypatch.setattr(places, "MOST_DIMENSIONS", 0)
    monkeypatch.setattr(pricing_search, "_GROUP", sizes[0])
    monkeypatch.setattr(pricing_search, "_BATCH", sizes[1])
    contracted, adjacency, prices = random_problem(np.random.default_rng(seed), m, d, n_links)
    values = exact_values(contracted, adjacency, prices)
    true = float(min(values.values()))
    proven = proven_least(contracted, adjacency, prices, true)
    assert true - MARGIN * prices.sum() <= proven <= true
    with pytest.raises(Rejected, match="is worth less than"):
        proven_least(contracted, adjacency, prices, true + 1e-10)


def test_three_points_of_a_line():
    """The two near ones gain 2 for 1/2; cannot-linked, the far one alone is worth the most."""
    contracted = Contracted(3, np.ones(3), np.array([[0.0], [1.0], [9.0]]), np.zeros(3), 0.0)
    free = np.zeros((3, 3), bool)
    prices = np.array([1.0, 1.0, 1.2])
    assert proven_least(contracted, free, prices, -1.5) == pytest.approx(-1.5, abs=1e-12)
    with pytest.raises(Rejected, match=r"a cluster is worth less than -1\.4"):
        proven_least(contracted, free, prices, -1.4)
    linked = free.copy()
    linked[0, 1] = linked[1, 0] = True
    assert proven_least(contracted, linked, prices, -1.2) == pytest.approx(-1.2, abs=1e-12)


def test_near_one_block_but_not_near_each_other():
    """The first is near the second and that near the third: distances of all are needed."""
    means = np.array([[0.418098847, -0.567769606], [-0.452649292, -0.215597163], [-2.0, -0.231932]])
    contracted = Contracted(3, np.ones(3), means, np.zeros(3), 0.0)
    free = np.zeros((3, 3), bool)
    prices = np.array([0.164909515, 1.31927612, 2.14382369])
    true = float(least_value(contracted, free, prices))
    assert proven_least(contracted, free, prices, true) == pytest.approx(true, rel=1e-12)
    for off in (1e-9, 1e-6, 1e-4, 1e-2, 0.1):
        with pytest.raises(Rejected, match="a cluster is worth less"):
            proven_least(contracted, free, prices, true + off)


def test_positive_least_values_are_those_of_single_blocks():
    contracted = Contracted(2, np.ones(2), np.array([[0.0], [1.0]]), np.zeros(2), 0.0)
    free = np.zeros((2, 2), bool)
    assert proven_least(contracted, free, np.array([-3.0, -2.0]), 2.0) == math.nextafter(2.0, 0.0)
    with pytest.raises(Rejected, match=r"a block by itself is worth less than 2\.5"):
        proven_least(contracted, free, np.array([-3.0, -2.0]), 2.5)


def test_the_search_gives_up():
    contracted, adjacency, prices = random_problem(np.random.default_rng(0), 40, 6, 0)
    with pytest.raises(Rejected, match="could not prove the prices within 50 nodes"):
        proven_least(contracted, adjacency, prices, -0.2 * prices.sum(), max_nodes=50)


@pytest.mark.parametrize("exponent", [-500, -20, 300])
def test_units_do_not_matter(exponent):
    contracted, adjacency, prices = random_problem(np.random.default_rng(1), 9, 2, 4)
    true = float(least_value(contracted, adjacency, prices))
    scaled = Contracted(
        contracted.n,
        contracted.weights,
        np.ldexp(contracted.means, exponent),
        np.ldexp(contracted.scatter, 2 * exponent),
        0.0,
    )
    unit = (scaled, adjacency, np.ldexp(prices, 2 * exponent))
    proven = proven_least(contracted, adjacency, prices, true)
    assert proven_least(*unit, math.ldexp(true, 2 * exponent)) == math.ldexp(proven, 2 * exponent)
    with pytest.raises(Rejected):
        proven_least(*unit, math.ldexp(true + 1e-10, 2 * exponent))


def test_prices_of_very_different_sizes():
    """Nothing of a price far below the others is rounded to a proof that is none."""
    means = np.array([[0.0], [1e-160], [2.0], [2.0], [1e100]])
    contracted = Contracted(5, np.ones(5), means, np.zeros(5), 0.0)
    free = np.zeros((5, 5), bool)
    prices = np.array([1e-300, 1e-310, 1.0, 1.0, 1e-5])
    true = least_value(contracted, free, prices)
    proven = proven_least(contracted, free, prices, float(true))
    assert Fraction(proven) <= true
    assert proven == pytest.approx(-2.0, abs=1e-12)


def test_what_is_no_number_rules_nothing_out(monkeypatch):
    """No bound comes to that; if one did, nothing would be proven by it."""
    computed = pricing_bounds._bounds

    def none(scope, nodes):
        bounds = computed(scope, nodes)
        return bounds._replace(value=np.full_like(bounds.value, np.nan))

    points = np.arange(4.0)[:, None]
    contracted = Contracted(4, np.ones(4), points, np.zeros(4), 0.0)
    arguments = (contracted, np.zeros((4, 4), bool), np.ones(4), -3.0)
    monkeypatch.setattr(places, "MOST_DIMENSIONS", 0)
    assert proven_least(*arguments) == pytest.approx(-3.0)
    monkeypatch.setattr(pricing_bounds, "_bounds", none)
    with pytest.raises(Rejected):
        proven_least(*arguments)


def test_rounded_profits_are_not_less_than_the_differences(monkeypatch):
    """0.1 - 2^-60 is rounded down to below it for some scatter: what is searched for is above."""
    rng = np.random.default_rng(0)
    seen = []
    of, of_places = CheckedPricing.of.__func__, PlacedBlocks.of.__func__

    def recording(cls, sizes, means, profits, linked, exponent, slack=0.0, rules=()):
        seen.append((profits, exponent))
        return of(cls, sizes, means, profits, linked, exponent, slack, rules)

    def recording_places(cls, sizes, profits, means, linked, exponent, rules=()):
        seen.append((profits, exponent))
        return of_places(cls, sizes, profits, means, linked, exponent, rules)

    monkeypatch.setattr(CheckedPricing, "of", classmethod(recording))
    monkeypatch.setattr(PlacedBlocks, "of", classmethod(recording_places))
    prices, scatter = rng.random(50), rng.random(50) * 1e-3
    contracted = Contracted(100, np.full(50, 2.0), np.arange(50.0)[:, None] * 9, scatter, 0.0)
    for by in SEARCHES:
        with searching(by):
            proven_least(contracted, np.zeros((50, 50), bool), prices, -1.0)
    differences = [
        Fraction(p) - Fraction(w) for p, w in zip(prices.tolist(), scatter.tolist(), strict=True)
    ]
    kept = [difference for difference in differences if difference > 0]
    assert len(seen) >= len(SEARCHES)
    for profits, exponent in seen:
        unit = Fraction(4) ** exponent
        assert len(profits) == len(kept)
        assert all(Fraction(a) >= b * unit for a, b in zip(profits.tolist(), kept, strict=True))
        assert 0.5 <= profits.sum() <= 2.0 + 1e-12
