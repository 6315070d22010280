"""Constraints as a file states them, and the places in it that do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.class_sizes import ClassSizes, Sizes
from sdpbb.problem.cluster_constraints import ClusterConstraint
from sdpbb.problem.coordinates import pairs_closer_than, pairs_farther_than
from sdpbb.problem.graph import distinct_edges
from sdpbb.problem.origin import Origin, PairLines, StatedLine
from sdpbb.problem.rules import LIMITS
from sdpbb.problem.textfile import naming_file


def _no_pairs() -> NDArray[np.intp]:
    return np.empty((0, 2), np.intp)


PAIRS = {"ML": "must_link", "CL": "cannot_link", "SML": "soft_must_link", "SCL": "soft_cannot_link"}
"""Kinds of pairs: the keyword of each, and the argument of an `Instance` that has them."""

DISTANCES = {"must_link": "min_separation", "cannot_link": "max_diameter"}
"""Distances that amount to pairs of a kind."""

ON_CLUSTERS = ("cluster_constraints", *LIMITS)
"""Constraints and limits on single clusters, as an `Instance` has them."""


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
