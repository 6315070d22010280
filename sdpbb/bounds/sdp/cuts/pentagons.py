"""Pentagon cuts.

For five blocks in a circle, with x_pq = 1 where p and q share a cluster, else 0,

    2 - sum of x_pq over the edges + sum of x_pq over the chords >= 0.

Valid: blocks of the five that share a cluster have at most one edge more than chords (two or three
of them; four and five have as many), and at most two clusters hold two of the five or more. This
is the 2-chorded odd cycle inequality of Grötschel and Wakabayashi (1990). It is no sum over
clusters of terms that are each nonnegative: it compares clusters of different weights, as no other
family here does.

x is not linear in Z, but has linear estimates. With the weights e_s of all blocks s,

    x_pq = sum of e_s z_s,  z_s = 1 / |C| if p, q and s are in one cluster C, else 0,

where z_s is at most Z_pq, Z_ps and Z_qs, and at least 0, Z_pq + Z_ps - Z_pp, Z_pq + Z_qs - Z_qq and
Z_ps + Z_qs - Z_ss. Any choice for every s is valid: lower estimates on the edges, upper ones on the
chords.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.bounds.sdp.cuts.pentagon_kernels import (
    pentagon_estimates,
    sort_descending,
    together_estimates,
    violated_pentagons,
)
from sdpbb.checker.kernel.cuts.lifted import pentagon_terms

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


# Maximum five-cycles of groups. Memory for all of them is reserved.
CYCLES = 10
# Maximum cuts for each cycle, through other members of the groups. A cut through one member says
# little about the others.
COPIES = 40
# Minimum shared part of their clusters for two blocks of one group.
TIE = 0.9
# Maximum groups examined.
GROUPS = 48
# Minimum violation of a cut; its right-hand side is -2.
TOLERANCE = 0.02


class PentagonCuts(CutFamily):
    """Pentagon cuts through groups of blocks that share almost all of their clusters."""

    # Most roots close earlier. Separating pentagons from the beginning takes 1.5 times as long.
    after: ClassVar[int] = 150
    is_costly: ClassVar[bool] = True

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return violated five-cycles through one block of each of five groups.

        The same cycles through other members of the groups are among them.
        """
        if not relaxation.has_whole_weights:
            return CutSet.empty()
        e, forbidden = relaxation.weights, relaxation.forbidden
        firsts, first_of = tied_groups(Z, e, TIE, GROUPS)
        lower, upper = together_estimates(Z, e, forbidden, firsts)
        cycles = violated_pentagons(lower, upper, TOLERANCE, CYCLES)
        members = [np.flatnonzero(first_of == first) for first in firsts]
        copies = [
            [members[v][copy % len(members[v])] for v in cycle]
            for cycle in cycles
            for copy in range(COPIES)
        ]
        distinct = np.unique(np.array(copies, np.int64).reshape(-1, 5), axis=0)
        cuts = pentagon_cuts(sharpest_pentagons(Z, relaxation, distinct), e, forbidden)
        violated = cuts.select(cuts.rhs - cuts.values(Z) > TOLERANCE)
        # Where pairs are forbidden, different cycles may be the same cut.
        first = np.unique(violated.keys, return_index=True)[1]
        return violated.select(np.sort(first))


def tied_groups(
    Z: NDArray[np.float64], weights: NDArray[np.float64], tie: float, at_most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find groups of blocks that share almost all of their clusters.

    Each block is in the group of the first one that it is tied to, i and j being tied when Z_ij >=
    tie max(Z_ii, Z_jj).

    Returns the first blocks of the `at_most` groups with the most points, (g,), and the first block
    of the group of every block, (m,).
    """
    diagonal = np.diag(Z)
    first_of = np.full(len(Z), -1)
    weight = np.zeros(len(Z))
    for i in range(len(Z)):
        if first_of[i] < 0:
            tied = (first_of < 0) & (Z[i] >= tie * np.maximum(diagonal[i], diagonal))
            tied[i] = True
            first_of[tied] = i
            weight[i] = weights[tied].sum()
    firsts = np.flatnonzero(first_of == np.arange(len(Z)))
    sort_descending(firsts, weight)
    return firsts[:at_most], first_of


class Pentagons(NamedTuple):
    """Five-cycles (number, 5) of blocks with estimates, as the checker reads them.

    start : (number + 1,) those of pentagon c are estimates[start[c] : start[c + 1]]
    estimates : (number of estimates, 3) place, block, points
    """

    cycles: NDArray[np.int32]
    start: NDArray[np.int64]
    estimates: NDArray[np.int32]


def sharpest_pentagons(
    Z: NDArray[np.float64], relaxation: Relaxation, cycles: NDArray[np.int64]
) -> Pentagons:
    """Return the pentagons of the rows of cycles (c, 5), with the sharpest estimates at Z."""
    e = relaxation.weights
    start, place, block = pentagon_estimates(Z, e, relaxation.forbidden, cycles)
    estimates = np.column_stack([place, block, e[block]])
    return Pentagons(cycles.astype(np.int32), start, estimates.astype(np.int32))


def pentagon_cuts(
    pentagons: Pentagons, weights: NDArray[np.float64], forbidden: NDArray[np.bool_]
) -> CutSet:
    """Return the pentagon cuts with the given estimates.

    They are for blocks of these weights (m,) with these cannot-links (m, m).
    """
    owner, first, second, coefficient = pentagon_terms(*pentagons, weights, forbidden)
    order = np.argsort(owner, kind="stable")
    number = len(pentagons.cycles)
    lengths = np.bincount(owner, minlength=number)
    members = replace(
        DefiningBlocks.uniform("pentagons", pentagons.cycles),
        part_start=pentagons.start,
        parts=pentagons.estimates.astype(np.int64),
    )
    terms = CutSet(
        start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        row=np.minimum(first, second)[order].astype(np.int32),
        column=np.maximum(first, second)[order].astype(np.int32),
        coefficient=coefficient[order],
        rhs=np.full(number, -2.0),
        members=members,
    )
    # Terms that meet in one entry are added up, as when blocks are merged.
    return terms.merged(np.arange(len(weights)))
