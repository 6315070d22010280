"""What is proven from enumerated clusters is below every clustering, and is not far below."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.clusters import Enumerated
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.partitions import cluster_costs, require_no_partition
from sdpbb.checker.pricing import clusters_below, proven_least
from tests.checker.block_rules import of_blocks
from tests.checker.clusters import contracted_blocks, exact_values
from tests.checker.test_lagrangian import cheapest
from tests.checker.test_pricing import problems, random_problem
from tests.examples import examples


def numbers(members: np.ndarray) -> list[int]:
    """The binary number of each cluster."""
    return [sum(1 << int(i) for i in np.flatnonzero(row)) for row in members]


@pytest.mark.long
@examples(150)
@given(problems(), st.data())
def test_no_cluster_below_the_value_is_missed(problem, data):
    contracted, adjacency, prices = problem
    values = exact_values(contracted, adjacency, prices)
    scale = float(np.abs(prices).sum() + contracted.scatter.sum())
    lower = min(0.0, float(min(values.values())) - 1e-12 * scale)
    least = proven_least(contracted, adjacency, prices, lower)
    value = float(data.draw(st.sampled_from(sorted(values.values()))))
    value += data.draw(st.sampled_from([0.0, 1e-13, 0.01, 1.0])) * scale
    found = numbers(clusters_below(contracted, adjacency, prices, least, value, 10**5, 10**4))
    assert len(set(found)) == len(found)
    assert {number for number, exact in values.items() if exact < Fraction(value)} <= set(found)
    # Prices may all be 0, where the values themselves are what is rounded.
    most = scale + float(max(map(abs, values.values())))
    assert all(values[number] < value + 1e-10 * most for number in found)


@pytest.mark.parametrize("seed", range(8))
def test_clusters_of_more_blocks(seed):
    rng = np.random.default_rng(seed)
    contracted, adjacency, prices = random_problem(rng, 12, 2, int(rng.integers(0, 20)))
    values = exact_values(contracted, adjacency, prices)
    least = proven_least(contracted, adjacency, prices, float(min(values.values())) - 1e-9)
    value = sorted(values.values())[len(values) // 10]
    found = clusters_below(contracted, adjacency, prices, least, float(value), 10**6, 10**5)
    assert {number for number, exact in values.items() if exact < value} <= set(numbers(found))


def test_a_search_for_clusters_ends():
    contracted, adjacency, prices = random_problem(np.random.default_rng(0), 12, 2, 0)
    least = proven_least(contracted, adjacency, prices, -float(prices.sum()))
    free = (contracted, adjacency, prices, least, 0.0)
    with pytest.raises(Rejected, match="more than 10 clusters"):
        clusters_below(*free, 10**6, 10)
    with pytest.raises(Rejected, match="within 20 nodes"):
        clusters_below(*free, 20, 10**6)
    assert len(clusters_below(contracted, adjacency, prices, least, least, 1, 1)) == 0


@examples(150)
@given(contracted_blocks())
def test_costs_are_rounded_down_and_hardly(blocks):
    contracted, adjacency = blocks
    exact = exact_values(contracted, adjacency, np.zeros(contracted.m))
    members = np.array([[number >> i & 1 for i in range(contracted.m)] for number in exact], bool)
    for cost, true in zip(cluster_costs(contracted, members), exact.values(), strict=True):
        assert float(true) * (1.0 - 1e-12) <= cost
        assert Fraction(float(cost)) <= true


@pytest.mark.long
@examples(200)
@given(st.data())
def test_no_clustering_is_below_the_bound(data):
    """Whatever the prices, penalties and the least value are, and the bound that is claimed."""
    contracted, adjacency = data.draw(contracted_blocks(most=6))
    m = contracted.m
    k = data.draw(st.integers(1, m))
    costs = exact_values(contracted, adjacency, np.zeros(m))
    true = cheapest(costs, m, k)
    unit = float(max(costs.values())) / m
    drawn = st.lists(st.integers(-2, 9), min_size=m, max_size=m)
    prices, shares = (np.array(data.draw(drawn), np.float64) * unit for _ in range(2))
    count = data.draw(st.integers(0, 3)) if m >= 3 else 0
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    triples = np.array([rng.permutation(m)[:3] for _ in range(count)], np.int32).reshape(-1, 3)
    reduced = exact_values(contracted, adjacency, prices)
    slack = 1e-12 * float(np.abs(prices).sum() + contracted.scatter.sum())
    least = float(min(0, *reduced.values())) - data.draw(st.sampled_from([1.0, 1e9])) * slack
    optimum = unit * m if true is None else float(true)
    factor = data.draw(st.sampled_from([0.1, 1.0 - 1e-9, 1.0 + 1e-9, 1.5]))
    if not optimum * factor > 1e-200:
        return
    evidence = Enumerated(
        optimum * factor, prices, least, shares, triples, rng.exponential(unit, count)
    )
    if true is not None and factor > 1.0:
        with pytest.raises(Rejected, match="partition"):
            evidence.bound(contracted, of_blocks(k, adjacency))
        return
    try:
        bound = evidence.bound(contracted, of_blocks(k, adjacency))
    except Rejected:
        # What is true is proven, as all searches are small, unless prices are above all reason.
        assert np.abs(shares).sum() + evidence.penalties.sum() > 500.0 * evidence.below
        return
    assert bound == evidence.below
    assert true is None or Fraction(bound) <= true


def square() -> tuple:
    """Two pairs at distance 1: the optimum for two clusters is 1."""
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    return Geometry.of(points).contracted(np.arange(4)), np.zeros((4, 4), bool)


def evidence_of(below: float) -> Enumerated:
    prices = np.full(4, 0.5)
    none = np.empty((0, 3), np.int32)
    return Enumerated(below, prices, -0.5 - 1e-12, prices, none, np.empty(0))


def test_a_bound_that_is_the_cost():
    contracted, free = square()
    assert evidence_of(1.0 - 1e-9).bound(contracted, of_blocks(2, free)) == 1.0 - 1e-9
    with pytest.raises(Rejected, match="a partition of the blocks costs less than is stated"):
        evidence_of(1.0 + 1e-9).bound(contracted, of_blocks(2, free))
    # Nothing costs less for three clusters than a pair by itself, and there is none for k > m.
    with pytest.raises(Rejected, match="a partition of the blocks costs less"):
        evidence_of(0.6).bound(contracted, of_blocks(3, free))
    with pytest.raises(Rejected, match="5 clusters of 4 blocks"):
        evidence_of(0.6).bound(contracted, of_blocks(5, free))


def test_a_least_value_that_is_wrong():
    contracted, free = square()
    with pytest.raises(Rejected, match="a cluster is worth less than"):
        replace(evidence_of(0.9), least=-0.4).bound(contracted, of_blocks(2, free))


def test_a_search_for_a_partition_ends():
    contracted, _ = square()
    members = np.array([[i >> b & 1 for b in range(4)] for i in range(1, 16)], bool)
    none, nothing = np.empty((0, 3), np.int32), np.zeros(4)
    with pytest.raises(Rejected, match="within the nodes of a search"):
        require_no_partition(contracted, 2, members, 0.9, nothing, none, np.empty(0), 1)
    require_no_partition(contracted, 2, members, 0.9, nothing, none, np.empty(0), 100)


ROWS = np.zeros((1, 3), np.int32)
TRIPLE = np.array([[0, 1, 2]], np.int32)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"below": 0.0}, "below a cost of 1e-200 or more"),
        ({"below": -1.0}, "below a cost"),
        ({"below": np.nan}, "is not a number"),
        ({"below": 1e260}, "is not a number"),
        ({"least": np.inf}, "is not a number"),
        ({"prices": np.ones(3)}, "prices should be 4 float64"),
        ({"share_prices": np.ones(5)}, "prices should be 4 float64"),
        ({"share_prices": np.array([0.0, np.nan, 0.0, 0.0])}, "is not a number"),
        ({"share_prices": np.full(4, 1e200)}, "prices of a partition are too large"),
        ({"triples": ROWS, "penalties": np.ones(1)}, "not of three of the blocks"),
        ({"triples": 2 * TRIPLE, "penalties": np.ones(1)}, "not of three of the blocks"),
        ({"triples": TRIPLE - 1, "penalties": np.ones(1)}, "not of three of the blocks"),
        ({"triples": ROWS[:, :2], "penalties": np.ones(1)}, "triples of shape"),
        ({"triples": TRIPLE}, "1 triples, but penalties of shape"),
        ({"triples": TRIPLE, "penalties": -np.ones(1)}, "a penalty is negative"),
        ({"triples": TRIPLE, "penalties": np.full(1, np.nan)}, "a penalty is"),
    ],
)
def test_evidence_that_makes_no_sense(changes, why):
    contracted, free = square()
    with pytest.raises(Rejected, match=why), np.errstate(all="ignore"):
        replace(evidence_of(0.9), **changes).bound(contracted, of_blocks(2, free))
