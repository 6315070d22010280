"""Searches of prices overlook no allowed cluster of a smaller value, and prove true values."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.evidence import Effort, Steps
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import Limit, Measure
from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.checker.partitions import Enumerated, cluster_costs
from sdpbb.checker.pricing import Lagrangian, clusters_below, places
from sdpbb.checker.pricing import sets as pricing_sets
from sdpbb.checker.pricing.limits import measures_of_whole
from sdpbb.checker.pricing.places import greatest_value
from sdpbb.checker.pricing.problem import (
    CheckedPricing,
)
from sdpbb.problem.feasibility import ClusterPacking
from sdpbb.problem.quantities import Quantity
from tests.checker.nodes import CheckedNode, nodes
from tests.checker.priced import SEARCHES, Priced, all_sets, of_points, random_problem, searching
from tests.examples import examples

MARGIN = 1e-12
PRICED = ("equal points", "units", "pairs", "constraints", "weights", "sizes", "weight limits")
seeds = st.integers(0, 10**6)


def drawn_prices(rng: np.random.Generator, node: CheckedNode) -> np.ndarray:
    """Any; the same for each unit of weight; or such that blocks of a set are hardly worth it."""
    of, spread = node.contracted, float(np.ptp(node.contracted.means, axis=0).max()) or 1.0
    kind = rng.integers(3)
    if kind == 0:
        return rng.choice([0.01, 0.1, 1.0, 10.0]) * spread**2 * rng.integers(-4, 30, of.m)
    if kind == 1:
        return rng.uniform(0.01, 3.0) * spread**2 * of.weights + of.scatter
    among = rng.random(of.m) < 0.5
    among[rng.integers(of.m)] = True
    e, size = of.weights, of.weights[among].sum()
    squares = np.square(of.means - e[among] @ of.means[among] / size).sum(axis=1)
    left = np.where(size > e, size - e, size)
    return e * np.where(among, size / left, size / (size + e)) * squares + of.scatter


@pytest.mark.long
@pytest.mark.parametrize("by", SEARCHES)
@examples(300)
@given(
    node=nodes(*PRICED, feasible=False, n=(2, 8)),
    seed=seeds,
    off=st.sampled_from([-1.0, -1e-3, -1e-11, 0.0, 1e-14, 1e-12, 1e-9, 1e-3, 1.0]),
    in_batches=st.booleans(),
)
def test_nothing_above_the_least_value_is_proven(by, node, seed, off, in_batches):
    problem = Priced.of(node, drawn_prices(np.random.default_rng(seed), node))
    values = problem.values()
    assume(values)
    # Of whole clusters, the values themselves are what is rounded.
    true, scale = min(values), problem.scale + float(max(map(abs, values)))
    assume(problem.has_profits)
    least = float(true) + off * scale
    while off == 0.0 and Fraction(least) > true:
        least = math.nextafter(least, -math.inf)
    try:
        with searching(by, in_batches):
            proven = problem.proven(least)
    except Rejected:
        # What is right is proven; above 0 it is a matter of all blocks, allowed or not.
        assert off > 0.0 or least > 0.0
        return
    assert proven <= least
    assert Fraction(proven) <= true
    stated = least if measures_of_whole(problem.rules) else min(least, 0.0)
    assert off > 0.0 or proven >= stated - MARGIN * (scale + abs(least))


@pytest.mark.long
@examples(150)
@given(
    nodes(*PRICED, feasible=False, n=(2, 8)),
    seeds,
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 1e-13, 0.01, 1.0]),
)
def test_no_cluster_below_a_value_is_missed(node, seed, share, more):
    problem = Priced.of(node, drawn_prices(np.random.default_rng(seed), node))
    values = problem.values()
    assume(values)
    scale = problem.scale + float(max(map(abs, values)))
    assume(problem.has_profits)
    given = problem.contracted, problem.blocks, problem.prices
    least = problem.proven(min(0.0, float(min(values)) - 1e-11 * scale))
    value = float(sorted(values)[int(share * (len(values) - 1))]) + more * scale
    found = clusters_below(*given, least, value, Steps(10**5), 10**4)
    known = {tuple(row): value for row, value in zip(problem.sets.tolist(), values, strict=True)}
    below = {row for row, exact in known.items() if exact < Fraction(value)}
    assert len(set(map(tuple, found.tolist()))) == len(found)
    assert below <= set(map(tuple, found.tolist())) <= set(known)
    assert all(known[tuple(row)] < value + 1e-10 * scale for row in found.tolist())


@examples(100)
@given(nodes(*PRICED, n=(2, 7)))
def test_costs_of_clusters_are_rounded_down_and_hardly(node):
    problem = Priced.of(node, np.zeros(node.contracted.m))
    costs = cluster_costs(node.contracted, problem.sets, node.blocks.adjacency)
    for cost, true in zip(costs.tolist(), problem.values(), strict=True):
        assert float(true) * (1.0 - 1e-12) - 1e-280 <= cost
        assert Fraction(cost) <= true


@examples(60)
@given(nodes("pairs", "weights", always=["soft pairs"], n=(3, 6)))
def test_costs_of_clusters_add_up_to_those_of_clusterings(node):
    """Whatever soft pairs a clustering violates: each cluster pays its share."""
    blocks, always = node.blocks, node.contracted.with_soft(0.0, node.blocks.adjacency)
    for labels, true in zip(node.labels_below(np.inf), node.truth.exact_costs, strict=True):
        members = labels == np.unique(labels)[:, None]
        costs = cluster_costs(node.contracted, members, blocks.adjacency)
        assert always + costs.sum() == pytest.approx(float(true), rel=1e-9)


def test_searches_end():
    problem = random_problem(np.random.default_rng(0), 12, 2, 0)
    given, prices = (problem.contracted, problem.blocks), problem.prices
    least = problem.proven(-float(prices.sum()))
    with pytest.raises(Rejected, match="more than 10 clusters"):
        clusters_below(*given, prices, least, 0.0, Steps(10**6), 10)
    with pytest.raises(Rejected, match="within 20 nodes"):
        clusters_below(*given, prices, least, 0.0, Steps(20), 10**6)
    assert len(clusters_below(*given, prices, least, least, Steps(1), 1)) == 0
    assert len(clusters_below(*given, -prices, 0.0, 1e-9, Steps(1), 1)) == 0
    wide = random_problem(np.random.default_rng(0), 40, 6, 0)
    with pytest.raises(Rejected, match="could not prove the prices within 50 nodes"):
        wide.proven(-0.2 * wide.prices.sum(), max_nodes=50)
    none = np.empty((0, 3), np.int32), np.empty(0)
    clusters = Enumerated(float(prices.sum()), prices, least, np.zeros(12), *none)
    with pytest.raises(Rejected, match="within the nodes of a search"):
        clusters.require_no_partition(*given, all_sets(problem.adjacency), Effort(1 / 40_000))


def test_parts_of_clusters_are_not_proven_to_be_worth_more_than_nothing():
    assert of_points([[0.0], [1.0]], [-3.0, -2.0]).proven(2.0) == 0.0


def test_prices_of_very_different_sizes():
    """Nothing of a price far below the others is rounded to a proof that is none."""
    found = of_points([[0.0], [1e-160], [2.0], [2.0], [1e100]], [1e-300, 1e-310, 1.0, 1.0, 1e-5])
    true = min(replace(found, sets=all_sets(found.adjacency)).values())
    assert Fraction(found.proven(float(true))) <= true
    assert found.proven(float(true)) == pytest.approx(-2.0, abs=1e-12)


@pytest.mark.parametrize(
    ("by", "module", "name"),
    [("clusters", pricing_sets, "_bounds"), ("places", places, "bound_boxes")],
)
def test_what_is_no_number_rules_nothing_out(monkeypatch, by, module, name):
    """No bound comes to that; if one did, nothing would be proven by it."""
    computed = getattr(module, name)

    def none(*given):
        bounds = computed(*given)
        return bounds._replace(value=np.full_like(bounds.value, np.nan))

    problem = of_points([[0.0], [1.0], [2.0], [3.0]], np.ones(4))
    with searching(by):
        assert problem.proven(-3.0) == pytest.approx(-3.0)
        monkeypatch.setattr(module, name, none)
        monkeypatch.setattr(pricing_sets, "_bounds", none if by == "clusters" else np.nan)
        with pytest.raises((Rejected, TypeError)):
            problem.proven(-3.0)


def test_rounded_profits_are_not_less_than_the_differences():
    """0.1 - 2^-60 is rounded down to below it for some scatter: what is searched for is above."""
    rng = np.random.default_rng(0)
    found = of_points(np.arange(50.0)[:, None] * 9, rng.random(50))
    contracted = replace(found.contracted, scatter=rng.random(50) * 1e-3)
    scaled = CheckedPricing.of(contracted, found.blocks, found.prices)
    kept = scaled.kept.tolist()
    for b, profit in zip(kept, scaled.profits.tolist(), strict=True):
        exact = Fraction(found.prices[b]) - Fraction(contracted.scatter[b])
        assert Fraction(profit) >= exact * Fraction(4) ** scaled.exponent
    assert len(kept) == (found.prices > contracted.scatter).sum() > 40
    assert 0.5 <= scaled.profits.sum() <= 2.0 + 1e-12


def clouds(m: int, d: int, k: int, seed: int) -> np.ndarray:
    """Points about k centres."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.0, 10.0, (k, d))[np.arange(m) % k] + rng.normal(size=(m, d))


def best_place(means: np.ndarray, prices: np.ndarray, least: int, most: int) -> float:
    """Climb from every point, as the mean of the `least` to `most` points that gain most there is
    a better place."""
    best = 0.0
    for place in means:
        value = -np.inf
        for _ in range(200):
            gains = prices - np.square(means - place).sum(axis=1)
            order = np.argsort(-gains)[:most]
            sums = np.cumsum(gains[order])
            count = max(least, 1) + int(sums[max(least, 1) - 1 :].argmax())
            if sums[count - 1] <= value:
                break
            value, place = sums[count - 1], means[order[:count]].mean(axis=0)
        best = max(best, value)
    return best


GRID = np.array([(i, j) for i in range(6) for j in range(6)], float)
LARGE = {
    **{f"points in {d}D": (clouds(1500, d, 15, seed=d), 0, 1500, 1e-6) for d in (1, 2, 3)},
    "at most 20": (clouds(500, 2, 10, seed=7), 0, 20, 1e-6),
    "30 or more": (clouds(500, 2, 10, seed=7), 30, 500, 1e-4),
    "45 to 60": (clouds(500, 2, 10, seed=7), 45, 60, 1e-4),
    "50": (clouds(500, 2, 10, seed=7), 50, 50, 1e-4),
    # Several are equally far from a mean, and a limit leaves some out: no small box tells which.
    **{f"{most} of a grid": (GRID, 0, most, 1e-9) for most in (3, 5, 7)},
}


@pytest.mark.parametrize("name", LARGE)
def test_limits_and_places_are_part_of_the_bounds(name):
    """What is found by climbing is proven in few boxes, and nothing above it."""
    means, least, most, margin = LARGE[name]
    n, rng = len(means), np.random.default_rng(0)
    prices = rng.uniform(1.5, 4.0, n) if least == 0 else np.full(n, 1.5)
    none, ones = np.empty((0, 2), np.int64), np.ones(n, np.int64)
    rules = (Limit(ones, none, most),) if most < n else ()
    if least:
        rules = (Measure.of(ones, SizeLimits(n, 10, least, most)),)
    problem, value = of_points(means, prices, rules), best_place(means, prices, least, most)
    proven = problem.proven(-value * (1.0 + margin), 50_000)
    assert -value * (1.0 + 1.01 * margin) <= proven <= -value
    if least:
        with pytest.raises(Rejected):
            problem.proven(-value * (1.0 - margin), 50_000)


@pytest.mark.parametrize("by", SEARCHES)
def test_a_size_is_told_by_far_fewer_nodes_than_all_sets_are(by):
    """The best five of forty points are the five nearest to some place."""
    points = np.random.default_rng(3).normal(size=(40, 2))
    size = Limit(np.ones(40, np.int64), np.empty((0, 2), np.int64), 5)
    problem = of_points(points, np.full(40, 3.0), (size,))
    near = [np.argsort(np.square(points - point).sum(axis=1))[:9] for point in points]
    sets = {tuple(sorted(x)) for each in near for x in combinations(each.tolist(), 5)}
    true = min(float(np.square(points[[*x]] - points[[*x]].mean(axis=0)).sum()) for x in sets) - 15
    with searching(by):
        assert problem.proven(true - 1e-9, 20_000) <= true - 1e-9
        with pytest.raises(Rejected, match="is worth less"):
            problem.proven(true + 1e-6, 20_000)


def problem_of(means: np.ndarray, profits: np.ndarray) -> CheckedPricing:
    found = of_points(means, profits)
    return CheckedPricing.of(found.contracted, found.blocks, found.prices)


def test_places_are_given_up():
    """Many dimensions, one place, coordinates whose squares overflow; and too many boxes."""
    for means in (np.eye(3, 4), np.zeros((3, 0)), np.ones((3, 2)), np.eye(3) * 1e200):
        assert greatest_value(problem_of(means, np.ones(3)), 0.5, Steps(1000)) is None
    means, prices = clouds(300, 2, 10, seed=1), np.full(300, 2.0)
    problem = problem_of(means, prices)
    target = problem.rescaled(best_place(means, prices, 0, 300) * (1.0 + 1e-6))
    assert greatest_value(problem, target, Steps(100)) is None
    assert greatest_value(problem, target, Steps(10_000)) <= target * (1.0 + MARGIN)


class Ended(Exception):
    pass


class Ending:
    """What a search calls between its steps; it ends the search at the last one."""

    def __init__(self, last: int) -> None:
        self.count, self._last = 0, last

    def __call__(self) -> None:
        self.count += 1
        if self.count == self._last:
            raise Ended


def evidence(kind: str, d: int = 6):
    found = random_problem(np.random.default_rng(0), 40, d, 5)
    prices, blocks = found.prices, Blocks(3, np.arange(40), found.adjacency)
    total, none = float(prices.sum()), (np.empty((0, 3), np.int32), np.empty(0))
    ask = {
        "prices": Lagrangian(prices, -0.4 * total / d**0.5).bound,
        "infeasibility": Lagrangian(prices, -0.2 * total).proves_infeasible,
        "clusters": Enumerated(0.5 * total, prices, -0.2 * total, prices, *none).bound,
    }[kind]
    return lambda steps: ask(found.contracted, blocks, Effort(0.01, steps))


def partitions(steps: Ending) -> None:
    found = random_problem(np.random.default_rng(3), 8, 2, 0).contracted
    contracted = replace(found, scatter=np.zeros(8))
    members = np.array([[i >> b & 1 for b in range(8)] for i in range(1, 256)], bool)
    below = 1e-3 * float(np.square(contracted.means).sum())
    blocks = Blocks(7, np.arange(8), np.zeros((8, 8), bool))
    none = np.empty((0, 3), np.int32), np.empty(0)
    clusters = Enumerated(below, np.zeros(8), 0.0, np.zeros(8), *none)
    clusters.require_no_partition(contracted, blocks, members, Effort(0.25, steps))


def packings(steps: Ending) -> None:
    units = np.random.default_rng(4).integers(10**9, 10**10, 30)
    total = int(units.sum())
    limits = SizeLimits(total, 3, total // 3 - 1000, total // 3 + 1000)
    ClusterPacking([Quantity(units, limits)], np.zeros((30, 30), bool), steps).labels()


ENDED = {
    "places": evidence("prices", 2),
    "partitions": partitions,
    "packings": packings,
    **{kind: evidence(kind) for kind in ("prices", "infeasibility", "clusters")},
}


@pytest.mark.parametrize("name", ENDED)
def test_a_search_ends_at_the_step_at_which_it_is_told_to(name):
    unlimited = Ending(0)
    with suppress(Rejected):
        ENDED[name](unlimited)
    assert unlimited.count >= 2
    for last in {1, 2, unlimited.count // 2, unlimited.count}:
        steps = Ending(last)
        with pytest.raises(Ended):
            ENDED[name](steps)
        assert steps.count == last
