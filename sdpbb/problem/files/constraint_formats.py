"""Files of constraints in every format; `sdpbb.problem.formats` states the formats."""

from __future__ import annotations

from collections.abc import Sequence

from sdpbb.errors import InstanceError, InstanceWarning, ParameterError, warn_caller
from sdpbb.problem.files import constraints_lines, constraints_peers
from sdpbb.problem.files.constraints import Constraints
from sdpbb.problem.files.stated import ConstraintFormat, Rows
from sdpbb.problem.files.tables import is_table
from sdpbb.problem.origin import Origin
from sdpbb.problem.textfile import encoding_beside, open_text, reading_file, shown, stated_lines
from sdpbb.runtime.files import FilePath, shown_path, write_atomically
from sdpbb.runtime.reading import OF_CONSTRAINTS, Reading

CONSTRAINT_FORMATS: dict[str, ConstraintFormat] = {
    one.name: one for one in (constraints_lines.FORMAT, *constraints_peers.FORMATS)
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
        blank nor a comment: each format says whether a file of it may begin so. A file without any
        such line holds no constraints
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
        If the file holds no constraints.
    """
    names = None if row_names is None else tuple(row_names)
    origin = Origin(first_row=int(one_based), row_names=names)
    options = Reading(constraints_format, one_based, encoding=encoding)  # type: ignore[arg-type]
    return constraints_on(path, origin, n_points, options)


def constraints_on(path: FilePath, origin: Origin, n_points: int, reading: Reading) -> Constraints:
    """Read the constraints on points whose rows an origin names.

    Errors and warnings are those of `read_constraints`.
    """
    names = origin.row_names
    if reading.one_based and names is not None and names != tuple(origin.counted(n_points, 1)):
        raise InstanceError(
            "one_based: the rows have names (index_column), and constraints use them; expected "
            "only one of the two"
        )
    with reading_file(path):
        rows = Rows(origin, n_points)
        encoding = encoding_beside(path, reading.encoding)
        if reading.constraints_format is None:
            file_format = _detected(path, rows, encoding)
        else:
            check_format(reading.constraints_format)
            file_format = CONSTRAINT_FORMATS[reading.constraints_format]
        constraints = file_format.read(path, rows, encoding)
        if constraints.are_none:
            warn_caller(
                f"{shown_path(path)}: has no constraints; is it the right file?",
                InstanceWarning,
            )
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
    """Return the only format that a file may be of by its name and its first line."""
    if is_table(path):
        return CONSTRAINT_FORMATS["csv"]
    with open_text(path, encoding) as file:
        number, line = next(stated_lines(file), (0, ""))
    if not line:
        return CONSTRAINT_FORMATS[DEFAULT]  # or any other: it holds no constraints
    formats = CONSTRAINT_FORMATS.values()
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
