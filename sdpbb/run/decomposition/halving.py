"""Compiled loop of `dealing`: features of the two halves of a subset brought together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit


@njit(cache=True, nogil=True)
def match_halves(
    features: NDArray[np.float32],
    first: Integers,
    second: Integers,
    cluster: Integers,
    surplus: Reals,
    passes: int,
) -> Booleans:
    """Return for each pair whether its first block is in the first half, (p,).

    Pairs are split so that, cluster by cluster, the features of both halves have about the same
    sums: pair by pair, whichever way the surplus is shorter, and then in so many passes over all
    pairs, each of which is turned if that makes it shorter.

    features : (m, q) of the blocks
    first, second, cluster : (p,) blocks of each pair, and their cluster
    surplus : (k, q) of the features of the first half over those of the second so far; changed
    """
    p, width = len(first), features.shape[1]
    kept = first >= 0
    step = np.empty(width)
    for round_ in range(passes + 1):
        turned = False
        for pair in range(p):
            i, j, c = first[pair], second[pair], cluster[pair]
            sign = 1.0 if kept[pair] else -1.0
            along, square = 0.0, 0.0
            for a in range(width):
                step[a] = sign * (features[i, a] - features[j, a])
                if round_ == 0:
                    surplus[c, a] += step[a]
                along += surplus[c, a] * step[a]
                square += step[a] * step[a]
            if square < along:  # |surplus - 2 step| < |surplus|
                turned = True
                kept[pair] = not kept[pair]
                for a in range(width):
                    surplus[c, a] -= 2.0 * step[a]
        if not turned:
            break
    return kept
