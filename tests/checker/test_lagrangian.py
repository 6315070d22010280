"""Bounds from prices are below every clustering; evidence that makes no sense is not believed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.geometry import Contracted, Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.prices import Lagrangian
from tests.checker.block_rules import of_blocks
from tests.checker.clusters import contracted_blocks, exact_values
from tests.examples import examples


def cheapest(values: dict[int, Fraction], m: int, k: int) -> Fraction | None:
    """The least sum of the values of k clusters that hold each of m blocks once; None if there are
    no such clusters."""
    best: dict[tuple[int, int], Fraction] = {(0, 0): Fraction(0)}
    for covered in range((1 << m) - 1):
        lowest = ~covered & (covered + 1)
        for cluster, value in values.items():
            if cluster & lowest and not cluster & covered:
                for count in range(k):
                    if (covered, count) in best:
                        key = covered | cluster, count + 1
                        total = best[covered, count] + value
                        best[key] = min(best.get(key, total), total)
    return best.get(((1 << m) - 1, k))


@examples(150)
@given(st.data())
def test_no_clustering_is_below_the_bound(data):
    contracted, adjacency = data.draw(contracted_blocks(most=6))
    m = contracted.m
    k = data.draw(st.integers(1, m))
    costs = exact_values(contracted, adjacency, np.zeros(m))
    numbers = data.draw(st.lists(st.integers(-2, 9), min_size=m, max_size=m))
    prices = np.array(numbers, np.float64) * float(max(costs.values())) / m
    reduced = exact_values(contracted, adjacency, prices)
    slack = 1e-12 * float(np.abs(prices).sum() + contracted.scatter.sum())
    least = float(min(reduced.values())) - data.draw(st.sampled_from([1.0, 1e3, 1e9])) * slack
    bound = Lagrangian(prices, least).bound(contracted, of_blocks(k, adjacency))
    known = cheapest(costs, m, k)
    assert known is None or Fraction(bound) <= known
    assert bound >= prices.sum() + k * (least - 2.0 * slack)


def test_a_bound_that_is_the_cost():
    """Two pairs at distance 1, at prices of 1/2: a pair is worth -1/2, as one block is; 2 - 2/2."""
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    contracted = Geometry.of(points).contracted(np.arange(4))
    evidence = Lagrangian(np.full(4, 0.5), -0.5)
    free = np.zeros((4, 4), bool)
    bound = evidence.bound(contracted, of_blocks(2, free))
    assert bound == pytest.approx(1.0, rel=1e-12)
    assert bound <= 1.0
    with pytest.raises(Rejected, match="is worth less than"):
        Lagrangian(np.full(4, 0.5), -0.49).bound(contracted, of_blocks(2, free))


def test_the_bound_is_for_the_points():
    """What the means lost to rounding is taken off: sqrt(1) - 0.1, squared."""
    means = np.array([[0.0], [1.0], [10.0], [11.0]])
    rounded = Contracted(4, np.ones(4), means, np.zeros(4), 0.1)
    evidence = Lagrangian(np.full(4, 0.5), -0.5)
    bound = evidence.bound(rounded, of_blocks(2, np.zeros((4, 4), bool)))
    assert bound == pytest.approx(0.81, rel=1e-12)


@pytest.mark.parametrize(
    ("prices", "least", "message"),
    [
        (np.ones(3), 0.0, "prices should be 4 float64, not float64 of shape"),
        (np.ones((4, 1)), 0.0, "prices should be 4 float64"),
        (np.ones(4, np.float32), 0.0, "prices should be 4 float64, not float32"),
        (np.array([0.0, 1.0, np.nan, 1.0]), 0.0, "is not a number of at most 1e\\+250"),
        (np.array([0.0, 1.0, np.inf, 1.0]), 0.0, "is not a number"),
        (np.array([0.0, 1.0, -1e260, 1.0]), 0.0, "is not a number"),
        (np.ones(4), np.nan, "is not a number"),
        (np.ones(4), -np.inf, "is not a number"),
    ],
)
def test_prices_that_make_no_sense(prices, least, message):
    contracted = Geometry.of(np.arange(4.0)[:, None]).contracted(np.arange(4))
    with pytest.raises(Rejected, match=message):
        Lagrangian(prices, least).bound(contracted, of_blocks(2, np.zeros((4, 4), bool)))


def test_what_does_not_fit_the_blocks():
    contracted = Geometry.of(np.arange(4.0)[:, None]).contracted(np.arange(4))
    evidence = Lagrangian(np.zeros(4), 0.0)
    for k in (0, 5):
        with pytest.raises(Rejected, match=f"{k} clusters of 4 blocks"):
            evidence.bound(contracted, of_blocks(k, np.zeros((4, 4), bool)))
    with pytest.raises(Rejected, match="cannot-links of"):
        evidence.bound(contracted, of_blocks(2, np.zeros((3, 3), bool)))
