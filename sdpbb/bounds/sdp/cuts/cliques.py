"""Cuts that count clusters: cliques, and cliques of listed sizes.

**Cliques** (PC-SOS-SDP, equation 10). For a set Q of k + 1 blocks,

    sum of Z_ij over i < j in Q >= 1 / (n - k + 1).

Valid: two blocks of Q share one of the k clusters. It has at most n - k + 1 points, as each other
cluster has at least one. If weights are not whole numbers, the weight of all blocks but the k - 1
lightest ones replaces n - k + 1 (`NodeFacts.heaviest`).

**Listed cliques** have more blocks than there are clusters of the largest of listed sizes, or of
the smallest. Let e be the largest of the sizes, not all of them equal, q the number of clusters of
that size, s the next smaller size, and Q any q + 1 blocks. Then

    (e - s) sum of Z_ij over i < j in Q + s sum of Z_ii over Q >= 1 + q s / e,

and with e the smallest size, q the number of clusters of that size, s the next larger size,

    (s - e) sum of Z_ij over i < j in Q - s sum of Z_ii over Q >= - 1 - q s / e.

Valid: a block outside of the largest clusters has s Z_ii >= 1, and the other blocks have at least
s / e, which is enough. Without such a block, two blocks of Q share one of the q largest clusters.
The second is the same with opposite signs. For two clusters they state that i and j are together in
the larger cluster, and in the smaller one, with probabilities >= 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, Found, found_by_centres
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.checker.kernel.arithmetic import down
from sdpbb.checker.kernel.cuts.templates import least_of_vector
from sdpbb.checker.kernel.sizes import SizeLimits

# Minimum violation of a clique, as a share of its right-hand side.
TOLERANCE = 1e-5
# Maximum listed cliques per block, extreme size and round.
PER_BLOCK = 4
# Last blocks tried for each clique.
LAST = 16


def extreme_sizes(listed: Sequence[int], is_largest: bool) -> tuple[int, int, int]:
    """Return q, the number of clusters of the largest or smallest listed size, and two factors.

    The factors are alpha and beta of the clique as an integer vector, the coefficients of Z_ij and
    Z_ii (`sdpbb.checker.kernel.cuts.templates`). Not all sizes are equal.
    """
    outermost = max if is_largest else min
    e = outermost(listed)
    others = [other for other in listed if other != e]
    s = outermost(others)
    return len(listed) - len(others), abs(e - s), s if is_largest else -s


def separate_cliques(Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
    """Return the violated cliques among cliques grown from each block, each once.

    Source: PC-SOS-SDP, section 3.2.
    """
    k, heaviest = relaxation.k, relaxation.node.heaviest
    if k >= relaxation.m:
        return CutSet.empty()
    threshold = 1.0 / heaviest * (1.0 - TOLERANCE)
    members, _ = _grown_from_all(Z, (np.zeros(len(Z)), 1.0, k, 1, threshold))
    rows = np.unique(np.sort(members, axis=1), axis=0)
    return CutSet.of_rows("vectors", rows, _pairs(k + 1, 1.0), 1.0 / heaviest)


def separate_listed_cliques(Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
    """Return the most violated cliques on an extreme size, grown from each block."""
    limits, found = relaxation.limits, CutSet.empty()
    exact = limits.exact if isinstance(limits, SizeLimits) else None
    if exact is None:
        return found
    for kind in ("largest_cliques", "smallest_cliques"):
        count, alpha, beta = extreme_sizes(exact, kind == "largest_cliques")
        sizes = [Fraction(size) for size in exact]
        side = down(float(least_of_vector((1,) * (count + 1), alpha, beta, sizes, True)))
        threshold = side - TOLERANCE * abs(side)
        given = float(beta) * np.diag(Z), float(alpha), count, LAST, threshold
        members, values = _grown_from_all(Z, given)
        rows, first = np.unique(np.sort(members, axis=1), axis=0, return_index=True)
        order = np.argsort(values[first], kind="stable")[: PER_BLOCK * relaxation.m]
        own = [(p, p, float(beta)) for p in range(count + 1)]
        entries = [*_pairs(count + 1, float(alpha)), *own]
        found = found + CutSet.of_rows(kind, rows[order], entries, side)
    return found


def _pairs(width: int, coefficient: float) -> list[tuple[int, int, float]]:
    """Return the terms of all pairs of places."""
    return [(p, q, coefficient) for p, q in combinations(range(width), 2)]


def _grown_from_all(
    Z: NDArray[np.float64], given: tuple[NDArray[np.float64], float, int, int, float]
) -> Found:
    """Grow cliques from each block by `grown_cliques` with the given arguments."""
    return found_by_centres(lambda i, j: grown_cliques(Z, *given, np.arange(i, j)), len(Z))


def grown_cliques(
    Z: NDArray[np.float64],
    entries: NDArray[np.float64],
    on_pairs: float,
    count: int,
    n_last: int,
    threshold: float,
    starts: NDArray[np.intp],
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Grow cliques of count + 1 blocks from each start, greedily except for the last block.

    Each next block adds least to the left-hand side: on_pairs times the sum of Z_ij, plus the sum
    of entries (m,) of the blocks. Return members (c, count + 1) and left-hand sides (c,) of cliques
    below the threshold. Each start gives at most the n_last least ones.
    """
    row = np.arange(len(starts))
    # How much each block adds to the left-hand side of the clique of each row.
    more = on_pairs * Z[starts] + entries
    more[row, starts] = np.inf
    members, total = [starts], entries[starts]
    for _ in range(1, count):
        nearest = more.argmin(axis=1)
        total += more[row, nearest]
        members.append(nearest)
        more += on_pairs * Z[nearest]
        more[row, nearest] = np.inf
    n_last = min(n_last, len(Z) - count)
    if n_last == 1:  # the first of those equally near
        ends = more.argmin(axis=1)[:, None]
    else:
        ends = np.argpartition(more, n_last - 1, axis=1)[:, :n_last]
    values = total[:, None] + np.take_along_axis(more, ends, axis=1)
    clique, end = np.nonzero(values < threshold)
    found = np.column_stack([*(member[clique] for member in members), ends[clique, end]])
    return found.astype(np.int32), values[clique, end]
