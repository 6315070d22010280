"""Rows of measurements in CSV files.

They are appended one at a time, so that a run that ends keeps its rows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, str]
"""A row as it comes back from a file."""


def read(path: Path) -> list[Row]:
    """Return all rows, in their order; none of a file that is not there."""
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(path: Path, fields: Sequence[str], row: Mapping[str, Any], line_end: str = "\n") -> None:
    """Add a row, after a line with the names of the fields where the file is new.

    Raises
    ------
    ValueError
        If the row has a field that is not one of these; fields that it lacks are left empty.
    """
    is_new = not path.exists()
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, lineterminator=line_end)
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def replace(
    path: Path,
    fields: Sequence[str],
    new: Sequence[Mapping[str, Any]],
    same: Sequence[str],
) -> None:
    """Write new rows in the place of those that have their values in the fields `same`."""
    keys = {tuple(str(row[field]) for field in same) for row in new}
    known = read(path)
    is_old = [tuple(row[field] for field in same) in keys for row in known]
    place = is_old.index(True) if any(is_old) else len(known)
    kept = [row for row, old in zip(known[place:], is_old[place:], strict=True) if not old]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*known[:place], *new, *kept])


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]], n_text: int = 1) -> list[str]:
    """Return the lines of a table in Markdown; all columns but the first n_text are numbers."""
    rule = ["---"] * n_text + ["---:"] * (len(head) - n_text)
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *lines)]
