"""Cuts by a lift to three blocks: pentagons, and terms of the prices of soft pairs.

With the weights e of blocks, let x_pq = 1 if blocks p and q share a cluster, and 0 otherwise. Then
over all blocks s

    x_pq = sum of e_s z_pqs,     z_pqs = 1 / |C| if p, q and s are in one cluster C, else 0,

Upper bounds on z_pqs are Z_pq, Z_ps and Z_qs. Lower bounds are 0 and Z_ca + Z_cb - Z_cc, with c
any of the three blocks and a, b the other two: it is z_pqs if a and b are in the cluster of c, and
0 or -Z_cc if not.

*Pentagons.* For any five blocks v_0 .. v_4 in a circle, blocks that are the same included,

    2 - sum of x_pq over the edges (v_a, v_(a+1)) + sum of x_pq over the chords (v_a, v_(a+2)) >= 0:

in a cluster with 2 or 3 of the blocks, edges exceed chords by at most one (1 and 0, 2 and 1); with
4 or 5 they do not (3 and 3, 5 and 5). At most two clusters have 2 or more of the five. A list of
estimates states which bounds on z are used, and for how many of the e_s points of a block s: lower
bounds on edges, upper bounds on chords. For other points the bound is 0 on edges and Z_pq on
chords, or 0 if a cannot-link implies z = 0.

*Soft pairs.* A clustering pays w x_ij for a soft cannot-link ij of price w. For a soft must-link it
pays w (1 - x_ij) = w sum of e_s (Z_is - z_ijs), or the same with Z_js. By the bounds on z, these
are at least the sums over blocks h of - t <B, Z> for

    soft cannot-links    <B, Z> = Z_hh - Z_ih - Z_jh,    0 <= t <= w e_h,
    soft must-links      <B, Z> = Z_jh - Z_ih,           0 <= t <= w e_h / 2,

the latter for both orders of i and j, with half of the price each. So <B, Z> >= 0 is an inequality
that a clustering may violate at a price, and the price limits its multiplier t. For h = i and h = j
the first is -Z_ij >= 0, a single one with t <= w (e_i + e_j). Equal terms share the limit on t. A
larger multiplier is replaced by the limit.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..archive import NUMBERS
from ..arithmetic import TINY, gamma
from ..certificate import one_of
from ..rejection import Rejected
from .inequalities import (
    Group,
    Inequalities,
    Marks,
    NodeFacts,
    Numbers,
    Reals,
    Terms,
    starts,
)
from .templates import entries_of, terms_of

_PLACES = 30  # five edges and five chords, with three blocks each
_CANNOT = entries_of((2, 2, 1.0), (0, 2, -1.0), (1, 2, -1.0))
_CANNOT_BOTH = entries_of((0, 1, -1.0))
_MUST = entries_of((1, 2, 1.0), (0, 2, -1.0))


@dataclass(frozen=True, eq=False)
class LiftedPentagons(Group):
    """Pentagon cuts, the five blocks of each in a circle.

    estimates : (number, 4) cut, place, block s, points. Place 3 a + w is the edge from block a of
        the circle to the next one; place 15 + 3 a + w is the chord from it to the next but one. The
        block c is the first for w = 0, the second for w = 1, and s for w = 2, on edges only. The
        bound on a chord is Z_cs
    """

    estimates: Numbers

    WORD: ClassVar = "pentagons"
    PROOF: ClassVar = "lift to three blocks"
    WIDTH: ClassVar = 5
    FURTHER: ClassVar = {"estimates": (NUMBERS, 4)}

    def inequalities(self, node: NodeFacts) -> Inequalities:
        m, weights, start = node.m, node.weights, starts(self.estimates, len(self))
        owner, place, block, points = self.estimates.T.astype(np.int64)
        chord = place // 3 >= 5
        if (place < 0).any() or (place >= _PLACES).any() or (chord & (place % 3 == 2)).any():
            raise Rejected("an estimate of a pentagon is at a place that there is not")
        if (block < 0).any() or (block >= m).any():
            raise Rejected(f"an estimate of a pentagon has a block outside of 0..{m - 1}")
        if not node.has_whole_weights:
            raise Rejected("pentagons; expected none where weights are no whole numbers")
        if (points < 1).any() or (points > weights[block]).any():
            raise Rejected(
                "an estimate of a pentagon is for no points, or for more than a block has"
            )
        each, inverse = np.unique((owner * 10 + place // 3) * m + block, return_inverse=True)
        if (np.bincount(inverse.reshape(-1), points, len(each)) > weights[each % m]).any():
            raise Rejected("estimates of a pentagon are for more points than a block has")
        terms = pentagon_terms(self.blocks, start, self.estimates[:, 1:], weights, node.adjacency)
        return Inequalities(np.full(len(self), -2.0), [terms])


def pentagon_terms(
    cycles: Numbers, start: Numbers, estimates: Numbers, weights: Reals, adjacency: Marks
) -> Terms:
    """Return the left-hand sides less 2 of pentagon cuts, as terms.

    Coefficients are whole numbers. An entry may occur several times in a cut.

    start, estimates : (number of cuts + 1,) and (number, 3), as of `LiftedPentagons` without cuts
    """
    cycles, owner_of = cycles.astype(np.int64), np.repeat(np.arange(len(cycles)), np.diff(start))
    place, s, points = estimates.T.astype(np.int64)
    pair, which = place // 3, place % 3
    p = cycles[owner_of, pair % 5]
    q = cycles[owner_of, (pair + np.where(pair < 5, 1, 2)) % 5]
    edge = pair < 5
    centre = np.choose(which, [p, q, s])[edge]
    first, second = np.where(which == 0, q, p)[edge], np.where(which == 2, q, s)[edge]
    weight = points[edge].astype(np.float64)
    used = ~edge & ~(adjacency[p, q] | adjacency[p, s] | adjacency[q, s])
    # For each chord: points without an estimate, and without a cannot-link to its ends.
    one, other = cycles.ravel(), cycles[:, (np.arange(5) + 2) % 5].ravel()
    free = (~(adjacency[one] | adjacency[other])) @ weights
    listed = np.bincount(owner_of[used] * 5 + pair[used] - 5, points[used], len(one))
    rest = np.where(adjacency[one, other], 0.0, free - listed)
    chords = np.repeat(np.arange(len(cycles)), 5)
    return Terms(
        np.concatenate([np.tile(owner_of[edge], 3), owner_of[used], chords]),
        np.concatenate([centre, centre, centre, np.where(which == 0, p, q)[used], one]),
        np.concatenate([first, second, centre, s[used], other]),
        np.concatenate([-weight, -weight, weight, points[used].astype(np.float64), rest]),
    )


@dataclass(frozen=True, eq=False)
class SoftTerms(Group):
    """Terms of the prices of soft pairs, inequalities for rows i, j, h that hold up to a price.

    Z_hh - Z_ih - Z_jh >= 0 for a soft cannot-link ij, Z_jh - Z_ih >= 0 for a soft must-link.

    link : "cannot" or "must"
    """

    link: str

    WORD: ClassVar = "soft pairs"
    PROOF: ClassVar = "lift to three blocks"
    READS: ClassVar = {"link": one_of("cannot", "must")}
    WIDTH: ClassVar = 3

    def inequalities(self, node: NodeFacts) -> Inequalities:
        i, j, h = self.blocks.T
        if (i == j).any():
            raise Rejected("a term of a soft pair of one block")
        is_one, most = np.zeros(len(h), np.bool_), 0.5 * node.weights[h]
        if self.link == "cannot":
            i, j = np.minimum(i, j), np.maximum(i, j)
            is_one = (h == i) | (h == j)
            h = np.where(is_one, i, h)
            most = node.weights[h] + np.where(is_one, node.weights[j], 0.0)
        prices = 0.0 if node.soft is None else getattr(node.soft, self.link)[i, j]
        caps = _shared(np.column_stack([i, j, h]), prices * most, node.m)
        template = _CANNOT if self.link == "cannot" else _MUST
        terms = itertools.chain(
            terms_of(_CANNOT_BOTH, self.blocks[is_one], np.flatnonzero(is_one)),
            terms_of(template, self.blocks[~is_one], np.flatnonzero(~is_one)),
        )
        return Inequalities(np.zeros(len(h)), terms, caps=caps)


def _shared(terms: Numbers, most: Reals, m: int) -> Reals:
    """Return upper bounds on multipliers, rounded down: equal terms (number, 3) share one."""
    i, j, h = terms.astype(np.int64).T
    _, which, count = np.unique((i * m + j) * m + h, return_inverse=True, return_counts=True)
    shared = most / count[which.reshape(-1)] * (1.0 - gamma(8.0))
    return np.where(shared < TINY, 0.0, shared)
