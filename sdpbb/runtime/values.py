"""Numbers as text, and results as JSON and as rows of a table."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from sdpbb.errors import BackendUnavailable
from sdpbb.runtime.version import install_command


def rounded_down(value: float, digits: int) -> str:
    """Return value rounded down to some significant digits: a printed bound stays proven."""
    if not math.isfinite(value):
        return str(value)
    rounded = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(Decimal(value)).normalize()
    # "g" would make 1.2e+2 of 120.
    return f"{rounded:f}" if 0 < rounded.adjusted() < digits else f"{rounded:.{digits}g}"


def percent_up(share: float | None) -> str:
    """Return a gap in per cent, never below it; "-" if it is not finite, or None.

    No more is said than is proven.
    """
    return _percent(share, ROUND_CEILING)


def percent_down(share: float | None) -> str:
    """Return a saving in per cent, never above it; "-" if it is not finite, or None."""
    return _percent(share, ROUND_FLOOR)


def _percent(share: float | None, rounding: str) -> str:
    """Return a share in per cent with four decimals, or with two digits where these are 0."""
    if share is None or not math.isfinite(share):
        return "-"
    # Enough digits for the largest of floats.
    context = Context(prec=320, rounding=rounding)
    in_percent = context.multiply(Decimal(share), Decimal(100))
    if abs(share) >= 1e-6 or share == 0:
        return f"{in_percent.quantize(Decimal('0.0001'), context=context):f}%"
    return f"{float(Context(prec=2, rounding=rounding).plus(in_percent)):.1e}%"


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
    """Return text of at most `length` letters, >= 3; longer text loses its middle.

    Names with the same beginning or the same end stay different.
    """
    if len(text) <= length:
        return text
    end = (length - 1) // 2
    return f"{text[: length - 1 - end]}\N{HORIZONTAL ELLIPSIS}{text[len(text) - end :]}"


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
