"""Constraints in lines that begin with a keyword (pc-sos-sdp); `sdpbb.problem.formats` has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sdpbb.errors import InstanceError
from sdpbb.problem.class_sizes import ClassSizes, sizes_text
from sdpbb.problem.cluster_constraints import ClusterConstraint, MaximumSize
from sdpbb.problem.files.constraints import Constraints
from sdpbb.problem.files.stated import (
    CLUSTER_LINES,
    KEYWORDS,
    ConstraintFormat,
    FileStatement,
    Rows,
)
from sdpbb.problem.rules import LIMITS
from sdpbb.problem.textfile import open_text, without_comment
from sdpbb.runtime.files import FilePath

# What `sdpbb suggest` writes instead of an answer.
UNANSWERED = "??"

# A name in quotes, in which two of them stand for one; or what has no blanks; or a comment.
_FIELD = re.compile(r'"((?:[^"]|"")*)"(?=\s|$|#)|(#.*|[^\s#]+)|(\s+)')


def line_of(constraint: ClusterConstraint, names: Iterable[object]) -> str:
    """Return the line of a constraint on clusters whose rows have these names; "" without one."""
    for keyword, made in CLUSTER_LINES.items():
        if isinstance(constraint, made) and type(constraint) is made:
            return " ".join(map(str, (keyword, constraint.limit, *names)))  # type: ignore[attr-defined]
    return ""


def value_line(argument: str, value: Any) -> str:
    """Return the line of a distance or of a limit on sizes or weights."""
    keyword = {"max_diameter": "GAMMA", "min_separation": "DELTA", **LIMITS}[argument]
    if isinstance(value, (tuple, ClassSizes)):
        return f"{keyword} {sizes_text(value)}"
    return f"{keyword} {value}".removesuffix(".0")


def _begins(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether the first field of a line is a keyword."""
    return fields[0].upper() in KEYWORDS


def _statements(path: FilePath, rows: Rows, encoding: str | None) -> Iterator[FileStatement]:
    with open_text(path, encoding) as file:
        for number, line in enumerate(file, 1):
            if fields := _fields(line):
                yield FileStatement(number, line, fields[0].upper(), fields[1:])


def _fields(text: str) -> list[str]:
    """Return the fields of a line without its comment; names with blanks are in quotes."""
    if '"' not in text:
        return without_comment(text).split()
    fields = []
    for quoted, plain, blanks in _FIELD.findall(text):
        if plain.startswith("#"):
            break
        if not blanks:
            fields.append(plain or quoted.replace('""', '"'))
    return fields


def _lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
    """Return the lines of a file that holds the constraints.

    Raises
    ------
    InstanceError
        For a constraint on clusters that no line stands for.
    """
    written = [
        f"{keyword} {i} {j}" if weight is None else f"{keyword} {i} {j} {weight!r}"
        for keyword, i, j, weight in constraints.each_pair()
    ]
    stated, most = constraints.cluster_constraints, constraints.max_size
    maxima = [each.limit for each in stated if type(each) is MaximumSize]
    values = {
        name: getattr(constraints, name) for name in ("max_diameter", "min_separation", *LIMITS)
    }
    values["max_size"] = min([*maxima, *([] if most is None else [most])], default=None)
    written += [value_line(*each) for each in values.items() if each[1] is not None]
    others = (each for each in stated if type(each) is not MaximumSize)
    return [*written, *map(_line_on_clusters, others)]


def _line_on_clusters(constraint: ClusterConstraint) -> str:
    rows = list(getattr(constraint, "rows", tuple)())
    line = line_of(constraint, rows)
    if not rows or not line:
        *others, last = [made.__name__ for made in CLUSTER_LINES.values()]
        raise InstanceError(
            f"cluster_constraints: {constraint!r} has no line in a file of constraints; expected a "
            f"non-empty {', '.join(others)} or {last}"
        )
    return line


FORMAT = ConstraintFormat(
    "pc-sos-sdp", "a line ML i j or CL i j", _begins, _statements, _lines, has_soft=True
)
