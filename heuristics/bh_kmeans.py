"""BH-k-means: k-means with soft must-links and cannot-links of one price.

Source: P. Baumann, D. S. Hochbaum, A k-means algorithm for clustering with soft must-link and
cannot-link constraints, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating_heuristic import AlternatingHeuristic
from heuristics.kmeans import unconstrained
from heuristics.method import Soft
from sdpbb.errors import InstanceError
from sdpbb.problem import Contraction, Instance, SoftPairs
from sdpbb.problem.graph import distinct_edges
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.declaration import parameter


@dataclass(frozen=True, eq=False, kw_only=True)
class BHKMeans(AlternatingHeuristic):
    """k-means that pays for violated constraints, soft and hard alike.

    For centres o_l an assignment step solves, over the points x_i, programme (1)-(8) of the paper,

        minimise    sum_i d(x_i, o_l(i)) + M p * (number of violated constraints)
        subject to  no cluster empty, limits on the sizes and weights of clusters,

    M = max_{i, l} d(x_i, o_l), anew in each step. Must-links and cannot-links are sets of pairs:
    hard ones and soft ones of weight 1 are one and the same, and a pair that is given twice counts
    once. Stopping is described in `heuristics.alternating`.

    The result may violate any constraint on pairs; it is within the limits. Its penalised_objective
    is the objective with M of the last iteration.
    """

    name = "bh-kmeans"
    soft = Soft.WEIGHED

    p: float = parameter(
        1.0,
        "Price of a violation, as a multiple of M.",
        reason="0.18 to 0.2 works well with noisy constraints (section 5.2 of the paper).",
        gt=0,
    )

    def contracted(self, instance: Instance) -> Contraction:
        """Return the points as blocks, with all constraints on pairs soft."""
        softened = all_soft(instance)
        points = unconstrained(softened)
        pairs = softened.soft_must_link, softened.soft_cannot_link
        return replace(
            points,
            quantities=tuple(each.over(points.block_of) for each in instance.rules.quantities),
            soft=SoftBlocks.of(*pairs, points.block_of, points.cannot_link),
        )

    def price(self, distances: NDArray[np.float64]) -> float:
        return self.p * float(distances.max())


def all_soft(instance: Instance) -> Instance:
    """Return the points and k with all must-links and cannot-links soft, each pair once.

    Their weight is 1.

    Raises
    ------
    InstanceError
        If a soft constraint has another weight.
    """
    return Instance(
        instance.points,
        instance.k,
        name=instance.name,
        weights=instance.weights,
        soft_must_link=_softened("must_link", instance.must_link, instance.soft_must_link),
        soft_cannot_link=_softened("cannot_link", instance.cannot_link, instance.soft_cannot_link),
    )


def _softened(kind: str, hard: NDArray[np.intp], soft: SoftPairs) -> SoftPairs:
    wrong = np.flatnonzero(soft.weights != 1)
    if len(wrong):
        raise InstanceError(
            f"bh-kmeans: soft_{kind}[{wrong[0]}] has weight {soft.weights[wrong[0]]:g}; expected "
            "weight 1, or the method pccc, which uses weights"
        )
    pairs = distinct_edges(np.concatenate([hard, soft.pairs]))
    return SoftPairs(pairs, np.ones(len(pairs)))
