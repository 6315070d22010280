"""Constraints in lines that begin with a keyword (pc-sos-sdp); `sdpbb.problem.formats` has them."""

from __future__ import annotations

import math
import operator
import re
import sys
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
    Line,
    Rows,
    StatedPair,
    Statements,
)
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
    stands_for : class of the constraint, made of rows or of pairs of rows, and a limit >= 0
    has_pairs : whether it names pairs of rows
    """

    keyword: str
    stands_for: type[BuiltInConstraint]
    has_pairs: bool = False

    @property
    def form(self) -> tuple[str, str]:
        """The other fields, by letters, and their meaning; with {rows} for what rows are called."""
        letters = "l i j i j ..." if self.has_pairs else "l i j ..."
        return letters, f"an integer l >= 0 and {'pairs of ' if self.has_pairs else ''}{{rows}}"

    def constraint(self, limit: int, rows: Sequence[int]) -> BuiltInConstraint:
        """Return the constraint of a line, or raise a ValueError if a row is not in a pair."""
        pairs = tuple(zip(rows[::2], rows[1::2], strict=True)) if self.has_pairs else tuple(rows)
        return self.stands_for(pairs, limit)  # type: ignore[call-arg]

    def text(self, constraint: Any, names: Iterable[object]) -> str:
        """Return the line of a constraint, where its rows have these names."""
        return " ".join(map(str, (self.keyword, constraint.limit, *names)))


CLUSTER_LINES = [
    ClusterLine("OVERLAP", MaximumOverlap),
    ClusterLine("DIFFERENCE", MinimumDifference),
    ClusterLine("SOFTCL", SoftCannotLinks, has_pairs=True),
]


def line_of(constraint: ClusterConstraint) -> ClusterLine | None:
    """Return the kind of line that states a constraint; None if it has none."""
    return next((line for line in CLUSTER_LINES if type(constraint) is line.stands_for), None)


# What `sdpbb suggest` writes instead of an answer.
UNANSWERED = "??"

# A name in quotes, in which two of them stand for one; or what has no blanks; or a comment.
_FIELD = re.compile(r'"((?:[^"]|"")*)"(?=\s|$|#)|(#.*|[^\s#]+)|(\s+)')


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
    pairs = rows.pairs(first, second)
    if pairs is None or not PAIRS.keys() >= set(keywords) or not (weights >= 0).all():
        return False
    stated.add_table(keywords, pairs, weights, np.arange(start, start + len(pairs)))
    return True


def _read_any(path: FilePath, start: int, chunk: list[str], rows: Rows, stated: Statements) -> None:
    """Add the constraints of lines one by one, or raise the error for the first one at fault."""
    name, forms, pairs = shown_path(path), _forms(), list[StatedPair]()
    cluster_lines = {line.keyword: line for line in CLUSTER_LINES}
    for number, text in enumerate(chunk, start):
        fields = _fields(text)
        if not fields:
            continue
        keyword = fields[0].upper()
        if keyword not in forms:
            raise _unknown(f"{name}:{number}", fields[0])
        letters, meaning = forms[keyword]
        expected = f"{keyword} {letters}, {meaning.replace('{rows}', rows.expected_on_lines)}"
        fields[0] = keyword
        line = Line(name, number, fields, expected)
        try:
            if keyword in PAIRS:
                weight = _weight(fields)
                pairs.append((keyword, rows.pair(fields[1:3], line, expected), weight, number))
            elif keyword in VALUE_LINES:
                kind = VALUE_LINES[keyword]
                if kind.name in stated.values:
                    raise InstanceError(
                        f"{line.where}: a second {keyword}, after "
                        f"{name}:{stated.values[kind.name][1]}; expected at most one"
                    )
                stated.values[kind.name] = kind.read(fields[1:]), number
            else:
                constraint = _on_clusters(line, cluster_lines[keyword], rows)
                stated.on_clusters.append((constraint, number))
        except InstanceError:
            raise
        except ValueError:
            raise line.wrong from None
    stated.add(pairs)


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
    stated, most = constraints.cluster_constraints, constraints.max_size
    maxima = [each.limit for each in stated if type(each) is MaximumSize]
    values = {
        "GAMMA": constraints.max_diameter,
        "DELTA": constraints.min_separation,
        **{keyword: getattr(constraints, name) for name, keyword in LIMITS.items()},
        LIMITS["max_size"]: min([*maxima, *([] if most is None else [most])], default=None),
    }
    written += [_value_line(*each) for each in values.items() if each[1] is not None]
    others = (each for each in stated if type(each) is not MaximumSize)
    return [*written, *map(_line_on_clusters, others)]


def _value_line(keyword: str, value: Any) -> str:
    if isinstance(value, (tuple, ClassSizes)):
        return f"{keyword} {sizes_text(value)}"
    return f"{keyword} {value if isinstance(value, Integral) else repr(value)}"


def _line_on_clusters(constraint: ClusterConstraint) -> str:
    line = line_of(constraint)
    if line and (rows := list(constraint.rows())):  # type: ignore[attr-defined]
        return line.text(constraint, rows)
    *others, last = [line.stands_for.__name__ for line in CLUSTER_LINES]
    raise InstanceError(
        f"cluster_constraints: {constraint!r} has no line in a file of constraints; expected a "
        f"non-empty {', '.join(others)} or {last}"
    )


def _unknown(where: str, field: str) -> InstanceError:
    """Return the error for a first field that is no keyword."""
    if field == UNANSWERED:
        return InstanceError(
            f"{where}: has no answer yet; replace {UNANSWERED} by ML or CL, or delete the line"
        )
    *others, last = (f"{keyword} {letters}" for keyword, (letters, _) in _forms().items())
    return InstanceError(
        f"{where}: unknown constraint {shown(field)}; expected {', '.join(others)} or {last}"
    )


# The readers of fields raise a ValueError for what has not the form.


def _on_clusters(line: Line, kind: ClusterLine, rows: Rows) -> ClusterConstraint:
    limit, *names = line.fields[1:]
    numbers = [rows.number_of(name) for name in names]
    members = [number for number in numbers if number is not None]
    if _integer(limit) < 0 or not names or len(members) < len(names):
        raise ValueError
    for name in names:
        rows.check(name, line)
    if kind.has_pairs and any(map(operator.eq, members[::2], members[1::2])):
        raise InstanceError(f"{line} pairs a point with itself; expected i != j")
    return kind.constraint(int(limit), members)


def _weight(fields: Sequence[str]) -> float:
    """Return the weight of a line that states a pair; 1 if it has none."""
    if len(fields) <= 3:
        return 1.0
    keyword, _, _, weight = fields
    if keyword not in ("SML", "SCL"):
        raise ValueError
    return _number([weight])


def _number(fields: Sequence[str], at_least: float = 0.0, at_most: float = math.inf) -> float:
    [field] = fields
    number = float(field) if is_number(field) else math.nan
    if not at_least <= number <= at_most:
        raise ValueError
    return number


def _distance(fields: Sequence[str]) -> float:
    return _number(fields, at_most=sys.float_info.max)


def _positive(fields: Sequence[str]) -> float:
    return _number(fields, math.ulp(0.0), sys.float_info.max)


def _integer(field: str) -> int:
    if not is_integer(field):
        raise ValueError
    return int(field)


def _range(field: str) -> Range:
    least, dash, most = field.partition("-")
    low, high = _integer(least), _integer(most if dash else least)
    if not 1 <= low <= high:
        raise ValueError
    return low, high


def _size(fields: Sequence[str]) -> int:
    [field] = fields
    return _range(str(_integer(field)))[0]


def _sizes(fields: Sequence[str]) -> Sizes:
    parts = [field.rpartition("=") for field in fields]
    ranges = [_range(size) for _, _, size in parts]
    if fields and not any(equals for _, equals, _ in parts):
        return tuple(map(as_size, sorted(ranges)))
    stated = {name: as_size(ends) for (name, _, _), ends in zip(parts, ranges, strict=True)}
    if not fields or len(stated) < len(fields) or "" in stated:
        raise ValueError
    return ClassSizes.of(stated)


class ValueLine(NamedTuple):
    """Kind of line with a value, which a file states once at most.

    name : of the value in `Constraints`
    letters, meaning : its fields but the keyword, and what they are
    read : returns the value of these fields
    """

    name: str
    letters: str
    meaning: str
    read: Callable[[Sequence[str]], Any]


VALUE_LINES = {
    "GAMMA": ValueLine("max_diameter", "x", "a finite distance x >= 0", _distance),
    "DELTA": ValueLine("min_separation", "x", "a finite distance x >= 0", _distance),
    "MINSIZE": ValueLine("min_size", "n", "an integer n >= 1", _size),
    "MAXSIZE": ValueLine("max_size", "n", "an integer n >= 1", _size),
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

_SOFT = "two {rows} and a weight w >= 0 (1 if it is left out)"
_PAIRS = {
    "ML": ("i j", "two {rows}"),
    "CL": ("i j", "two {rows}"),
    "SML": ("i j w", _SOFT),
    "SCL": ("i j w", _SOFT),
}


def _forms() -> dict[str, tuple[str, str]]:
    """Return the fields of a line of each keyword, and their meaning."""
    of_values = {keyword: (line.letters, line.meaning) for keyword, line in VALUE_LINES.items()}
    return _PAIRS | of_values | {line.keyword: line.form for line in CLUSTER_LINES}


FORMAT = ConstraintFormat(
    "pc-sos-sdp", "a line ML i j or CL i j", begins, read, lines, has_soft=True
)
