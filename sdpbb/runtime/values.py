"""Numbers as text, and results as JSON and as rows of a table."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from sdpbb.errors import BackendUnavailable
from sdpbb.runtime.extras import install_command

# Enough digits for the largest of floats in per cent, with four decimals.
_UP = Context(prec=320, rounding=ROUND_CEILING)

# Significant digits of costs in sentences, and the most where two costs look the same.
COST_DIGITS, MOST_COST_DIGITS = 6, 17


def rounded_down(value: float, digits: int) -> str:
    """Return value at so many significant digits, never above it: a printed bound stays proven."""
    if not math.isfinite(value):
        return str(value)
    rounded = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(Decimal(value)).normalize()
    # "g" would make 1.2e+2 of 120.
    return f"{rounded:f}" if 0 < rounded.adjusted() < digits else f"{rounded:.{digits}g}"


def percent_up(share: float | None) -> str:
    """Return a gap in per cent, never below it; "-" if it is not finite, or None.

    No more is said than is proven.
    """
    if share is None or not math.isfinite(share):
        return "-"
    in_percent = _UP.multiply(Decimal(share), Decimal(100))
    if _is_large(share):
        return f"{in_percent.quantize(Decimal('0.0001'), context=_UP):f}%"
    return f"{float(Context(prec=2, rounding=ROUND_CEILING).plus(in_percent)):.1e}%"


def costs_apart(own: float, other: float | None) -> tuple[str, str]:
    """Return the cost of the labels, and that of a better clustering, never below it.

    They have as many digits as it takes to see which is the lower one.
    """
    for digits in range(COST_DIGITS, MOST_COST_DIGITS):
        rounded = _rounded(own, digits, ROUND_HALF_EVEN)
        if other is None:
            return _by_thousands(rounded), ""
        above = _rounded(other, digits, ROUND_CEILING)
        if above < rounded:
            return _by_thousands(rounded), _by_thousands(above)
    return repr(own), repr(other)


def cost_text(value: float, rounding: str) -> str:
    """Return a cost >= 0 as text."""
    return _by_thousands(_rounded(value, COST_DIGITS, rounding))


def _rounded(value: float, digits: int, rounding: str) -> Decimal:
    return Context(prec=digits, rounding=rounding).create_decimal(repr(float(value))).normalize()


def _by_thousands(number: Decimal) -> str:
    """Return a number as people write it: 1,234.5."""
    return f"{number:,f}" if number == 0 or -6 < number.adjusted() < 15 else f"{number:e}"


def share_up(share: float) -> str:
    """Return a share in per cent, never below it."""
    return _in_percent(share, ROUND_CEILING)


def share_down(share: float) -> str:
    """Return a share in per cent, never above it."""
    return _in_percent(share, ROUND_FLOOR)


def _in_percent(share: float, rounding: str) -> str:
    """Return a share >= 0 with two decimals, or two digits below 0.1 %."""
    exact = 100 * Decimal(repr(float(share)))
    context = Context(prec=60, rounding=rounding)
    if exact >= Decimal("0.1"):
        number = exact.quantize(Decimal("0.01"), context=context)
    else:
        number = Context(prec=2, rounding=rounding).plus(exact)
    number = number.normalize()
    return f"{number:f} %" if number == 0 or number.adjusted() > -5 else f"{number:.1e} %"


def plain_number(value: float) -> str:
    """Return the shortest text that is read as the same number: "190", not "190.0"."""
    return repr(value).removesuffix(".0")


def seconds_text(seconds: float) -> str:
    """Return a time in the units that suit it."""
    if seconds < 120:
        return f"{seconds:.2f} s"
    minutes = seconds / 60
    return f"{minutes:.1f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def counted(number: int, thing: str) -> str:
    """Return "1 node" or "2 nodes"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def amount(number: int, thing: str) -> str:
    """Return "1 node", "2 nodes" or "1,000 nodes"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def shortened(text: str, length: int) -> str:
    """Return text of at most so many letters, >= 3: without its middle where it is longer.

    Names that are alike at their beginning or at their end stay different.
    """
    if len(text) <= length:
        return text
    end = (length - 1) // 2
    return f"{text[: length - 1 - end]}\N{HORIZONTAL ELLIPSIS}{text[len(text) - end :]}"


def _is_large(share: float) -> bool:
    """Return whether four decimals show a share."""
    return abs(share) >= 1e-6 or share == 0


def json_text(values: Mapping[str, Any]) -> str:
    """Return one JSON object, one line per key."""
    items = (
        f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
        for key, value in values.items()
    )
    return "{\n" + ",\n".join(items) + "\n}\n"


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows under a heading, separated by commas; empty fields stand for None."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def pandas_module(instead: str) -> Any:
    """Return the module pandas.

    instead : what can be taken without it

    Raises
    ------
    BackendUnavailable
        Without pandas.
    """
    try:
        import pandas
    except ImportError:
        raise BackendUnavailable(
            f"pandas is not installed; install it with {install_command('pandas')}, or use "
            f"{instead}",
            extra="pandas",
        ) from None
    return pandas


def is_missing(value: Any) -> bool:
    """Return whether a value of a data frame is a missing one: None, nan, NA, NaT."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )
