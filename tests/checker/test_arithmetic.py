from fractions import Fraction
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.arithmetic import (
    difference_and_error,
    down,
    gamma,
    norm_up,
    sum_down,
    sum_up,
    up,
)

floats = st.floats(-1e100, 1e100)
lists = st.lists(floats, max_size=20)


@given(st.integers(0, 2**50))
def test_gamma_is_not_below_its_definition(n):
    u = Fraction(1, 2**53)
    exact = n * u / (1 - n * u)
    assert exact <= Fraction(gamma(n)) <= exact * (1 + 20 * u)


def test_gamma_refuses_too_many_operations():
    with pytest.raises(ValueError, match="too many"):
        gamma(2.0**52)
    with pytest.raises(ValueError, match="too many"):
        gamma(float("nan"))


@given(lists)
def test_sums_enclose_the_exact_sum_and_are_neighbours(values):
    exact = sum(map(Fraction, values), Fraction())
    assert Fraction(sum_down(values)) <= exact <= Fraction(sum_up(values))
    assert up(up(sum_down(values))) >= sum_up(values)
    assert (sum_down(values) == sum_up(values)) == (exact == 0)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_up_and_down_are_next_to_a_number(x):
    assert (up(x), down(x)) == (nextafter(x, inf), nextafter(x, -inf))


@given(lists, st.sampled_from([1e-200, 1e-100, 1.0, 1e100, 1e200]))
def test_norms_are_not_below_the_exact_ones_and_tight(values, scale):
    values = np.array(values, dtype=float) / 1e100 * scale
    squares = sum((Fraction(x) ** 2 for x in values.tolist()), Fraction())
    bound = Fraction(norm_up(values))
    assert squares <= bound**2
    assert bound**2 <= squares * (1 + Fraction(1, 10**13)) or abs(values).max() < 1e-290


@given(floats, floats)
def test_a_difference_and_its_error_are_exact(a, b):
    d, r = difference_and_error(np.array([a]), np.array([b]))
    assert Fraction(a) - Fraction(b) == Fraction(float(d[0])) + Fraction(float(r[0]))
