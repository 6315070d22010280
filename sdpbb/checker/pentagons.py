"""Pentagon cuts of a certificate: five-cycles, and linear estimates of what shares a cluster.

For any five blocks v_0 .. v_4 in a circle, blocks that are the same included, and x_pq = 1 where p
and q share a cluster and 0 elsewhere,

    2 - sum of x_pq over the edges (v_a, v_(a+1)) + sum of x_pq over the chords (v_a, v_(a+2)) >= 0:

of the blocks that share a cluster, 2 or 3 have at most one edge more than chords (1 and 0, 2 and
1), 4 and 5 have none more (3 and 3, 5 and 5), and at most two clusters hold at least 2 of the five.

With block sizes e, x_pq is a sum over all blocks s,

    x_pq = sum of e_s z_s,     z_s = 1 / |C| if p, q and s are in one cluster C, else 0,

z_s is at most Z_pq, Z_ps and Z_qs, and of the three blocks p, q and s, whichever is c, with a and b
the others, at least Z_ca + Z_cb - Z_cc (equal if a and b are in the cluster of c, and else 0 or
-Z_cc), and at least 0.

A list of estimates says which of these are used, for how many of the e_s points of a block s: on
edges lower ones, on chords upper ones. What is not in the list is estimated by 0 on edges, and by
Z_pq on chords, unless a cannot-link says that z_s = 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .evidence import Pentagons
from .rejection import Rejected

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]

_PLACES = 30  # five edges and five chords, with three blocks each


def checked_pentagons(pentagons: Pentagons, sizes: Floats) -> None:
    """`Rejected` unless these are pentagon cuts with estimates, for blocks of these sizes."""
    m, cycles, start = len(sizes), pentagons.cycles, pentagons.start
    estimates = pentagons.estimates
    if cycles.ndim != 2 or cycles.shape[1] != 5 or cycles.dtype.kind != "i":
        raise Rejected(f"pentagons of shape {cycles.shape}, not rows of 5")
    if estimates.ndim != 2 or estimates.shape[1] != 3 or estimates.dtype.kind != "i":
        raise Rejected(f"estimates of shape {estimates.shape}, not rows of 3")
    if start.shape != (len(cycles) + 1,) or start.dtype.kind != "i" or start[0] != 0:
        raise Rejected("the starts of estimates are no list, from 0 on, for each pentagon")
    if (np.diff(start) < 0).any() or start[-1] != len(estimates):
        raise Rejected("the starts of estimates do not fit them")
    place, block, points = estimates.T.astype(np.int64)
    for blocks in (cycles, block):
        if (blocks < 0).any() or (blocks >= m).any():
            raise Rejected(f"a pentagon has a block that is none of 0..{m - 1}")
    chord = place // 3 >= 5
    if (place < 0).any() or (place >= _PLACES).any() or (chord & (place % 3 == 2)).any():
        raise Rejected("an estimate of a pentagon is at a place that there is not")
    if (points < 1).any() or (points > sizes[block]).any():
        raise Rejected("an estimate of a pentagon is for no points, or for more than a block has")
    pair = _owner(pentagons) * 10 + place // 3
    each, inverse = np.unique(pair * m + block, return_inverse=True)
    if (np.bincount(inverse.reshape(-1), points, len(each)) > sizes[each % m]).any():
        raise Rejected("estimates of a pentagon are for more points than a block has")


def pentagon_terms(
    pentagons: Pentagons, sizes: Floats, adjacency: NDArray[np.bool_]
) -> tuple[Integers, Integers, Integers, Floats]:
    """The left-hand sides less 2 of cuts that are as `checked_pentagons` says, as terms: the cut of
    each, the blocks i and j of Z_ij, and its coefficient, a whole number. Entries may occur several
    times in a cut."""
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
    own, rest, cut = _rests(pentagons, sizes, adjacent, owner[used], pair[used], points[used])
    return (
        np.concatenate([np.tile(owner[edge], 3), owner[used], cut]),
        np.concatenate([centre, centre, centre, np.where(which == 0, p, q)[used], own[0]]),
        np.concatenate([first, second, centre, s[used], own[1]]),
        np.concatenate([-weight, -weight, weight, points[used].astype(np.float64), rest]),
    )


def _rests(
    pentagons: Pentagons,
    sizes: Floats,
    adjacent: NDArray[np.bool_],
    owner: Integers,
    pair: Integers,
    points: Integers,
) -> tuple[tuple[Integers, Integers], Floats, Integers]:
    """The blocks of the chords, the points of which no estimate of a chord says anything, although
    no cannot-link keeps them apart from it, and the cut of each."""
    cycles = pentagons.cycles.astype(np.int64)
    count = len(cycles)
    p, q = cycles.ravel(), cycles[:, (np.arange(5) + 2) % 5].ravel()
    free = (~(adjacent[p] | adjacent[q])) @ sizes
    listed = np.bincount(owner * 5 + pair - 5, points, 5 * count)
    rest = np.where(adjacent[p, q], 0.0, free - listed)
    return (p, q), rest, np.repeat(np.arange(count), 5)


def _owner(pentagons: Pentagons) -> NDArray[np.int64]:
    """The cut of each estimate."""
    return np.repeat(np.arange(len(pentagons.cycles)), np.diff(pentagons.start))
