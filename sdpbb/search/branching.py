"""Choice of the pair of points to branch on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction
from sdpbb.search.node import Pair


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
