"""Statements of a file of constraints in any format, each checked in one place."""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sdpbb.checker.kernel.sizes import Range, as_size
from sdpbb.errors import InstanceError
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.class_sizes import ClassSizes, Sizes
from sdpbb.problem.cluster_constraints import (
    BuiltInConstraint,
    MaximumOverlap,
    MinimumDifference,
    SoftCannotLinks,
)
from sdpbb.problem.files.constraints import PAIRS, Constraints
from sdpbb.problem.origin import Origin, place_in_file
from sdpbb.problem.table import DROPPED, hint_at_similar
from sdpbb.problem.textfile import is_integer, is_number, shown
from sdpbb.runtime.files import FilePath, shown_path


class FileStatement(NamedTuple):
    """One constraint as a file has it.

    line : of the file, from 1; in a list of pairs, the position from 0
    said : what is there, for messages: a line, or a value of JSON
    keyword : one of `KEYWORDS`; "" if it is none that the format has
    fields : the names of rows and the values that belong to the keyword
    """

    line: int
    said: Any
    keyword: str
    fields: Sequence[str]


class Rows:
    """Rows of the data, by what a file calls them.

    number_of : the number among the points, from 0, of each row of the data, -1 if it is dropped
    """

    def __init__(self, origin: Origin, n_points: int) -> None:
        self.number_of: Mapping[str, int] = dict.fromkeys(origin.data_rows(n_points), -1)
        self.number_of |= {name: row for row, name in enumerate(origin.rows(range(n_points)))}
        self.are_named = origin.row_names is not None

    @property
    def n(self) -> int:
        """Number of rows of the data."""
        return len(self.number_of)

    def number(self, name: str) -> int:
        """Return the number of a row among the points, or raise an InstanceError."""
        row = self.number_of.get(name, -1)
        if row >= 0:
            return row
        if name in self.number_of:
            raise InstanceError(DROPPED.format(shown(name)))
        first, *_, last = [*self.number_of, *self.number_of]
        says = f"{first} to {last}{'; --one-based: they count from 1' if first == '0' else ''}"
        if self.are_named:
            says = f"called {shown(first)}, ...{hint_at_similar(name, self.number_of)}"
        raise InstanceError(f"names row {shown(name)}, but the rows of the data are {says}")


# Readers of fields raise a ValueError if these are not in the form of the keyword.


def _pair(fields: Sequence[str], rows: Rows) -> tuple[int, int]:
    one, other = fields
    i, j = rows.number(one), rows.number(other)
    if i == j:
        raise InstanceError("pairs a point with itself; expected i != j")
    return i, j


def _soft_pair(fields: Sequence[str], rows: Rows) -> tuple[int, int, float]:
    weight = _number(fields[2:]) if len(fields) > 2 else 1.0
    return *_pair(fields[:2], rows), weight


def _number(fields: Sequence[str], least: float = 0.0, most: float = math.inf) -> float:
    [field] = fields
    number = float(field) if is_number(field) else math.nan
    if not least <= number <= most:
        raise ValueError
    return number


def _distance(fields: Sequence[str], rows: Rows) -> float:
    return _number(fields, most=sys.float_info.max)


def _weight(fields: Sequence[str], rows: Rows) -> float:
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


def _size(fields: Sequence[str], rows: Rows) -> int:
    [field] = fields
    return _range(str(_integer(field)))[0]


def _sizes(fields: Sequence[str], rows: Rows) -> Sizes:
    parts = [field.rpartition("=") for field in fields]
    ranges = [_range(size) for _, _, size in parts]
    if fields and not any(equals for _, equals, _ in parts):
        return tuple(map(as_size, sorted(ranges)))
    stated = {name: as_size(ends) for (name, _, _), ends in zip(parts, ranges, strict=True)}
    if not fields or len(stated) < len(fields) or "" in stated:
        raise ValueError
    return ClassSizes.of(stated)


def _on_clusters(
    made: type[BuiltInConstraint], in_pairs: bool = False
) -> Callable[[Sequence[str], Rows], Any]:
    def constraint(fields: Sequence[str], rows: Rows) -> BuiltInConstraint:
        limit, first, *others = fields
        numbers = list(map(rows.number, (first, *others)))
        named = zip(numbers[::2], numbers[1::2], strict=True) if in_pairs else numbers
        return made(named, _integer(limit))  # type: ignore[call-arg]

    return constraint


class Keyword(NamedTuple):
    """Keyword, and what a statement with it has.

    argument : of an `Instance`, or the name of a distance of `Constraints`
    form, meaning : the fields by letters, and what they are
    read : of the fields and the rows, returns the value: two rows, and a weight of soft ones
    """

    argument: str
    form: str
    meaning: str
    read: Callable[[Sequence[str], Rows], Any]


_TWO = "two rows (names with blanks in quotes)"
_SOFT = f"{_TWO} and a weight w >= 0 (1 if it is left out)"
_OF_CLASSES = (
    "the numbers of points of all clusters, integers n >= 1 or ranges, or c=n-n of known classes c"
)
_ROWS = "an integer l >= 0 and rows"
CLUSTER_LINES: dict[str, type[BuiltInConstraint]] = {
    "OVERLAP": MaximumOverlap,
    "DIFFERENCE": MinimumDifference,
    "SOFTCL": SoftCannotLinks,
}
"""Constraints that a line states: rows, or pairs of rows, and a limit."""

KEYWORDS = {
    "ML": Keyword("must_link", "i j", _TWO, _pair),
    "CL": Keyword("cannot_link", "i j", _TWO, _pair),
    "SML": Keyword("soft_must_link", "i j w", _SOFT, _soft_pair),
    "SCL": Keyword("soft_cannot_link", "i j w", _SOFT, _soft_pair),
    "GAMMA": Keyword("max_diameter", "x", "a finite distance x >= 0", _distance),
    "DELTA": Keyword("min_separation", "x", "a finite distance x >= 0", _distance),
    "MINSIZE": Keyword("min_size", "n", "an integer n >= 1", _size),
    "MAXSIZE": Keyword("max_size", "n", "an integer n >= 1", _size),
    "SIZES": Keyword("sizes", "n n-n ...", _OF_CLASSES, _sizes),
    "MINWEIGHT": Keyword("min_weight", "w", "a finite weight w > 0", _weight),
    "MAXWEIGHT": Keyword("max_weight", "w", "a finite weight w > 0", _weight),
    **{
        keyword: Keyword("cluster_constraints", "l i j ...", _ROWS, _on_clusters(made))
        for keyword, made in CLUSTER_LINES.items()
    },
    "SOFTCL": Keyword(
        "cluster_constraints",
        "l i j i j ...",
        "an integer l >= 0 and pairs of rows",
        _on_clusters(SoftCannotLinks, in_pairs=True),
    ),
}
"""What a file can state, by keyword."""


class _Pairs(NamedTuple):
    rows: array[int]
    weights: array[float]
    lines: array[int]


def stated_constraints(
    path: FilePath, statements: Iterable[FileStatement], rows: Rows, expected: str, in_lists: bool
) -> Constraints:
    """Return the constraints that statements of a file make up.

    Parameters
    ----------
    expected : what messages say of a statement without a keyword
    in_lists : whether the file has a list for each keyword, and no lines

    Raises
    ------
    InstanceError
        One line: the file and line of the first statement at fault, what it says, what is wrong.
    """
    pairs = {argument: _Pairs(array("q"), array("d"), array("q")) for argument in PAIRS.values()}
    values: dict[str, Any] = {}
    lines: dict[str, Any] = {}
    on_clusters: list[tuple[Any, int]] = []
    for line, said, keyword, fields in statements:
        kind = KEYWORDS.get(keyword)
        try:
            if kind is None:
                raise ValueError
            value = kind.read(fields, rows)
            if kind.argument in values:
                raise InstanceError(f"the second {keyword}; expected at most one")
        except (InstanceError, ValueError) as error:
            place = place_in_file(line, keyword.lower() if in_lists else "")
            text = said.strip() if isinstance(said, str) else json.dumps(said)
            where = f"{shown_path(path)}{place}: {shown(text)}"
            if isinstance(error, InstanceError):
                raise InstanceError(f"{where}: {error}") from None
            form = f"one of {', '.join(KEYWORDS)}" if keyword else expected
            form = form if kind is None else f"{keyword} {kind.form}, {kind.meaning}"
            raise InstanceError(f"{where}; expected {form}") from None
        if kind.argument in pairs:
            found = pairs[kind.argument]
            found.rows.extend(value[:2])
            found.weights.extend(value[2:])
            found.lines.append(line)
        elif kind.argument == "cluster_constraints":
            on_clusters.append((value, line))
        else:
            values[kind.argument], lines[kind.argument] = value, line
    for argument, found in pairs.items():
        numbers = np.array(found.rows, np.intp).reshape(-1, 2)
        is_soft, lines[argument] = argument.startswith("soft"), np.array(found.lines, np.intp)
        values[argument] = SoftPairs(numbers, np.array(found.weights)) if is_soft else numbers
    lines["cluster_constraints"] = [line for _, line in on_clusters]
    values["cluster_constraints"] = tuple(constraint for constraint, _ in on_clusters)
    keys = {name: keyword.lower() for keyword, name in PAIRS.items()} if in_lists else {}
    return Constraints(**values, lines=lines, keys=keys)


@dataclass(frozen=True)
class ConstraintFormat:
    """Format of files of constraints, which `CONSTRAINT_FORMATS` holds by its name.

    Attributes
    ----------
    example : a line of the format, for messages; "{n}" stands for the number of points
    begins : of the fields of the first line that is neither blank nor a comment, and the rows of
        the data: whether a file of this format may begin so
    statements : of the path, the rows and the encoding of text, or None: what the file states, or
        an InstanceError of one line
    lines : of constraints and the number of points, or None: the lines of a file that holds them,
        or an InstanceError for what the format has no place for
    has_soft : whether soft constraints have a place in it
    has_comments : whether text after `#` is a comment
    in_lists : whether it has a list for each keyword, and no lines
    """

    name: str
    example: str
    begins: Callable[[Sequence[str], Rows], bool]
    statements: Callable[[FilePath, Rows, str | None], Iterator[FileStatement]]
    lines: Callable[[Constraints, int | None], list[str]]
    has_soft: bool = False
    has_comments: bool = True
    in_lists: bool = False

    def read(self, path: FilePath, rows: Rows, encoding: str | None = None) -> Constraints:
        """Return the constraints of a file.

        Raises
        ------
        InstanceError
            One line: the file, the line, what is wrong and what would be right.
        """
        statements = self.statements(path, rows, encoding)
        return stated_constraints(path, statements, rows, self.example, self.in_lists)
