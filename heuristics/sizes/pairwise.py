"""Assignment step with pairs, hard and soft, where sizes or weights of clusters are limited."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import AssignmentSolution, PairGraph
from heuristics.sizes.assignment import SizedAssignment
from sdpbb.problem import Contraction
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.time_left import TimeLeft, at_most, no_limit


class SizedPairwiseAssignment:
    """Assignment step of one contraction and graph of pairs, for one order of listed sizes.

    minimise    the objective of `heuristics.assignment.PairwiseAssignment`
    subject to  its hard cannot-links, all clusters being candidates, and the limits of the
                contraction: least_c <= what cluster c has of a measure <= most_c.

    It is solved as `SizedAssignment` does it: by a flow, or by one integer programme for all blocks
    with rows for limits. No programme of more than 50,000 variables is begun; with hard
    cannot-links, no labels are found then.
    """

    def __init__(
        self,
        contraction: Contraction,
        graph: PairGraph,
        assign: SizedAssignment,
        order: NDArray[np.intp],
        time_limit: float = math.inf,
    ) -> None:
        """Prepare the step.

        contraction : with limits; its soft pairs are left aside, for those of the graph
        assign : of the contraction
        order : (k,) the place of each cluster's size among the listed ones
        time_limit : seconds for one step
        """
        self._contraction, self._assign, self.order = contraction, assign, order
        self._seconds, self._prices = time_limit, np.zeros(len(order))
        self._pairs, self._weights = graph.pairs[~graph.is_hard], graph.weights[~graph.is_hard]

    def __call__(
        self,
        costs: NDArray[np.float64],
        *,
        candidates: NDArray[np.integer] | None = None,
        penalty: float = 1.0,
        start: NDArray[np.integer] | None = None,
        time_left: TimeLeft = no_limit,
    ) -> AssignmentSolution:
        """Solve one step, as `PairwiseAssignment` does it.

        Parameters
        ----------
        costs : (m, k), finite
        candidates : None, for all clusters
        start : is ignored

        Raises
        ------
        OutOfTime
            If no time is left.
        BackendFailure
            If the integer programming solver fails.
        """
        assert candidates is None
        weights = penalty * self._weights
        counts = weights != 0.0  # the penalty may be zero
        soft = SoftBlocks(self._pairs[counts], weights[counts])
        least = costs.min(axis=1)
        time_left = at_most(time_left, self._seconds)
        found = self._assign.solve(
            costs - least[:, None], time_left, self.order, self._prices, soft
        )
        if found.labels is None or not self._contraction.keeps_sizes(found.labels):
            return AssignmentSolution(None, np.inf, False, False, -np.inf)
        own = costs[np.arange(len(costs)), found.labels]
        objective = float(own.sum()) + soft.penalty(found.labels)
        bound = objective if found.is_cheapest else -np.inf
        return AssignmentSolution(found.labels, objective, found.is_cheapest, False, bound)
