import math
import sys
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import BackendUnavailable
from sdpbb.runtime.values import pandas_module, percent_down, percent_up, rounded_down


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 17))
def test_a_bound_in_print_is_never_above_itself(value, digits):
    printed = Decimal(rounded_down(value, digits))
    assert printed <= Decimal(value)
    assert abs(printed - Decimal(value)) <= abs(Decimal(value)) * Decimal(10) ** (1 - digits)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (78.123456789, "78.123456"),
        (1e8, "1e+8"),
        (-120.0, "-120"),
        (0.0, "0"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
    ],
)
def test_a_bound_reads_well(value, text):
    assert rounded_down(value, 8) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_gap_in_print_is_never_below_itself(share):
    printed, exact = Fraction(percent_up(share).removesuffix("%")), 100 * Fraction(share)
    unit = Fraction(1, 10_000) if abs(share) >= 1e-6 else abs(exact) / 10
    assert exact <= printed <= exact + unit
    assert exact - unit <= Fraction(percent_down(share).removesuffix("%")) <= exact


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0.0000%"),
        (-0.5, "-50.0000%"),
        (0.2500001, "25.0001%"),
        (1e-6, "0.0001%"),
        (9.999999e-5, "0.0100%"),
        (1.01e-6, "0.0002%"),
        (2e-9, "2.1e-07%"),
        (9.99e-9, "1.0e-06%"),
        (math.inf, "-"),
        (None, "-"),
    ],
)
def test_percent_up(share, text):
    assert percent_up(share) == text


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BackendUnavailable, match=r"^pandas is not installed; .*'pandas"):
        pandas_module("a list")
