"""What a file of constraints holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.cluster_constraints import ClusterConstraint
from sdpbb.problem.origin import PairLines


def _no_pairs() -> NDArray[np.intp]:
    return np.empty((0, 2), np.intp)


def _no_lines() -> NDArray[np.intp]:
    return np.empty(0, np.intp)


@dataclass(frozen=True)
class Constraints:
    """What a constraint file holds.

    Attributes
    ----------
    must_link, cannot_link : (p, 2) pairs of row numbers, in the order of the file
    max_diameter, min_separation : distances in the units of the points, 0 <= x < inf, or None
    soft_must_link, soft_cannot_link : pairs (p, 2) of row numbers and their weights (p,) in (0, 1],
        in the order of the file
    cluster_constraints : the lines on single clusters, in the order of the file
    must_link_lines, cannot_link_lines : (p,) the line of each pair, from 1, or with keys its
        position in the list, from 0; empty if not from a file
    max_diameter_line, min_separation_line : the lines of the distances, from 1
    keys : what the lists of must-links and of cannot-links are called, in a file that has such
        lists; "" elsewhere
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

    @property
    def all_pairs(self) -> list[NDArray[np.intp]]:
        """The pairs (p, 2) of all kinds."""
        soft = (self.soft_must_link.pairs, self.soft_cannot_link.pairs)
        return [self.must_link, self.cannot_link, *soft]

    def must_link_places(self, near: NDArray[np.intp] | None = None) -> PairLines:
        """Where must-links are stated; near (p, 2) are those that min_separation amounts to."""
        lines = self.must_link_lines
        return _places(self.must_link, lines, near, self.min_separation_line, self.keys[0])

    def cannot_link_places(self, far: NDArray[np.intp] | None = None) -> PairLines:
        """Where cannot-links are stated; far (p, 2) are those that max_diameter amounts to."""
        lines = self.cannot_link_lines
        return _places(self.cannot_link, lines, far, self.max_diameter_line, self.keys[1])


def check_pairs_only(constraints: Constraints, file_format: str, *, soft: bool) -> None:
    """Raise an InstanceError if there is something that a file of this format cannot state.

    soft : whether it can state soft constraints
    """
    too_much: Sequence[tuple[str, bool]] = [
        ("max_diameter", constraints.max_diameter is not None),
        ("min_separation", constraints.min_separation is not None),
        ("cluster_constraints", bool(constraints.cluster_constraints)),
        ("soft_must_link", not soft and len(constraints.soft_must_link) > 0),
        ("soft_cannot_link", not soft and len(constraints.soft_cannot_link) > 0),
    ]
    for name, is_there in too_much:
        if is_there:
            pairs = "pairs, hard and soft" if soft else "must-links and cannot-links"
            raise InstanceError(
                f"{name}: a file of the format {file_format} has no place for it; expected only "
                f"{pairs}, or another format"
            )


def _places(
    pairs: NDArray[np.intp],
    lines: NDArray[np.intp],
    derived: NDArray[np.intp] | None,
    line: int,
    key: str,
) -> PairLines:
    # None of those that are not from a file is stated anywhere.
    stated = np.sort(pairs, axis=1)[: len(lines)]
    if derived is None:
        return PairLines(stated, lines, len(stated), key)
    # There may be millions, and 32 bits hold every row number and line.
    all_pairs = np.concatenate([stated, derived], dtype=np.int32, casting="same_kind")
    all_lines = np.concatenate([lines, np.full(len(derived), line)], dtype=np.int32)
    return PairLines(all_pairs, all_lines, len(stated), key)
