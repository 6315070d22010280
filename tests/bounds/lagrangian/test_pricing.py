"""Pricing over sets agrees with looking at all clusters, wherever a search is paused."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.lagrangian.columns import cluster_costs
from sdpbb.bounds.lagrangian.sets.pricer import BranchingPricer, local_minima
from sdpbb.bounds.lagrangian.sets.problem import FEW_BLOCKS, PricingProblem, tiling
from sdpbb.bounds.lagrangian.sets.search import ClusterSearch, SoughtClusters
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.nodes import PAIRS, contracted, nodes
from tests.constants import NODES_PER_SLICE, constants
from tests.enumeration import ExactSquares
from tests.examples import examples

EVERYTHING = 10**6
# How blocks are searched, whatever their number and dimension.
WAYS = st.sampled_from(
    ["as it is", "boxes", "sizes", "boxes and sizes", "regions", "small regions"]
)


def searched_by(contraction: Contraction, way: str) -> PricingProblem:
    """The pricing problem, searched in a way if its rules and dimensions have it."""
    problem = PricingProblem.of(contraction)
    data = problem.data
    if "regions" in way:
        # Soft pairs and least sizes have no regions.
        if contraction.is_monotone and not contraction.soft and data.points.shape[1]:
            data = data._replace(boxes=not len(data.limits), by_size=False)
            regions = tiling(data.points, 1.0 if way == "small regions" else 3.0)
            return replace(problem, data=data, regions=regions)
    # Boxes in many coordinates, or of sets judged as a whole, are halved for long.
    elif way != "as it is" and contraction.is_monotone and data.points.shape[1] <= 3:
        whole = bool((data.weights == np.rint(data.weights)).all())
        data = data._replace(boxes="boxes" in way, by_size="sizes" in way and whole)
    return replace(problem, data=data)


def searched(problem: PricingProblem, sought: SoughtClusters, rng):
    """A search to its end, and what it met; the same if it is resumed after every few nodes."""
    search = ClusterSearch.begin(problem, sought)
    met = search.run(EVERYTHING)
    assert search.is_finished
    other, parts = ClusterSearch.begin(problem, sought), []
    while not other.is_finished:
        parts.append(other.run(int(rng.integers(1, 6))))
        other = pickle.loads(pickle.dumps(other)).attach(problem)
    assert (other.upper, other.n_nodes) == (search.upper, search.n_nodes)
    assert np.array_equal(np.concatenate(parts), met)
    return search, met


def keyed(members: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in members}


# Rules that a search supports: all except oracles of the user.
KNOWN = {"where": lambda node: not node.contraction.oracles}


@pytest.mark.long
@given(nodes(**KNOWN), WAYS)
@examples(50, derandomize=True)
def test_the_least_value_is_that_of_all_clusters(node, way):
    contraction, prices, rng = node.contraction, node.prices, node.rng(2)
    problem = searched_by(contraction, way)
    columns, margin = node.columns, problem.margin(prices)
    least = float(node.values(prices).min(initial=math.inf))
    targets = [0.0, 0.5 * min(least, 0.0), min(least, 0.0), 1.5 * min(least, 0.0)]
    if not contraction.is_monotone:
        targets += [2.0, least + 1.0 if math.isfinite(least) else 5.0]
    target = targets[rng.integers(len(targets))]
    search, met = searched(problem, SoughtClusters(prices, target), rng)
    assert search.upper == pytest.approx(min(target, least), rel=0, abs=margin + 1e-12 * abs(least))
    assert keyed(met) <= keyed(columns.members)
    assert (cluster_costs(contraction, met) - met @ prices < target + margin).all()
    assert search.upper == target or len(met)


@pytest.mark.long
@given(nodes(where=lambda node: KNOWN["where"](node) and len(node.columns)), WAYS, st.booleans())
@examples(50, derandomize=True)
def test_all_clusters_below_a_threshold_are_met(node, way, knows_least):
    prices, rng, values = node.prices, node.rng(4), node.values(node.prices)
    problem = searched_by(node.contraction, way)
    margin, share = problem.margin(prices), float(rng.choice([0.0, 0.1, 0.5, 0.9]))
    threshold = float(np.quantile(values, share)) + (share - 0.5) * 1e-3 * float(np.ptp(values))
    least = float(values.min()) - margin if knows_least else -math.inf
    sought = SoughtClusters(prices, threshold, least)
    found = keyed(searched(problem, sought, rng)[1])
    assert keyed(node.columns.members[values < threshold - margin]) <= found
    assert found <= keyed(node.columns.members[values < threshold + margin])


def test_more_clusters_than_are_handed_over_at_once():
    problem = PricingProblem.of(contracted(np.random.default_rng(0).normal(size=(12, 2)), 3))
    sought = SoughtClusters(np.zeros(12), 1e6, -math.inf)
    _, met = searched(problem, sought, np.random.default_rng(0))
    assert len(np.unique(met, axis=0)) == 2**12 - 1


@given(nodes(*PAIRS), WAYS, st.sampled_from([(1e-6, 0.0), (1.0, 1e3), (1e6, 0.0), (1.0, 1e6)]))
@examples(60, derandomize=True)
def test_less_the_margin_it_is_a_bound_in_exact_arithmetic(node, way, place):
    """In any units and far from the origin; and the margin is not much more than rounding."""
    factor, offset = place
    instance = replace(node.instance, points=factor * node.instance.points + offset)
    contraction = contract(instance)
    if not isinstance(contraction, Contraction) or contraction.n_blocks > 6:
        return
    prices = factor**2 * node.prices
    problem = searched_by(contraction, way)
    search = ClusterSearch.begin(problem, SoughtClusters(prices, 0.0))
    search.run(EVERYTHING)
    margin, squares = problem.margin(prices), ExactSquares(instance.points)
    exact = [
        squares.of_cluster(np.flatnonzero(row[contraction.block_of]))
        - sum(map(Fraction, prices[row].tolist()))
        for row in node.columns.members
    ]
    assert Fraction(search.upper) - Fraction(margin) <= min(*exact, 0)
    assert margin <= 1e-11 * (np.abs(prices).sum() + contraction.total)


@pytest.mark.long
@given(nodes(), st.sampled_from([1, 3, 4000]))
@examples(60, derandomize=True)
def test_a_pricer_proves_the_least_value_whatever_it_has_to_learn(node, nodes_per_slice):
    """In slices, left after each; what it learns of constraints of the user's own is forbidden."""
    contraction, prices, values = node.contraction, node.prices, node.values(node.prices)
    least = float(values.min(initial=0.0))
    target = 0.5 * min(0.0, least) if node.seed % 2 else 0.0
    with constants({NODES_PER_SLICE: nodes_per_slice}):
        pricers = [BranchingPricer.begin(contraction) for _ in range(2)]
        margin = pricers[0].problem().margin(prices)
        for _ in range(10_000):
            one, other = (pricer.exact(prices, target) for pricer in pricers)
            assert one.least == other.least
            assert np.array_equal(one.members, other.members)
            assert keyed(one.members) <= keyed(node.columns.members)
            pricers[1] = pickle.loads(pickle.dumps(pricers[1])).attach(contraction)
            if one.least is not None:
                break
        assert one.least <= values.min(initial=math.inf)
        assert one.least == pytest.approx(min(target, least), rel=0, abs=3 * margin)
        for row in pricers[0].forbidden:
            blocks = np.flatnonzero(row)
            assert not contraction.allows(blocks)
            assert all(contraction.allows(np.setdiff1d(blocks, [block])) for block in blocks)
        assert contraction.oracles or not len(pricers[0].forbidden)


@pytest.mark.long
@given(nodes(), st.sampled_from([1, 4000]))
@examples(60, derandomize=True)
def test_pricing_for_a_cover_is_exact_to_the_last_unit(node, nodes_per_slice):
    members, m = node.columns.members.astype(np.int64), node.contraction.n_blocks
    low = 0 if node.contraction.is_monotone else -(2**30)
    prices = node.rng().integers(low, 2**40, m)
    least = -int((members @ prices).max(initial=-(2**50)))
    with constants({NODES_PER_SLICE: nodes_per_slice}):
        pricer = BranchingPricer.begin(node.contraction)
        for target in (0, least // 2, least + 1, least, least - 7):
            target = min(target, 0)
            outcome = pricer.exact(prices.astype(float), target, for_cover=True)
            while outcome.least is None:
                assert (outcome.members.astype(np.int64) @ prices > -target).all()
                outcome = pricer.exact(prices.astype(float), target, for_cover=True)
            assert outcome.least == min(target, least)


@constants({NODES_PER_SLICE: 1})
def test_an_unfinished_slice_proves_nothing_and_other_arguments_begin_anew():
    contraction = contracted(np.random.default_rng(0).normal(size=(30, 3)), 4)
    prices, pricer = np.full(30, 0.5 * contraction.total / 30), BranchingPricer.begin(contraction)
    for _ in range(3):
        assert pricer.exact(prices, 0.0).least is None
    assert pricer.search.n_nodes == 3
    prices *= 0.5  # which the pricer does not hold by reference
    for target, factor in ((0.0, 1.0), (-1e-3, 1.0), (-1e-3, 1.001)):
        prices *= factor
        pricer.exact(prices, target)
        assert pricer.search.n_nodes == 1


@pytest.mark.long
@given(nodes())
@examples(60, derandomize=True)
def test_local_search_finds_allowed_clusters_that_no_exchange_improves(node):
    contraction, prices, values = node.contraction, node.prices, node.values(node.prices)
    value_of = dict(zip(map(bytes, node.columns.members), values, strict=True))
    learning = BranchingPricer.begin(contraction)
    for sigma in (0.0, -math.inf):
        assert all(bytes(row) in value_of for row in learning.heuristic(prices, sigma))
    if contraction.oracles:
        return
    rounding = 1e-9 * (contraction.total + np.abs(prices).sum())
    for below in (np.inf, float(np.median(values)) if len(values) else 0.0):
        minima = local_minima(PricingProblem.of(contraction), prices, below)
        met = np.array([value_of[bytes(row)] for row in minima])
        assert (met < below + rounding).all()
        assert (np.diff(met) >= -rounding).all()
        for row, own in zip(minima, met, strict=True):
            out = (node.columns.members & ~row).sum(axis=1)
            into = (row & ~node.columns.members).sum(axis=1)
            near = (out + into <= 1) if contraction.is_monotone else (out <= 1) & (into <= 1)
            assert own <= values[near].min() + rounding


@pytest.mark.long
@pytest.mark.parametrize("dimension", [2, 6])
@pytest.mark.parametrize("kind", ["soft", "least", "listed"])
def test_searches_of_more_blocks_agree_with_and_without_boxes(dimension, kind):
    for seed in range(2):
        rng = np.random.default_rng([seed, dimension])
        pairs = [(*rng.choice(22, 2, replace=False).tolist(), rng.random()) for _ in range(12)]
        more = {
            "soft": {"soft_must_link": pairs[:6], "soft_cannot_link": pairs[6:]},
            "least": {"min_size": 4},
            "listed": {"sizes": [3, 4, 6, 9]},
        }[kind]
        contraction = contract(Instance(rng.normal(size=(22, dimension)), 4, **more))
        prices, met = rng.uniform(0.5, 2.5, 22) * (1.0 if kind == "soft" else 0.6), []
        full = PricingProblem.of(contraction)
        for data in (full.data, full.data._replace(boxes=False, by_size=False)):
            search = ClusterSearch.begin(replace(full, data=data), SoughtClusters(prices, 5.0))
            search.run(10**7)
            met.append(search.upper)
        assert met[0] == pytest.approx(met[1], abs=1e-9)
        assert met[0] < 5.0


def test_few_blocks_are_priced_without_boxes_in_few_nodes():
    """One is a hundred times as far away: halving boxes takes 200,000 nodes and more."""
    points = np.random.default_rng(0).normal(size=(10, 31))
    points[9] *= 100.0
    problem = PricingProblem.of(contracted(points, 5))
    by_sets_alone = replace(problem, data=problem.data._replace(by_size=False))
    for tried in (problem, by_sets_alone):
        search = ClusterSearch.begin(tried, SoughtClusters(np.full(10, 30.0), 0.0))
        search.run(2**11)
        assert search.is_finished
    for m in (FEW_BLOCKS, FEW_BLOCKS + 1):
        problem = PricingProblem.of(contracted(np.random.default_rng(2).random((m, 2)), 3))
        assert problem.data.boxes == (m > FEW_BLOCKS)
