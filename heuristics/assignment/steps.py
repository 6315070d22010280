"""Assignment steps of one contraction: cheapest labels for centres, or for given costs.

`Assignment` supports pairs, `SizedAssignment` limits on sizes and weights as well.

Empty clusters are filled afterwards. A block may move to one without breaking a cannot-link. Out of
cluster a, it changes the objective of `Potts` by the difference of its costs less the weights of
its pairs within a.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import costs_of_labels, fill_empty_clusters, nearest_labels
from heuristics.assignment.flow import sized_labels
from heuristics.assignment.potts import AssignmentSolution, Potts, signed_pairs
from heuristics.assignment.potts_solver import PottsSolver
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction
from sdpbb.problem.feasibility import Packing, packed_exactly
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.time_left import RUN_CLOCK, OutOfTime, TimeLeft, at_most, check_time, no_limit

# Share of the remaining time that one integer programme may take: others follow.
PROGRAMME_SHARE = 0.1
# Maximum blocks times clusters of integer programmes within limits; and of those used instead of a
# repair in searches of many starts.
MOST_VARIABLES, FEW_VARIABLES = 50_000, 5_000


class Assignment:
    """Assignment step of one contraction without limits, prepared for many centres or costs.

    minimise    sum_i costs[i, l(i)] + penalty * the weights of the violated soft pairs
    subject to  l(i) != l(j) for cannot-links, allowed[i, l(i)], no cluster empty,

    where costs[i, c] = e_i || c_i - o_c ||^2 for centres o. Blocks without pairs get their cheapest
    label, the others the labels of `potts_solver`. Empty clusters are filled afterwards.

    Source: PC-SOS-SDP, section 3.4, with the centres of (2) fixed.

    Attributes
    ----------
    is_possible, is_quick, may_fail : as for `SizedAssignment`
    n_steps : steps so far
    """

    is_possible, is_quick, may_fail = True, True, False

    def __init__(
        self,
        contraction: Contraction,
        seconds: float = math.inf,
        known: NDArray[np.intp] | None = None,
        step_limit: float = math.inf,
        is_thorough: bool = False,
    ) -> None:
        """Prepare the step.

        Parameters
        ----------
        contraction : must have a clustering (see `sdpbb.problem.feasibility.find_feasible`)
        seconds : for integer programmes over all steps together, >= 0
        known : labels (m,) that satisfy the cannot-links, or None. The first search for centres
            starts from them
        step_limit : seconds of one step by a search or an integer programme
        is_thorough : False: searches are brief, and an integer programme takes at most
            `PROGRAMME_SHARE` of the remaining seconds
        """
        self._contraction = contraction
        pairs, self._weights = signed_pairs(contraction)
        self._linked, ends = np.unique(pairs, return_inverse=True)
        self._pairs = ends.reshape(-1, 2)
        # Descents exchange blocks after a step. For them, longer searches took 3 times the CPU
        # seconds for labels that were 0.3 % cheaper.
        share = 1.0 if is_thorough else PROGRAMME_SHARE
        self._solver = PottsSolver(step_limit, seconds, share, is_brief=not is_thorough)
        self._last = None if known is None else known[self._linked].astype(np.int64)
        self.n_steps = 0

    def __call__(
        self, centres: NDArray[np.float64], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) for centres (k, r), with exactly k clusters.

        An empty cluster gets the block whose move reduces the sum of squares most, out of a cluster
        of at least two blocks. No cannot-link is violated, as no neighbour of the block is there.
        The labels need not be the cheapest if a block was moved, or if a wide component needs more
        time.

        Raises
        ------
        OutOfTime
            If the time is over before the first labels.
        ParameterError
            If no labels satisfy the cannot-links.
        BackendFailure
            If the integer programming solver fails.
        """
        check_time(time_left)
        labels = nearest_labels(self._contraction.means, centres, time_left)
        linked = self._linked
        if len(linked):
            check_time(time_left)
            costs = costs_of_labels(self._contraction, centres, time_left, linked)
            potts = Potts(costs, self._pairs, self._weights)
            found = self._solver.minimise(potts, self._last, time_left)
            if found.is_infeasible:
                raise ParameterError("no clustering satisfies the cannot-links of the contraction")
            if found.labels is None:
                raise OutOfTime
            labels[linked] = self._last = found.labels
        labels = fill_empty_clusters(self._contraction, labels, time_left)
        self.n_steps += 1
        return labels

    def of_costs(
        self,
        costs: NDArray[np.float64],
        allowed: NDArray[np.bool_] | None = None,
        penalty: float = 1.0,
        start: NDArray[np.intp] | None = None,
        time_left: TimeLeft = no_limit,
    ) -> AssignmentSolution:
        """Return the cheapest labels (m,) found for costs, with exactly k clusters.

        Parameters
        ----------
        costs : (m, k), finite
        allowed : (m, k) marks of the clusters that a block may join, one or more; None: all. A
            block that fills an empty cluster may be any
        penalty : >= 0, of a violated soft pair of weight 1
        start : (m,) labels from which searches start, or None
        time_left : time left to the caller

        Raises
        ------
        OutOfTime
            If the time is over before the narrow components are solved.
        BackendFailure
            If the integer programming solver fails.
        """
        weights, linked = self._weights.copy(), self._linked
        weights[np.isfinite(weights)] *= penalty
        listed = costs if allowed is None else np.where(allowed, costs, np.inf)
        start = None if start is None else start[linked]
        potts = Potts(listed[linked], self._pairs, weights)
        found = self._solver.minimise(potts, start, time_left)
        if found.labels is None:
            return found
        labels = listed.argmin(axis=1)
        labels[linked] = found.labels
        whole = Potts(costs, linked[self._pairs], weights)
        return found._replace(labels=fill_by_objective(whole, labels))

    def labels_with_soft_pairs(self, centres: NDArray[np.float64], time_left: TimeLeft) -> None:
        """Return None: each step minimises with soft pairs."""


def fill_by_objective(potts: Potts, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels (n,) without empty clusters, if there are k blocks.

    Each empty cluster gets the block, out of a cluster of at least two, whose move increases the
    objective least.

    potts : with all labels allowed
    """
    labels = labels.copy()
    count = np.bincount(labels, minlength=potts.k)
    for empty in np.flatnonzero(count == 0).tolist():
        i, j = potts.pairs.T
        same = labels[i] == labels[j]
        change = potts.costs[:, empty] - potts.costs[np.arange(potts.n), labels]
        for end in (i[same], j[same]):
            change -= np.bincount(end, weights=potts.weights[same], minlength=potts.n)
        change[count[labels] < 2] = np.inf
        chosen = int(np.argmin(change))
        if change[chosen] < np.inf:
            count[labels[chosen]] -= 1
            count[empty] = 1
            labels[chosen] = empty
    return labels


class SizedAssignment:
    """Assignment step of one contraction with limits on sizes or weights.

    Listed sizes go to clusters in the order of the clusters' sizes if each block is in its cheapest
    cluster.

    Without cannot-links the step is a flow if all blocks count 1 in the only limited quantity, and
    a greedy repair for many other blocks. Otherwise it is an integer programme.

    Attributes
    ----------
    is_quick : whether the step is a flow or a repair
    is_possible : whether the step is quick, or a programme that is not too large
    may_fail : whether a step may find no labels
    n_steps : steps so far
    """

    may_fail = True

    def __init__(
        self,
        contraction: Contraction,
        seconds: float,
        is_exact: bool = False,
        step_limit: float = math.inf,
    ) -> None:
        """Prepare the step.

        Parameters
        ----------
        seconds : for all integer programmes together
        is_exact : whether programmes replace repairs if they are not too large
        step_limit : seconds of one step `of_costs`
        """
        self.contraction = contraction
        self._amounts = contraction.limited_amounts
        bounds = [quantity.bounds for quantity in self._amounts]
        # Of the quantities, only the first may be listed; bounds of others are all alike.
        self._least, self._most = (np.array([each[at] for each in bounds]) for at in (0, 1))
        self._is_listed = any(quantity.limits.listed for quantity in self._amounts)
        self._seconds, self._step_limit = seconds, step_limit
        self._prices = np.zeros(contraction.k)  # of the last flow
        self.n_steps = 0
        is_free = not len(contraction.cannot_link)
        alike = [bool((quantity.linear == 1).all()) for quantity in self._amounts]
        self._is_flow = is_free and alike == [True]
        most = MOST_VARIABLES if is_exact or not is_free else FEW_VARIABLES
        self._is_small = contraction.n_blocks * contraction.k <= most and seconds > 0
        self.is_quick = is_free and (self._is_flow or not self._is_small)
        self.is_possible = is_free or self._is_small

    def __call__(
        self, centres: NDArray[np.float64], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) within the limits for centres (k, r), ignoring soft pairs.

        They are the cheapest unless the step is a repair.

        Raises
        ------
        OutOfTime
            If no labels within the limits are found.
        """
        return self._within(self.solve(costs_of_labels(self.contraction, centres), time_left))

    def labels_with_soft_pairs(
        self, centres: NDArray[np.float64], time_left: TimeLeft
    ) -> NDArray[np.intp] | None:
        """Return labels (m,), cheap for centres and the contraction's soft pairs.

        None without soft pairs, and if the programme is large. It may take half of the remaining
        seconds for integer programmes.
        """
        soft = self.contraction.soft
        if not soft or not self._is_small or self._seconds <= 0.0:
            return None
        half = at_most(time_left, self._seconds / 2)
        with suppress(OutOfTime):
            return self._within(self.solve(costs_of_labels(self.contraction, centres), half, soft))
        return None

    def of_costs(
        self,
        costs: NDArray[np.float64],
        allowed: NDArray[np.bool_] | None = None,
        penalty: float = 1.0,
        start: NDArray[np.intp] | None = None,
        time_left: TimeLeft = no_limit,
    ) -> AssignmentSolution:
        """Minimise what `Assignment.of_costs` does within the limits; all clusters are allowed.

        By a flow, a repair, or one integer programme for all blocks with rows for limits, of at
        most 50,000 variables. With cannot-links, no labels are found for larger ones. The start is
        ignored.
        """
        assert allowed is None
        soft = replace(self.contraction.soft, weights=penalty * self.contraction.soft.weights)
        time_left = at_most(time_left, self._step_limit)
        found = self.solve(costs, time_left, soft if penalty else None)
        try:
            return AssignmentSolution(self._within(found), found.is_cheapest)
        except OutOfTime:
            return AssignmentSolution(None)

    def _within(self, found: Packing) -> NDArray[np.intp]:
        """Return the labels of a packing; raise OutOfTime if they are not within the limits."""
        if found.labels is None or not self.contraction.keeps_sizes(found.labels):
            raise OutOfTime
        return found.labels

    def solve(
        self, costs: NDArray[np.float64], time_left: TimeLeft, soft: SoftBlocks | None = None
    ) -> Packing:
        """Return labels (m,) for the costs (m, k) of each block in each cluster.

        soft : pairs whose weights count if they are violated. Only integer programmes support them,
            and replace flows then, unless they are large

        Raises
        ------
        OutOfTime
            If the time is over.
        """
        check_time(time_left)
        self.n_steps += 1
        if self.is_quick and not (soft and self._is_small):
            place = self._places(costs) if self._is_listed else slice(None)
            least, most = self._least[:, place], self._most[:, place]
            if not self._is_flow:
                amounts = np.array([quantity.linear for quantity in self._amounts])
                return Packing(repaired_labels(costs, amounts, least, most))
            found = sized_labels(costs, least[0], most[0], self._prices)
            return Packing(found, is_cheapest=found is not None)
        if not self.is_possible or self._seconds <= 0.0:
            return Packing(None)
        # The programme has clusters in the order of the list.
        cluster = np.argsort(self._places(costs), kind="stable")
        above = costs - costs.min(axis=1, keepdims=True)  # differences get more digits
        began, within = RUN_CLOCK(), at_most(time_left, self._seconds)
        packing = packed_exactly(self.contraction, above[:, cluster], within, soft)
        self._seconds -= RUN_CLOCK() - began
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
    step_limit: float = math.inf,
    is_exact: bool = False,
    is_thorough: bool = False,
) -> Assignment | SizedAssignment:
    """Return the assignment step of a contraction, with limits or without; see its parameters."""
    if contraction.has_limits:
        return SizedAssignment(contraction, seconds, is_exact, step_limit)
    return Assignment(contraction, seconds, known, step_limit, is_thorough)


def repaired_labels(
    costs: NDArray[np.float64],
    amounts: NDArray[np.integer],
    least: NDArray[np.integer],
    most: NDArray[np.integer],
) -> NDArray[np.intp] | None:
    """Return labels (m,) of blocks within limits by a greedy repair; None: not found.

    Each block starts in its cheapest cluster. While a cluster exceeds its maximum, one of its
    blocks moves to a cluster with room. Then, while a cluster is below its minimum, it receives a
    block that another cluster can spare. Each time the block with the lowest cost per amount moves:
    the amount is its share of the cluster's maximum.

    Parameters
    ----------
    costs : (m, k) of each block in each cluster
    amounts : (q, m) of each block, such as its points, > 0
    least, most : (q, k) minimum and maximum of each amount in each cluster
    """
    m, k = costs.shape
    labels = np.asarray(costs.argmin(axis=1), np.intp)
    sums = np.zeros(least.shape, np.int64)
    np.add.at(sums.T, labels, amounts.T)
    for _ in range(4 * m + 4 * k):
        excess = (sums - most) / np.maximum(1, np.abs(most))
        is_over = bool((excess > 0).any())
        if not is_over:
            excess = (least - sums) / np.maximum(1, np.abs(least))
        if not (excess > 0).any():
            return labels
        c = int(excess.argmax()) % k
        movers, targets = np.flatnonzero((labels == c) == is_over), np.arange(k)
        if not is_over:
            spared = sums[:, labels[movers]] - amounts[:, movers] >= least[:, labels[movers]]
            movers, targets = movers[spared.all(axis=0)], targets[c : c + 1]
        own, moved = labels[movers], amounts[:, movers, None]
        fits = (sums[:, None, targets] + moved <= most[:, None, targets]).all(axis=0)
        fits &= targets != own[:, None]
        if not fits.any():
            return None
        share = (moved[..., 0] / np.maximum(1, most[:, c])[:, None]).max(axis=0)
        prices = (costs[np.ix_(movers, targets)] - costs[movers, own][:, None]) / share[:, None]
        i, b = divmod(int(np.where(fits, prices, np.inf).argmin()), len(targets))
        block, target = movers[i], targets[b]
        sums[:, labels[block]] -= amounts[:, block]
        sums[:, target] += amounts[:, block]
        labels[block] = target
    return None
