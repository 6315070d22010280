"""Constraints as other programs have them: tables, CCCG, PCCC, and the matrices of BH-k-means.

csv is a table (CSV with a heading, a workbook, Parquet or Feather): two columns name the rows of a
pair, one says how they are linked, and one may hold a weight, with which a constraint is soft.
cccg lines are `i j 1` (must-link) and `i j -1` (cannot-link). pccc is JSON: lists of pairs under
`ml`, `cl`, `sml` and `scl`, and the confidences in the soft ones under `sml_proba` and `scl_proba`.
matrix is a table of 1 (must-link), -1 (cannot-link) and 0 (neither).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem.files.constraints import PAIRS, Constraints, check_pairs_only
from sdpbb.problem.files.stated import ConstraintFormat, FileStatement, Rows
from sdpbb.problem.files.tables import SEPARATORS, fields_of, read_rows
from sdpbb.problem.textfile import is_integer, is_number, open_text, shown, stated_lines
from sdpbb.runtime.files import FilePath, shown_path

KIND_COLUMNS = ("type", "value", "kind", "link", "constraint", "label", "relation")
WEIGHT_COLUMNS = ("weight", "w", "cost", "penalty")

_KEYWORDS = {
    **dict.fromkeys(("ml", "1", "+1", "1.0", "must-link", "must", "mustlink"), "ML"),
    **dict.fromkeys(("cl", "-1", "-1.0", "cannot-link", "cannot", "cannotlink"), "CL"),
    **dict.fromkeys(("sml", "soft-must-link"), "SML"),
    **dict.fromkeys(("scl", "soft-cannot-link"), "SCL"),
}


class _Columns(NamedTuple):
    """Positions of the columns of a table; `weight` is None where it has no weights."""

    first: int
    second: int
    kind: int
    weight: int | None


def _begins_csv(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line is a heading of such a table."""
    line = " ".join(fields)
    return any(_columns(fields_of(line, one)) for one in (*SEPARATORS, " ") if one in line)


def _csv_statements(path: FilePath, rows: Rows, encoding: str | None) -> Iterator[FileStatement]:
    rows_of_file = read_rows(path, encoding)
    columns = _columns(rows_of_file[0][1]) if rows_of_file else None
    if columns is None:
        raise InstanceError(
            f"{shown_path(path)}: expected a heading i,j,value or type,i,j[,weight]: two columns "
            f"for the rows, one of {', '.join(KIND_COLUMNS)}, and perhaps weight"
        )
    for number, fields in rows_of_file[1:]:
        first, second, kind, weight = ("" if at is None else fields[at] for at in columns)
        keyword = _keyword(kind)
        if weight and keyword in ("ML", "CL"):
            keyword = f"S{keyword}"
        stated = (first, second, weight) if weight else (first, second)
        yield FileStatement(number, ",".join(fields), keyword, stated)


def _columns(names: Sequence[str]) -> _Columns | None:
    """Return the columns that a heading names; None if it is not a heading."""
    names = [name.strip().lower() for name in names]
    kinds = [at for at, name in enumerate(names) if name in KIND_COLUMNS]
    weights = [at for at, name in enumerate(names) if name in WEIGHT_COLUMNS]
    # The first column of what pandas writes with its index has no name.
    rest = [at for at, name in enumerate(names) if name and at not in (*kinds, *weights)]
    is_heading = len(kinds) == 1 and len(weights) <= 1 and len(rest) == 2
    if not is_heading or _keyword(names[0]) or any(map(is_integer, names)):
        return None
    return _Columns(rest[0], rest[1], kinds[0], weights[0] if weights else None)


def _keyword(field: str) -> str:
    return _KEYWORDS.get(field.strip().lower().replace("_", "-").replace(" ", "-"), "")


def _csv_lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
    check_pairs_only(constraints, "csv", soft=True)
    written = [
        f"{keyword},{i},{j},{'' if weight is None else repr(weight)}"
        for keyword, i, j, weight in constraints.each_pair()
    ]
    if constraints.has_soft:
        return ["type,i,j,weight", *written]
    return ["type,i,j", *(line.removesuffix(",") for line in written)]


_LINKS = {"1": "ML", "-1": "CL"}


def _begins_cccg(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line has three fields, the first one a number."""
    return len(fields) == 3 and is_number(fields[0])


def _cccg_statements(path: FilePath, rows: Rows, encoding: str | None) -> Iterator[FileStatement]:
    with open_text(path, encoding) as file:
        for number, text in stated_lines(file):
            *fields, link = text.split()
            yield FileStatement(number, text, _LINKS.get(link, ""), fields)


def _cccg_lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
    check_pairs_only(constraints, "cccg", soft=False)
    link_of = {keyword: link for link, keyword in _LINKS.items()}
    return [f"{i} {j} {link_of[keyword]}" for keyword, i, j, _ in constraints.each_pair()]


# For which a matrix is written: 200 MB of text.
MAX_POINTS = 10_000


class _Entries(dict[str, int | None]):
    """Entries of a matrix by their text, in any spelling, such as 1.0e+00; None for others."""

    def __missing__(self, field: str) -> int | None:
        value = float(field) if is_number(field) else None
        self[field] = int(value) if value in (-1.0, 0.0, 1.0) else None
        return self[field]


def _begins_matrix(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line has an entry for each row of the data, or several of 1, -1 and 0."""
    is_row = len(fields) == rows.n or (len(fields) > 3 and {"0", "1", "-1"} >= set(fields))
    return is_row and is_number(fields[0])


def _matrix_statements(path: FilePath, rows: Rows, encoding: str | None) -> Iterator[FileStatement]:
    """Yield a statement for each pair.

    A pair has two entries, which must not contradict each other. One of them may be 0: the
    published matrices of BH-k-means state cannot-links below the diagonal only.
    """
    n, names, entries = rows.n, list(rows.number_of), _Entries()
    found, lines = list[Any](), list[int]()
    with open_text(path, encoding) as file:
        for number, text in stated_lines(file):
            values = list(map(entries.__getitem__, text.split()))
            if len(values) != n or len(lines) == n or None in values or values[len(lines)] != 1:
                raise InstanceError(
                    f"{shown_path(path)}:{number}: {shown(text.strip())}; expected {n} rows of "
                    f"{n} entries 1 (must-link), -1 (cannot-link) or 0 (neither), with 1 on the "
                    "diagonal"
                )
            found.append(np.array(values, np.int8))
            lines.append(number)
    if len(lines) != n:
        raise InstanceError(
            f"{shown_path(path)}: the matrix has {len(lines)} rows; expected {n}, one per point of "
            "the data"
        )
    matrix = np.stack(found)
    np.fill_diagonal(matrix, 0)
    for low, high in np.argwhere(np.triu(matrix * matrix.T) < 0)[:1].tolist():
        raise InstanceError(
            f"{shown_path(path)}:{lines[high]}: contradicts line {lines[low]} on the pair of the "
            f"columns {low + 1} and {high + 1}; expected a symmetric matrix"
        )
    # Of the two entries of a pair, the one that the file states first.
    for i, j in np.argwhere(np.where(np.tril(matrix.T), 0, matrix)).tolist():
        keyword = "ML" if matrix[i, j] == 1 else "CL"
        pair = (names[min(i, j)], names[max(i, j)])
        yield FileStatement(lines[i], " ".join(pair), keyword, pair)


def _matrix_lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
    """Return the lines of a file that holds the constraints on n_points points.

    Raises
    ------
    InstanceError
        For what is not a hard constraint on a pair, a pair that is constrained both ways, and more
        than MAX_POINTS.
    ParameterError
        If n_points is None.
    """
    if n_points is None:
        raise ParameterError("n_points = None: a matrix needs the number of points")
    check_pairs_only(constraints, "matrix", soft=False)
    if n_points > MAX_POINTS:
        raise InstanceError(
            f"a matrix for {n_points} points has {n_points**2} entries; expected at most "
            f"{MAX_POINTS} points, or another format"
        )
    matrix = np.eye(n_points, dtype=np.int8)
    for keyword, i, j, _ in constraints.each_pair():  # must-links first
        if keyword == "CL" and matrix[i, j] == 1:
            raise InstanceError(
                f"cannot_link: ({i}, {j}) is a must-link too, and the matrix has one entry for "
                "both; expected one of them, or another format"
            )
        matrix[i, j] = matrix[j, i] = 1 if keyword == "ML" else -1
    return [" ".join(map(str, row.tolist())) for row in matrix]


_LISTS = {keyword.lower(): argument for keyword, argument in PAIRS.items()}
KEYS = (*_LISTS, "sml_proba", "scl_proba")


def _begins_pccc(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line begins like JSON."""
    return fields[0][0] in "{["


def _pccc_statements(path: FilePath, rows: Rows, encoding: str | None) -> Iterator[FileStatement]:
    name, expected = shown_path(path), f"expected an object with lists {', '.join(KEYS)}"
    with open_text(path, encoding) as file:
        text = file.read()
    try:
        content = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise InstanceError(
            f"{name}:{error.lineno}: is not JSON ({error.msg}, column {error.colno}); {expected}"
        ) from None
    except (RecursionError, ValueError):  # of a number with thousands of digits, too
        raise InstanceError(
            f"{name}: the JSON cannot be read, or has a key twice; {expected}"
        ) from None
    is_known = isinstance(content, dict) and content.keys() <= set(KEYS)
    if not is_known or not all(isinstance(value, list) for value in content.values()):
        raise InstanceError(f"{name}: the JSON is something else; {expected}")
    for key in _LISTS:
        pairs, weights = content.get(key, []), content.get(f"{key}_proba", [])
        if weights and len(weights) != len(pairs):
            raise InstanceError(
                f"{name}: {key}_proba has {len(weights)} entries; expected one per pair of {key}, "
                f"{len(pairs)}"
            )
        for at, pair in enumerate(pairs):
            values = [*pair, *weights[at : at + 1]] if isinstance(pair, list) else []
            are_plain = all(type(value) in (int, str, float) for value in values)
            yield FileStatement(at, pair, key.upper(), list(map(str, values)) if are_plain else [])


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(items)
    if len(content) < len(items):
        raise ValueError
    return content


def _pccc_lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
    """Return the lines of a file that holds the constraints.

    Raises
    ------
    InstanceError
        For what is not a constraint on a pair, and for weights that are no confidences.
    """
    check_pairs_only(constraints, "pccc", soft=True)
    values: dict[str, list[Any]] = {key: [] for key in KEYS}
    for keyword, i, j, weight in constraints.each_pair():
        key = keyword.lower()
        if weight is not None:
            if not 0 < weight <= 1:
                raise InstanceError(
                    f"{_LISTS[key]}[{len(values[key])}]: weight {weight:g}; a file of the format "
                    "pccc holds confidences 0 < w <= 1"
                )
            values[f"{key}_proba"].append(weight)
        values[key].append([i, j])
    entries = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in values.items()]
    return ["{", *(f"{entry}," for entry in entries[:-1]), entries[-1], "}"]


FORMATS = (
    ConstraintFormat("cccg", "i j 1 or i j -1", _begins_cccg, _cccg_statements, _cccg_lines),
    ConstraintFormat(
        "pccc",
        "JSON",
        _begins_pccc,
        _pccc_statements,
        _pccc_lines,
        has_soft=True,
        has_comments=False,
        in_lists=True,
    ),
    ConstraintFormat(
        "matrix",
        "{n} entries 1, -1 or 0",
        _begins_matrix,
        _matrix_statements,
        _matrix_lines,
    ),
    ConstraintFormat(
        "csv",
        "a heading i,j,value or type,i,j",
        _begins_csv,
        _csv_statements,
        _csv_lines,
        has_soft=True,
        has_comments=False,
    ),
)
