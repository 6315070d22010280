"""No cluster that is allowed and worth less is overlooked, and what is right is proven."""

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
from sdpbb.checker.kernel.rules import Limit
from sdpbb.checker.partitions import cluster_costs
from sdpbb.checker.pricing import bounds as pricing_bounds
from sdpbb.checker.pricing import clusters_below, places, proven_least
from sdpbb.checker.pricing import search as pricing_search
from sdpbb.checker.pricing.place_bounds import PlacedBlocks
from sdpbb.checker.pricing.problem import CheckedPricing
from tests.checker.priced import (
    SEARCHES,
    Priced,
    contracted_blocks,
    problems,
    random_problem,
    random_rules,
    searching,
)
from tests.examples import examples

MARGIN = 1e-12
NO_PAIRS = np.empty((0, 2), np.int64)


def least_proven(problem: Priced, least: float, max_nodes: int = 1_000_000) -> float:
    contracted, adjacency, prices, rules = problem
    return proven_least(contracted, adjacency, prices, least, max_nodes, rules)


@pytest.mark.long
@pytest.mark.parametrize("by", SEARCHES)
@examples(350)
@given(
    problem=problems(),
    off=st.sampled_from([-1.0, -1e-3, -1e-11, 0.0, 1e-14, 1e-12, 1e-9, 1e-3, 1.0]),
)
def test_nothing_above_the_least_value_is_proven(by, problem, off):
    values = problem.values()
    assume(values)
    true = min(values.values())
    least = float(true) + off * problem.scale
    while off == 0.0 and Fraction(least) > true:
        least = math.nextafter(least, -math.inf)
    try:
        with searching(by):
            proven = least_proven(problem, least)
    except Rejected:
        # What is right is proven; above 0 it is a matter of all blocks, allowed or not.
        assert off > 0.0 or least > 0.0
        return
    assert proven <= least
    assert Fraction(proven) <= true
    assert off > 0.0 or proven >= least - MARGIN * problem.scale


@pytest.mark.parametrize(
    ("m", "d", "n_links"), [(12, 1, 0), (12, 2, 8), (13, 2, 40), (12, 6, 6), (10, 1, 10)]
)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sizes", [(64, 512), (3, 2)])
def test_all_sets_are_looked_at(m, d, n_links, seed, sizes, monkeypatch):
    """Of more blocks, in groups and batches of all sizes; values with a gap to the least."""
    monkeypatch.setattr(places, "MOST_DIMENSIONS", 0)
    monkeypatch.setattr(pricing_search, "_GROUP", sizes[0])
    monkeypatch.setattr(pricing_search, "_BATCH", sizes[1])
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, m, d, n_links, random_rules(rng, m) if seed % 2 else ())
    values = problem.values()
    if min(values.values(), default=0) >= 0:
        return
    true = float(min(values.values()))
    assert true - MARGIN * problem.scale <= least_proven(problem, true) <= true
    with pytest.raises(Rejected, match="is worth less than"):
        least_proven(problem, true + 1e-10)


def numbers(members: np.ndarray) -> list[int]:
    """The binary number of each cluster."""
    return [sum(1 << int(i) for i in np.flatnonzero(row)) for row in members]


@pytest.mark.long
@examples(150)
@given(
    problems(ruled=False),
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 1e-13, 0.01, 1.0]),
)
def test_no_cluster_below_a_value_is_missed(problem, share, more):
    contracted, adjacency, prices, _ = problem
    values, scale = problem.values(), problem.scale
    lower = min(0.0, float(min(values.values())) - 1e-12 * scale)
    least = least_proven(problem, lower)
    value = float(sorted(values.values())[int(share * (len(values) - 1))]) + more * scale
    found = numbers(clusters_below(contracted, adjacency, prices, least, value, 10**5, 10**4))
    assert len(set(found)) == len(found)
    assert {number for number, exact in values.items() if exact < Fraction(value)} <= set(found)
    # Prices may all be 0, where the values themselves are what is rounded.
    most = scale + float(max(map(abs, values.values())))
    assert all(values[number] < value + 1e-10 * most for number in found)


def test_a_search_for_clusters_ends():
    problem = random_problem(np.random.default_rng(0), 12, 2, 0)
    contracted, adjacency, prices, _ = problem
    least = least_proven(problem, -float(prices.sum()))
    free = (contracted, adjacency, prices, least, 0.0)
    with pytest.raises(Rejected, match="more than 10 clusters"):
        clusters_below(*free, 10**6, 10)
    with pytest.raises(Rejected, match="within 20 nodes"):
        clusters_below(*free, 20, 10**6)
    assert len(clusters_below(contracted, adjacency, prices, least, least, 1, 1)) == 0
    assert len(clusters_below(contracted, adjacency, -prices, 0.0, 1e-9, 1, 1)) == 0
    wide = random_problem(np.random.default_rng(0), 40, 6, 0)
    with pytest.raises(Rejected, match="could not prove the prices within 50 nodes"):
        least_proven(wide, -0.2 * wide.prices.sum(), max_nodes=50)


@examples(150)
@given(contracted_blocks())
def test_costs_of_clusters_are_rounded_down_and_hardly(blocks):
    contracted, adjacency = blocks
    exact = Priced(contracted, adjacency, np.zeros(contracted.m)).values()
    members = np.array([[number >> i & 1 for i in range(contracted.m)] for number in exact], bool)
    for cost, true in zip(cluster_costs(contracted, members), exact.values(), strict=True):
        assert float(true) * (1.0 - 1e-12) <= cost
        assert Fraction(float(cost)) <= true


@pytest.mark.parametrize("by", SEARCHES)
def test_a_size_is_told_by_far_fewer_nodes_than_all_sets_are(by):
    """Of forty points the five nearest ones to some place are worth the most: limits are part of
    the bounds."""
    points = np.random.default_rng(3).normal(size=(40, 2))
    contracted = Contracted(40, np.ones(40), points, np.zeros(40), 0.0)
    size = Limit(np.ones(40, np.int64), NO_PAIRS, 5)
    problem = Priced(contracted, np.zeros((40, 40), bool), np.full(40, 3.0), (size,))
    true = min(
        sum(((points[list(x)] - points[list(x)].mean(axis=0)) ** 2).ravel()) - 3.0 * 5
        for x in near_sets(points, 5)
    )
    with searching(by):
        assert least_proven(problem, true - 1e-9, 20_000) <= true - 1e-9
        with pytest.raises(Rejected, match="is worth less"):
            least_proven(problem, true + 1e-6, 20_000)


def near_sets(points, count):
    """For each point, sets among the nine nearest to it: the best one is among them."""
    for i in range(len(points)):
        near = np.argsort(((points - points[i]) ** 2).sum(axis=1))[:9]
        yield from combinations(near.tolist(), count)


def of_points(*means, prices) -> Priced:
    m = len(means)
    contracted = Contracted(m, np.ones(m), np.array(means), np.zeros(m), 0.0)
    return Priced(contracted, np.zeros((m, m), bool), np.array(prices))


def test_three_points_of_a_line():
    """The two near ones gain 2 for 1/2; cannot-linked, the far one alone is worth the most."""
    problem = of_points([0.0], [1.0], [9.0], prices=[1.0, 1.0, 1.2])
    assert least_proven(problem, -1.5) == pytest.approx(-1.5, abs=1e-12)
    with pytest.raises(Rejected, match=r"a cluster is worth less than -1\.4"):
        least_proven(problem, -1.4)
    problem.adjacency[0, 1] = problem.adjacency[1, 0] = True
    assert least_proven(problem, -1.2) == pytest.approx(-1.2, abs=1e-12)


def test_near_one_block_but_not_near_each_other():
    """The first is near the second and that near the third: distances of all are needed."""
    means = [0.418098847, -0.567769606], [-0.452649292, -0.215597163], [-2.0, -0.231932]
    problem = of_points(*means, prices=[0.164909515, 1.31927612, 2.14382369])
    true = float(min(problem.values().values()))
    assert least_proven(problem, true) == pytest.approx(true, rel=1e-12)
    for off in (1e-9, 1e-6, 1e-4, 1e-2, 0.1):
        with pytest.raises(Rejected, match="a cluster is worth less"):
            least_proven(problem, true + off)


def test_positive_least_values_are_those_of_single_blocks():
    problem = of_points([0.0], [1.0], prices=[-3.0, -2.0])
    assert least_proven(problem, 2.0) == math.nextafter(2.0, 0.0)
    with pytest.raises(Rejected, match=r"a block by itself is worth less than 2\.5"):
        least_proven(problem, 2.5)


@pytest.mark.parametrize("exponent", [-500, -20, 300])
def test_units_do_not_matter(exponent):
    problem = random_problem(np.random.default_rng(1), 9, 2, 4)
    contracted, adjacency, prices, _ = problem
    true = float(min(problem.values().values()))
    means = np.ldexp(contracted.means, exponent)
    scatter = np.ldexp(contracted.scatter, 2 * exponent)
    scaled = Contracted(contracted.n, contracted.weights, means, scatter, 0.0)
    other = Priced(scaled, adjacency, np.ldexp(prices, 2 * exponent))
    proven = math.ldexp(least_proven(problem, true), 2 * exponent)
    assert least_proven(other, math.ldexp(true, 2 * exponent)) == proven
    with pytest.raises(Rejected):
        least_proven(other, math.ldexp(true + 1e-10, 2 * exponent))


def test_prices_of_very_different_sizes():
    """Nothing of a price far below the others is rounded to a proof that is none."""
    means = [0.0], [1e-160], [2.0], [2.0], [1e100]
    problem = of_points(*means, prices=[1e-300, 1e-310, 1.0, 1.0, 1e-5])
    true = min(problem.values().values())
    proven = least_proven(problem, float(true))
    assert Fraction(proven) <= true
    assert proven == pytest.approx(-2.0, abs=1e-12)


def test_what_is_no_number_rules_nothing_out(monkeypatch):
    """No bound comes to that; if one did, nothing would be proven by it."""
    computed = pricing_bounds._bounds

    def none(scope, nodes):
        bounds = computed(scope, nodes)
        return bounds._replace(value=np.full_like(bounds.value, np.nan))

    problem = of_points([0.0], [1.0], [2.0], [3.0], prices=np.ones(4))
    monkeypatch.setattr(places, "MOST_DIMENSIONS", 0)
    assert least_proven(problem, -3.0) == pytest.approx(-3.0)
    monkeypatch.setattr(pricing_bounds, "_bounds", none)
    with pytest.raises(Rejected):
        least_proven(problem, -3.0)


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
