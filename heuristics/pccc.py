"""PCCC: k-means with hard and soft must-links and cannot-links, each soft one with a confidence.

Source: P. Baumann, D. S. Hochbaum, PCCC: the pairwise-confidence-constraints-clustering algorithm,
section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating_heuristic import AlternatingHeuristic
from heuristics.method import Soft
from sdpbb.errors import InstanceError
from sdpbb.problem import Contraction, Instance
from sdpbb.runtime.declaration import parameter


@dataclass(frozen=True, eq=False, kw_only=True)
class PCCC(AlternatingHeuristic):
    """k-means that keeps hard constraints and weighs soft ones.

    Over the blocks that the hard constraints force together, with weights s_i and means x_i, an
    assignment step solves, for centres o_l,

        minimise    sum_i s_i d(x_i, o_l(i)) + P * (weight of the violated soft constraints)
        subject to  l(i) != l(j) for hard cannot-links, l(i) in L_i, no cluster empty,
                    limits on the sizes and weights of clusters,

    which, without the limits, is (MBLP) of the paper, section 4.3, where L_i are all clusters, and
    (R(q)MBLP) where they are the q nearest ones. Weights of parallel soft constraints between two
    blocks add up, opposing ones are netted off. The blocks are those of `sdpbb.problem.contract`:
    those of the paper, merged further where the cannot-links leave no choice. Stopping is described
    in `heuristics.alternating`.

    The result keeps all hard constraints, and the limits. Its penalised_objective is the objective
    with P of the last iteration; with squared distances it is the sum of squares plus P times the
    violated weight.
    """

    name = "pccc"
    soft = Soft.WEIGHED

    q: int | Literal["auto"] | None = parameter(
        None,
        "Number of nearest clusters that a block may join. None: all k. Hard cannot-links raise "
        "an integer to min(1 + D, k), D the largest number of hard cannot-links of a block. "
        '"auto": max(2, min(1 + D, k)), the smallest of the paper (PCCC-N2, section 5.5).',
        reason="Lists of that length suffice if any clustering satisfies the cannot-links (Lemma "
        "1). With soft cannot-links only, 2 is PCCC-N2-S.",
        ge=1,
    )
    penalty: float | None = parameter(
        None,
        "Penalty P, in units of d. None: computed in each iteration as k times the average "
        "distance of a block from a centre (Table 3 of the paper).",
        gt=0,
    )

    def check(self, instance: Instance) -> None:
        super().check(instance)
        if self.q is not None and instance.has_constraints_beyond_pairs:
            raise InstanceError(
                f"pccc: q = {self.q!r}: with limits on sizes or weights, a block may have to join "
                "any cluster; expected q = None, or no limits"
            )

    def n_candidates(self, contraction: Contraction) -> int:
        return list_length(contraction, self.q)

    def price(self, distances: NDArray[np.float64]) -> float:
        return distances.sum() / len(distances) if self.penalty is None else self.penalty


def list_length(contraction: Contraction, q: int | Literal["auto"] | None) -> int:
    """Return the number of nearest clusters that a block may join, at most k; see `PCCC`."""
    k = contraction.k
    if q is None:
        return k
    degrees = np.bincount(contraction.cannot_link.reshape(-1), minlength=1)
    enough = int(degrees.max()) + 1  # 1 without cannot-links, which asks for nothing
    return min(max(2 if q == "auto" else q, enough), k)
