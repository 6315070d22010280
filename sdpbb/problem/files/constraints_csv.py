"""Constraints as a table: CSV with a heading, a workbook, Parquet or Feather.

Two columns name the rows of a pair, one says how they are linked, and one may hold a weight, with
which a constraint is soft.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from sdpbb.errors import InstanceError
from sdpbb.problem.files.constraints import (
    ConstraintFormat,
    Constraints,
    Line,
    Rows,
    StatedPair,
    Statements,
    check_pairs_only,
)
from sdpbb.problem.files.records import read_records
from sdpbb.problem.files.separated import CANDIDATES, fields_of, number_in
from sdpbb.problem.textfile import is_integer, shown
from sdpbb.runtime.files import FilePath, shown_path

KIND_COLUMNS = ("type", "value", "kind", "link", "constraint", "label", "relation")
WEIGHT_COLUMNS = ("weight", "w", "cost", "penalty")

_KINDS = {
    **dict.fromkeys(("ml", "1", "+1", "1.0", "must-link", "must", "mustlink"), "ML"),
    **dict.fromkeys(("cl", "-1", "-1.0", "cannot-link", "cannot", "cannotlink"), "CL"),
    **dict.fromkeys(("sml", "soft-must-link"), "SML"),
    **dict.fromkeys(("scl", "soft-cannot-link"), "SCL"),
}
EXPECTED = "1, ML or must-link, or -1, CL or cannot-link, or SML or SCL"
HEADING = (
    "a heading i,j,value or type,i,j[,weight]: two columns for the rows, one of "
    f"{', '.join(KIND_COLUMNS)}, and perhaps weight"
)


class _Columns(NamedTuple):
    """Positions of the columns of a table; `weight` is None where it has no weights."""

    first: int
    second: int
    kind: int
    weight: int | None
    width: int


def begins(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line is a heading of such a table."""
    line = " ".join(fields)
    return any(_of_heading(fields_of(line, one)) for one in (*CANDIDATES, " ") if one in line)


def read(path: FilePath, rows: Rows, encoding: str | None = None) -> Constraints:
    """Return the constraints of a file, as `read_constraints` does."""
    records = read_records(path, encoding, "constraints")
    if not records.rows:
        return Constraints()
    columns = _of_heading(records.rows[0])
    if columns is None:
        raise InstanceError(
            f"{records.where(0)}: {shown(','.join(records.rows[0]))}; expected {HEADING}"
        )
    stated, name, pairs = Statements(), shown_path(path), list[StatedPair]()
    for number, fields in list(zip(records.lines, records.rows, strict=True))[1:]:
        line = Line(name, number, fields, f"two {rows.expected} in it", ",")
        kind = _kind(line, columns)
        named = [_row(fields, at) for at in (columns.first, columns.second)]
        pair, weight = rows.pair(named, line, line.expected), _weight(line, columns)
        if weight is not None and kind in ("ML", "CL"):
            kind = f"S{kind}"
        pairs.append((kind, pair, 1.0 if weight is None else weight, number))
    stated.add(pairs)
    return stated.constraints()


def lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
    """Return the lines of a file that holds the constraints.

    Raises
    ------
    InstanceError
        For what is not a constraint on a pair.
    """
    check_pairs_only(constraints, "csv", soft=True)
    written = [
        f"{keyword},{i},{j},{'' if weight is None else repr(weight)}"
        for keyword, i, j, weight in constraints.each_pair()
    ]
    if constraints.has_soft:
        return ["type,i,j,weight", *written]
    return ["type,i,j", *(line.removesuffix(",") for line in written)]


def _of_heading(names: Sequence[str]) -> _Columns | None:
    """Return the columns that a heading names; None if it is not a heading."""
    names = [name.strip().lower() for name in names]
    kinds = [at for at, name in enumerate(names) if name in KIND_COLUMNS]
    weights = [at for at, name in enumerate(names) if name in WEIGHT_COLUMNS]
    # The first column of what pandas writes with its index has no name.
    rest = [at for at, name in enumerate(names) if name and at not in (*kinds, *weights)]
    is_heading = len(kinds) == 1 and len(weights) <= 1 and len(rest) == 2
    if not is_heading or _keyword(names[0]) or any(map(is_integer, names)):
        return None
    first, second = rest
    return _Columns(first, second, kinds[0], weights[0] if weights else None, len(names))


def _keyword(field: str) -> str | None:
    return _KINDS.get(field.strip().lower().replace("_", "-").replace(" ", "-"))


def _kind(line: Line, columns: _Columns) -> str:
    kind = _keyword(_row(line.fields, columns.kind))
    if kind is None or len(line.fields) > columns.width:
        raise InstanceError(
            f"{line}; expected {EXPECTED} in field {columns.kind + 1}; limits such as MINSIZE n "
            "need a text file"
        )
    return kind


def _weight(line: Line, columns: _Columns) -> float | None:
    """Return the weight of a soft constraint; None if the record has none."""
    if columns.weight is None or not (field := _row(line.fields, columns.weight)):
        return None
    weight = number_in(field, ".")
    if weight is None or math.isnan(weight) or weight < 0:
        raise InstanceError(
            f"{line}; expected a weight w >= 0, or an empty field for a hard constraint"
        )
    return weight


def _row(fields: Sequence[str], column: int) -> str:
    return fields[column] if column < len(fields) else ""


FORMAT = ConstraintFormat(
    "csv",
    "a heading i,j,value or type,i,j",
    begins,
    read,
    lines,
    has_soft=True,
    has_comments=False,
)
