"""Which two blocks to branch on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction


def most_undecided_pair(contraction: Contraction, Z: NDArray[np.float64]) -> tuple[int, int]:
    """The points that represent the blocks i, j maximising min(Z_ij, ||Z_i - Z_j||^2).

    In a clustering matrix one of the two is zero for every pair. The norm is that of the rows over
    points, so block h counts size_h times. Where the relaxation's solution is a clustering up to
    rounding, the pair with the largest minimum is still a valid choice: blocks that are not
    cannot-linked and not merged are always left, or the node has only one clustering.

    Source: PC-SOS-SDP, section 3.1.
    """
    gram = (Z * contraction.sizes) @ Z.T
    squares = np.diag(gram)
    distance = np.maximum(squares[:, None] + squares - 2.0 * gram, 0.0)
    score = np.minimum(np.maximum(Z, 0.0), distance)
    allowed = np.triu(~contraction.adjacency, 1)
    i, j = np.unravel_index(np.argmax(np.where(allowed, score, -1.0)), score.shape)
    first = contraction.representatives
    return int(first[i]), int(first[j])
