"""Rows of measurements in CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdpbb.runtime.files import write_atomically

Row = dict[str, str]
"""A row as it comes back from a file."""


def read(path: Path) -> list[Row]:
    """Return all rows, in their order; none if there is no such file."""
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def put(
    path: Path, columns: Sequence[str], key: Sequence[str], new: Sequence[Mapping[str, Any]]
) -> None:
    """Write new rows instead of the rows with their key; at the end if there are none.

    Values in other columns are left out, and columns without a value are empty. With an empty key
    all rows are kept.

    Raises
    ------
    ValueError
        If the file has other columns.
    """
    known = read(path)
    order = list(known[0]) if known else list(columns)
    if set(order) != set(columns):
        raise ValueError(f"{path} has other columns; give another --out")
    keys = {key_of(row, key) for row in new} if key else set()
    is_old = [key_of(row, key) in keys for row in known]
    place = is_old.index(True) if any(is_old) else len(known)
    kept = [row for row, old in zip(known[place:], is_old[place:], strict=True) if not old]
    text = io.StringIO()
    writer = csv.DictWriter(text, order, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows([*known[:place], *new, *kept])
    write_atomically(path, text.getvalue())


def key_of(row: Mapping[str, Any], key: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a key as they stand in a file."""
    return tuple("" if row[column] is None else str(row[column]) for column in key)


def grouped(known: Iterable[Row], *columns: str) -> dict[tuple[str, ...], list[Row]]:
    """Return rows by their values in columns, in the order of the first of each."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in known:
        groups.setdefault(key_of(row, columns), []).append(row)
    return groups


def chosen(known: Iterable[Row], **wanted: str) -> list[Row]:
    """Return the rows that have the wanted values."""
    return [row for row in known if all(row[name] == value for name, value in wanted.items())]


def numbers(known: Iterable[Row], column: str) -> list[float]:
    """Return the values of a column, without empty ones."""
    return [float(row[column]) for row in known if row[column]]


def ratio(row: Row, above: str, below: str) -> float:
    """Return the ratio of two columns."""
    return float(row[above]) / float(row[below])
