"""Constraints of a file, their places in it, and the one table of keywords.

The reader of each format yields statements: a line, a keyword and its fields. They are checked
here.
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel.sizes import Range, as_size
from sdpbb.errors import InstanceError
from sdpbb.problem.checks import ClassSizes, Sizes, SoftPairs, sizes_text
from sdpbb.problem.cluster_constraints import (
    BuiltInConstraint,
    ClusterConstraint,
    MaximumOverlap,
    MinimumDifference,
    SoftCannotLinks,
)
from sdpbb.problem.coordinates import pairs_closer_than, pairs_farther_than
from sdpbb.problem.graph import distinct_edges
from sdpbb.problem.origin import Origin, PairLines, StatedLine, place_in_file
from sdpbb.problem.rules import LIMITS
from sdpbb.problem.table import Rows
from sdpbb.problem.textfile import is_integer, is_number, naming_file, shown
from sdpbb.runtime.files import FilePath, shown_path

PAIRS = {"ML": "must_link", "CL": "cannot_link", "SML": "soft_must_link", "SCL": "soft_cannot_link"}
"""Kinds of pairs: the keyword of each, and the argument of an `Instance` that holds them."""

CLUSTER_LINES: dict[str, type[BuiltInConstraint]] = {
    "OVERLAP": MaximumOverlap,
    "DIFFERENCE": MinimumDifference,
    "SOFTCL": SoftCannotLinks,
}
"""Constraints on clusters with a line in files: rows, or pairs of rows, and a limit."""

# The kind of pairs that a distance implies, and the function that finds them.
_DERIVED = {
    "max_diameter": ("cannot_link", pairs_farther_than),
    "min_separation": ("must_link", pairs_closer_than),
}
_ON_CLUSTERS = "cluster_constraints"
NAMES = (*PAIRS.values(), *_DERIVED, _ON_CLUSTERS, *LIMITS)
"""Names of all constraints: the fields of `Constraints` that hold them."""


def _no_pairs() -> NDArray[np.intp]:
    return np.empty((0, 2), np.intp)


@dataclass(frozen=True)
class Constraints:
    """Constraints of a file, and the places in it that state them.

    Attributes
    ----------
    must_link, cannot_link : (p, 2) pairs of row numbers, in the order of the file
    max_diameter, min_separation : distances in the units of the points, 0 <= x < inf, or None
    soft_must_link, soft_cannot_link : pairs (p, 2) of row numbers and their weights (p,) >= 0, in
        the order of the file; inf: a hard pair
    cluster_constraints : the constraints on single clusters, in the order of the file
    min_size, max_size, sizes : limits on the numbers of points of clusters, as in an `Instance`, or
        None
    min_weight, max_weight : limits on the weights of clusters, > 0, or None
    pair_lines : places of the pairs, by attribute; empty if not from a file
    lines : places of all other constraints, in the order of the file
    row_names : (n,) names of the rows in written files; None: numbers from 0
    """

    must_link: NDArray[np.intp] = field(default_factory=_no_pairs)
    cannot_link: NDArray[np.intp] = field(default_factory=_no_pairs)
    max_diameter: float | None = None
    min_separation: float | None = None
    soft_must_link: SoftPairs = field(default_factory=SoftPairs)
    soft_cannot_link: SoftPairs = field(default_factory=SoftPairs)
    cluster_constraints: tuple[ClusterConstraint, ...] = ()
    min_size: int | None = None
    max_size: int | None = None
    sizes: Sizes | None = None
    min_weight: float | None = None
    max_weight: float | None = None
    pair_lines: Mapping[str, PairLines] = field(default_factory=dict)
    lines: tuple[StatedLine, ...] = ()
    row_names: Sequence[str] | None = None

    @property
    def stated(self) -> dict[str, Any]:
        """Constraints by name, without empty ones."""
        values = {name: getattr(self, name) for name in NAMES}
        return {
            name: value
            for name, value in values.items()
            if value is not None and (not hasattr(value, "__len__") or len(value))
        }

    def each_pair(self) -> Iterator[tuple[str, Any, Any, float | None]]:
        """Yield the keyword, the rows and the weight of each pair; None: a hard pair.

        Rows are names if there are `row_names`, otherwise numbers from 0.
        """
        names = self.row_names
        for keyword, argument in PAIRS.items():
            stated = getattr(self, argument)
            is_soft = isinstance(stated, SoftPairs)
            weights = stated.weights.tolist() if is_soft else [None] * len(stated)
            pairs = (stated.pairs if is_soft else stated).tolist()
            for (i, j), weight in zip(pairs, weights, strict=True):
                yield (keyword, *((i, j) if names is None else (names[i], names[j])), weight)

    def arguments(self, points: NDArray[np.float64], origin: Origin) -> dict[str, Any]:
        """Return the arguments of an `Instance` of these points that state the constraints.

        Distances (GAMMA, DELTA) become the pairs that they imply.

        points : (n, d), as `checked_points` returns them
        origin : names of the rows and paths; the result adds the places of constraints

        Raises
        ------
        InstanceError
            If a distance implies too many pairs.
        """
        found = {name: getattr(self, name) for name in NAMES if name not in _DERIVED}
        places: dict[str, Any] = {**self.pair_lines}
        line_of = {each.argument: each.line for each in self.lines}
        for name, (argument, pairs_within) in _DERIVED.items():
            distance = getattr(self, name)
            if distance is not None:
                with naming_file(origin.constraints_path):
                    derived = pairs_within(points, distance)
                found[argument] = distinct_edges(np.concatenate([found[argument], derived]))
                lines = np.full(len(derived), line_of[name], np.int32)
                places[name] = PairLines(derived.astype(np.int32), lines)
        on_clusters = tuple(each for each in self.lines if each.argument not in _DERIVED)
        return {**found, "origin": replace(origin, **places, on_clusters=on_clusters)}


class FileStatement(NamedTuple):
    """One constraint in a file.

    line : of the file, from 1; in a list of pairs, the position from 0
    said : content of the place, for messages: a line, or a value of JSON
    keyword : one of `KEYWORDS`; "": not a keyword of the format
    fields : names of rows, and values that follow the keyword
    """

    line: int
    said: Any
    keyword: str
    fields: Sequence[str]


# Readers of fields raise a ValueError if fields do not have the form of the keyword.


def _pair(fields: Sequence[str], rows: Rows) -> tuple[int, int]:
    one, other = fields
    i, j = rows.number(one), rows.number(other)
    if i == j:
        raise InstanceError("pairs a point with itself; expected i != j")
    return i, j


def _soft_pair(fields: Sequence[str], rows: Rows) -> tuple[int, int, float]:
    weight = _number(fields[2:], rows) if len(fields) > 2 else 1.0
    return *_pair(fields[:2], rows), weight


def _number(fields: Sequence[str], rows: Rows, least: float = 0.0, most: float = math.inf) -> float:
    [field] = fields
    number = float(field) if is_number(field) else math.nan
    if not least <= number <= most:
        raise ValueError
    return number


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
    ranges = sorted((name, _range(size)) for name, _, size in parts)
    names, sizes = [name for name, _ in ranges], tuple(as_size(ends) for _, ends in ranges)
    if fields and not any(equals for _, equals, _ in parts):
        return sizes
    if not fields or len(set(names)) < len(fields) or "" in names:
        raise ValueError
    return ClassSizes(tuple(names), sizes)


def _on_clusters(made: type[BuiltInConstraint], fields: Sequence[str], rows: Rows) -> Any:
    limit, first, *others = fields
    numbers = list(map(rows.number, (first, *others)))
    in_pairs = made is SoftCannotLinks
    named = zip(numbers[::2], numbers[1::2], strict=True) if in_pairs else numbers
    return made(named, _integer(limit))  # type: ignore[call-arg]


class Keyword(NamedTuple):
    """Keyword of files, and the form of its statements.

    argument : the field of `Constraints` that holds the constraint
    form, meaning : the fields by letters, and their meaning
    read : function of fields and rows that returns the value: for pairs two rows, and the weight of
        a soft pair
    """

    argument: str
    form: str
    meaning: str
    read: Callable[[Sequence[str], Rows], Any]


_TWO = "two rows (names with blanks in quotes)"
_SOFT = f"{_TWO} and a weight w >= 0 (1 if it is left out)"
_SIZES = (
    "the numbers of points of all clusters, integers n >= 1 or ranges, or c=n-n of known classes c"
)
_PAIRS_OF_ROWS = ("l i j i j ...", "an integer l >= 0 and pairs of rows")
_DISTANCE = ("x", "a finite distance x >= 0", partial(_number, most=sys.float_info.max))
_SIZE = ("n", "an integer n >= 1", _size)
_WEIGHT = (
    "w",
    "a finite weight w > 0",
    partial(_number, least=math.ulp(0.0), most=sys.float_info.max),
)
KEYWORDS = {
    "ML": Keyword("must_link", "i j", _TWO, _pair),
    "CL": Keyword("cannot_link", "i j", _TWO, _pair),
    "SML": Keyword("soft_must_link", "i j w", _SOFT, _soft_pair),
    "SCL": Keyword("soft_cannot_link", "i j w", _SOFT, _soft_pair),
    "GAMMA": Keyword("max_diameter", *_DISTANCE),
    "DELTA": Keyword("min_separation", *_DISTANCE),
    "MINSIZE": Keyword("min_size", *_SIZE),
    "MAXSIZE": Keyword("max_size", *_SIZE),
    "SIZES": Keyword("sizes", "n n-n ...", _SIZES, _sizes),
    "MINWEIGHT": Keyword("min_weight", *_WEIGHT),
    "MAXWEIGHT": Keyword("max_weight", *_WEIGHT),
    **{
        keyword: Keyword(
            _ON_CLUSTERS,
            *(
                _PAIRS_OF_ROWS
                if made is SoftCannotLinks
                else ("l i j ...", "an integer l >= 0 and rows")
            ),
            partial(_on_clusters, made),
        )
        for keyword, made in CLUSTER_LINES.items()
    },
}
"""Constraints that a file can state, by keyword."""


def line_of(value: object, names: Iterable[object] = (), argument: str = _ON_CLUSTERS) -> str:
    """Return the line in a file of a constraint on clusters, limit or distance; "" if impossible.

    names : names of the rows of a constraint on clusters
    argument : the field of `Constraints` that holds the constraint
    """
    for keyword, kind in KEYWORDS.items():
        if argument != _ON_CLUSTERS and kind.argument == argument:
            is_list = isinstance(value, (tuple, ClassSizes))
            text = sizes_text(value) if is_list else str(value).removesuffix(".0")  # type: ignore[arg-type]
            return f"{keyword} {text}"
        if type(value) is CLUSTER_LINES.get(keyword):
            return " ".join(map(str, (keyword, value.limit, *names)))  # type: ignore[attr-defined]
    return ""


@dataclass(frozen=True)
class ConstraintFormat:
    """Format of files of constraints; `CONSTRAINT_FORMATS` has the formats by name.

    Attributes
    ----------
    example : a line of the format, for messages; "{n}" is replaced by the number of points
    begins : function of the fields of the first line that is neither blank nor a comment, and of
        the rows: whether a file of this format may begin with this line
    statements : function of path, rows and encoding of text (or None) that yields the statements of
        a file, or raises an InstanceError of one line
    lines : function of constraints and number of points (or None) that returns the lines of a file,
        or raises an InstanceError for a constraint that the format cannot hold
    keywords : the `KEYWORDS` that the format supports
    has_comments : whether text after `#` is a comment
    in_lists : whether a file has a list for each keyword, not lines
    """

    name: str
    example: str
    begins: Callable[[Sequence[str], Rows], bool]
    statements: Callable[[FilePath, Rows, str | None], Iterator[FileStatement]]
    lines: Callable[[Constraints, int | None], list[str]]
    keywords: Iterable[str] = ("ML", "CL")
    has_comments: bool = True
    in_lists: bool = False


def constraints_of(
    path: FilePath, statements: Iterable[FileStatement], rows: Rows, expected: str, in_lists: bool
) -> Constraints:
    """Return the constraints given by the statements of a file.

    Parameters
    ----------
    expected : form of a statement, for messages on statements without a keyword
    in_lists : whether the file has a list for each keyword, not lines

    Raises
    ------
    InstanceError
        One line: the file and line of the first wrong statement, its text, and the error.
    """
    # Line, rows and, for soft pairs, weight of each pair. There may be millions.
    pairs: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))
    values: dict[str, Any] = {}
    lines: list[StatedLine] = []
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
        if keyword in PAIRS:
            pairs[kind.argument].extend((line, *value))
            continue
        lines.append(StatedLine(kind.argument, value, line))
        if kind.argument != _ON_CLUSTERS:
            values[kind.argument] = value
    values[_ON_CLUSTERS] = tuple(each.value for each in lines if each.argument == _ON_CLUSTERS)
    pair_lines = {}
    for keyword, argument in PAIRS.items():
        is_soft = argument.startswith("soft")
        table = np.array(pairs[argument]).reshape(-1, 4 if is_soft else 3)
        numbers, key = table[:, 1:3].astype(np.intp), keyword.lower() if in_lists else ""
        values[argument] = SoftPairs(numbers, table[:, 3]) if is_soft else numbers
        ordered, places = np.sort(numbers).astype(np.int32), table[:, 0].astype(np.int32)
        pair_lines[argument] = PairLines(ordered, places, key)
    return Constraints(**values, pair_lines=pair_lines, lines=tuple(lines))
