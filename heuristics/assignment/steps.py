"""Assignment steps of one contraction: cheapest labels for given costs, and for given centres.

Empty clusters are filled afterwards. A block may move to one without breaking a cannot-link. Out of
cluster a, it changes the objective of `Potts` by the difference of its costs less the weights of
its pairs within a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.potts import AssignmentSolution, Potts, signed_pairs
from heuristics.assignment.potts_solver import AssignmentParameters, PottsSolver
from heuristics.kmeans_steps import cluster_sums, nearest_labels
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, chunks, no_limit

# Share of the remaining time that one integer programme may take: the first is not the last.
PROGRAMME_SHARE = 0.1


class PairwiseAssignment:
    """Assignment step of one contraction, prepared for many costs.

    minimise    sum_i costs[i, l(i)] + penalty * the weights of the violated soft pairs
    subject to  l(i) != l(j) for cannot-links, allowed[i, l(i)],
                no cluster empty (by filling, afterwards).

    Parameters
    ----------
    parameters : limits of the assignment step
    """

    def __init__(
        self, contraction: Contraction, parameters: AssignmentParameters | None = None
    ) -> None:
        self._pairs, weights = signed_pairs(contraction)
        self._is_hard = np.isinf(weights)
        self._soft = np.where(self._is_hard, 0.0, weights)
        self._solver = PottsSolver(parameters or AssignmentParameters())

    def __call__(
        self,
        costs: NDArray[np.float64],
        allowed: NDArray[np.bool_] | None = None,
        penalty: float = 1.0,
        start: NDArray[np.intp] | None = None,
        time_left: TimeLeft = no_limit,
        fill: bool = True,
    ) -> AssignmentSolution:
        """Solve one assignment step.

        Parameters
        ----------
        costs : (m, k), finite
        allowed : (m, k) marks of the clusters that a block may join, one or more; None for all
        penalty : >= 0, of a soft pair of weight 1 that is violated
        start : (m,) clusters to start from where something is searched for, or None
        time_left : time left to the caller; `AssignmentParameters.time_limit` is that of searches
        fill : whether empty clusters get blocks afterwards, by the cheapest moves, of any block.
            None is empty then

        Raises
        ------
        OutOfTime
            If no time is left before the narrow components are solved.
        BackendFailure
            If the integer programming solver fails.
        """
        weights = np.where(self._is_hard, np.inf, penalty * self._soft)
        listed = costs if allowed is None else np.where(allowed, costs, np.inf)
        found = self._solver.minimise(Potts(listed, self._pairs, weights), start, time_left)
        if fill and found.labels is not None:
            filled = fill_by_objective(Potts(costs, self._pairs, weights), found.labels)
            found = found._replace(labels=filled)
        return found


class Assignment:
    """Assignment step of one contraction, prepared for many sets of centres.

    minimise    sum_i e_i || c_i - o_l(i) ||^2 + the weights of the violated soft pairs
    subject to  l(i) != l(j) for cannot-links, no cluster empty.

    Blocks without pairs take the nearest centre, the others the labels of `potts_solver`.

    Source: PC-SOS-SDP, section 3.4, with the centres of (2) fixed.

    Parameters
    ----------
    contraction : must have a clustering (see `sdpbb.problem.feasibility.find_feasible`)
    parameters : limits of the assignment step
    time_limit : seconds for integer programmes over all calls together, >= 0; each may take
        `PROGRAMME_SHARE` of the remaining seconds
    known : labels (m,) that keep the cannot-links, or None. The first search starts from them
    """

    def __init__(
        self,
        contraction: Contraction,
        parameters: AssignmentParameters | None = None,
        time_limit: float = np.inf,
        known: NDArray[np.intp] | None = None,
    ) -> None:
        self._weights, self._k = contraction.weights, contraction.k
        self._means = np.ascontiguousarray(contraction.means)
        pairs, self._pair_weights = signed_pairs(contraction)
        self._linked, ends = np.unique(pairs, return_inverse=True)
        self._pairs = ends.reshape(-1, 2)
        # Searches are brief: exchanges of blocks follow. Longer searches took 3 times the CPU
        # seconds for labels that were 0.3 % cheaper.
        parameters = parameters or AssignmentParameters()
        self._solver = PottsSolver(parameters, time_limit, PROGRAMME_SHARE, is_brief=True)
        self._last = None if known is None else known[self._linked].astype(np.int64)
        self.n_steps = 0

    def __call__(
        self, centres: NDArray[np.float64], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) for centres (k, r), with exactly k clusters.

        If the cheapest labels leave a cluster empty, the block whose move there reduces the sum of
        squares most is moved, out of a cluster of at least two blocks. This keeps the cannot-links,
        as an empty cluster holds no neighbour of the block. The labels need not be the cheapest if
        a block was moved, or if a wide component needs more time.

        Raises
        ------
        OutOfTime
            If no time is left before there are labels.
        ParameterError
            If no labels keep the cannot-links.
        BackendFailure
            If the integer programming solver fails.
        """
        check_time(time_left)
        labels = nearest_labels(self._means, centres, time_left)
        linked = self._linked
        if len(linked):
            check_time(time_left)
            # || c_i ||^2 is the same for all labels of i, and left out.
            norms = (centres**2).sum(axis=1)
            costs = np.empty((len(linked), self._k))
            for first, last in chunks(len(linked), centres.size, time_left):
                rows = linked[first:last]
                distances = norms - 2.0 * (self._means[rows] @ centres.T)
                costs[first:last] = self._weights[rows, None] * distances
            potts = Potts(costs, self._pairs, self._pair_weights)
            found = self._solver.minimise(potts, self._last, time_left)
            if found.is_infeasible:
                raise ParameterError("no clustering satisfies the cannot-links of the contraction")
            if found.labels is None:
                raise OutOfTime
            labels[linked] = self._last = found.labels
        labels = fill_empty_clusters(labels, self._weights, self._means, self._k, time_left)
        self.n_steps += 1
        return labels

    # What `SizedAssignment` has besides: all is possible, and soft pairs are looked at.

    is_possible = is_quick = True

    def with_soft_pairs(self, centres: NDArray[np.float64], time_left: TimeLeft) -> None:
        return None


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


def fill_empty_clusters(
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
    means: NDArray[np.float64],
    k: int,
    time_left: TimeLeft = no_limit,
) -> NDArray[np.int64]:
    """Move single blocks into empty clusters, the one that reduces the sum of squares most first.

    Block i out of cluster a of weight N_a saves e_i N_a / (N_a - e_i) || c_i - mean_a ||^2. The
    labels (m,) are changed in place.

    Raises
    ------
    OutOfTime
        If no time is left before none is empty.
    """
    count = np.bincount(labels, minlength=k)
    for empty in np.flatnonzero(count == 0).tolist():
        check_time(time_left)
        of = np.bincount(labels, weights, k)
        own, centres = of[labels], cluster_sums(labels, weights, means, k)
        away = ((means - centres[labels] / own[:, None]) ** 2).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(count[labels] > 1, weights * own / (own - weights) * away, -1.0)
        chosen = int(np.argmax(gain))
        count[labels[chosen]] -= 1
        count[empty], labels[chosen] = 1, empty
    return labels
