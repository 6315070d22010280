"""Assignment step with pairs, hard and soft, where sizes or weights of clusters are limited."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import AssignmentParameters, AssignmentSolution, PairGraph
from heuristics.sizes.assignment import SizedAssignment
from sdpbb.problem import Contraction
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.time_left import TimeLeft, at_most, no_limit


class SizedPairwiseAssignment:
    """Assignment step of one contraction and graph of pairs, prepared for many costs.

    minimise    the objective of `heuristics.assignment.PairwiseAssignment`
    subject to  its hard cannot-links, all clusters being candidates, and the limits of the
                contraction: least_c <= what cluster c has of a measure <= most_c.

    It is solved as `SizedAssignment` does it: by a flow, or by one integer programme for all blocks
    with rows for limits; of more than 50,000 variables none is begun, and where there are hard
    cannot-links, no labels are found then.
    """

    def __init__(
        self, contraction: Contraction, graph: PairGraph, parameters: AssignmentParameters
    ) -> None:
        """Prepare the step.

        contraction : with limits; its soft pairs are left aside, for those of the graph
        """
        self._contraction = contraction
        self._assign = SizedAssignment(contraction, math.inf, parameters.solver, is_exact=True)
        self._seconds = parameters.time_limit
        self._pairs, self._weights = graph.pairs[~graph.is_hard], graph.weights[~graph.is_hard]

    def in_orders(self, centres: NDArray[np.float64], rng: np.random.Generator) -> list[InOrder]:
        """Return the step for each order of listed sizes that is tried from centres (k, r)."""
        return [InOrder(self, order) for order in self._assign.orders(centres, rng)]

    def solve(
        self,
        costs: NDArray[np.float64],
        penalty: float,
        order: NDArray[np.intp],
        prices: NDArray[np.float64],
        time_left: TimeLeft,
    ) -> AssignmentSolution:
        """Solve one step; see `InOrder`, and for orders and prices `SizedAssignment.solve`."""
        weights = penalty * self._weights
        counts = weights != 0.0  # the penalty may be zero
        soft = SoftBlocks(self._pairs[counts], weights[counts])
        least = costs.min(axis=1)
        found = self._assign.solve(
            costs - least[:, None], at_most(time_left, self._seconds), order, prices, soft
        )
        if found.labels is None or not self._contraction.keeps_sizes(found.labels):
            return AssignmentSolution(None, np.inf, False, False, -np.inf)
        own = costs[np.arange(len(costs)), found.labels]
        objective = float(own.sum()) + soft.penalty(found.labels)
        bound = objective if found.is_cheapest else -np.inf
        return AssignmentSolution(found.labels, objective, found.is_cheapest, False, bound)


class InOrder:
    """Assignment step in which cluster c has the size at the place order[c] of those listed."""

    def __init__(self, step: SizedPairwiseAssignment, order: NDArray[np.intp]) -> None:
        self._step = step
        self.order = order
        self._prices = np.zeros(len(order))

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
        start : is not looked at

        Raises
        ------
        OutOfTime
            If no time is left.
        BackendFailure
            If the integer programming solver fails.
        """
        assert candidates is None
        return self._step.solve(costs, penalty, self.order, self._prices, time_left)
