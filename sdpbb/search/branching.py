"""Choice of the pair of points to branch on: a contested soft pair, or the most undecided pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction
from sdpbb.search.node import Pair

# A soft pair is contested where more than this part of its weight is paid, and more is not.
CONTESTED = 0.01


def branching_pair(contraction: Contraction, Z: NDArray[np.float64]) -> Pair | None:
    """Return the pair to branch on: the most contested soft pair, or else the most undecided pair.

    None if all blocks are cannot-linked.
    """
    contested = most_contested_pair(contraction, Z)
    return most_undecided_pair(contraction, Z) if contested is None else contested


def most_contested_pair(contraction: Contraction, Z: NDArray[np.float64]) -> Pair | None:
    """Return two points of the soft pair with the largest |w| min(x, 1 - x), the first of equals.

    x in [0, 1] is the part of its weight w that Z pays, which is 0 or 1 in a clustering (see
    `sdpbb.bounds.sdp.cuts.soft_pairs`). One of the two children, in which the pair is kept or
    violated for good, is often closed soon. None if no soft pair has CONTESTED < x < 1 - CONTESTED.
    """
    soft = contraction.soft
    if not soft:
        return None
    x = _paid(contraction, Z)
    doubt = np.minimum(x, 1.0 - x)
    score = np.where(doubt > CONTESTED, np.abs(soft.weights) * doubt, 0.0)
    best = int(np.argmax(score))
    if not score[best] > 0.0:
        return None
    i, j = contraction.representatives[soft.pairs[best]].tolist()
    return int(i), int(j)


def _paid(contraction: Contraction, Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of the weight of each soft pair (q,) that Z pays."""
    e, diagonal = contraction.weights, np.diag(Z)
    x = np.empty(len(contraction.soft))
    for place, (i, j) in enumerate(contraction.soft.pairs):
        if contraction.soft.weights[place] > 0.0:
            x[place] = e @ np.maximum(Z[i] + Z[j] - diagonal, 0.0)
        else:
            x[place] = 0.5 * (e @ np.abs(Z[i] - Z[j]))
    return x


def most_undecided_pair(contraction: Contraction, Z: NDArray[np.float64]) -> Pair | None:
    """Return the pair to branch on: two points, or None if all blocks are cannot-linked.

    They represent the two blocks with the largest min(Z_ij, ||Z_i - Z_j||^2), the first of equals.

    In a clustering matrix one of the two is zero for every pair. The norm is that of the rows over
    points, so block h counts size_h times. Where the relaxation's solution is a clustering up to
    rounding, the pair with the largest minimum is still a valid choice: blocks that are not
    cannot-linked and not merged are always left, or the node has only one clustering.

    Source: PC-SOS-SDP, section 3.1.
    """
    gram = (Z * contraction.weights) @ Z.T
    squares = np.diag(gram)
    distance = np.maximum(squares[:, None] + squares - 2.0 * gram, 0.0)
    score = np.minimum(np.maximum(Z, 0.0), distance)
    i, j = np.nonzero(np.triu(~contraction.adjacency, 1))
    if not len(i):
        return None
    best = np.argmax(score[i, j])
    first = contraction.representatives
    return int(first[i[best]]), int(first[j[best]])
