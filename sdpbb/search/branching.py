"""Which two blocks to branch on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction
from sdpbb.search.node import Pair


def most_undecided_pairs(
    contraction: Contraction, Z: NDArray[np.float64], count: int
) -> tuple[Pair, ...]:
    """The points that represent the `count` pairs of blocks with the largest
    min(Z_ij, ||Z_i - Z_j||^2), in descending order; fewer if there are not as many pairs.

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
    i, j = np.nonzero(np.triu(~contraction.adjacency, 1))
    best = np.argsort(-score[i, j], kind="stable")[:count]
    first = contraction.representatives
    return tuple(zip(first[i[best]].tolist(), first[j[best]].tolist(), strict=True))


def product_score(gains: tuple[float, float], least: float) -> float:
    """The score of a candidate whose children's bounds are this much above their parent's: the
    product, which prefers two fair children to one good and one that has not moved.

    Source: T. Achterberg, Constraint Integer Programming (2007), section 5.3; `least` keeps a
    zero from hiding the other factor.
    """
    return max(gains[0], least) * max(gains[1], least)
