"""Compiled loop of `dealing`: means of the two halves of a subset brought together."""

from __future__ import annotations

from sdpbb.arrays import Booleans, Integers, Reals
from sdpbb.jit import njit


@njit(cache=True, nogil=True)
def match_halves(
    deviations: Reals, first: Integers, second: Integers, cluster: Integers, sums: Reals, swaps: int
) -> Booleans:
    """Return for each pair whether its first block is in the first half, (p,).

    Pairs are split so that, cluster by cluster, the deviations of the first half add up to about
    zero: pair by pair, whichever way the sum is shorter, and then `swaps` times over all pairs,
    each of which is turned if that makes the sum shorter.

    deviations : (b, r) of the blocks from the means of their clusters, times their sizes
    first, second, cluster : (p,) blocks of each pair, and their cluster
    sums : (k, r) of the deviations in the first half already; changed
    """
    p, r = len(first), deviations.shape[1]
    kept = first >= 0
    for round_ in range(swaps + 1):
        turned = False
        for q in range(p):
            i, j, c = first[q], second[q], cluster[q]
            here, there = (i, j) if kept[q] else (j, i)
            if round_ == 0:
                for a in range(r):
                    sums[c, a] += deviations[here, a]
            change = 0.0  # of the squared length of the sum, if the pair is turned
            for a in range(r):
                step = deviations[there, a] - deviations[here, a]
                change += step * (2.0 * sums[c, a] + step)
            if change < 0.0:
                turned = True
                kept[q] = not kept[q]
                for a in range(r):
                    sums[c, a] += deviations[there, a] - deviations[here, a]
        if not turned:
            break
    return kept
