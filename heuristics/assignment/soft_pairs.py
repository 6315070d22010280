"""Assignment step of the engine where there are soft pairs, at the prices of the cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.pairwise import PairwiseAssignment
from heuristics.assignment.parameters import AssignmentParameters
from heuristics.assignment.potts import PairGraph
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, no_limit

# Seconds of one step for searches: most components of soft pairs need none.
STEP_SECONDS = 0.2


class SoftAssignment:
    """Assignment step with cannot-links and soft pairs, prepared for many sets of centres.

    minimise    sum_i e_i || c_i - o_l(i) ||^2 + the weights of the violated soft pairs
    subject to  l(i) != l(j) for cannot-links, no cluster empty.

    Where a step takes long, its labels need not be the cheapest: no integer programme is solved.
    """

    def __init__(self, contraction: Contraction, known: NDArray[np.intp] | None) -> None:
        """known : labels (m,) that keep the cannot-links, if there are any"""
        self._weights, self._means = contraction.weights, contraction.means
        parameters = AssignmentParameters(time_limit=STEP_SECONDS, max_rows=0)
        self._assign = PairwiseAssignment(_graph(contraction), contraction.k, parameters)
        self._last = known

    def __call__(
        self, centres: NDArray[np.float64], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) for centres (k, r), with exactly k clusters.

        Raises
        ------
        OutOfTime
            If no time is left, or no labels are found in the time of a step.
        """
        norms = (centres**2).sum(axis=1)
        distances = norms - 2.0 * (self._means @ centres.T)
        own = (self._means**2).sum(axis=1)
        costs = self._weights[:, None] * (own[:, None] + distances)
        labels = self._assign(costs, start=self._last, time_left=time_left).labels
        if labels is None:
            if self._last is None:
                raise OutOfTime
            return self._last
        self._last = labels
        return labels


def _graph(contraction: Contraction) -> PairGraph:
    """Return the cannot-links and soft pairs of the blocks."""
    m, soft = contraction.n_blocks, contraction.soft
    hard = contraction.cannot_link
    pairs = np.concatenate([hard, soft.pairs])
    weights = np.concatenate([np.full(len(hard), np.inf), soft.weights])
    order = np.argsort(pairs[:, 0] * m + pairs[:, 1], kind="stable")
    return PairGraph(m, pairs[order], weights[order], soft.constant)
