"""BLPKM: k-means whose assignment step is a binary linear programme with the hard constraints.

Source: P. Baumann, A binary linear programming-based k-means algorithm for clustering with
must-link and cannot-link constraints, IEEM 2020: the version of BH-k-means in which all constraints
are hard (P. Baumann, D. S. Hochbaum, A k-means algorithm for clustering with soft must-link and
cannot-link constraints, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating_heuristic import AlternatingHeuristic


@dataclass(frozen=True, eq=False, kw_only=True)
class BLPKM(AlternatingHeuristic):
    """k-means with hard constraints by binary linear programmes.

    Over the blocks that the constraints force together, with weights s_i and means x_i, an
    assignment step solves, for centres o_l,

        minimise    sum_i s_i d(x_i, o_l(i))
        subject to  l(i) != l(j) for cannot-links, no cluster empty,
                    limits on the sizes and weights of clusters.

    It ends when the objective at the means no longer decreases.
    """

    name = "blpkm"

    def price(self, distances: NDArray[np.float64]) -> float:
        return 1.0  # nothing is soft
