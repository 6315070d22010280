"""Files of constraints in every format; `sdpbb.problem.formats` states the formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.files import shown_path, write_atomically
from sdpbb.problem.files import (
    constraints_cccg,
    constraints_lines,
    constraints_matrix,
    constraints_pccc,
)
from sdpbb.problem.files.constraints import Constraints
from sdpbb.problem.files.rows import Rows, warn_of_one_based
from sdpbb.problem.textfile import FilePath, is_number, open_text, shown, without_comment

__all__ = ["READERS", "Constraints", "constraints_text", "read_constraints", "write_constraints"]

PC_SOS_SDP, CCCG, PCCC, MATRIX = "pc-sos-sdp", "cccg", "pccc", "matrix"

READERS: dict[str, Callable[[FilePath, Rows], Constraints]] = {
    PC_SOS_SDP: constraints_lines.read,
    CCCG: constraints_cccg.read,
    PCCC: constraints_pccc.read,
    MATRIX: constraints_matrix.read,
}


def read_constraints(
    path: FilePath,
    n_points: int,
    constraints_format: str | None = None,
    *,
    one_based: bool = False,
    row_names: Sequence[str] | None = None,
) -> Constraints:
    """Read the constraints on the points 0 to n_points - 1.

    Parameters
    ----------
    constraints_format : "pc-sos-sdp", "cccg", "pccc" or "matrix"; None to tell by the first line
        that is neither blank nor a comment. One that begins with `{` or `[` is of pccc; one whose
        first field is not a number, of pc-sos-sdp; three numbers are of cccg; n_points numbers, or
        more than three that are all 1, -1 or 0, are of a matrix. These exclude each other, except
        for three points: the one of cccg and matrix that the whole file is valid in is taken then,
        and an error raised if it is both or neither. A file without any such line holds no
        constraints
    one_based : whether the file calls the first row 1
    row_names : (n_points,) what the file calls the rows, all different; None for their numbers

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    ParameterError
        If there is no such format.

    Warns
    -----
    InstanceWarning
        If row 0 is never named, and that is unlikely: see `warn_of_one_based`.
    """
    rows = Rows.of(n_points, one_based, row_names)
    if constraints_format is None:
        constraints_format = _detected(path, rows)
    check_format(constraints_format)
    constraints = READERS[constraints_format](path, rows)
    if constraints_format != MATRIX and row_names is None and not one_based:
        warn_of_one_based(path, constraints.all_pairs, n_points)
    return constraints


def check_format(constraints_format: str) -> None:
    """Raise the ParameterError if there is no such format."""
    if constraints_format not in READERS:
        raise ParameterError(
            f"constraints_format = {constraints_format!r}: expected one of {', '.join(READERS)}"
        )


def check_no_constraints_options(constraints_format: str | None, one_based: bool) -> None:
    """Raise the ParameterError if options say how to read a file where there is none."""
    for name, value in (("constraints_format", constraints_format), ("one_based", one_based)):
        if value:
            raise ParameterError(f"{name} = {value}: expected a file of constraints with it")


def write_constraints(
    path: FilePath,
    constraints: Constraints,
    constraints_format: str = PC_SOS_SDP,
    n_points: int | None = None,
    header: Sequence[str] = (),
) -> None:
    """Write a file of constraints; `read_constraints` reads the same values back.

    Parameters and errors are those of `constraints_text`.
    """
    text = constraints_text(constraints, constraints_format, n_points, header)
    write_atomically(path, text)


def constraints_text(
    constraints: Constraints,
    constraints_format: str = PC_SOS_SDP,
    n_points: int | None = None,
    header: Sequence[str] = (),
) -> str:
    """What a file of constraints holds, rows being numbered from 0.

    Parameters
    ----------
    n_points : of the data, for a matrix
    header : lines of comment; JSON (pccc) has none, and goes without them

    Raises
    ------
    InstanceError
        For a constraint that the format has no place for.
    ParameterError
        If there is no such format, or n_points is missing.
    """
    check_format(constraints_format)
    if constraints_format == PCCC:
        lines, header = constraints_pccc.lines_of(constraints), ()
    elif constraints_format == CCCG:
        lines = constraints_cccg.lines_of(constraints)
    elif constraints_format == PC_SOS_SDP:
        lines = constraints_lines.lines_of(constraints)
    elif n_points is None:
        raise ParameterError("n_points = None: a matrix needs the number of points")
    else:
        lines = constraints_matrix.lines_of(constraints, n_points)
    return "".join(f"{line}\n" for line in [*(f"# {line}" for line in header), *lines])


def _detected(path: FilePath, rows: Rows) -> str:
    number, line = _first_line(path)
    fields = line.split()
    if not fields:
        return PC_SOS_SDP  # or any other: it holds no constraints
    if fields[0][0] in "{[":
        return PCCC
    if not is_number(fields[0]):
        return PC_SOS_SDP
    if len(fields) == 3:
        return CCCG if rows.n != 3 else _cccg_or_matrix(path, rows)
    if len(fields) == rows.n or (len(fields) > 3 and {"1", "-1", "0"}.issuperset(fields)):
        return MATRIX
    raise InstanceError(
        f"{shown_path(path)}:{number}: {shown(line.strip())} begins a file of no known format; "
        f"expected a line ML i j or CL i j (pc-sos-sdp), i j 1 or i j -1 (cccg), {rows.n} entries "
        "1, -1 or 0 (matrix), or JSON (pccc); --constraints-format says which one is meant"
    )


def _first_line(path: FilePath) -> tuple[int, str]:
    """The first line that says something, and its number; an empty one if there is none."""
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            if without_comment(line).strip():
                return number, without_comment(line)
    return 0, ""


def _cccg_or_matrix(path: FilePath, rows: Rows) -> str:
    """The one of the two that the file of constraints on three points is valid in."""
    fitting = []
    for constraints_format in (CCCG, MATRIX):
        try:
            READERS[constraints_format](path, rows)
        except InstanceError:
            continue
        fitting.append(constraints_format)
    if len(fitting) == 1:
        return fitting[0]
    both = "both as lines i j 1 (cccg) and as a matrix"
    neither = "neither as lines i j 1 and i j -1 (cccg) nor as a matrix"
    raise InstanceError(
        f"{shown_path(path)}: can be read {both if fitting else neither}; --constraints-format "
        "says which one is meant"
    )
