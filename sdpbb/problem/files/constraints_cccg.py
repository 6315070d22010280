"""Constraints as the program CCCG reads them.

Lines are `i j 1` (must-link) and `i j -1` (cannot-link).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sdpbb.errors import InstanceError
from sdpbb.problem.files.constraints import (
    ConstraintFormat,
    Constraints,
    Statements,
    check_pairs_only,
)
from sdpbb.problem.files.rows import Rows
from sdpbb.problem.textfile import chunks, columns, is_number, open_text, shown, without_comment
from sdpbb.runtime.files import FilePath, shown_path

_LINKS = {"1": "ML", "-1": "CL"}


def begins(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line has three fields, the first one a number."""
    return len(fields) == 3 and is_number(fields[0])


def read(path: FilePath, rows: Rows, encoding: str | None = None) -> Constraints:
    """Return the constraints of a file, as `read_constraints` does."""
    stated = Statements()
    with open_text(path, encoding) as file:
        for start, chunk in chunks(file):
            if not _read_plain(start, chunk, rows, stated):
                _read_any(path, start, chunk, rows, stated)
    return stated.constraints()


def _read_plain(start: int, chunk: list[str], rows: Rows, stated: Statements) -> bool:
    """Add the pairs of lines, all of them, if they hold nothing else; return whether they do."""
    first, second, links = columns(chunk, 3)
    pairs = rows.pairs(first, second)
    keywords = [_LINKS.get(link, link) for link in links]
    return stated.add_lines(keywords, pairs, np.ones(len(links)), start)


def _read_any(path: FilePath, start: int, chunk: list[str], rows: Rows, stated: Statements) -> None:
    """Add the pairs of lines one by one, or raise the InstanceError for the first one at fault."""
    for number, text in enumerate(chunk, start):
        fields = without_comment(text).split()
        if not fields:
            continue
        pair = rows.pair(fields[0], fields[1]) if len(fields) == 3 else None
        if pair is None or fields[2] not in _LINKS:
            raise _wrong(f"{shown_path(path)}:{number}", fields, rows)
        stated.add(_LINKS[fields[2]], pair, 1.0, number)


def lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
    """Return the lines of a file that holds the constraints.

    Raises
    ------
    InstanceError
        For what is not a hard constraint on a pair.
    """
    check_pairs_only(constraints, "cccg", soft=False)
    link_of = {keyword: link for link, keyword in _LINKS.items()}
    return [f"{i} {j} {link_of[keyword]}" for keyword, i, j, _ in constraints.each_pair()]


def _wrong(where: str, fields: list[str], rows: Rows) -> InstanceError:
    says = f"{where}: {shown(' '.join(fields))}"
    if len(fields) == 3 and fields[2] in _LINKS and rows.are_names(fields[:2]):
        return rows.pair_error(fields[0], fields[1], says)
    return InstanceError(
        f"{says}; expected i j 1 (must-link) or i j -1 (cannot-link), i and j being {rows.expected}"
    )


FORMAT = ConstraintFormat("cccg", "i j 1 or i j -1", begins, read, lines)
