"""Assignment step where sizes or weights are limited: the cheapest clusters for given centres."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import Assignment, AssignmentSolution
from heuristics.kmeans_steps import explained, nearest_labels
from heuristics.sizes.kernels import repaired_labels, sized_labels
from sdpbb.problem import Contraction
from sdpbb.problem.packing import Packing, packed_exactly, size_bounds
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.arrays import Reals
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, at_most, check_time, no_limit

# Changes of labels that save less than this part of the total are rounding.
LEAST_SAVING = 1e-12
# Blocks times clusters of integer programmes; and where a repair does, too, and many starts count.
MOST_VARIABLES, FEW_VARIABLES = 50_000, 5_000


class SizedAssignment:
    """Assignment step for one contraction whose sizes, or weights, are limited.

    Attributes
    ----------
    is_flow : whether it is a flow: all blocks are alike by the only measure that is limited
    is_greedy : whether it is a repair: there are no cannot-links, and many blocks that differ
    """

    def __init__(
        self,
        contraction: Contraction,
        seconds: float,
        solver: IntegerSolver = "auto",
        is_exact: bool = False,
    ) -> None:
        """Prepare the step.

        seconds : for all integer programmes together
        solver : of integer programmes, as `milp.solve_binary_programme` has it
        is_exact : whether these are solved instead of repairs wherever they are not too large
        """
        self.contraction = contraction
        self._amounts = contraction.limited_amounts
        self._limits = self._amounts[0].limits
        self._seconds = seconds
        self._solver = solver
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

    def orders(
        self, centres: NDArray[np.float64], rng: np.random.Generator
    ) -> list[NDArray[np.intp]]:
        """Return orders of listed sizes for centres (k, r); one that says nothing without a list.

        They are all there are where these are few, else that of the sizes of the nearest clusters,
        and one at random.
        """
        listed, k = self._limits.listed, self.contraction.k
        if listed is None:
            return [np.arange(k)]
        if k <= 3:
            orders = {tuple(listed[at] for at in order): order for order in permutations(range(k))}
            return [np.array(orders[sizes]) for sizes in sorted(orders)]
        nearest = nearest_labels(self.contraction.means, centres)
        sizes = np.bincount(nearest, self._amounts[0].linear, k)
        by_rank = np.empty(k, np.intp)
        by_rank[np.argsort(sizes, kind="stable")] = np.arange(k)
        return [by_rank, rng.permutation(k)]

    def order_of(self, labels: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the place of each cluster's size among the listed ones, (k,)."""
        k = self.contraction.k
        if self._limits.listed is None:
            return np.arange(k)
        sums = np.bincount(labels, self._amounts[0].linear, k).astype(np.int64)
        places = self._limits.places(sums)
        assert places is not None, "labels within the limits"
        return places

    def steps(
        self, order: NDArray[np.intp], time_left: TimeLeft, labels: NDArray[np.intp] | None = None
    ) -> SizedSteps:
        """Return the assignment steps of one k-means.

        labels : of which the first centres are the means, if there are any
        """
        return SizedSteps(self, self.contraction, order, time_left, labels)

    def labels_for(
        self, centres: NDArray[np.float64], order: NDArray[np.intp], time_left: TimeLeft
    ) -> NDArray[np.intp] | None:
        """Return labels (m,) within the limits for centres (k, r), or None where none are found.

        They are the cheapest unless the step is greedy.
        """
        labels = self.solve(self.costs(centres), time_left, order, np.zeros(len(order))).labels
        return labels if labels is not None and self.contraction.keeps_sizes(labels) else None

    def with_soft_pairs(
        self, centres: NDArray[np.float64], order: NDArray[np.intp], time_left: TimeLeft
    ) -> NDArray[np.intp] | None:
        """Return labels as `labels_for`, cheap for centres and the contraction's soft pairs.

        None without any, and where the programme is large. It may take half of the seconds left to
        integer programmes, so that others follow.
        """
        contraction = self.contraction
        if not contraction.soft or not self._is_small or self._seconds <= 0.0:
            return None
        costs, prices = self.costs(centres), np.zeros(len(order))
        half = at_most(time_left, self._seconds / 2)
        labels = self.solve(costs, half, order, prices, contraction.soft).labels
        return labels if labels is not None and contraction.keeps_sizes(labels) else None

    def costs(self, centres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each block costs at each centre, (m, k), less the least of each block."""
        products: NDArray[np.float64] = self.contraction.means @ centres.T
        _write_costs(self.contraction.weights, (centres**2).sum(axis=1), products)
        return products

    def solve(
        self,
        costs: NDArray[np.float64],
        time_left: TimeLeft,
        order: NDArray[np.intp],
        prices: NDArray[np.float64],
        soft: SoftBlocks | None = None,
    ) -> Packing:
        """Return labels (m,) for the costs (m, k) of each block in each cluster, 0 at least.

        Parameters
        ----------
        order : (k,) the place of each cluster's size among the listed ones
        prices : (k,) of flows for centres near by, 0 where there are none; written are those of
            this one
        soft : pairs whose weights count where they are violated; only integer programmes look at
            them, which are solved instead of flows then, unless they are large

        Raises
        ------
        OutOfTime
            If no time is left.
        """
        check_time(time_left)
        self.n_steps += 1
        is_alone = not soft
        if self.is_flow and (is_alone or not self._is_small):
            least, most = (bound[order] for bound in size_bounds(self._limits))
            labels = np.empty(len(costs), np.int64)
            is_found = sized_labels(costs, least, most, prices, labels)
            return Packing(labels if is_found else None, is_cheapest=is_found and is_alone)
        if self.is_greedy:
            return Packing(self._repaired(costs, order))
        if not self.is_possible or self._seconds <= 0.0:
            return Packing(None)
        # The programme has clusters in the order of the list.
        position = np.argsort(order, kind="stable")
        limit = min(self._seconds, time_left())
        before = time_left()
        found = packed_exactly(
            self.contraction,
            costs[:, position],
            max(0.01, limit),
            lambda: time_left() <= 0.0,
            soft,
            self._solver,
        )
        if np.isfinite(before):
            self._seconds -= before - time_left()
        return found if found.labels is None else found._replace(labels=position[found.labels])

    def _repaired(
        self, costs: NDArray[np.float64], order: NDArray[np.intp]
    ) -> NDArray[np.intp] | None:
        """Return labels (m,) that are cheap, and within the limits; None where none are found."""
        bounds = [size_bounds(quantity.limits) for quantity in self._amounts]
        # Of the quantities, only the first may be listed; bounds of others are all alike.
        least, most = (np.array([bound[at][order] for bound in bounds]) for at in (0, 1))
        amounts = np.column_stack([quantity.linear for quantity in self._amounts])
        labels = np.empty(len(costs), np.int64)
        return labels if repaired_labels(costs, amounts, least, most, labels) else None


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


class SizedSteps:
    """Assignment steps of one k-means within limits; the sum of squares never increases."""

    def __init__(
        self,
        assign: SizedAssignment,
        contraction: Contraction,
        order: NDArray[np.intp],
        time_left: TimeLeft,
        labels: NDArray[np.intp] | None,
    ) -> None:
        self._assign, self._contraction = assign, contraction
        self._order, self._prices = order, np.zeros(len(order))
        self._time_left, self._last = time_left, labels
        self._explained = -np.inf if labels is None else explained(contraction, labels)

    def __call__(self, centres: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return labels (m,) for centres (k, r); the last ones if new ones do not save anything.

        Raises
        ------
        OutOfTime
            If no labels within the limits are found.
        """
        contraction, costs = self._contraction, self._assign.costs(centres)
        found = self._assign.solve(costs, self._time_left, self._order, self._prices).labels
        if found is None or not (self._assign.is_flow or contraction.keeps_sizes(found)):
            raise OutOfTime
        reached = explained(contraction, found)
        if self._last is None or reached > self._explained + LEAST_SAVING * contraction.total:
            self._last, self._explained = found, reached
        return self._last


class SizedPairwiseAssignment:
    """Assignment step within limits for one order of listed sizes, for costs of any kind.

    It minimises what `PairwiseAssignment` does, all clusters being allowed, as `SizedAssignment`
    does it: by a flow, or by one integer programme for all blocks with rows for limits. No
    programme of more than 50,000 variables is begun; with cannot-links, no labels are found then.

    Parameters
    ----------
    order : (k,) the place of each cluster's size among the listed ones
    time_limit : seconds for one step
    """

    def __init__(
        self, assign: SizedAssignment, order: NDArray[np.intp], time_limit: float = math.inf
    ) -> None:
        self._assign, self._order, self._seconds = assign, order, time_limit
        self._prices = np.zeros(len(order))

    def __call__(
        self,
        costs: NDArray[np.float64],
        allowed: NDArray[np.bool_] | None = None,
        penalty: float = 1.0,
        start: NDArray[np.intp] | None = None,
        time_left: TimeLeft = no_limit,
    ) -> AssignmentSolution:
        """Solve one step, as `PairwiseAssignment` does it; the start is ignored."""
        assert allowed is None
        contraction = self._assign.contraction
        soft = replace(contraction.soft, weights=penalty * contraction.soft.weights)
        above = costs - costs.min(axis=1, keepdims=True)
        time_left = at_most(time_left, self._seconds)
        found = self._assign.solve(
            above, time_left, self._order, self._prices, soft if penalty else None
        )
        if found.labels is None or not contraction.keeps_sizes(found.labels):
            return AssignmentSolution(None)
        return AssignmentSolution(found.labels, found.is_cheapest)


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
