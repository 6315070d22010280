"""Assignment step where sizes or weights are limited: the cheapest clusters for given centres."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import Assignment, AssignmentParameters, AssignmentSolution
from heuristics.sizes.kernels import repaired_labels, sized_labels
from sdpbb.problem import Contraction
from sdpbb.problem.feasibility import Packing, packed_exactly
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.arrays import Reals
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, at_most, check_time, no_limit

# Blocks times clusters of integer programmes; and where a repair does, too, and many starts count.
MOST_VARIABLES, FEW_VARIABLES = 50_000, 5_000


class SizedAssignment:
    """Assignment step for one contraction whose sizes, or weights, are limited.

    Listed sizes belong to clusters in the order of the sizes that clusters have if each block is in
    its cheapest one.

    Attributes
    ----------
    is_flow : whether it is a flow: all blocks are alike by the only measure that is limited
    is_greedy : whether it is a repair: there are no cannot-links, and many blocks that differ
    is_possible : whether it is any of these, or an integer programme that is not too large
    n_steps : steps so far
    """

    def __init__(
        self,
        contraction: Contraction,
        seconds: float,
        limits: AssignmentParameters | None = None,
        is_exact: bool = False,
    ) -> None:
        """Prepare the step.

        seconds : for all integer programmes together
        limits : of which the time of one step, `of_costs`, is kept
        is_exact : whether programmes are solved instead of repairs wherever they are not too large
        """
        self.contraction = contraction
        self._amounts = contraction.limited_amounts
        self._seconds = seconds
        self._limits = limits or AssignmentParameters()
        self._prices = np.zeros(contraction.k)  # of the last flow
        self.n_steps = 0
        is_free = not len(contraction.cannot_link)
        alike = [bool((quantity.linear == 1).all()) for quantity in self._amounts]
        self.is_flow = is_free and alike == [True]
        most = MOST_VARIABLES if is_exact or not is_free else FEW_VARIABLES
        self._is_small = contraction.n_blocks * contraction.k <= most and seconds > 0
        self.is_greedy = is_free and not self.is_flow and not self._is_small
        self.is_possible = is_free or self._is_small

    @property
    def is_quick(self) -> bool:
        """True if no integer programme is solved."""
        return self.is_flow or self.is_greedy

    def __call__(
        self, centres: NDArray[np.float64], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) within the limits for centres (k, r); soft pairs are ignored.

        They are the cheapest unless the step is greedy.

        Raises
        ------
        OutOfTime
            If no labels within the limits are found.
        """
        return self._within(self.solve(self._costs(centres), time_left))

    def with_soft_pairs(
        self, centres: NDArray[np.float64], time_left: TimeLeft
    ) -> NDArray[np.intp] | None:
        """Return labels (m,), cheap for centres and the contraction's soft pairs.

        None without any, and where the programme is large. It may take half of the seconds left to
        integer programmes, so that others follow.
        """
        soft = self.contraction.soft
        if not soft or not self._is_small or self._seconds <= 0.0:
            return None
        half = at_most(time_left, self._seconds / 2)
        with suppress(OutOfTime):
            return self._within(self.solve(self._costs(centres), half, soft))
        return None

    def of_costs(
        self,
        costs: NDArray[np.float64],
        allowed: NDArray[np.bool_] | None = None,
        penalty: float = 1.0,
        start: NDArray[np.intp] | None = None,
        time_left: TimeLeft = no_limit,
    ) -> AssignmentSolution:
        """Minimise what `PairwiseAssignment` does within the limits, all clusters being allowed.

        By a flow, a repair, or one integer programme for all blocks with rows for limits. No
        programme of more than 50,000 variables is begun; with cannot-links, no labels are found
        then. The start is ignored.
        """
        assert allowed is None
        soft = replace(self.contraction.soft, weights=penalty * self.contraction.soft.weights)
        above = costs - costs.min(axis=1, keepdims=True)
        time_left = at_most(time_left, self._limits.time_limit)
        found = self.solve(above, time_left, soft if penalty else None)
        try:
            return AssignmentSolution(self._within(found), found.is_cheapest)
        except OutOfTime:
            return AssignmentSolution(None)

    def _within(self, found: Packing) -> NDArray[np.intp]:
        """Return the labels of a packing; raise OutOfTime if they are not within the limits."""
        if found.labels is None or not self.contraction.keeps_sizes(found.labels):
            raise OutOfTime
        return found.labels

    def _costs(self, centres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each block costs at each centre, (m, k), less the least of each block."""
        products: NDArray[np.float64] = self.contraction.means @ centres.T
        _write_costs(self.contraction.weights, (centres**2).sum(axis=1), products)
        return products

    def solve(
        self, costs: NDArray[np.float64], time_left: TimeLeft, soft: SoftBlocks | None = None
    ) -> Packing:
        """Return labels (m,) for the costs (m, k) of each block in each cluster, 0 at least.

        soft : pairs whose weights count where they are violated; only integer programmes look at
            them, which are solved instead of flows then, unless they are large

        Raises
        ------
        OutOfTime
            If no time is left.
        """
        check_time(time_left)
        self.n_steps += 1
        place = self._places(costs)
        if self.is_greedy or (self.is_flow and not (soft and self._is_small)):
            bounds = [quantity.bounds for quantity in self._amounts]
            # Of the quantities, only the first may be listed; bounds of others are all alike.
            least, most = (np.array([bound[at][place] for bound in bounds]) for at in (0, 1))
            labels = np.empty(len(costs), np.int64)
            if self.is_flow:
                found = sized_labels(costs, least[0], most[0], self._prices, labels)
            else:
                amounts = np.column_stack([quantity.linear for quantity in self._amounts])
                found = repaired_labels(costs, amounts, least, most, labels)
            return Packing(labels if found else None, is_cheapest=found and self.is_flow)
        if not self.is_possible or self._seconds <= 0.0:
            return Packing(None)
        # The programme has clusters in the order of the list.
        cluster = np.argsort(place, kind="stable")
        before = time_left()
        within = at_most(time_left, self._seconds)
        packing = packed_exactly(self.contraction, costs[:, cluster], within, soft)
        if np.isfinite(before):
            self._seconds -= before - time_left()
        if packing.labels is None:
            return packing
        return packing._replace(labels=cluster[packing.labels])

    def _places(self, costs: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the place (k,) of each cluster's size among the listed ones, for costs (m, k)."""
        cheapest = costs.argmin(axis=1)
        sizes = np.bincount(cheapest, self._amounts[0].linear, self.contraction.k)
        return np.argsort(np.argsort(sizes, kind="stable"), kind="stable")


def assignment_of(
    contraction: Contraction,
    seconds: float,
    known: NDArray[np.intp] | None = None,
    is_exact: bool = False,
) -> Assignment | SizedAssignment:
    """Return the assignment step of a contraction, with limits or without; see its parameters."""
    if contraction.has_limits:
        return SizedAssignment(contraction, seconds, is_exact=is_exact)
    return Assignment(contraction, None, seconds, known)


@njit(cache=True, nogil=True)
def _write_costs(weights: Reals, squares: Reals, products: Reals) -> None:
    """Write costs instead of the products (m, k) of block means with centres.

    squares : (k,) of the centres
    """
    m, k = products.shape
    for i in range(m):
        least = np.inf
        for c in range(k):
            products[i, c] = squares[c] - 2.0 * products[i, c]
            least = min(least, products[i, c])
        for c in range(k):
            products[i, c] = weights[i] * (products[i, c] - least)
