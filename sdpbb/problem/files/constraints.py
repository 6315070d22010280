"""Constraints as a file states them, the rows that it names, and the interface of a format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.errors import InstanceError, InstanceWarning, warn_caller
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.class_sizes import ClassSizes, Sizes
from sdpbb.problem.cluster_constraints import ClusterConstraint
from sdpbb.problem.coordinates import pairs_closer_than, pairs_farther_than
from sdpbb.problem.graph import distinct_edges
from sdpbb.problem.origin import Origin, PairLines, StatedLine, place_in_file
from sdpbb.problem.rules import LIMITS
from sdpbb.problem.table import hint_at_similar
from sdpbb.problem.textfile import first_of, is_integer, naming_file, shown
from sdpbb.runtime.files import FilePath, shown_path


def _no_pairs() -> NDArray[np.intp]:
    return np.empty((0, 2), np.intp)


PAIRS = {"ML": "must_link", "CL": "cannot_link", "SML": "soft_must_link", "SCL": "soft_cannot_link"}
"""Kinds of pairs: the keyword of each, and the argument of an `Instance` that has them."""

DISTANCES = {"must_link": "min_separation", "cannot_link": "max_diameter"}
"""Distances that amount to pairs of a kind."""

ON_CLUSTERS = ("cluster_constraints", *LIMITS)
"""Constraints and limits on single clusters, as an `Instance` has them."""

_KINDS = {keyword: kind for kind, keyword in enumerate(PAIRS)}

# A file that leaves row 0 out is warned of when that is less likely than this.
UNLIKELY = 0.01


class Line(NamedTuple):
    """Line of a file, for messages: where it is, its fields, and what these should be.

    file : its name, as messages show it
    between : what separates the fields
    """

    file: str
    number: int
    fields: Sequence[str]
    expected: str
    between: str = " "

    @property
    def where(self) -> str:
        return f"{self.file}:{self.number}"

    def __str__(self) -> str:
        return f"{self.where}: {shown(self.between.join(self.fields))}"

    @property
    def wrong(self) -> InstanceError:
        return InstanceError(f"{self}; expected {self.expected}")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of the data, by their names or numbers in a file.

    Parameters
    ----------
    n : how many there are
    first : the number of the first one in the file, 0 or 1
    names : the number, from 0, of each name; None where rows are numbered
    """

    n: int
    first: int = 0
    names: Mapping[str, int] | None = None

    @classmethod
    def of(cls, n: int, one_based: bool, names: Sequence[str] | None) -> Rows:
        """Return n rows that are numbered, or called names (n,).

        Raises
        ------
        InstanceError
            If they should be numbered from 1 and have names.
        """
        if names is None:
            return cls(n, int(one_based))
        if one_based and any(name != str(row) for row, name in enumerate(names, start=1)):
            raise InstanceError(
                "one_based: the rows have names (index_column), and constraints use them; "
                "expected only one of the two"
            )
        return cls(n, 0, {name: row for row, name in enumerate(names)})

    @property
    def expected(self) -> str:
        """Words of messages for rows: "row numbers" or "names of rows"."""
        return "row numbers" if self.names is None else "names of rows"

    @property
    def expected_on_lines(self) -> str:
        """Words of messages for rows on lines whose fields blanks separate."""
        quotes = "" if self.names is None else " (those with blanks in quotes)"
        return f"{self.expected}{quotes}"

    def number_of(self, field: str) -> int | None:
        """Return the row, from 0, that a field stands for; None if it cannot stand for any.

        It is n or more or negative where there is no such row.
        """
        if self.names is not None:
            return self.names.get(field, self.n)
        return int(field) - self.first if is_integer(field) else None

    def pair(
        self, fields: Sequence[str], says: object, expected: str, which: str = ""
    ) -> tuple[int, int]:
        """Return the rows that two fields stand for.

        says : the file, the line and what is there, such as a `Line`
        expected : what would be right, if these are not two names or numbers
        which : words between what is there and what is wrong with a name or a number

        Raises
        ------
        InstanceError
            If a row is not there, if both are the same, or if these are not two rows.
        """
        i, j = map(self.number_of, fields) if len(fields) == 2 else (None, None)
        if i is None or j is None:
            raise InstanceError(f"{says}; expected {expected}")
        if i != j and 0 <= i < self.n and 0 <= j < self.n:
            return i, j
        for each in fields:
            self.check(each, f"{says}{which}")
        raise InstanceError(f"{says}{which} pairs a point with itself; expected i != j")

    def pairs(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.intp] | None:
        """Return the rows that two fields each stand for, as (p, 2).

        It is fast, for many fields. None if there are no fields, if one is no plain number or not
        there, or if one row is paired with itself.
        """
        fields = [*first, *second]
        if not fields:
            return None
        if self.names is not None:
            found = np.fromiter((self.names.get(field, -1) for field in fields), np.intp)
        else:
            digits = "".join(fields)
            if not (digits.isascii() and digits.isdecimal() and max(map(len, fields)) <= 15):
                return None
            found = np.array(list(map(int, fields)), np.intp) - self.first
        pairs = found.reshape(2, -1).T
        if found.min() < 0 or found.max() >= self.n or (pairs[:, 0] == pairs[:, 1]).any():
            return None
        return pairs

    def check(self, field: str, says: object) -> None:
        """Raise the InstanceError if a field stands for a row that is not there."""
        row = self.number_of(field)
        if row is None or 0 <= row < self.n:
            return
        if self.names is not None:
            similar = hint_at_similar(field, self.names)
            some = first_of(map(shown, self.names), 2)
            others = "" if similar else f"; rows are called {some}"
            raise InstanceError(
                f"{says} names row {shown(field)}, but no row of the data has this "
                f"name{similar}{others}"
            )
        meant = "is the file for other data?"
        if self.first == 0 and row == self.n:
            meant = "is the file for other data, or does it number rows from 1 (--one-based)?"
        elif self.first == 1 and row == -1:
            meant = "does the file number rows from 0 (without --one-based)?"
        raise InstanceError(
            f"{says} names row {row + self.first}, but the data has rows {self.first} to "
            f"{self.n - 1 + self.first}; {meant}"
        )


def warn_of_one_based(path: FilePath, pairs: Sequence[NDArray[np.intp]], n: int) -> None:
    """Warn of a file that counts rows from 0, as it was read, but looks as if it did from 1.

    It does if the pairs (p, 2) never name row 0, though they name so many rows, m of n, that a draw
    which treats rows alike would leave out row 0 with a probability, 1 - m / n, below UNLIKELY.
    (If such a file names row n, that is an error already.)
    """
    named = np.zeros(n, dtype=bool)
    for some in pairs:
        named[some.ravel()] = True
    m = int(named.sum())
    if not named[0] and (n - m) / n < UNLIKELY:
        warn_caller(
            f"{shown_path(path)}: names {m} of the {n} rows, but never row 0 (probability "
            f"{(n - m) / n:.2g} where rows are drawn at random); does it number rows from 1 "
            "(--one-based)?",
            InstanceWarning,
        )


@dataclass(frozen=True)
class Constraints:
    """Constraints of a file, and the places in it that state them.

    Attributes
    ----------
    must_link, cannot_link : (p, 2) pairs of row numbers, in the order of the file
    max_diameter, min_separation : distances in the units of the points, 0 <= x < inf, or None
    soft_must_link, soft_cannot_link : pairs (p, 2) of row numbers and their weights (p,) >= 0, inf
        for hard ones, in the order of the file
    cluster_constraints : the lines on single clusters, in the order of the file
    min_size, max_size, sizes : limits on the numbers of points of clusters, as an `Instance` has
        them, or None
    min_weight, max_weight : limits on the weights of clusters, > 0, or None
    lines : by the names that constraints have here, the line of each, from 1, or with keys the
        position of a pair in its list, from 0; what is not from a file has none
    keys : by the same names, what the lists of pairs are called in a file that has such lists
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
    lines: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_pairs(self) -> list[NDArray[np.intp]]:
        """Pairs (p, 2) of all kinds."""
        soft = (self.soft_must_link.pairs, self.soft_cannot_link.pairs)
        return [self.must_link, self.cannot_link, *soft]

    def each_pair(self) -> Iterator[tuple[str, int, int, float | None]]:
        """Yield the keyword, the rows and the weight of each pair; hard ones have no weight."""
        for keyword, argument in PAIRS.items():
            stated = getattr(self, argument)
            is_soft = isinstance(stated, SoftPairs)
            weights = stated.weights.tolist() if is_soft else [None] * len(stated)
            pairs = (stated.pairs if is_soft else stated).tolist()
            for (i, j), weight in zip(pairs, weights, strict=True):
                yield keyword, i, j, weight

    @property
    def has_soft(self) -> bool:
        return bool(len(self.soft_must_link) or len(self.soft_cannot_link))

    @property
    def are_none(self) -> bool:
        """True if nothing at all is constrained."""
        return not any(map(self.holds, (*PAIRS.values(), *DISTANCES.values(), *ON_CLUSTERS)))

    def holds(self, name: str) -> bool:
        """Return whether there is a constraint of a name that is one here."""
        value = getattr(self, name)
        return value is not None and (isinstance(value, (int, float, ClassSizes)) or len(value) > 0)

    def place(self, argument: str, position: int) -> str:
        """Return the place of a pair in its file, or in its list if lines are not known.

        Examples: ":17", ": ml[3]", ": must_link[0]".
        """
        if argument not in self.lines:
            return f": {argument}[{position}]"
        return place_in_file(self.lines[argument][position], self.keys.get(argument, ""))

    def arguments(self, points: NDArray[np.float64], origin: Origin) -> dict[str, Any]:
        """Return the arguments of an `Instance` of these points that state the constraints.

        Distances (GAMMA, DELTA) become the pairs that they amount to.

        points : (n, d), as `checked_points` returns them
        origin : of the rows and of the file; the places of pairs are added to it

        Raises
        ------
        InstanceError
            If a distance amounts to too many pairs.
        """
        least, most = self.min_separation, self.max_diameter
        with naming_file(origin.constraints_path):
            near = None if least is None else pairs_closer_than(points, least)
            far = None if most is None else pairs_farther_than(points, most)
        names = (*PAIRS.values(), *ON_CLUSTERS)
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        places: dict[str, Any] = {name: self._places(name) for name in PAIRS.values()}
        for argument, derived in (("must_link", near), ("cannot_link", far)):
            if derived is not None:
                places[argument] = self._places(argument, derived)
                found[argument] = distinct_edges(np.concatenate([found[argument], derived]))
        on_clusters = self._lines_on_clusters()
        return {**found, "origin": replace(origin, **places, on_clusters=on_clusters)}

    def _places(self, argument: str, derived: NDArray[np.intp] | None = None) -> PairLines:
        """Return where the pairs of an argument, and derived pairs (q, 2), are stated.

        A distance in one line amounts to the derived ones. Pairs without a line have no place.
        """
        pairs = getattr(self, argument)
        lines = self.lines.get(argument, np.empty(0, np.intp))
        stated = np.sort(getattr(pairs, "pairs", pairs)[: len(lines)], axis=1)
        key = self.keys.get(argument, "")
        if derived is None:
            return PairLines(stated, lines, len(stated), key)
        line = self.lines.get(DISTANCES[argument], 0)
        # There may be millions, and 32 bits hold every row number and line.
        all_pairs = np.concatenate([stated, derived], dtype=np.int32, casting="same_kind")
        all_lines = np.concatenate([lines, np.full(len(derived), line)], dtype=np.int32)
        return PairLines(all_pairs, all_lines, len(stated), key)

    def _lines_on_clusters(self) -> tuple[StatedLine, ...]:
        """Return where constraints and limits on clusters are stated."""
        argument, *limits = ON_CLUSTERS
        lines = self.lines.get(argument, ())
        constraints = zip(self.cluster_constraints, lines, strict=False)
        stated = [name for name in limits if name in self.lines]
        return (
            *(StatedLine(argument, each, line) for each, line in constraints),
            *(StatedLine(name, getattr(self, name), self.lines[name]) for name in stated),
        )


StatedPair = tuple[str, tuple[int, int], float, int]
"""Keyword, rows, weight and line of a pair; hard pairs have any weight."""


@dataclass(frozen=True)
class Statements:
    """Constraints as they are read: tables of pairs, and all others with their lines.

    tables : of the position of the keyword in `PAIRS`, rows, weight and line of each pair
    on_clusters : constraints on clusters and their lines
    values : distances and limits and their lines, by the names that `Constraints` has for them
    """

    tables: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    on_clusters: list[tuple[ClusterConstraint, int]] = field(default_factory=list)
    values: dict[str, tuple[Any, int]] = field(default_factory=dict)

    def add(self, pairs: Sequence[StatedPair]) -> None:
        """Add pairs one by one."""
        if pairs:
            self.add_table(*zip(*pairs, strict=True))

    def add_table(
        self,
        keywords: Iterable[str],
        pairs: ArrayLike,
        weights: ArrayLike,
        lines: ArrayLike,
    ) -> None:
        """Add pairs (p, 2) of rows, with their keywords, weights and lines (p,)."""
        kinds = np.fromiter(map(_KINDS.__getitem__, keywords), np.int8)
        rows = np.asarray(pairs, np.intp).reshape(-1, 2)
        numbers = np.asarray(lines, np.intp)
        self.tables.append((kinds, rows, np.asarray(weights, np.float64), numbers))

    def constraints(self, keys: Mapping[str, str] | None = None) -> Constraints:
        """Return the constraints; keys : as `Constraints` has them."""
        self.add_table((), (), (), ())
        kinds, pairs, weights, numbers = map(np.concatenate, zip(*self.tables, strict=True))
        lines: dict[str, Any] = {}
        stated: dict[str, Any] = {}
        for kind, name in enumerate(PAIRS.values()):
            mine = kinds == kind
            is_soft, lines[name] = name.startswith("soft"), numbers[mine]
            stated[name] = SoftPairs(pairs[mine], weights[mine]) if is_soft else pairs[mine]
        for name, (value, line) in self.values.items():
            stated[name], lines[name] = value, line
        lines["cluster_constraints"] = [line for _, line in self.on_clusters]
        on_clusters = tuple(constraint for constraint, _ in self.on_clusters)
        return Constraints(**stated, cluster_constraints=on_clusters, lines=lines, keys=keys or {})


@dataclass(frozen=True)
class ConstraintFormat:
    """Format of files of constraints, which `CONSTRAINT_FORMATS` holds by its name.

    Attributes
    ----------
    example : a line of the format, for messages; "{n}" stands for the number of points
    begins : of the fields of the first line that is neither blank nor a comment, and the rows of
        the data: whether a file of this format may begin so
    read : of the path, the rows and the encoding of text, or None: the constraints, or an
        InstanceError of one line
    lines : of constraints and the number of points, or None: the lines of a file that holds them,
        or an InstanceError for what the format has no place for
    has_soft : whether soft constraints have a place in it
    has_comments : whether text after `#` is a comment
    names_rows : whether pairs name their rows, so that they may be numbered from 1
    """

    name: str
    example: str
    begins: Callable[[Sequence[str], Rows], bool]
    read: Callable[[FilePath, Rows, str | None], Constraints]
    lines: Callable[[Constraints, int | None], list[str]]
    has_soft: bool = False
    has_comments: bool = True
    names_rows: bool = True


def check_pairs_only(constraints: Constraints, file_format: str, *, soft: bool) -> None:
    """Raise an InstanceError if there is something that a file of this format cannot state.

    soft : whether it can state soft constraints
    """
    too_much = ("max_diameter", "min_separation", *ON_CLUSTERS)
    for name in too_much if soft else (*too_much, "soft_must_link", "soft_cannot_link"):
        if constraints.holds(name):
            pairs = "pairs, hard and soft" if soft else "must-links and cannot-links"
            raise InstanceError(
                f"{name}: the format {file_format} cannot hold it; expected only {pairs}, or "
                "another format"
            )
