from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.partitioning.cheapest import certain_costs
from sdpbb.problem import Contraction, Instance, contract


def exact_cost(points: np.ndarray, rows: np.ndarray) -> Fraction:
    """The sum of squares of some of the points, in rational numbers."""
    total = Fraction(0)
    for axis in range(points.shape[1]):
        values = [Fraction(float(v)) for v in points[rows, axis]]
        mean = sum(values, Fraction(0)) / len(values)
        total += sum(((v - mean) ** 2 for v in values), Fraction(0))
    return total


@given(
    st.integers(0, 10**6),
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
    assert isinstance(contraction, Contraction)
    columns = Columns.of(contraction, rng.random((20, contraction.n_blocks)) < 0.5)
    certain = certain_costs(contraction, columns)
    squares = float((points**2).sum())
    for members, low in zip(columns.members, certain.tolist(), strict=True):
        exact = exact_cost(points, np.flatnonzero(members[contraction.block_of]))
        assert Fraction(low) <= exact
        crossed = np.sqrt(float(exact)) * np.sqrt(squares)
        assert low >= float(exact) - 1e-13 * (n * float(exact) + crossed)


def test_nothing_is_certain_of_equal_points():
    contraction = contract(Instance(np.full((4, 1), 0.1), 2))
    assert isinstance(contraction, Contraction)
    columns = Columns.of(contraction, np.ones((1, 4), bool))
    assert certain_costs(contraction, columns).tolist() == [0.0]


def test_the_margin_is_small_for_ordinary_data():
    rng = np.random.default_rng(0)
    contraction = contract(Instance(rng.random((200, 2)), 20))
    assert isinstance(contraction, Contraction)
    columns = Columns.of(contraction, rng.random((50, 200)) < 0.05)
    assert certain_costs(contraction, columns) == pytest.approx(columns.costs, rel=1e-13)
