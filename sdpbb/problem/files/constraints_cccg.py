"""Constraints as the program CCCG reads them.

Lines are `i j 1` (must-link) and `i j -1` (cannot-link).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from sdpbb.errors import InstanceError
from sdpbb.files import FilePath, shown_path
from sdpbb.problem.files.constraints import ConstraintFormat, Constraints, check_pairs_only
from sdpbb.problem.files.rows import Rows
from sdpbb.problem.textfile import is_number, open_text, shown, without_comment

_LINKS = {"1": 0, "-1": 1}


def begins(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line has three fields, the first one a number."""
    return len(fields) == 3 and is_number(fields[0])


def read(path: FilePath, rows: Rows) -> Constraints:
    """Return the constraints of a file, as `read_constraints` does."""
    numbers, lines = (array("q"), array("q")), (array("q"), array("q"))
    with open_text(path) as file:
        for number, text in enumerate(file, start=1):
            fields = without_comment(text).split()
            if not fields:
                continue
            link = _LINKS.get(fields[2]) if len(fields) == 3 else None
            pair = None if link is None else rows.pair(fields[0], fields[1])
            if link is None or pair is None:
                raise _wrong(f"{shown_path(path)}:{number}", fields, rows)
            numbers[link].extend(pair)
            lines[link].append(number)
    must_link, cannot_link = (np.array(pairs, np.intp).reshape(-1, 2) for pairs in numbers)
    return Constraints(
        must_link,
        cannot_link,
        must_link_lines=np.array(lines[0], np.intp),
        cannot_link_lines=np.array(lines[1], np.intp),
    )


def lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
    """Return the lines of a file that holds the constraints.

    Raises
    ------
    InstanceError
        For what is not a hard constraint on a pair.
    """
    check_pairs_only(constraints, "cccg", soft=False)
    must_links = [f"{i} {j} 1" for i, j in constraints.must_link.tolist()]
    return [*must_links, *(f"{i} {j} -1" for i, j in constraints.cannot_link.tolist())]


def _wrong(where: str, fields: list[str], rows: Rows) -> InstanceError:
    says = f"{where}: {shown(' '.join(fields))}"
    if len(fields) == 3 and fields[2] in _LINKS and rows.are_names(fields[:2]):
        return rows.pair_error(fields[0], fields[1], says)
    return InstanceError(
        f"{says}; expected i j 1 (must-link) or i j -1 (cannot-link), i and j being {rows.expected}"
    )


FORMAT = ConstraintFormat("cccg", "i j 1 or i j -1", begins, read, lines)
