"""Constraints in lines that begin with a keyword (pc-sos-sdp); `sdpbb.problem.formats` has them."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from sdpbb.checker.kernel.sizes import Range, as_size
from sdpbb.errors import InstanceError
from sdpbb.problem.class_sizes import ClassSizes, Sizes, sizes_text
from sdpbb.problem.cluster_constraints import (
    BuiltInConstraint,
    ClusterConstraint,
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    SoftCannotLinks,
)
from sdpbb.problem.files import constraints_csv
from sdpbb.problem.files.constraints import (
    PAIRS,
    ConstraintFormat,
    Constraints,
    Statements,
)
from sdpbb.problem.files.rows import Rows
from sdpbb.problem.rules import LIMITS
from sdpbb.problem.textfile import (
    chunks,
    columns,
    is_integer,
    is_number,
    open_text,
    shown,
    without_comment,
)
from sdpbb.runtime.files import FilePath, shown_path


@dataclass(frozen=True)
class ClusterLine:
    """Kind of line: a keyword, the limit of a constraint, and the rows that it names.

    Attributes
    ----------
    keyword : its first field
    form : its other fields, by letters
    meaning : of these letters, for a message; "{rows}" stands for what rows are called
    stands_for : class of the constraint, made of a limit, of rows and a limit, or of pairs of rows
        and a limit
    rows_in_group : 0 if it names no rows, 1 for rows, 2 for pairs of rows
    least : least limit
    """

    keyword: str
    form: str
    meaning: str
    stands_for: type[BuiltInConstraint]
    rows_in_group: int = 1
    least: int = 0

    def has_form(self, limit: int, rows: Sequence[object]) -> bool:
        """Return whether a line may have this limit and this number of rows."""
        is_whole = len(rows) % self.rows_in_group == 0 if self.rows_in_group else not rows
        return limit >= self.least and is_whole and bool(rows) == bool(self.rows_in_group)

    def constraint(self, limit: int, rows: Sequence[int]) -> BuiltInConstraint:
        """Return the constraint of a line that has the form."""
        arguments: list[object] = [limit]
        if self.rows_in_group == 1:
            arguments.insert(0, tuple(rows))
        elif self.rows_in_group == 2:
            arguments.insert(0, tuple(zip(rows[::2], rows[1::2], strict=True)))
        return self.stands_for(*arguments)

    def rows(self, constraint: Any) -> list[int]:
        """Return the rows that the line of a constraint names."""
        return list(constraint.rows())

    def text(self, constraint: Any, names: Iterable[object]) -> str:
        """Return the line of a constraint, where its rows have these names."""
        return " ".join(map(str, (self.keyword, constraint.limit, *names)))


CLUSTER_LINES = [
    ClusterLine("MAXSIZE", "n", "an integer n >= 1", MaximumSize, rows_in_group=0, least=1),
    ClusterLine("OVERLAP", "l i j ...", "an integer l >= 0 and {rows}", MaximumOverlap),
    ClusterLine("DIFFERENCE", "l i j ...", "an integer l >= 0 and {rows}", MinimumDifference),
    ClusterLine(
        "SOFTCL",
        "l i j i j ...",
        "an integer l >= 0 and pairs of {rows}",
        SoftCannotLinks,
        rows_in_group=2,
    ),
]


def line_of(constraint: ClusterConstraint) -> ClusterLine | None:
    """Return the kind of line that states a constraint; None if it has none."""
    return next((line for line in CLUSTER_LINES if type(constraint) is line.stands_for), None)


# What `sdpbb suggest` writes instead of an answer.
UNANSWERED = "??"
_SOFT = "two {rows} and a weight w >= 0 (1 if it is left out)"
# The fields of lines that state pairs, and what they are.
_PAIR_FORMS = {
    "ML": ("i j", "two {rows}"),
    "CL": ("i j", "two {rows}"),
    "SML": ("i j w", _SOFT),
    "SCL": ("i j w", _SOFT),
}

# A name in quotes, in which two of them stand for one; or what has no blanks; or a comment.
_FIELD = re.compile(r'"((?:[^"]|"")*)"(?=\s|$|#)|(#.*|[^\s#]+)|(\s+)')


def _forms() -> dict[str, tuple[str, str]]:
    """Return the fields of a line of each keyword, and what they are."""
    of_values = {keyword: (line.form, line.meaning) for keyword, line in VALUE_LINES.items()}
    of_clusters = {line.keyword: (line.form, line.meaning) for line in CLUSTER_LINES}
    return _PAIR_FORMS | of_values | of_clusters


class _Line(NamedTuple):
    """Line of a file: its number, from 1, and its fields without the comment."""

    path: FilePath
    number: int
    fields: list[str]

    @property
    def where(self) -> str:
        return f"{shown_path(self.path)}:{self.number}"

    def __str__(self) -> str:
        return f"{self.where}: {shown(' '.join(self.fields))}"

    def wrong(self, rows: Rows) -> InstanceError:
        keyword = self.fields[0]
        form, meaning = _forms()[keyword]
        meaning = meaning.replace("{rows}", rows.expected_on_lines)
        return InstanceError(f"{self}; expected {keyword} {form}, {meaning}")


def begins(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether the first field of a line is a word, and the line is not part of a table."""
    is_word = not is_number(fields[0]) and fields[0][0] not in "{["
    return is_word and not constraints_csv.begins(fields, rows)


def read(path: FilePath, rows: Rows, encoding: str | None = None) -> Constraints:
    """Return the constraints of a file, as `read_constraints` does."""
    stated = Statements()
    with open_text(path, encoding) as file:
        for start, chunk in chunks(file):
            if not any(_read_plain(start, chunk, width, rows, stated) for width in (3, 4)):
                _read_any(path, start, chunk, rows, stated)
    return stated.constraints()


def _read_plain(start: int, chunk: list[str], width: int, rows: Rows, stated: Statements) -> bool:
    """Add the pairs of lines of this width, if they hold nothing else; return whether they do.

    width : 3, or 4 with weights
    """
    keywords, first, second, *fields = columns(chunk, width)
    if not PAIRS.keys() >= set(keywords):
        keywords = list(map(str.upper, keywords))
    weights = np.ones(len(keywords))
    for column in fields:
        if not {"SML", "SCL"}.issuperset(keywords) or not all(map(is_number, column)):
            return False
        weights = np.array(list(map(float, column)))
    if not (weights >= 0).all():
        return False
    return stated.add_lines(keywords, rows.pairs(first, second), weights, start)


def _read_any(path: FilePath, start: int, chunk: list[str], rows: Rows, stated: Statements) -> None:
    """Add the constraints of lines one by one, or raise the error for the first one at fault."""
    forms, cluster_lines = _forms(), {line.keyword: line for line in CLUSTER_LINES}
    for number, text in enumerate(chunk, start):
        fields = _fields(text)
        if not fields:
            continue
        keyword = fields[0].upper()
        if keyword in forms:
            fields[0] = keyword
        line = _Line(path, number, fields)
        if keyword in PAIRS:
            weight = _weight(line, rows)
            stated.add(keyword, _pair(line, rows), weight, number)
        elif keyword in VALUE_LINES:
            kind = VALUE_LINES[keyword]
            _, first = stated.values.get(kind.name, (None, 0))
            _check_first(line, first)
            stated.values[kind.name] = kind.read(line, rows), number
        elif keyword in cluster_lines:
            if keyword == "MAXSIZE":
                maxima = (at for each, at in stated.on_clusters if type(each) is MaximumSize)
                _check_first(line, next(maxima, 0))
            constraint = _on_clusters(line, cluster_lines[keyword], rows)
            stated.on_clusters.append((constraint, number))
        else:
            raise _unknown(line)


def _check_first(line: _Line, first: int) -> None:
    """Raise the InstanceError if an earlier line has the keyword, which is stated once at most.

    first : the number of that line; 0: no line
    """
    if first:
        raise InstanceError(
            f"{line.where}: a second {line.fields[0]}, after {shown_path(line.path)}:{first}; "
            "expected at most one"
        )


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


def lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
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
    on_clusters, max_size = _with_one_maximum(constraints)
    values = {
        "GAMMA": constraints.max_diameter,
        "DELTA": constraints.min_separation,
        **{keyword: getattr(constraints, name) for name, keyword in LIMITS.items()},
        LIMITS["max_size"]: max_size,
    }
    written += [_value_line(*each) for each in values.items() if each[1] is not None]
    return [*written, *map(_line_on_clusters, on_clusters)]


def _with_one_maximum(constraints: Constraints) -> tuple[list[ClusterConstraint], int | None]:
    """Return constraints on clusters, and max_size, of which one at most is a maximum of sizes.

    It is the least of all.
    """
    stated, most = list(constraints.cluster_constraints), constraints.max_size
    maxima = {at: each.limit for at, each in enumerate(stated) if type(each) is MaximumSize}
    if len(maxima) + (most is not None) < 2:
        return stated, most
    least = min([*maxima.values(), *([] if most is None else [most])])
    others = [each for each in stated if type(each) is not MaximumSize]
    if most is not None:
        return others, least
    others.insert(min(maxima), MaximumSize(least))
    return others, None


def _value_line(keyword: str, value: Any) -> str:
    if isinstance(value, (tuple, ClassSizes)):
        return f"{keyword} {sizes_text(value)}"
    return f"{keyword} {value if isinstance(value, Integral) else repr(value)}"


def _line_on_clusters(constraint: ClusterConstraint) -> str:
    line = line_of(constraint)
    if line and line.has_form(line.least, rows := line.rows(constraint)):
        return line.text(constraint, rows)
    *others, last = [line.stands_for.__name__ for line in CLUSTER_LINES]
    raise InstanceError(
        f"cluster_constraints: {constraint!r} has no line in a file of constraints; expected a "
        f"non-empty {', '.join(others)} or {last}"
    )


def _unknown(line: _Line) -> InstanceError:
    if line.fields[0] == UNANSWERED:
        return InstanceError(
            f"{line.where}: has no answer yet; replace {UNANSWERED} by ML or CL, or delete the line"
        )
    *others, last = [f"{keyword} {form}" for keyword, (form, _) in _forms().items()]
    keyword, comma, _ = line.fields[0].partition(",")
    if comma and keyword.upper() in _forms():
        return InstanceError(
            f"{line.where}: commas in {shown(line.fields[0])}; expected blanks between fields, as "
            f"in {keyword.upper()} {_forms()[keyword.upper()][0]}"
        )
    return InstanceError(
        f"{line.where}: unknown constraint {shown(line.fields[0])}; "
        f"expected {', '.join(others)} or {last}"
    )


def _pair(line: _Line, rows: Rows) -> tuple[int, int]:
    pair = rows.pair(line.fields[1], line.fields[2])
    if pair is None and rows.are_names(line.fields[1:3]):
        raise rows.pair_error(line.fields[1], line.fields[2], str(line))
    if pair is None:
        raise line.wrong(rows)
    return pair


def _on_clusters(line: _Line, kind: ClusterLine, rows: Rows) -> ClusterConstraint:
    fields = line.fields[1:]
    numbers = [rows.number_of(field) for field in fields[1:]]
    if not fields or not is_integer(fields[0]) or None in numbers:
        raise line.wrong(rows)
    limit = int(fields[0])
    if not kind.has_form(limit, numbers):
        raise line.wrong(rows)
    for name in fields[1:]:
        if error := rows.row_error(name, str(line)):
            raise error
    members = [number for number in numbers if number is not None]
    if kind.rows_in_group == 2 and any(map(operator.eq, members[::2], members[1::2])):
        raise InstanceError(f"{line} pairs a point with itself; expected i != j")
    return kind.constraint(limit, members)


def _weight(line: _Line, rows: Rows) -> float:
    """Return the weight of a line that states a pair; 1 if it has none."""
    fields = line.fields
    if len(fields) == 3:
        return 1.0
    if len(fields) == 4 and fields[0] in ("SML", "SCL") and is_number(fields[3]):
        weight = float(fields[3])
        if weight >= 0:
            return weight
    raise line.wrong(rows)


def _sizes(line: _Line, rows: Rows) -> Sizes:
    fields = line.fields[1:]
    parts = [each.rpartition("=") for each in fields]
    ranges = [_range(size, line, rows) for _, _, size in parts]
    if fields and not any(equals for _, equals, _ in parts):
        return tuple(map(as_size, sorted(ranges)))
    stated = {name: as_size(ends) for (name, _, _), ends in zip(parts, ranges, strict=True)}
    if not fields or len(stated) < len(fields) or "" in stated:
        raise line.wrong(rows)
    return ClassSizes.of(stated)


def _range(size: str, line: _Line, rows: Rows) -> Range:
    ends = size.split("-")
    if not 1 <= len(ends) <= 2 or not all(map(is_integer, ends)):
        raise line.wrong(rows)
    low, high = int(ends[0]), int(ends[-1])
    if not 1 <= low <= high:
        raise line.wrong(rows)
    return low, high


def _size(line: _Line, rows: Rows) -> int:
    if len(line.fields) != 2 or "-" in line.fields[1]:
        raise line.wrong(rows)
    return _range(line.fields[1], line, rows)[0]


def _positive(line: _Line, rows: Rows) -> float:
    number = _distance(line, rows)
    if number == 0:
        raise line.wrong(rows)
    return number


def _distance(line: _Line, rows: Rows) -> float:
    if len(line.fields) == 2 and is_number(line.fields[1]):
        distance = float(line.fields[1])
        if math.isfinite(distance) and distance >= 0:
            return distance
    raise line.wrong(rows)


class ValueLine(NamedTuple):
    """Kind of line with a value, which a file states once at most.

    name : of the value in `Constraints`
    form, meaning : its fields but the keyword, and what they are
    read : returns the value of a line
    """

    name: str
    form: str
    meaning: str
    read: Callable[[_Line, Rows], Any]


# MAXSIZE is a `ClusterLine`: a file that is read has it among the constraints on clusters.
VALUE_LINES = {
    "GAMMA": ValueLine("max_diameter", "x", "a finite distance x >= 0", _distance),
    "DELTA": ValueLine("min_separation", "x", "a finite distance x >= 0", _distance),
    "MINSIZE": ValueLine("min_size", "n", "an integer n >= 1", _size),
    "SIZES": ValueLine(
        "sizes",
        "n n-n ...",
        "the numbers of points of all clusters, integers n >= 1 or ranges, or c=n-n of known "
        "classes c",
        _sizes,
    ),
    "MINWEIGHT": ValueLine("min_weight", "w", "a finite weight w > 0", _positive),
    "MAXWEIGHT": ValueLine("max_weight", "w", "a finite weight w > 0", _positive),
}


FORMAT = ConstraintFormat(
    "pc-sos-sdp", "a line ML i j or CL i j", begins, read, lines, has_soft=True
)
