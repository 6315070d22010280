"""Assignment step of k-means in a contraction: cheapest labels for many sets of centres."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.filling import fill_empty_clusters
from heuristics.assignment.integer_programme import ProgrammeTime
from heuristics.assignment.parameters import AssignmentParameters
from heuristics.assignment.potts import Potts, pair_graph
from heuristics.assignment.potts_solver import StepLimits, Structure, minimise
from heuristics.kmeans_steps import nearest_labels
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, chunks, no_limit

# Share of the remaining time that one integer programme may take: the first is not the last.
PROGRAMME_SHARE = 0.1


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
        graph = pair_graph(contraction)
        self._linked, ends = np.unique(graph.pairs, return_inverse=True)
        self._pairs, self._pair_weights = ends.reshape(-1, 2).astype(np.int64), graph.weights
        # Searches are brief: exchanges of blocks follow. Longer searches took 3 times the CPU
        # seconds for labels that were 0.3 % cheaper.
        self._limits = StepLimits(
            parameters or AssignmentParameters(),
            ProgrammeTime(time_limit, PROGRAMME_SHARE),
            is_brief=True,
        )
        self._structure: Structure | None = None
        self._last = None if known is None else known[self._linked].astype(np.int64)

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
            potts = Potts(costs, None, self._pairs, self._pair_weights)
            if self._structure is None:
                self._structure = Structure(potts, self._limits, time_left)
            found = minimise(potts, self._structure, self._last, self._limits, time_left)
            if found.is_infeasible:
                raise ParameterError("no clustering satisfies the cannot-links of the contraction")
            if found.labels is None:
                raise OutOfTime
            labels[linked] = self._last = found.labels
        return fill_empty_clusters(labels, self._weights, self._means, self._k, time_left)
