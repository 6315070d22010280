"""Refusal of integer coordinates that float64 cannot represent."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

EXACT = 2**53
"""All integers up to this one in size are floats; of those beyond only some."""

# With fewer digits it is exact, with more beyond all floats. No part can match the same digits in
# two ways: thousands of them would take seconds.
_LARGE = re.compile(r"\s*([+-]?)0*([1-9]\d{15,309})\s*", re.ASCII)


def is_inexact(value: int) -> bool:
    """Return whether no float equals an integer, whose size floats have."""
    if abs(value) <= EXACT:
        return False
    try:
        return int(float(value)) != value
    except OverflowError:  # infinity, which is refused as such
        return False


def inexact_integer(field: str) -> int | None:
    """Return the integer in a field of a file if no float is that integer.

    A number that is written with a point or an exponent is a decimal, which is rounded like all of
    them.
    """
    found = _LARGE.fullmatch(field)
    if found is None:
        return None
    value = int(found[1] + found[2])
    return value if is_inexact(value) else None


def may_be_inexact(rounded: NDArray[np.float64]) -> bool:
    """Return whether floats are so large that integers they come from may have been others."""
    return bool(rounded.size) and bool((np.abs(rounded) >= EXACT).any())


def inexact_entries(values: NDArray[Any]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the indices and values of such integers in an array of integers, or of objects."""
    if values.dtype.kind in "iu":
        low, high = values.min(initial=0), values.max(initial=0)
        if int(low) >= -EXACT and int(high) <= EXACT:
            return
    elif values.dtype != object:
        return
    for index, value in np.ndenumerate(values):
        if isinstance(value, numbers.Integral) and is_inexact(int(value)):
            yield index, int(value)


def inexact_integer_message(value: int) -> str:
    """Return the rest of a message on such an integer, after where it is."""
    return (
        f"is {value}, an integer that no double holds exactly; expected integers up to 2^53 in "
        f"size, or a decimal number, which is rounded (here to {float(value)!r})"
    )
