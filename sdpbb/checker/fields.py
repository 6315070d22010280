"""Readers of the values of a JSON document: `Rejected` for a value of another type or range."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .container import Arrays, StoredArray
from .rejection import Rejected


def entries(value: Any, *names: str) -> tuple[Any, ...]:
    """Return the values of an object with exactly these keys, in this order."""
    if not isinstance(value, dict):
        raise Rejected(f"{shown(value)}; expected an object with {', '.join(names)}")
    missing = [name for name in names if name not in value]
    unknown = [name for name in value if name not in names]
    if missing or unknown:
        what = f"{missing[0]!r} is missing" if missing else f"unknown key {unknown[0][:40]!r}"
        raise Rejected(f"{what}; expected {', '.join(names)}")
    return tuple(value[name] for name in names)


def items(value: Any, what: str, length: int | None = None) -> list[Any]:
    """Return a list, of so many values if a length is given."""
    if not isinstance(value, list) or length not in (None, len(value)):
        count = "" if length is None else f" of {length}"
        raise Rejected(f"{what}: {shown(value)}; expected a list{count}")
    return value


def whole(value: Any, what: str, least: int, below: int | None = None) -> int:
    """Return an integer in least..below - 1; true and false are none."""
    if type(value) is not int or value < least or (below is not None and value >= below):
        limits = f">= {least}" if below is None else f"in {least}..{below - 1}"
        raise Rejected(f"{what}: {shown(value)}; expected a whole number {limits}")
    return value


def number(value: Any, what: str, least: float = -math.inf, below: float = math.inf) -> float:
    """Return a finite number, at least `least` and below `below`."""
    if type(value) is int and abs(value) < 2**53:
        value = float(value)
    if type(value) is not float or not least <= value < below or math.isinf(value):
        limit = "" if least == -math.inf else f" >= {least}"
        limit += "" if below == math.inf else f" and < {below}"
        raise Rejected(f"{what}: {shown(value)}; expected a finite number{limit}")
    return value


def number_or_none(value: Any, what: str) -> float | None:
    return None if value is None else number(value, what)


def word(value: Any, what: str, *allowed: str) -> str:
    """Return one of the allowed words."""
    if type(value) is not str or value not in allowed:
        raise Rejected(f"{what}: {shown(value)}; expected {' or '.join(allowed)}")
    return value


def digest(value: Any, what: str) -> str:
    """Return a SHA-256 digest in hexadecimal digits."""
    if type(value) is not str or len(value) != 64 or set(value) - set("0123456789abcdef"):
        raise Rejected(f"{what}: {shown(value)}; expected 64 hexadecimal digits")
    return value


def shown(value: Any) -> str:
    """Return a value as a message quotes it."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # of a number of thousands of digits, of lists in lists
        return "a value that is too long to be shown"
    return text if len(text) <= 40 else f"{text[:37]}..."


class NumberKey(NamedTuple):
    """Finite number of an object of a document: its key."""

    name: str


class ArrayKey(NamedTuple):
    """Array of an object of a document: its key, its dtypes, and its columns.

    The dtypes are those that it may have. The columns are None if it has one dimension, a function
    where they depend on the number k of clusters.
    """

    name: str
    dtypes: tuple[str, ...]
    columns: int | Callable[[int], int] | None = None

    def columns_for(self, k: int) -> int | None:
        """Return the columns for k clusters."""
        return self.columns(k) if callable(self.columns) else self.columns

    def empty(self, k: int) -> NDArray[Any]:
        """Return an array without entries, for k clusters."""
        columns = self.columns_for(k)
        return np.empty(0 if columns is None else (0, columns), self.dtypes[0])


@dataclass
class References:
    """Arrays of a file, and which of them were referred to."""

    arrays: Arrays

    def __post_init__(self) -> None:
        self._used: set[int] = set()

    def take(
        self, value: Any, what: str, dtypes: tuple[str, ...], columns: int | None = None
    ) -> StoredArray:
        """Return the array that a reference is to.

        It is of one of the dtypes, and of one dimension or, if columns are given, of two.

        Raises
        ------
        Rejected
            If it is not.
        """
        position = whole(value, what, 0, len(self.arrays))
        array = self.arrays.stored[position]
        shape_fits = (
            len(array.shape) == 1
            if columns is None
            else len(array.shape) == 2 and array.shape[1] == columns
        )
        if array.dtype not in dtypes or not shape_fits:
            shape = "(number,)" if columns is None else f"(number, {columns})"
            raise Rejected(
                f"{what}: an array of {array.dtype} {array.shape}; expected {' or '.join(dtypes)} "
                f"{shape}"
            )
        self._used.add(position)
        return array

    def require_all_used(self) -> None:
        for position in range(len(self.arrays)):
            if position not in self._used:
                raise Rejected(f"arrays[{position}] is not referred to")
