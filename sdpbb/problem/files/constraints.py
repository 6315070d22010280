"""Constraints as a file states them, and the interface of a format of such files."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.cluster_constraints import ClusterConstraint
from sdpbb.problem.coordinates import pairs_closer_than, pairs_farther_than
from sdpbb.problem.files.rows import Rows
from sdpbb.problem.graph import distinct_edges
from sdpbb.problem.origin import Origin, PairLines, StatedLine
from sdpbb.runtime.files import FilePath, shown_path


def _no_pairs() -> NDArray[np.intp]:
    return np.empty((0, 2), np.intp)


def _no_lines() -> NDArray[np.intp]:
    return np.empty(0, np.intp)


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
        them, or None; a line MAXSIZE that is read is one of the cluster_constraints
    min_weight, max_weight : limits on the weights of clusters, > 0, or None
    must_link_lines, cannot_link_lines, soft_must_link_lines, soft_cannot_link_lines : (p,) the line
        of each pair, from 1, or with keys its position in the list, from 0; empty if not from a
        file
    max_diameter_line, min_separation_line : the lines of the distances, from 1
    cluster_lines : of the cluster_constraints, from 1; empty if not from a file
    limit_lines : of the limits that lines state, by the names that they have here, from 1
    keys : what the lists of must-links and of cannot-links are called, in a file that has such
        lists, those of soft ones with an "s" before that; "" elsewhere
    """

    must_link: NDArray[np.intp] = field(default_factory=_no_pairs)
    cannot_link: NDArray[np.intp] = field(default_factory=_no_pairs)
    max_diameter: float | None = None
    min_separation: float | None = None
    soft_must_link: SoftPairs = field(default_factory=SoftPairs)
    soft_cannot_link: SoftPairs = field(default_factory=SoftPairs)
    cluster_constraints: tuple[ClusterConstraint, ...] = ()
    must_link_lines: NDArray[np.intp] = field(default_factory=_no_lines)
    cannot_link_lines: NDArray[np.intp] = field(default_factory=_no_lines)
    max_diameter_line: int = 0
    min_separation_line: int = 0
    keys: tuple[str, str] = ("", "")
    min_size: int | None = None
    max_size: int | None = None
    sizes: tuple[int, ...] | None = None
    min_weight: float | None = None
    max_weight: float | None = None
    soft_must_link_lines: NDArray[np.intp] = field(default_factory=_no_lines)
    soft_cannot_link_lines: NDArray[np.intp] = field(default_factory=_no_lines)
    cluster_lines: tuple[int, ...] = ()
    limit_lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def all_pairs(self) -> list[NDArray[np.intp]]:
        """Pairs (p, 2) of all kinds."""
        soft = (self.soft_must_link.pairs, self.soft_cannot_link.pairs)
        return [self.must_link, self.cannot_link, *soft]

    @property
    def are_none(self) -> bool:
        """True if nothing at all is constrained."""
        others = (
            *(self.max_diameter, self.min_separation),
            *(self.min_size, self.max_size, self.sizes, self.min_weight, self.max_weight),
        )
        has_pairs = any(map(len, self.all_pairs))
        return not has_pairs and not self.cluster_constraints and others == (None,) * len(others)

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
        must = _KindOfPairs.of(
            self.must_link, self.must_link_lines, self.soft_must_link, self.soft_must_link_lines
        )
        cannot = _KindOfPairs.of(
            self.cannot_link,
            self.cannot_link_lines,
            self.soft_cannot_link,
            self.soft_cannot_link_lines,
        )
        must_link, cannot_link = must.hard, cannot.hard
        far, near = None, None
        try:
            if self.max_diameter is not None:
                far = pairs_farther_than(points, self.max_diameter)
                cannot_link = distinct_edges(np.concatenate([cannot_link, far]))
            if self.min_separation is not None:
                near = pairs_closer_than(points, self.min_separation)
                must_link = distinct_edges(np.concatenate([must_link, near]))
        except InstanceError as error:
            raise InstanceError(f"{shown_path(origin.constraints_path)}: {error}") from None
        return {
            "must_link": must_link,
            "cannot_link": cannot_link,
            "soft_must_link": must.soft,
            "soft_cannot_link": cannot.soft,
            "cluster_constraints": self.cluster_constraints,
            "min_size": self.min_size,
            "max_size": self.max_size,
            "sizes": self.sizes,
            "min_weight": self.min_weight,
            "max_weight": self.max_weight,
            "origin": replace(
                origin,
                must_link=_pair_lines(
                    must.hard, must.hard_lines, near, self.min_separation_line, self.keys[0]
                ),
                cannot_link=_pair_lines(
                    cannot.hard, cannot.hard_lines, far, self.max_diameter_line, self.keys[1]
                ),
                soft_must_link=must.soft_places(self.keys[0]),
                soft_cannot_link=cannot.soft_places(self.keys[1]),
                on_clusters=self._lines_on_clusters(),
            ),
        }

    def _lines_on_clusters(self) -> tuple[StatedLine, ...]:
        """Return where constraints and limits on clusters are stated."""
        constraints = zip(self.cluster_constraints, self.cluster_lines, strict=False)
        return (
            *(StatedLine("cluster_constraints", each, line) for each, line in constraints),
            *(StatedLine(at, getattr(self, at), line) for at, line in self.limit_lines.items()),
        )


class _KindOfPairs(NamedTuple):
    """Must-links or cannot-links as an `Instance` has them, and their lines where these are known.

    Soft ones of infinite weight are hard, and those of weight 0 are none.
    """

    hard: NDArray[np.intp]
    hard_lines: NDArray[np.intp]
    soft: SoftPairs
    soft_lines: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        hard: NDArray[np.intp],
        hard_lines: NDArray[np.intp],
        soft: SoftPairs,
        soft_lines: NDArray[np.intp],
    ) -> _KindOfPairs:
        pairs, weights = soft.pairs, soft.weights
        endless, kept = weights == np.inf, ~np.isin(weights, (0.0, np.inf))
        lines = soft_lines[kept[: len(soft_lines)]]
        if endless.any():
            # Lines are those of the first pairs: of none, where not all of those before have them.
            has_lines = len(hard_lines) == len(hard) and len(soft_lines) == len(soft)
            hard = np.concatenate([hard, pairs[endless]])
            if has_lines:
                hard_lines = np.concatenate([hard_lines, soft_lines[endless]])
        return cls(hard, hard_lines, SoftPairs(pairs[kept], weights[kept]), lines)

    def soft_places(self, key: str) -> PairLines:
        """Return where the soft ones are stated."""
        return _pair_lines(self.soft.pairs, self.soft_lines, None, 0, f"s{key}" if key else "")


@dataclass(frozen=True)
class StatedPairs:
    """Pairs of one kind, as they are read: i, j, i, j, ..., weights where they have them, lines."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    weights: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))

    def add(self, pair: tuple[int, int], weight: float, line: int) -> None:
        self.numbers.extend(pair)
        self.weights.append(weight)
        self.lines.append(line)

    @property
    def pairs(self) -> NDArray[np.intp]:
        return np.array(self.numbers, np.intp).reshape(-1, 2)

    @property
    def line_numbers(self) -> NDArray[np.intp]:
        return np.array(self.lines, np.intp)

    @property
    def soft_pairs(self) -> SoftPairs:
        return SoftPairs(self.pairs, np.array(self.weights))


def add_plain_lines(
    stated: Mapping[str, StatedPairs],
    kinds: Sequence[str],
    pairs: NDArray[np.intp] | None,
    weights: NDArray[np.float64],
    start: int,
) -> bool:
    """Add the pairs of lines, the first one of this number, to those of their kinds.

    False, and nothing is added, if there is no such kind, or no pairs (p, 2).
    """
    if pairs is None or not stated.keys() >= set(kinds):
        return False
    kind_of, lines = np.array(kinds), np.arange(start, start + len(pairs))
    for kind, known in stated.items():
        mine = kind_of == kind
        known.numbers.frombytes(pairs[mine].astype(np.int64).tobytes())
        known.weights.frombytes(weights[mine].tobytes())
        known.lines.frombytes(lines[mine].astype(np.int64).tobytes())
    return True


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
    too_much: Sequence[tuple[str, bool]] = [
        ("max_diameter", constraints.max_diameter is not None),
        ("min_separation", constraints.min_separation is not None),
        ("cluster_constraints", bool(constraints.cluster_constraints)),
        ("min_size", constraints.min_size is not None),
        ("max_size", constraints.max_size is not None),
        ("sizes", constraints.sizes is not None),
        ("min_weight", constraints.min_weight is not None),
        ("max_weight", constraints.max_weight is not None),
        ("soft_must_link", not soft and len(constraints.soft_must_link) > 0),
        ("soft_cannot_link", not soft and len(constraints.soft_cannot_link) > 0),
    ]
    for name, is_there in too_much:
        if is_there:
            pairs = "pairs, hard and soft" if soft else "must-links and cannot-links"
            raise InstanceError(
                f"{name}: the format {file_format} cannot hold it; expected only {pairs}, or "
                "another format"
            )


def _pair_lines(
    pairs: NDArray[np.intp],
    lines: NDArray[np.intp],
    derived: NDArray[np.intp] | None,
    line: int,
    key: str,
) -> PairLines:
    """Return where pairs (p, 2) and derived pairs (q, 2) are stated.

    A distance in one line amounts to the derived ones.
    """
    # None of those that are not from a file is stated anywhere.
    stated = np.sort(pairs, axis=1)[: len(lines)]
    if derived is None:
        return PairLines(stated, lines, len(stated), key)
    # There may be millions, and 32 bits hold every row number and line.
    all_pairs = np.concatenate([stated, derived], dtype=np.int32, casting="same_kind")
    all_lines = np.concatenate([lines, np.full(len(derived), line)], dtype=np.int32)
    return PairLines(all_pairs, all_lines, len(stated), key)
