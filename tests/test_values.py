import json
import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import BackendUnavailable
from sdpbb.runtime.results import plain
from sdpbb.runtime.values import json_text, pandas_module, percent_down, percent_up, rounded_down


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 17))
def test_a_bound_in_print_is_never_above_itself(value, digits):
    printed = Decimal(rounded_down(value, digits))
    assert printed <= Decimal(value)
    assert abs(printed - Decimal(value)) <= abs(Decimal(value)) * Decimal(10) ** (1 - digits)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (78.123456789, "78.123456"),
        (120.0, "120"),
        (99999999.0, "99999999"),
        (1e8, "1e+8"),
        (-120.0, "-120"),
        (0.0, "0"),
    ],
)
def test_a_bound_reads_well(value, text):
    assert rounded_down(value, 8) == text


def test_bounds_that_are_not_finite():
    assert [rounded_down(value, 8) for value in (math.inf, -math.inf)] == ["inf", "-inf"]


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
        (0.25, "25.0000%"),
        (-0.5, "-50.0000%"),
        (0.2500001, "25.0001%"),
        (1.0, "100.0000%"),
        (1e-6, "0.0001%"),
        (7.1e-6, "0.0008%"),
        (9.999999e-5, "0.0100%"),
        (1.01e-6, "0.0002%"),
        (2e-9, "2.1e-07%"),
        (2.01e-9, "2.1e-07%"),
        (9.99e-9, "1.0e-06%"),
        (math.inf, "-"),
        (None, "-"),
    ],
)
def test_percent_up(share, text):
    assert percent_up(share) == text


def test_json_has_no_numbers_that_are_not_finite():
    values = {"a": math.inf, "b": {"c": -math.inf, "d": 1.5}, "e": [1, "x"], "f": None}
    ready = plain(values)
    assert ready == {"a": None, "b": {"c": None, "d": 1.5}, "e": [1, "x"], "f": None}
    assert plain(np.array([math.inf, 1.5])) == [None, 1.5]
    assert plain(np.float32(math.inf)) is None
    assert plain(np.array([0, 2])) == [0, 2]
    text = json_text(ready)
    assert json.loads(text) == ready
    assert len(text.splitlines()) == len(ready) + 2


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BackendUnavailable, match=r"^pandas is not installed; .*'pandas"):
        pandas_module("a list")
