"""Pairs of blocks as lists of the neighbours of each block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Integers, Reals


class Neighbours(NamedTuple):
    """Neighbours of block i, at the positions starts[i] to starts[i + 1] - 1.

    starts : (n + 1,)
    block : (2p,) the other end of a pair
    weight : (2p,) of the pair
    """

    starts: Integers
    block: Integers
    weight: Reals


def neighbour_lists(
    n: int, pairs: NDArray[np.integer], weights: NDArray[np.float64] | None = None
) -> Neighbours:
    """Return the neighbours of blocks 0 to n - 1, in the order of the pairs.

    Parameters
    ----------
    pairs : (p, 2) blocks
    weights : (p,); None: inf each, as of hard cannot-links
    """
    if weights is None:
        weights = np.full(len(pairs), np.inf)
    i, j = pairs.T
    tails, heads = np.concatenate([j, i]), np.concatenate([i, j])
    order = np.argsort(tails, kind="stable")
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=n), out=starts[1:])
    return Neighbours(
        starts, heads[order].astype(np.int64), np.concatenate([weights, weights])[order]
    )
