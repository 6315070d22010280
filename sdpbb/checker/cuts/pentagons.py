"""Pentagon cuts: five-cycles, and linear estimates of which of their blocks share a cluster.

For any five blocks v_0 .. v_4 in a circle, blocks that are the same included, and x_pq = 1 where p
and q share a cluster and 0 elsewhere,

    2 - sum of x_pq over the edges (v_a, v_(a+1)) + sum of x_pq over the chords (v_a, v_(a+2)) >= 0:

of the blocks that share a cluster, 2 or 3 have at most one edge more than chords (1 and 0, 2 and
1), 4 and 5 have none more (3 and 3, 5 and 5), and at most two clusters hold at least 2 of the five.

With block weights e, x_pq is a sum over all blocks s,

    x_pq = sum of e_s z_s,     z_s = 1 / |C| if p, q and s are in one cluster C, else 0,

z_s is at most Z_pq, Z_ps and Z_qs, and of the three blocks p, q and s, whichever is c, with a and b
the others, at least Z_ca + Z_cb - Z_cc (equal if a and b are in the cluster of c, and else 0 or
-Z_cc), and at least 0.

A list of estimates says which of these are used, for how many of the e_s points of a block s: on
edges lower ones, on chords upper ones. What is not in the list is estimated by 0 on edges, and by
Z_pq on chords, unless a cannot-link says that z_s = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..fields import ArrayKey
from ..rejection import Rejected
from .family import (
    AnyIntegers,
    BlockLists,
    CheckedCuts,
    ClusterLimits,
    Marks,
    Reals,
    TermSums,
    require_blocks,
    require_lists,
)

_PLACES = 30  # five edges and five chords, with three blocks each


@dataclass(frozen=True, eq=False)
class Pentagons(CheckedCuts):
    """Pentagon cuts.

    cycles : (number, 5) the blocks of each, in a circle
    start : (number + 1,) those of pentagon c are estimates[start[c] : start[c + 1]]
    estimates : (number of estimates, 3) place, block s, points: place 3 a + w is of the edge from
        block a of the circle to the next one, and 15 + 3 a + w of the chord from it to the next but
        one; w says which is the block c, the first, the second or s. On chords it is not s, and the
        estimate is Z_cs
    """

    cycles: NDArray[np.int32]
    start: NDArray[np.int64]
    estimates: NDArray[np.int32]

    KEYS: ClassVar = (
        ArrayKey("pentagons", ("<i4",), 5),
        ArrayKey("estimate_start", ("<i8",)),
        ArrayKey("estimates", ("<i4",), 3),
    )
    IS_OPTIONAL: ClassVar = False

    @classmethod
    def none(cls, k: int) -> Pentagons:
        return cls(np.empty((0, 5), np.int32), np.zeros(1, np.int64), np.empty((0, 3), np.int32))

    @classmethod
    def of_lists(cls, lists: BlockLists, k: int) -> Pentagons:
        return cls(lists.blocks.reshape(-1, 5), lists.part_start, lists.parts.astype(np.int32))

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        m, cycles, start, estimates = len(weights), self.cycles, self.start, self.estimates
        if cycles.ndim != 2 or cycles.shape[1] != 5 or cycles.dtype.kind != "i":
            raise Rejected(f"pentagons of shape {cycles.shape}, not rows of 5")
        if estimates.ndim != 2 or estimates.shape[1] != 3 or estimates.dtype.kind != "i":
            raise Rejected(f"estimates of shape {estimates.shape}, not rows of 3")
        require_lists(start, estimates.shape[:1], "estimates", len(cycles))
        place, block, points = estimates.T.astype(np.int64)
        require_blocks(cycles, m)
        require_blocks(block, m)
        chord = place // 3 >= 5
        if (place < 0).any() or (place >= _PLACES).any() or (chord & (place % 3 == 2)).any():
            raise Rejected("an estimate of a pentagon is at a place that there is not")
        if len(cycles) and (weights != np.rint(weights)).any():
            raise Rejected("pentagons; expected none where weights are no whole numbers")
        if (points < 1).any() or (points > weights[block]).any():
            raise Rejected(
                "an estimate of a pentagon is for no points, or for more than a block has"
            )
        pair = _owner(self) * 10 + place // 3
        each, inverse = np.unique(pair * m + block, return_inverse=True)
        if (np.bincount(inverse.reshape(-1), points, len(each)) > weights[each % m]).any():
            raise Rejected("estimates of a pentagon are for more points than a block has")

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        if not len(self):
            return
        owner, i, j, coefficients = pentagon_terms(self, weights, adjacency)
        values = t[owner] * coefficients
        sums.add(i, j, np.where(i == j, values, 0.5 * values))

    def right_hand_sides(self, t: Reals, weights: Reals, k: int) -> list[float]:
        values: list[float] = (-2.0 * t).tolist()
        return values


def pentagon_terms(
    pentagons: Pentagons, weights: Reals, adjacency: Marks
) -> tuple[AnyIntegers, AnyIntegers, AnyIntegers, Reals]:
    """Return the left-hand sides less 2 of cuts that are as `Pentagons.check` asks, as terms.

    They are the cut of each, the blocks i and j of Z_ij, and its coefficient, a whole number.
    Entries may occur several times in a cut.
    """
    cycles, adjacent = pentagons.cycles.astype(np.int64), adjacency
    place, s, points = pentagons.estimates.T.astype(np.int64)
    owner, pair, which = _owner(pentagons), place // 3, place % 3
    p = cycles[owner, pair % 5]
    q = cycles[owner, (pair + np.where(pair < 5, 1, 2)) % 5]
    edge = pair < 5
    centre = np.choose(which, [p, q, s])[edge]
    first, second = np.where(which == 0, q, p)[edge], np.where(which == 2, q, s)[edge]
    weight = points[edge].astype(np.float64)
    used = ~edge & ~(adjacent[p, q] | adjacent[p, s] | adjacent[q, s])
    own, rest, cut = _rests(pentagons, weights, adjacent, owner[used], pair[used], points[used])
    return (
        np.concatenate([np.tile(owner[edge], 3), owner[used], cut]),
        np.concatenate([centre, centre, centre, np.where(which == 0, p, q)[used], own[0]]),
        np.concatenate([first, second, centre, s[used], own[1]]),
        np.concatenate([-weight, -weight, weight, points[used].astype(np.float64), rest]),
    )


def _rests(
    pentagons: Pentagons,
    weights: Reals,
    adjacent: Marks,
    owner: AnyIntegers,
    pair: AnyIntegers,
    points: AnyIntegers,
) -> tuple[tuple[AnyIntegers, AnyIntegers], Reals, AnyIntegers]:
    """Return the blocks of the chords, and the points that no estimate is for.

    For each chord these are the points that no cannot-link keeps apart from it either; and its cut.
    """
    cycles = pentagons.cycles.astype(np.int64)
    count = len(cycles)
    p, q = cycles.ravel(), cycles[:, (np.arange(5) + 2) % 5].ravel()
    free = (~(adjacent[p] | adjacent[q])) @ weights
    listed = np.bincount(owner * 5 + pair - 5, points, 5 * count)
    rest = np.where(adjacent[p, q], 0.0, free - listed)
    return (p, q), rest, np.repeat(np.arange(count), 5)


def _owner(pentagons: Pentagons) -> NDArray[np.int64]:
    """Return the cut of each estimate."""
    return np.repeat(np.arange(len(pentagons.cycles)), np.diff(pentagons.start))
