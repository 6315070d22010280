from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.verdict import gap_rounded_up, is_cost, is_optimal


def test_what_may_be_called_optimal():
    assert is_optimal(1.0, 0.9, 0.1)
    assert not is_optimal(1.0, 0.89, 0.1)
    assert is_optimal(1.0, 1.0 - 1e-12, 0.0)
    assert not is_optimal(1.0, 1.0 - 1e-11, 0.0)
    # However small: only what costs nothing is told from what is worth something.
    assert not is_optimal(1e-300, 0.0, 0.0)
    assert is_optimal(0.0, 0.0, 0.0)


def test_what_may_stand_for_a_cost():
    assert is_cost(1.0 + 9e-10, 1.0)
    assert not is_cost(1.0 + 2e-9, 1.0)
    assert is_cost(0.0, 0.0)
    assert not is_cost(0.0, 1e-300)
    assert not is_cost(1e-300, 0.0)


@given(st.floats(1e-300, 1e300), st.floats(0.0, 1.0))
def test_gaps_are_rounded_up_and_shares(upper, part):
    lower = upper * part
    gap = gap_rounded_up(lower, upper)
    assert 0.0 <= gap <= 1.0
    exact = 1 - Fraction(lower) / Fraction(upper)
    assert gap >= exact
    assert (gap == 0.0) == (upper <= lower)


def test_nothing_proven_is_a_gap_of_one():
    assert gap_rounded_up(0.0, 540.0) == 1.0
