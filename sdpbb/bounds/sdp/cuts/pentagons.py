"""Pentagon cuts.

For five blocks in a circle, with x_pq = 1 if p and q share a cluster, and 0 otherwise,

    2 - sum of x_pq over the edges + sum of x_pq over the chords >= 0.

Valid: two or three of the five in one cluster have at most one edge more than chords, four and five
as many. At most two clusters hold two or more of the five. This is the 2-chorded odd cycle
inequality of Grötschel and Wakabayashi (1990). Unlike other families, it is not a sum of
nonnegative terms of single clusters.

x is not linear in Z, but has linear estimates. With the weights e_s of all blocks s,

    x_pq = sum of e_s z_s,  z_s = 1 / |C| if p, q and s are in one cluster C, and 0 otherwise.

Here z_s is at most Z_pq, Z_ps and Z_qs, and at least 0, Z_pq + Z_ps - Z_pp, Z_pq + Z_qs - Z_qq and
Z_ps + Z_qs - Z_ss. Any choice for every s is valid: lower estimates on the edges, upper ones on the
chords.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.checker.kernel.cuts.lifted import pentagon_terms
from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

# Maximum five-cycles of groups. Memory for all of them is reserved.
CYCLES = 10
# Maximum cuts for each cycle, through other members of the groups. A cut through one member hardly
# limits the others.
COPIES = 40
# Minimum shared part of the clusters of two blocks in one group.
TIE = 0.9
# Maximum groups examined.
GROUPS = 48
# Minimum violation of a cut; its right-hand side is -2.
TOLERANCE = 0.02
# Places of the blocks of a circle, after the places of the checker's estimates.
CIRCLE = np.arange(30, 35)


def separate_pentagons(Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
    """Return violated five-cycles through one block of each of five groups.

    Blocks of a group are nearly always together. The same cycles through other members of the
    groups are also returned.
    """
    if not relaxation.node.has_whole_weights:
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
    cuts = pentagon_cuts(Z, relaxation, distinct)
    violated = cuts.select(cuts.rhs - cuts.values(Z) > TOLERANCE)
    # With forbidden pairs, different cycles may give the same cut.
    first = np.unique(violated.keys, return_index=True)[1]
    return violated.select(np.sort(first))


def tied_groups(
    Z: NDArray[np.float64], weights: NDArray[np.float64], tie: float, at_most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find groups of blocks that are nearly always together.

    Blocks i and j are tied if Z_ij >= tie max(Z_ii, Z_jj). Each block is in the group of the first
    block that it is tied to.

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
    return firsts[np.argsort(-weight[firsts], kind="stable")][:at_most], first_of


def pentagon_cuts(
    Z: NDArray[np.float64], relaxation: Relaxation, cycles: NDArray[np.int64]
) -> CutSet:
    """Return the pentagon cuts of the rows of cycles (c, 5), with the sharpest estimates at Z."""
    e, forbidden = relaxation.weights, relaxation.forbidden
    cut, place, block = pentagon_estimates(Z, forbidden, cycles).T
    # Cut, place, block and points of each, and the circles.
    count, of_circles = len(cycles), np.repeat(np.arange(len(cycles)), 5)
    circles = np.stack([of_circles, np.tile(CIRCLE, count), cycles.ravel(), np.ones(5 * count)])
    rows = np.concatenate([np.stack([cut, place, block, e[block]]), circles], axis=1).astype(int)
    rows = rows[:, np.argsort(rows[0], kind="stable")]
    members = DefiningBlocks.of("pentagons", count, *rows)
    estimates = rows.T[rows[1] < CIRCLE[0]]
    start = np.searchsorted(estimates[:, 0], np.arange(count + 1))
    terms = pentagon_terms(cycles, start, estimates[:, 1:], e, forbidden)
    return CutSet.summed(*terms, np.full(count, -2.0), members)


@njit(cache=True)
def together_estimates(
    Z: Reals, weights: Reals, forbidden: Booleans, blocks: Integers
) -> tuple[Reals, Reals]:
    """Return lower and upper linear estimates (g, g) of x_pq for pairs of the given blocks.

    x_pq is 1 if p and q share a cluster. The estimates are values at Z of the terms of
    `pentagon_estimates` (see the docstring of this module).
    """
    g = len(blocks)
    m = len(weights)
    lower = np.zeros((g, g))
    upper = np.zeros((g, g))
    for a in range(g):
        p = blocks[a]
        for b in range(a):
            q = blocks[b]
            if forbidden[p, q]:
                continue
            z = Z[p, q]
            low = high = (weights[p] + weights[q]) * z
            for s in range(m):
                if s in (p, q) or forbidden[p, s] or forbidden[q, s]:
                    continue
                zp = Z[p, s]
                zq = Z[q, s]
                low += weights[s] * max(0.0, z + zp - Z[p, p], z + zq - Z[q, q], zp + zq - Z[s, s])
                high += weights[s] * min(z, zp, zq)
            lower[a, b] = lower[b, a] = low
            upper[a, b] = upper[b, a] = high
    return lower, upper


def _shared_by_three(
    Z: NDArray[np.float64],
    forbidden: NDArray[np.bool_],
    p: NDArray[np.int64],
    q: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return lower estimates of z_s for pairs p, q (c,) and all s, and whether z_s may be above 0.

    The three (3, c, m) estimates are centred at p, q and s. For s = p and s = q the first two are
    Z_pq.
    """
    pair, entries = Z[p, q][:, None], np.diag(Z)
    by_p, by_q = pair + Z[p] - entries[p, None], pair + Z[q] - entries[q, None]
    return np.stack([by_p, by_q, Z[p] + Z[q] - entries]), ~(
        forbidden[p, q][:, None] | forbidden[p] | forbidden[q]
    )


@njit(cache=True)
def violated_pentagons(lower: Reals, upper: Reals, tolerance: float, at_most: int) -> Integers:
    """Find the `at_most` most violated five-cycles; return their positions (c, 5).

    The violation is the sum of `lower` over edges less `upper` over chords beyond 2 + tolerance.

    Each path a b c of a cycle costs 1 - lower_ab - lower_bc + 2 upper_ac. A cycle is violated if
    its five paths cost less than 1 together. In each cycle there is a first path from which the
    first 1, 2, 3 paths cost at most 1, 2, 3 fifths of the total. So the search is exact although it
    drops other beginnings.
    """
    g = lower.shape[0]
    fifth = (1.0 - 2.0 * tolerance) / 5.0
    best = np.empty((at_most, 5), np.int64)
    value = np.full(at_most, 5.0 * fifth)
    count = 0
    cycle = np.empty(5, np.int64)
    for a in range(g):
        for b in range(g):
            if b == a or lower[a, b] <= 0.0:
                continue
            for c in range(g):
                abc = 1.0 - lower[a, b] - lower[b, c] + 2.0 * upper[a, c]
                if c in (a, b) or abc >= fifth:
                    continue
                for d in range(g):
                    bcd = 1.0 - lower[b, c] - lower[c, d] + 2.0 * upper[b, d]
                    if d in (a, b, c) or abc + bcd >= 2.0 * fifth:
                        continue
                    for e in range(g):
                        cde = 1.0 - lower[c, d] - lower[d, e] + 2.0 * upper[c, e]
                        cost = abc + bcd + cde
                        if e in (a, b, c, d) or cost >= 3.0 * fifth:
                            continue
                        cost += 2.0 - lower[d, e] - 2.0 * lower[e, a] - lower[a, b]
                        cost += 2.0 * (upper[d, a] + upper[e, b])
                        if cost >= value[at_most - 1]:
                            continue
                        # Store a cycle once: from its first block towards the smaller neighbour.
                        cycle[0], cycle[1], cycle[2], cycle[3], cycle[4] = a, b, c, d, e
                        first = np.argmin(cycle)
                        step = 1 if cycle[(first + 1) % 5] < cycle[(first + 4) % 5] else 4
                        known = False
                        for s in range(count):
                            same = True
                            for x in range(5):
                                same &= best[s, x] == cycle[(first + x * step) % 5]
                            known |= same
                        if known:
                            continue
                        s = min(count, at_most - 1)
                        while s > 0 and value[s - 1] > cost:
                            value[s] = value[s - 1]
                            for x in range(5):
                                best[s, x] = best[s - 1, x]
                            s -= 1
                        value[s] = cost
                        for x in range(5):
                            best[s, x] = cycle[(first + x * step) % 5]
                        count = min(count + 1, at_most)
    return best[:count]


def pentagon_estimates(
    Z: NDArray[np.float64], forbidden: NDArray[np.bool_], cycles: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the sharpest estimates at Z of the pentagon cuts of the rows of cycles, (c, 5).

    They are rows (number, 3): cut, place and block s. Chords have upper estimates, if these are
    sharper than Z_pq.
    """
    found = []
    for a in range(5):
        p, q, r = (cycles[:, (a + step) % 5] for step in range(3))
        z, is_free = _shared_by_three(Z, forbidden, p, q)
        cut, block = np.nonzero(is_free & (z.max(axis=0) > 0.0))
        found.append((cut, 3 * a + z[:, cut, block].argmax(axis=0), block))
        _, is_free = _shared_by_three(Z, forbidden, p, r)
        is_sharper = np.minimum(Z[p], Z[r]) < Z[p, r][:, None]
        cut, block = np.nonzero(is_free & is_sharper)
        found.append((cut, 15 + 3 * a + (Z[p[cut], block] > Z[r[cut], block]), block))
    return np.concatenate([np.stack(each, axis=1) for each in found])
