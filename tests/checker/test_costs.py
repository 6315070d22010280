from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.costs import is_cost, is_optimal, relative_gap, zero

EPS = 2.0**-52


def test_rounding_is_that_of_points_that_share_a_cluster():
    points = np.array([[1e17, 0.0], [1.0, 2.0], [3.0, 4.0]])
    assert zero(points, np.array([0, 1, 1])) == pytest.approx(16 * EPS**2 * 30.0)
    assert zero(points, np.array([0, 1, 2])) == 0.0
    assert zero(points, np.array([0, 0, 1])) == pytest.approx(16 * EPS**2 * 1e34)


def test_what_may_be_called_optimal():
    assert is_optimal(1.0, 0.9, 0.1, 0.0)
    assert not is_optimal(1.0, 0.89, 0.1, 0.0)
    assert is_optimal(1.0, 1.0 - 1e-12, 0.0, 0.0)
    assert not is_optimal(1.0, 1.0 - 1e-11, 0.0, 0.0)
    # All of the cost is rounding, not only the difference.
    assert is_optimal(1e-30, 0.0, 0.0, 1e-30)
    assert not is_optimal(2.0, 1.0, 0.0, 1.5)


def test_what_may_stand_for_a_cost():
    assert is_cost(1.0 + 9e-10, 1.0, 0.0)
    assert not is_cost(1.0 + 2e-9, 1.0, 0.0)
    assert is_cost(0.0, 1e-30, 1e-30)
    assert not is_cost(1e-29, 1e-30, 1e-30)
    assert not is_cost(1e-30, 1e-29, 1e-30)


@given(st.floats(1e-300, 1e300), st.floats(0.0, 1.0), st.floats(0.0, 1e-10))
def test_gaps_are_rounded_up_and_shares(upper, part, rounding):
    lower = upper * part
    gap = relative_gap(upper, lower, rounding)
    assert 0.0 <= gap <= 1.0
    exact = 1 - Fraction(lower) / Fraction(upper)
    if upper <= rounding:
        assert gap == 0.0
    else:
        assert gap >= exact
        assert (gap == 0.0) == (upper <= lower)


def test_nothing_proven_is_a_gap_of_one():
    assert relative_gap(540.0, 0.0, 0.0) == 1.0
