"""Constraints as a file states them, and the interface of a format of such files."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.class_sizes import ClassSizes, Sizes
from sdpbb.problem.cluster_constraints import ClusterConstraint
from sdpbb.problem.coordinates import pairs_closer_than, pairs_farther_than
from sdpbb.problem.files.rows import Rows
from sdpbb.problem.graph import distinct_edges
from sdpbb.problem.origin import Origin, PairLines, StatedLine, place_in_file
from sdpbb.problem.rules import LIMITS
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
            pairs = (stated.pairs if is_soft else stated).tolist()
            weights = stated.weights.tolist() if is_soft else [None] * len(pairs)
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
        try:
            near = far = None
            if self.max_diameter is not None:
                far = pairs_farther_than(points, self.max_diameter)
            if self.min_separation is not None:
                near = pairs_closer_than(points, self.min_separation)
        except InstanceError as error:
            raise InstanceError(f"{shown_path(origin.constraints_path)}: {error}") from None
        found: dict[str, Any] = {name: getattr(self, name) for name in ON_CLUSTERS}
        places: dict[str, Any] = {}
        for argument, derived in (("must_link", near), ("cannot_link", far)):
            pairs, weights, lines = self._stated(argument)
            is_hard, is_soft = weights == np.inf, ~np.isin(weights, (0.0, np.inf))
            hard, soft = pairs[is_hard], pairs[is_soft]
            places[argument] = self._places(argument, hard, lines[is_hard], derived)
            places[f"soft_{argument}"] = self._places(f"soft_{argument}", soft, lines[is_soft])
            if derived is not None:
                hard = distinct_edges(np.concatenate([hard, derived]))
            found[argument] = hard
            found[f"soft_{argument}"] = SoftPairs(soft, weights[is_soft])
        on_clusters = self._lines_on_clusters()
        return {**found, "origin": replace(origin, **places, on_clusters=on_clusters)}

    def _stated(
        self, argument: str
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.intp]]:
        """Return the pairs (p, 2) of a kind, hard and soft, their weights (p,) and lines (p,).

        Hard pairs have the weight inf. A pair that is not from a file has the line -1.
        """
        hard, soft = getattr(self, argument), getattr(self, f"soft_{argument}")
        return (
            np.concatenate([hard, soft.pairs]),
            np.concatenate([np.full(len(hard), np.inf), soft.weights]),
            np.concatenate(
                [self._lines(argument, len(hard)), self._lines(f"soft_{argument}", len(soft))]
            ),
        )

    def _lines(self, argument: str, n: int) -> NDArray[np.intp]:
        """Return the lines (n,) of n pairs, of which the first ones may be from a file."""
        found = np.full(n, -1, np.intp)
        known = self.lines.get(argument, ())[:n]
        found[: len(known)] = known
        return found

    def _places(
        self,
        argument: str,
        pairs: NDArray[np.intp],
        lines: NDArray[np.intp],
        derived: NDArray[np.intp] | None = None,
    ) -> PairLines:
        """Return where pairs (p, 2) on lines (p,), and derived pairs (q, 2), are stated.

        A distance in one line amounts to the derived ones. Pairs without a line have no place.
        """
        key, is_placed = self.keys.get(argument, ""), lines >= 0
        stated, lines = np.sort(pairs[is_placed], axis=1), lines[is_placed]
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


@dataclass(frozen=True)
class Statements:
    """Constraints as they are read: a table of pairs, and all others with their lines.

    kinds, numbers, weights, lines : of the pairs: the position of the keyword in `PAIRS`, i and j,
        the weight (hard pairs have any), and the line
    on_clusters : constraints on clusters and their lines
    values : distances and limits and their lines, by the names that `Constraints` has for them
    """

    kinds: array[int] = field(default_factory=lambda: array("b"))
    numbers: array[int] = field(default_factory=lambda: array("q"))
    weights: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))
    on_clusters: list[tuple[ClusterConstraint, int]] = field(default_factory=list)
    values: dict[str, tuple[Any, int]] = field(default_factory=dict)

    def add(self, keyword: str, pair: tuple[int, int], weight: float, line: int) -> None:
        self.kinds.append(_KINDS[keyword])
        self.numbers.extend(pair)
        self.weights.append(weight)
        self.lines.append(line)

    def add_lines(
        self,
        keywords: Sequence[str],
        pairs: NDArray[np.intp] | None,
        weights: NDArray[np.float64],
        start: int,
    ) -> bool:
        """Add the pairs of lines, the first one of this number.

        False, and nothing is added, if a keyword is not one of pairs, or there are no pairs (p, 2).
        """
        if pairs is None or not _KINDS.keys() >= set(keywords):
            return False
        self.kinds.extend(map(_KINDS.__getitem__, keywords))
        self.numbers.frombytes(pairs.astype(np.int64).tobytes())
        self.weights.frombytes(weights.tobytes())
        self.lines.extend(range(start, start + len(pairs)))
        return True

    def constraints(self, keys: Mapping[str, str] | None = None) -> Constraints:
        """Return the constraints; keys : as `Constraints` has them."""
        pairs = np.array(self.numbers, np.intp).reshape(-1, 2)
        kinds, weights, numbers = map(np.array, (self.kinds, self.weights, self.lines))
        of_kind = {argument: kinds == kind for kind, argument in enumerate(PAIRS.values())}
        lines: dict[str, Any] = {name: numbers[mine] for name, mine in of_kind.items()}
        stated: dict[str, Any] = {
            name: SoftPairs(pairs[mine], weights[mine]) if name[:4] == "soft" else pairs[mine]
            for name, mine in of_kind.items()
        }
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
