"""Files of constraints, and their formats, each with its reader and its writer.

`sdpbb.problem.formats` describes the formats.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sdpbb.errors import InstanceError, InstanceWarning, ParameterError, warn_caller
from sdpbb.problem.cluster_constraints import MaximumSize
from sdpbb.problem.files.constraints import (
    CLUSTER_LINES,
    KEYWORDS,
    PAIRS,
    ConstraintFormat,
    Constraints,
    FileStatement,
    constraints_of,
    line_of,
)
from sdpbb.problem.files.tables import SEPARATORS, fields_of, filled, is_table, opened_table
from sdpbb.problem.origin import Origin
from sdpbb.problem.rules import LIMITS
from sdpbb.problem.table import Rows
from sdpbb.problem.textfile import (
    encoding_beside,
    is_integer,
    is_number,
    name_in_file,
    open_text,
    reading_file,
    shown,
    stated_lines,
    without_comment,
)
from sdpbb.runtime.files import FilePath, shown_path, write_atomically
from sdpbb.runtime.values import json_text


def read_constraints(
    path: FilePath,
    n_points: int,
    constraints_format: str | None = None,
    *,
    origin: Origin | None = None,
    encoding: str | None = None,
) -> Constraints:
    """Read the constraints on the points 0 to n_points - 1.

    Parameters
    ----------
    constraints_format : one of `CONSTRAINT_FORMATS`; None: detect it by the first line that is
        neither blank nor a comment. A file without such a line holds no constraints
    origin : names of the rows in the file; None: numbers from 0
    encoding : encoding of text without a byte order mark that is not UTF-8; None: UTF-8

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what is expected.
    ParameterError
        If the format is unknown.

    Warns
    -----
    InstanceWarning
        If the file holds no constraints.
    """
    origin = origin or Origin()
    if origin.first_row and origin.row_names not in (None, tuple(origin.counted(n_points, 1))):
        raise InstanceError(
            "one_based: the rows have names (index_column), and constraints use them; expected "
            "only one of the two"
        )
    with reading_file(path):
        rows, encoding = Rows.of(origin, n_points), encoding_beside(path, encoding)
        is_given = constraints_format is not None
        chosen = _format(constraints_format) if is_given else _detected(path, rows, encoding)
        statements = chosen.statements(path, rows, encoding)
        constraints = constraints_of(path, statements, rows, chosen.example, chosen.in_lists)
    if not constraints.stated:
        text = f"{shown_path(path)}: has no constraints; is it the right file?"
        warn_caller(text, InstanceWarning)
    return constraints


def write_constraints(
    path: FilePath,
    constraints: Constraints,
    constraints_format: str = "pc-sos-sdp",
    n_points: int | None = None,
    header: Sequence[str] = (),
) -> None:
    """Write a file of constraints; `read_constraints` reads the same values back.

    Parameters and errors: see `constraints_text`.
    """
    write_atomically(path, constraints_text(constraints, constraints_format, n_points, header))


def constraints_text(
    constraints: Constraints,
    constraints_format: str = "pc-sos-sdp",
    n_points: int | None = None,
    header: Sequence[str] = (),
) -> str:
    """Return the content of a file of constraints; rows without names are numbered from 0.

    Parameters
    ----------
    n_points : number of points; the matrix format needs it
    header : lines of comments; left out if the format does not support comments

    Raises
    ------
    InstanceError
        For a constraint that the format cannot hold.
    ParameterError
        If the format is unknown, or n_points is missing.
    """
    chosen = _format(constraints_format)
    held = {KEYWORDS[keyword].argument for keyword in chosen.keywords}
    for name in constraints.stated:
        if name not in held:
            raise InstanceError(
                f"{name}: the format {chosen.name} cannot hold it; expected only "
                f"{', '.join(chosen.keywords)}, or another format"
            )
    comments = [f"# {line}" for line in header] if chosen.has_comments else []
    lines = [*comments, *chosen.lines(constraints, n_points)]
    return "".join(f"{line}\n" for line in lines)


def _format(name: str | None) -> ConstraintFormat:
    if name not in CONSTRAINT_FORMATS:
        expected = ", ".join(CONSTRAINT_FORMATS)
        raise ParameterError(f"constraints_format = {name!r}: expected one of {expected}")
    return CONSTRAINT_FORMATS[name]


def _detected(path: FilePath, rows: Rows, encoding: str | None) -> ConstraintFormat:
    """Return the only format that the name and the first line of a file allow."""
    formats = list(CONSTRAINT_FORMATS.values())
    if is_table(path):
        return CONSTRAINT_FORMATS["csv"]
    with open_text(path, encoding) as file:
        number, line = next(stated_lines(file), (0, ""))
    if not line:
        return formats[0]  # any format will do, as the file holds no constraints
    possible = [one for one in formats if one.begins(line.split(), rows)]
    if len(possible) == 1:
        return possible[0]
    *others, last = (
        f"{one.example.replace('{n}', str(rows.n))} ({one.name})" for one in possible or formats
    )
    says = "may be several formats" if possible else "does not match any format"
    raise InstanceError(
        f"{shown_path(path)}:{number}: {shown(line.strip())} {says}; expected {', '.join(others)} "
        f"or {last}; --constraints-format selects one"
    )


# pc-sos-sdp: lines that begin with a keyword. A name has no blanks, or is in quotes; a quote inside
# is doubled.
_FIELD = re.compile(r'"((?:[^"]|"")*)"(?=\s|$|#)|(#.*|[^\s#]+)|(\s+)')


def _read_lines(path: FilePath, rows: Rows, encoding: str | None) -> Iterator[FileStatement]:
    with open_text(path, encoding) as file:
        for number, line in enumerate(file, 1):
            if fields := _fields(line):
                yield FileStatement(number, line, fields[0].upper(), fields[1:])


def _fields(text: str) -> list[str]:
    """Return the fields of a line without its comment."""
    if '"' not in text:
        return without_comment(text).split()
    fields = []
    for quoted, plain, blanks in _FIELD.findall(text):
        if plain.startswith("#"):
            break
        if not blanks:
            fields.append(plain or quoted.replace('""', '"'))
    return fields


def _write_lines(constraints: Constraints, n_points: int | None) -> list[str]:
    written = [
        " ".join((keyword, *map(name_in_file, (str(i), str(j))), *_weight(weight)))
        for keyword, i, j, weight in constraints.each_pair()
    ]
    limits = ("max_diameter", "min_separation", *LIMITS)
    values = {name: getattr(constraints, name) for name in limits}
    others = []
    for each in constraints.cluster_constraints:
        rows = list(getattr(each, "rows", tuple)())
        if type(each) is MaximumSize:
            values["max_size"] = min(each.limit, values["max_size"] or each.limit)
        elif rows and (line := line_of(each, rows)):
            others.append(line)
        else:
            *kinds, last = [made.__name__ for made in CLUSTER_LINES.values()]
            raise InstanceError(
                f"cluster_constraints: {each!r} has no line in a file of constraints; expected a "
                f"non-empty {', '.join(kinds)} or {last}"
            )
    stated = [line_of(value, (), name) for name, value in values.items() if value is not None]
    return [*written, *stated, *others]


# csv: a table (CSV with a heading, a workbook, Parquet or Feather). Two columns name the rows of a
# pair, one has the kind of link, and one may have a weight, which makes a constraint soft.
KIND_COLUMNS = ("type", "value", "kind", "link", "constraint", "label", "relation")
WEIGHT_COLUMNS = ("weight", "w", "cost", "penalty")
_KEYWORDS = {
    **dict.fromkeys(("ml", "1", "+1", "1.0", "must-link", "must", "mustlink"), "ML"),
    **dict.fromkeys(("cl", "-1", "-1.0", "cannot-link", "cannot", "cannotlink"), "CL"),
    **dict.fromkeys(("sml", "soft-must-link"), "SML"),
    **dict.fromkeys(("scl", "soft-cannot-link"), "SCL"),
}


def _begins_csv(fields: Sequence[str], rows: Rows) -> bool:
    line = " ".join(fields)
    return any(_columns(fields_of(line, one)) for one in (*SEPARATORS, " ") if one in line)


def _read_csv(path: FilePath, rows: Rows, encoding: str | None) -> Iterator[FileStatement]:
    with opened_table(path, encoding=encoding) as table:
        said = ((line, filled(fields)) for line, fields in table.rows)
        said = ((line, fields) for line, fields in said if any(fields))
        top, heading = next(said, (0, []))
        columns = _columns(heading)
        if columns is None:
            raise InstanceError(
                f"{shown_path(path)}: expected a heading i,j,value or type,i,j[,weight]: two "
                f"columns for the rows, one of {', '.join(KIND_COLUMNS)}, and perhaps weight"
            )
        for number, fields in said:
            if len(fields) > len(heading):
                raise InstanceError(
                    f"{shown_path(path)}:{number}: the row has {len(fields)} fields; line {top} "
                    f"has {len(heading)}"
                )
            field_at = dict(enumerate(fields))
            first, second, kind, weight = (field_at.get(at, "") for at in columns)
            keyword = _keyword(kind)
            if weight and keyword in ("ML", "CL"):
                keyword = f"S{keyword}"
            stated = (first, second, weight) if weight else (first, second)
            yield FileStatement(number, ",".join(fields), keyword, stated)


def _columns(names: Sequence[str]) -> tuple[int, int, int, int] | None:
    """Return the positions of the columns of both rows, of kinds and of weights in a heading.

    None if it is not a heading; -1 as the column of weights if it is missing.
    """
    names = [name.strip().lower() for name in names]
    kinds = [at for at, name in enumerate(names) if name in KIND_COLUMNS]
    weights = [at for at, name in enumerate(names) if name in WEIGHT_COLUMNS]
    # If pandas writes a table with its index, the first column has no name.
    rest = [at for at, name in enumerate(names) if name and at not in (*kinds, *weights)]
    is_heading = len(kinds) == 1 and len(weights) <= 1 and len(rest) == 2
    if not is_heading or _keyword(names[0]) or any(map(is_integer, names)):
        return None
    return rest[0], rest[1], kinds[0], weights[0] if weights else -1


def _keyword(field: str) -> str:
    return _KEYWORDS.get(field.strip().lower().replace("_", "-").replace(" ", "-"), "")


def _weight(weight: float | None) -> tuple[str, ...]:
    return () if weight is None else (repr(weight),)


def _write_csv(constraints: Constraints, n_points: int | None) -> list[str]:
    rows = [
        (keyword, str(i), str(j), *_weight(weight))
        for keyword, i, j, weight in constraints.each_pair()
    ]
    width = max(map(len, rows), default=3)
    text = io.StringIO()
    heading = ("type", "i", "j", "weight")[:width]
    padded = ((*row, "")[:width] for row in rows)
    csv.writer(text, lineterminator="\n").writerows([heading, *padded])
    return text.getvalue().splitlines()


# cccg: lines `i j 1` (must-link) and `i j -1` (cannot-link).
_LINKS = {"1": "ML", "-1": "CL"}


def _read_cccg(path: FilePath, rows: Rows, encoding: str | None) -> Iterator[FileStatement]:
    with open_text(path, encoding) as file:
        for number, text in stated_lines(file):
            *fields, link = text.split()
            yield FileStatement(number, text, _LINKS.get(link, ""), fields)


def _write_cccg(constraints: Constraints, n_points: int | None) -> list[str]:
    link_of = {keyword: link for link, keyword in _LINKS.items()}
    for name in constraints.row_names or ():
        if name_in_file(name) != name:
            raise InstanceError(
                f"the format cccg cannot hold the name {shown(name)}; expected names without "
                "blanks and quotes, or another format"
            )
    return [f"{i} {j} {link_of[keyword]}" for keyword, i, j, _ in constraints.each_pair()]


# matrix (BH-k-means): a table of 1 (must-link), -1 (cannot-link) and 0 (neither).

MAX_POINTS = 10_000
"""Maximum number of points for which a matrix is written: 200 MB of text."""


def _begins_matrix(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line has an entry for each row of the data, or several of 1, -1 and 0."""
    is_row = len(fields) == rows.n or (len(fields) > 3 and {"0", "1", "-1"} >= set(fields))
    return is_row and is_number(fields[0])


def _read_matrix(path: FilePath, rows: Rows, encoding: str | None) -> Iterator[FileStatement]:
    """Yield a statement for each pair.

    The two entries of a pair must not contradict each other. One of them may be 0: the published
    matrices of BH-k-means have cannot-links below the diagonal only.
    """
    n, names = rows.n, list(map(str, rows.number_of))
    found, lines = list[Any](), list[int]()
    with open_text(path, encoding) as file:
        for number, text in stated_lines(file):
            try:
                values = np.array(text.split(), np.float64)
            except ValueError:
                values = np.empty(0)
            is_row = len(values) == n > len(lines) and np.isin(values, (-1, 0, 1)).all()
            if not is_row or values[len(lines)] != 1:
                raise InstanceError(
                    f"{shown_path(path)}:{number}: {shown(text.strip())}; expected {n} rows of "
                    f"{n} entries 1 (must-link), -1 (cannot-link) or 0 (neither), with 1 on the "
                    "diagonal"
                )
            found.append(values.astype(np.int8))
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


def _write_matrix(constraints: Constraints, n_points: int | None) -> list[str]:
    if n_points is None:
        raise ParameterError("n_points = None: a matrix needs the number of points")
    if n_points > MAX_POINTS:
        raise InstanceError(
            f"a matrix for {n_points} points has {n_points**2} entries; expected at most "
            f"{MAX_POINTS} points, or another format"
        )
    matrix = np.eye(n_points, dtype=np.int8)
    together, apart = constraints.must_link.T, constraints.cannot_link.T
    matrix[*together] = matrix[*together[::-1]] = 1
    for i, j in apart.T[matrix[*apart] == 1][:1].tolist():
        raise InstanceError(
            f"cannot_link: ({i}, {j}) is a must-link too, and the matrix has one entry for both; "
            "expected one of them, or another format"
        )
    matrix[*apart] = matrix[*apart[::-1]] = -1
    return [" ".join(map(str, row.tolist())) for row in matrix]


# pccc: JSON with lists of pairs under `ml`, `cl`, `sml` and `scl`, and confidences of soft pairs
# under `sml_proba` and `scl_proba`.
_LISTS = {keyword.lower(): argument for keyword, argument in PAIRS.items()}
KEYS = (*_LISTS, "sml_proba", "scl_proba")


def _read_pccc(path: FilePath, rows: Rows, encoding: str | None) -> Iterator[FileStatement]:
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


def _write_pccc(constraints: Constraints, n_points: int | None) -> list[str]:
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
    return json_text(values).splitlines()


_PC_SOS_SDP = ConstraintFormat(
    "pc-sos-sdp",
    "a line ML i j or CL i j",
    lambda fields, rows: fields[0].upper() in KEYWORDS,
    _read_lines,
    _write_lines,
    KEYWORDS,
)
_CCCG = ConstraintFormat(
    "cccg",
    "i j 1 or i j -1",
    lambda fields, rows: len(fields) == 3 and is_number(fields[0]),
    _read_cccg,
    _write_cccg,
)
_PCCC = ConstraintFormat(
    "pccc",
    "JSON",
    lambda fields, rows: fields[0][0] in "{[",
    _read_pccc,
    _write_pccc,
    PAIRS,
    has_comments=False,
    in_lists=True,
)
_MATRIX = ConstraintFormat(
    "matrix", "{n} entries 1, -1 or 0", _begins_matrix, _read_matrix, _write_matrix
)
_CSV = ConstraintFormat(
    "csv",
    "a heading i,j,value or type,i,j",
    _begins_csv,
    _read_csv,
    _write_csv,
    PAIRS,
    has_comments=False,
)
CONSTRAINT_FORMATS: dict[str, ConstraintFormat] = {
    each.name: each for each in (_PC_SOS_SDP, _CCCG, _PCCC, _MATRIX, _CSV)
}
"""The formats by name. The first one is the default for writing."""
