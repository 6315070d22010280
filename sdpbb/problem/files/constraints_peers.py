"""Constraints as other programs have them: CCCG, PCCC, and the matrices of BH-k-means.

cccg lines are `i j 1` (must-link) and `i j -1` (cannot-link). pccc is JSON: lists of pairs under
`ml`, `cl`, `sml` and `scl`, and the confidences in the soft ones under `sml_proba` and `scl_proba`.
matrix is a table of 1 (must-link), -1 (cannot-link) and 0 (neither).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem.files.constraints import (
    PAIRS,
    ConstraintFormat,
    Constraints,
    Line,
    Rows,
    StatedPair,
    Statements,
    check_pairs_only,
)
from sdpbb.problem.textfile import chunks, columns, is_number, open_text, shown, stated_lines
from sdpbb.runtime.files import FilePath, shown_path

_LINKS = {"1": "ML", "-1": "CL"}


def _begins_cccg(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line has three fields, the first one a number."""
    return len(fields) == 3 and is_number(fields[0])


def _read_cccg(path: FilePath, rows: Rows, encoding: str | None = None) -> Constraints:
    """Return the constraints of a file, as `read_constraints` does."""
    stated, name, pairs = Statements(), shown_path(path), list[StatedPair]()
    expected = f"i j 1 (must-link) or i j -1 (cannot-link), i and j being {rows.expected}"
    with open_text(path, encoding) as file:
        for start, chunk in chunks(file):
            first, second, links = columns(chunk, 3)
            found = rows.pairs(first, second)
            if found is not None and _LINKS.keys() >= set(links):
                numbers = np.arange(start, start + len(links))
                stated.add_table(
                    map(_LINKS.__getitem__, links), found, np.ones(len(links)), numbers
                )
                continue
            for number, text in stated_lines(chunk, start):
                *fields, link = text.split()
                line = Line(name, number, [*fields, link], expected)
                pair = rows.pair(fields if link in _LINKS else (), line, expected)
                pairs.append((_LINKS[link], pair, 1.0, number))
            stated.add(pairs)
            pairs.clear()
    return stated.constraints()


def _cccg_lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
    """Return the lines of a file, or raise the InstanceError for what is not a hard pair."""
    check_pairs_only(constraints, "cccg", soft=False)
    link_of = {keyword: link for link, keyword in _LINKS.items()}
    return [f"{i} {j} {link_of[keyword]}" for keyword, i, j, _ in constraints.each_pair()]


# For which a matrix is written: 200 MB of text.
MAX_POINTS = 10_000

_ENTRIES = {"0": 0, "1": 1, "-1": -1}


def _begins_matrix(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line has an entry for each row of the data, or several of 1, -1 and 0."""
    is_row = len(fields) == rows.n or (len(fields) > 3 and _ENTRIES.keys() >= set(fields))
    return is_row and is_number(fields[0])


def _read_matrix(path: FilePath, rows: Rows, encoding: str | None = None) -> Constraints:
    """Return the constraints of a file, as `read_constraints` does.

    A pair has two entries, which must not contradict each other. One of them may be 0: the
    published matrices of BH-k-means state cannot-links below the diagonal only.
    """
    matrix, lines = _matrix(path, rows.n, encoding)
    np.fill_diagonal(matrix, 0)
    opposite = matrix.T
    for low, high in np.argwhere(np.triu(matrix * opposite) < 0)[:1].tolist():
        raise InstanceError(
            f"{shown_path(path)}:{lines[high]}: column {low + 1} is {matrix[high, low]}, but "
            f"column {high + 1} of line {lines[low]}, which is for the same pair, is "
            f"{matrix[low, high]}; expected a symmetric matrix"
        )
    # Of the two entries of a pair, the one that the file states first.
    i, j = np.nonzero(np.where(np.tril(opposite), 0, matrix))
    is_ml, pairs = matrix[i, j] == 1, np.column_stack([np.minimum(i, j), np.maximum(i, j)])
    at = lines[i]
    return Constraints(
        pairs[is_ml], pairs[~is_ml], lines={"must_link": at[is_ml], "cannot_link": at[~is_ml]}
    )


def _matrix(path: FilePath, n: int, encoding: str | None) -> tuple[NDArray[np.int8], NDArray[Any]]:
    """Return the entries (n, n) of a file, and the line (n,) of each row."""
    found, lines = list[NDArray[np.int8]](), list[int]()
    per_point = "one per point of the data"
    with open_text(path, encoding) as file:
        for number, text in stated_lines(file):
            fields, row, where = text.split(), len(lines), f"{shown_path(path)}:{number}"
            if row == n:
                raise InstanceError(f"{where}: one row too many; expected {n}, {per_point}")
            if len(fields) != n:
                raise InstanceError(
                    f"{where}: the row has {len(fields)} entries; expected {n}, {per_point}"
                )
            values = [
                _ENTRIES[field] if field in _ENTRIES else _entry(field, where, column)
                for column, field in enumerate(fields, start=1)
            ]
            if values[row] != 1:
                raise InstanceError(
                    f"{where}: column {row + 1}, on the diagonal, is {shown(fields[row])}; "
                    "expected 1, as a point is in its own cluster"
                )
            found.append(np.array(values, np.int8))
            lines.append(number)
    if len(lines) != n:
        raise InstanceError(
            f"{shown_path(path)}: the matrix has {len(lines)} rows; expected {n}, {per_point}"
        )
    return np.stack(found), np.array(lines)


def _entry(field: str, where: str, column: int) -> int:
    """Return the value of an entry in another spelling, such as 1.0e+00."""
    if is_number(field) and float(field) in (-1.0, 0.0, 1.0):
        return int(float(field))
    raise InstanceError(
        f"{where}: column {column} is {shown(field)}; expected 1 (must-link), -1 (cannot-link) or "
        "0 (neither)"
    )


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
_CONFIDENCES = ("sml_proba", "scl_proba")
KEYS = (*_LISTS, *_CONFIDENCES)


def _begins_pccc(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line begins like JSON."""
    return fields[0][0] in "{["


def _read_pccc(path: FilePath, rows: Rows, encoding: str | None = None) -> Constraints:
    """Return the constraints of a file, as `read_constraints` does."""
    lists = _lists(path, encoding)
    name = shown_path(path)
    stated = Statements()
    for key in _LISTS:
        pairs = _pairs(lists[key], f"{name}: {key}", rows)
        weights = _weights(lists, key, len(pairs), name)
        stated.add_table([key.upper()] * len(pairs), pairs, weights, np.arange(len(pairs)))
    return stated.constraints(keys={argument: key for key, argument in _LISTS.items()})


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


def _lists(path: FilePath, encoding: str | None) -> dict[str, list[Any]]:
    """Return the lists of the file; an empty one for a key that is not there."""
    name = shown_path(path)
    with open_text(path, encoding) as file:
        text = file.read()
    expected = f"expected an object with lists {', '.join(KEYS)}"
    try:
        content = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise InstanceError(
            f"{name}:{error.lineno}: is not JSON ({error.msg}, column {error.colno}); {expected}"
        ) from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InstanceError(f"{name}: {shown(reason)}; {expected}") from None
    if not isinstance(content, dict):
        raise InstanceError(
            f"{name}: the JSON is not an object; expected one with lists {', '.join(KEYS)}"
        )
    for key, value in content.items():
        if key not in KEYS:
            raise InstanceError(f"{name}: unknown key {shown(key)}; expected {', '.join(KEYS)}")
        if not isinstance(value, list):
            raise InstanceError(f"{name}: {key} is {_shown(value)}; expected a list")
    return {key: content.get(key, []) for key in KEYS}


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(items)
    if len(content) < len(items):
        keys = [key for key, _ in items]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!a} appears twice")
    return content


def _pairs(values: list[Any], where: str, rows: Rows) -> NDArray[np.intp]:
    """Return the pairs (p, 2) that lists of two names or numbers state."""
    found = _plain_pairs(values, rows)
    if found is not None:
        return found
    expected = f"two {rows.expected}"
    pairs = [
        rows.pair(_names(value, rows), f"{where}[{at}] is {_shown(value)}", expected, ", which")
        for at, value in enumerate(values)
    ]
    return np.array(pairs, np.intp).reshape(-1, 2)


def _plain_pairs(values: list[Any], rows: Rows) -> NDArray[np.intp] | None:
    """Return the pairs (p, 2) of lists of two integers each, or None if these are other values."""
    if set(map(type, values)) != {list} or set(map(len, values)) != {2}:
        return None
    first, second = zip(*values, strict=True)
    if not {int}.issuperset(map(type, first + second)):
        return None
    return rows.pairs(list(map(str, first)), list(map(str, second)))


def _names(value: Any, rows: Rows) -> list[str]:
    """Return the entries of a list as texts; [] unless it is a list of names or numbers."""
    kinds = (int,) if rows.names is None else (int, str)
    if isinstance(value, list) and all(type(entry) in kinds for entry in value):
        return [str(entry) for entry in value]
    return []


def _weights(lists: dict[str, list[Any]], key: str, n_pairs: int, name: str) -> NDArray[np.float64]:
    """Return the confidences in the pairs under a key; 1 if the file states none, or none can."""
    confidences = f"{key}_proba"
    values = lists.get(confidences)
    if not values:
        return np.ones(n_pairs)
    if len(values) != n_pairs:
        raise InstanceError(
            f"{name}: {confidences} has {len(values)} entries; expected one per pair of {key}, "
            f"{n_pairs}"
        )
    for position, value in enumerate(values):
        if type(value) not in (int, float) or not 0 < value <= 1:
            raise InstanceError(
                f"{name}: {confidences}[{position}] is {_shown(value)}; expected a confidence "
                "0 < w <= 1"
            )
    return np.array(values, np.float64)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"


FORMATS = (
    ConstraintFormat("cccg", "i j 1 or i j -1", _begins_cccg, _read_cccg, _cccg_lines),
    ConstraintFormat(
        "pccc", "JSON", _begins_pccc, _read_pccc, _pccc_lines, has_soft=True, has_comments=False
    ),
    ConstraintFormat(
        "matrix",
        "{n} entries 1, -1 or 0",
        _begins_matrix,
        _read_matrix,
        _matrix_lines,
        names_rows=False,
    ),
)
