"""Files of constraints in every format; `sdpbb.problem.formats` states the formats."""

from __future__ import annotations

from collections.abc import Sequence

from sdpbb.errors import InstanceError, InstanceWarning, ParameterError, warn_caller
from sdpbb.problem.files import constraints_csv, constraints_lines, constraints_peers
from sdpbb.problem.files.constraints import (
    ConstraintFormat,
    Constraints,
    Rows,
    warn_of_one_based,
)
from sdpbb.problem.files.records import is_table
from sdpbb.problem.textfile import encoding_beside, open_text, reading_file, shown, stated_lines
from sdpbb.runtime.files import FilePath, shown_path, write_atomically
from sdpbb.runtime.reading import OF_CONSTRAINTS, Reading

CONSTRAINT_FORMATS: dict[str, ConstraintFormat] = {
    one.name: one
    for one in (constraints_lines.FORMAT, *constraints_peers.FORMATS, constraints_csv.FORMAT)
}
"""The formats by name. The first one is written unless another is asked for."""

DEFAULT = next(iter(CONSTRAINT_FORMATS))


def read_constraints(
    path: FilePath,
    n_points: int,
    constraints_format: str | None = None,
    *,
    one_based: bool = False,
    row_names: Sequence[str] | None = None,
    encoding: str | None = None,
) -> Constraints:
    """Read the constraints on the points 0 to n_points - 1.

    Parameters
    ----------
    constraints_format : one of `CONSTRAINT_FORMATS`; None to tell by the first line that is neither
        blank nor a comment: each format says whether a file of it may begin so. Where several do,
        the one that the whole file is valid in is taken, and an error raised if there is none, or
        more than one. A file without any such line holds no constraints
    one_based : whether the file calls the first row 1
    row_names : (n_points,) what the file calls the rows, all different; None for their numbers
    encoding : of text that has no byte order mark and is not UTF-8; None for UTF-8

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    ParameterError
        If there is no such format.

    Warns
    -----
    InstanceWarning
        If row 0 is never named, and that is unlikely: see `warn_of_one_based`; and if the file
        holds no constraints.
    """
    with reading_file(path):
        rows = Rows.of(n_points, one_based, row_names)
        encoding = encoding_beside(path, encoding)
        if constraints_format is None:
            file_format = _detected(path, rows, encoding)
        else:
            check_format(constraints_format)
            file_format = CONSTRAINT_FORMATS[constraints_format]
        constraints = file_format.read(path, rows, encoding)
        if constraints.are_none:
            warn_caller(
                f"{shown_path(path)}: has no constraints; is it the right file?",
                InstanceWarning,
            )
        if file_format.names_rows and row_names is None and not one_based:
            warn_of_one_based(path, constraints.all_pairs, n_points)
        return constraints


def check_format(constraints_format: str) -> None:
    """Raise the ParameterError if there is no such format."""
    if constraints_format not in CONSTRAINT_FORMATS:
        names = ", ".join(CONSTRAINT_FORMATS)
        raise ParameterError(
            f"constraints_format = {constraints_format!r}: expected one of {names}"
        )


def check_no_constraints_options(reading: Reading) -> None:
    """Raise the ParameterError if options say how to read a file where there is none."""
    for name in OF_CONSTRAINTS:
        # A file of classes may have numbers of rows, too.
        is_of_use = name == "one_based" and reading.class_file is not None
        if (value := getattr(reading, name)) and not is_of_use:
            raise ParameterError(f"{name} = {value}: expected a file of constraints with it")


def write_constraints(
    path: FilePath,
    constraints: Constraints,
    constraints_format: str = DEFAULT,
    n_points: int | None = None,
    header: Sequence[str] = (),
) -> None:
    """Write a file of constraints; `read_constraints` reads the same values back.

    Parameters and errors: see `constraints_text`.
    """
    text = constraints_text(constraints, constraints_format, n_points, header)
    write_atomically(path, text)


def constraints_text(
    constraints: Constraints,
    constraints_format: str = DEFAULT,
    n_points: int | None = None,
    header: Sequence[str] = (),
) -> str:
    """Return the content of a file of constraints; rows are numbered from 0.

    Parameters
    ----------
    n_points : of the data, for a matrix
    header : lines of comment; a format without any goes without them

    Raises
    ------
    InstanceError
        For a constraint that the format has no place for.
    ParameterError
        If there is no such format, or n_points is missing.
    """
    check_format(constraints_format)
    file_format = CONSTRAINT_FORMATS[constraints_format]
    comments = [f"# {line}" for line in header] if file_format.has_comments else []
    lines = [*comments, *file_format.lines(constraints, n_points)]
    return "".join(f"{line}\n" for line in lines)


def _detected(path: FilePath, rows: Rows, encoding: str | None) -> ConstraintFormat:
    if is_table(path):
        return constraints_csv.FORMAT
    with open_text(path, encoding) as file:
        number, line = next(stated_lines(file), (0, ""))
    if not line:
        return CONSTRAINT_FORMATS[DEFAULT]  # or any other: it holds no constraints
    fields = line.split()
    possible = [one for one in CONSTRAINT_FORMATS.values() if one.begins(fields, rows)]
    if len(possible) == 1:
        return possible[0]
    if not possible:
        *others, last = (_example(one, rows) for one in CONSTRAINT_FORMATS.values())
        raise InstanceError(
            f"{shown_path(path)}:{number}: {shown(line.strip())} does not match any format; "
            f"expected {', '.join(others)}, or {last}; --constraints-format selects one"
        )
    valid = [one for one in possible if _is_valid(one, path, rows, encoding)]
    if len(valid) == 1:
        return valid[0]
    how, between = ("can be read", "and") if valid else ("cannot be read", "or")
    examples = f" {between} as ".join(_example(one, rows) for one in valid or possible)
    raise InstanceError(
        f"{shown_path(path)}: {how} as {examples}; --constraints-format selects one"
    )


def _example(file_format: ConstraintFormat, rows: Rows) -> str:
    return f"{file_format.example.replace('{n}', str(rows.n))} ({file_format.name})"


def _is_valid(
    file_format: ConstraintFormat, path: FilePath, rows: Rows, encoding: str | None
) -> bool:
    try:
        file_format.read(path, rows, encoding)
    except InstanceError:
        return False
    return True
