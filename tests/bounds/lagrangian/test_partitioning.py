"""Cheapest partitions into listed clusters, and the bound from all clusters that are enumerated."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sdpbb.bounds.lagrangian.columns import Columns
from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.lagrangian.enumeration import Enumeration
from sdpbb.bounds.lagrangian.exact_cover import cheapest_exact_cover
from sdpbb.bounds.lagrangian.partitioning import certain_costs, cheapest_partition
from sdpbb.bounds.lagrangian.sets.pricer import BranchingPricer
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.nodes import PAIRS, all_columns, contracted, nodes
from tests.constants import GENEROUS, NODES_PER_SLICE, constants
from tests.enumeration import ExactSquares, are_in_ranges, cluster_costs
from tests.examples import examples

AT = "bounds.lagrangian.partitioning."
UNTRIED = {f"{AT}TRIAL_EFFORT": 0}
ROWS_ALONE = {**UNTRIED, f"{AT}EFFORT": 1}
NO_ROWS = {f"{AT}CUT_ROUNDS": 0}
# The search alone, rows and search, and rows alone: which parts come into play.
WAYS = st.sampled_from(
    [
        {},
        UNTRIED,
        {**UNTRIED, **NO_ROWS, f"{AT}BATCH": 1},
        {**ROWS_ALONE, f"{AT}EFFORT": 10**6},
    ]
)
SEEDS = st.integers(0, 10**6)


def covers(members: np.ndarray, k: int, ranges=()) -> list[list[int]]:
    """All choices of k sets that hold each block once, with sizes in the ranges in some order."""
    sizes = members.sum(axis=1)
    return [
        list(chosen)
        for chosen in combinations(range(len(members)), k)
        if (members[list(chosen)].sum(axis=0) == 1).all()
        and (not ranges or are_in_ranges(sizes[None, list(chosen)], ranges).all())
    ]


def small_clusters(points: np.ndarray, k: int, largest: int) -> tuple[Contraction, Columns]:
    """All clusters of few points."""
    n = len(points)
    sets = [X for size in range(1, largest + 1) for X in combinations(range(n), size)]
    members = np.array([[i in X for i in range(n)] for X in sets])
    contraction = contracted(points, k)
    return contraction, Columns.of(contraction, members)


def two_triangles() -> tuple[Contraction, Columns]:
    """Six points, four clusters of one or two of them are needed; three would do for halves of
    the pairs inside of two triangles."""
    angles = 2.0 * np.pi * np.arange(3) / 3.0
    triangle = np.column_stack([np.cos(angles), np.sin(angles)])
    return small_clusters(np.concatenate([triangle, triangle + np.array([40.0, 0.0])]), 3, 2)


@given(nodes(), WAYS)
@examples(60)
def test_all_clusters_without_a_cutoff_give_the_optimum(node, way):
    """Under any rules, with the sizes that are asked for."""
    contraction, best = node.contraction, node.optimum
    with constants(way):
        found = cheapest_partition(contraction, node.columns, np.inf)
    assert found.is_finished
    if found.labels is None:
        assert best == found.bound.value == np.inf
        return
    rounding = 1e-12 * (contraction.total + np.abs(contraction.soft.weights).sum())
    assert node.truth.has(contraction.lift(found.labels))
    assert contraction.cost(found.labels) == pytest.approx(best, rel=1e-9, abs=rounding)
    assert best * (1.0 - 1e-9) - rounding <= found.bound.value <= best * (1.0 + 1e-12)


@pytest.mark.long
@given(nodes(*PAIRS), WAYS, st.sampled_from([0.5, 0.99, 1.0, 1.01, 3.0]))
def test_some_of_the_clusters_and_a_cutoff(node, way, share):
    """Against all choices of k of the clusters, at any prices, in rational numbers."""
    c, rng = node.contraction, node.rng()
    columns = node.columns.select(rng.permutation(len(node.columns))[:18])
    exact = cluster_costs(node.instance, columns.members[:, c.block_of])
    possible = [sum(exact[t] for t in chosen) for chosen in covers(columns.members, c.k)]
    best = min(possible, default=math.inf)
    cutoff = share * float(best if possible else min(node.optimum, c.total))
    prices = rng.normal(size=c.n_blocks) * rng.choice([1e-3, 1.0, 1e6, 1e300])
    with constants(way):
        found = cheapest_partition(c, columns, cutoff, prices)
    assert found.is_finished
    assert found.bound.value <= min(best, cutoff)
    if best < cutoff * (1.0 - 1e-9):
        assert c.cost(found.labels) == pytest.approx(float(best), rel=1e-12, abs=1e-12 * c.total)
        assert found.bound.value >= float(best) - 1e-12 * c.total
    if best > cutoff + 1e-12 * c.total:
        assert found.labels is None
        assert found.bound.value == cutoff


def test_subset_rows_close_what_the_linear_programme_does_not():
    contraction, columns = two_triangles()
    best = cheapest_partition(contraction, columns, np.inf)
    cost = contraction.cost(best.labels)
    assert cost > 700.0  # a pair of two triangles
    with constants({**ROWS_ALONE, **NO_ROWS}):
        found = cheapest_partition(contraction, columns, np.inf)
    assert (found.is_finished, found.labels) == (False, None)
    # Three halves of pairs of points sqrt(3) apart in each triangle, each half costs 3 / 4.
    assert 4.5 * (1 - 1e-9) <= found.bound.value <= 4.5
    with constants(ROWS_ALONE):
        found = cheapest_partition(contraction, columns, cost * (1.0 - 1e-9))
    assert (found.is_finished, found.labels) == (True, None)
    assert found.bound.value == cost * (1.0 - 1e-9)


@given(
    SEEDS,
    st.sampled_from([0.0, 1.0, 1e3]),
    st.sampled_from([1e-3, 1.0]),
    st.sampled_from([1e-90, 1e-20, 1.0, 1e20, 1e90]),
)
def test_certain_costs_are_just_below_the_truth(seed, offset, spread, unit):
    """Far from the origin and in tight groups, with blocks of many points."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    points = rng.normal(size=(n, 2)) * spread + offset + 5.0 * rng.integers(0, 3, size=(n, 1))
    chain = [(i, i + 1) for i in range(int(rng.integers(0, n - 2)))]
    points *= unit
    contraction = contract(Instance(points, 2, must_link=chain))
    columns = Columns.of(contraction, rng.random((20, contraction.n_blocks)) < 0.5)
    certain, truth = certain_costs(contraction, columns), ExactSquares(points)
    squares = float((points**2).sum())
    for members, low in zip(columns.members, certain.tolist(), strict=True):
        exact = truth.of_cluster(np.flatnonzero(members[contraction.block_of]))
        assert Fraction(low) <= exact
        crossed = np.sqrt(float(exact)) * np.sqrt(squares)
        assert low >= float(exact) - 1e-13 * (n * float(exact) + crossed)


def random_sets(rng: np.random.Generator, t: int, m: int) -> np.ndarray:
    """(t, m) different non-empty sets, small ones more often than large ones."""
    members = rng.random((t, m)) < rng.choice([0.2, 0.4], size=(t, 1))
    members[np.arange(t), rng.integers(0, m, size=t)] = True
    return np.unique(members, axis=0)


def search(members, gains, costs, k, budget, target, shift=0, effort=10**9, ranges=()):
    sets, m = csr_array(members.astype(np.int8)), members.shape[1]
    start, block = sets.indptr.astype(np.int64), sets.indices.astype(np.int64)
    kind, n_of_kind = np.zeros(len(members), np.int64), np.array([k])
    columns, sizes = (start, block, gains, costs), members.sum(axis=1)
    wanted = kind, n_of_kind, sizes.astype(np.int64), np.array(ranges, np.int64).reshape(-1, 2)
    return cheapest_exact_cover(*columns, m, k, budget, target, shift, effort, *wanted)


@given(SEEDS, st.sampled_from([0, 3]))
def test_the_cheapest_cover_within_the_budget(seed, shift):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 8))
    k = int(rng.integers(1, min(m, 4) + 1))
    members = random_sets(rng, int(rng.integers(1, 25)), m)
    costs = rng.integers(0, 50, size=len(members))
    gains = rng.integers(0, 20, size=len(members))
    ranges = [(each, each + wide) for each, wide in rng.integers((1, 0), (4, 3), (k, 2)).tolist()]
    ranges = ranges if rng.random() < 0.5 else []
    # Every partition costs at least `low` and its gains, as reduced costs promise.
    possible = covers(members, k, ranges)
    low = min((int(costs[c].sum() - gains[c].sum()) for c in possible), default=0)
    target = int(rng.integers(0, 120))
    best = min((int(costs[c].sum()) for c in possible), default=target)
    budget = ((target - low) >> shift) + 1
    arguments = members, gains >> shift, costs, k, budget, target, shift
    chosen, found, finished = search(*arguments, ranges=ranges)
    assert finished
    _, early, finished = search(*arguments, effort=5, ranges=ranges)
    assert found <= early <= target
    assert early == found or not finished
    assert found == min(best, target)
    if best < target:
        assert (members[chosen].sum(axis=0) == 1).all()
        assert len(chosen) == k
        assert costs[chosen].sum() == best
    else:
        assert (chosen == -1).all()


def finished(contraction: Contraction, at: DualValues, cutoff: float, best: float) -> Enumeration:
    """An enumeration to its end; no bound on the way is above the truth."""
    found = Enumeration.start(contraction, BranchingPricer.begin(contraction), at, cutoff)
    for _ in range(100_000):
        assert found.bound.value <= best
        if found.is_finished:
            return found
        found.advance(cutoff)
    raise AssertionError("the enumeration does not end")


def drawn_duals(node) -> DualValues:
    """Prices of any quality, and the sigma that they need, more, or less."""
    share = float(node.rng(7).choice([0.5, 1.0, 1.0, 1.1]))
    least = float(node.values(node.prices).min(initial=0.0))
    return DualValues(node.prices, max(0.0, -share * least))


@pytest.mark.long
@given(nodes(n=(2, 7)), st.sampled_from([3, 4000]))
@examples(60, derandomize=True)
def test_enumeration_finds_the_optimum_or_proves_the_cutoff(node, nodes_per_slice):
    contraction, best, total = node.contraction, node.optimum, node.contraction.total
    rounding = 1e-11 * total
    above = best if math.isfinite(best) else total
    for cutoff in (0.9 * best, above + 1e-3 * total, 1.5 * above + 1e-3 * total, 3.0 * total):
        if not 1e-9 * total < cutoff < math.inf:
            continue
        truth = max(best, cutoff) * (1 + 1e-12) if cutoff <= best else best
        with constants({**GENEROUS, NODES_PER_SLICE: nodes_per_slice}):
            found = finished(contraction, drawn_duals(node), cutoff, truth)
        if best < cutoff:
            assert node.truth.has(contraction.lift(found.labels))
            cost = contraction.cost(found.labels)
            assert cost == pytest.approx(best, rel=1e-11, abs=rounding)
            assert found.bound.value == pytest.approx(best, rel=1e-9, abs=rounding)
        else:
            assert found.labels is None
            assert found.bound.value >= cutoff


MAX_GAP, MAX_SLICES, MAX_PRICING_SLICES, MAX_CLUSTERS = GENEROUS


@pytest.mark.long
@given(
    nodes(n=(2, 7)),
    st.sampled_from(
        [
            {MAX_GAP: 1e12, MAX_CLUSTERS: 1},
            {MAX_GAP: 1e12, MAX_SLICES: 1, MAX_PRICING_SLICES: 1},
            {MAX_GAP: 1e12, MAX_SLICES: 3, MAX_PRICING_SLICES: 3},
            {MAX_GAP: 1e-9},
        ]
    ),
)
@examples(80, derandomize=True)
def test_enumeration_given_up_proves_no_more_than_the_prices_do(node, limits):
    contraction, best, at = node.contraction, node.optimum, drawn_duals(node)
    cutoff = 2.0 * (best if math.isfinite(best) else contraction.total) + 1e-3
    with constants({**limits, NODES_PER_SLICE: 2}):
        found = finished(contraction, at, cutoff, best)
    if found.labels is None and found.bound.value < cutoff and len(all_columns(contraction)):
        rounding = 1e-10 * (np.abs(at.prices).sum() + contraction.total)
        least = min(float(node.values(at.prices).min()), -at.sigma)
        proven = float(at.prices.sum()) + contraction.k * least + contraction.soft.constant
        assert found.bound.value <= max(0.0, proven) + rounding
        if found.bound.value != 0.0:  # the pricing has been done
            assert found.bound.value == pytest.approx(proven, rel=1e-9, abs=rounding)
