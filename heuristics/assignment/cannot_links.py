"""Assignment step with hard cannot-links alone: many sets of centres, one graph.

The programme (PC-SOS-SDP, section 3.4, with the centres of (2) fixed)

    minimise    sum_i e_i || c_i - m_{l(i)} ||^2
    subject to  l(i) != l(j) for every cannot-link ij

falls apart into the connected components of the cannot-link graph. Blocks without cannot-links take
the nearest centre. A block of D neighbours needs no other labels than its 1 + D cheapest ones: one
of these is free, whatever the neighbours have. Narrow components are solved exactly by dynamic
programming over these labels, the others by a short branch and bound; and where that does not end,
by a local search and an integer programming solver.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.branch_and_bound import cheapest_labels, partition_into_cliques
from heuristics.assignment.components import Narrow, components, separate_narrow
from heuristics.assignment.descent import improve
from heuristics.assignment.feasible_labels import mend, rename_clusters
from heuristics.assignment.filling import fill_empty_clusters
from heuristics.assignment.integer_programme import KeptProgramme
from heuristics.assignment.parameters import TABLE_BUDGET
from heuristics.assignment.potts import Potts, adjacency_lists
from heuristics.assignment.tables import Tables, lay_out
from heuristics.kmeans_steps import nearest_labels
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Infeasibility
from sdpbb.problem.feasibility import find_feasible
from sdpbb.runtime.time_left import TimeLeft, check_time, chunks, no_limit

# Dynamic programming over all components together may take this many times the budget of one, and
# this many times between two looks at the time.
BUDGETS, BUDGETS_AT_ONCE = 5, 1
# Of the time left, for one integer programme: so that the first of many does not take all of it.
PROGRAMME_SHARE = 0.1


class Assignment:
    """Assignment step with cannot-links only, prepared for many sets of centres.

    Parameters
    ----------
    contraction : must have a clustering (see `sdpbb.problem.feasibility.find_feasible`)
    table_budget : entries of dynamic programming allowed to one component; the components over it
        are searched, and those that are left then are integer programmes, solved by HiGHS
    time_limit : seconds allowed to integer programmes over all calls together, >= 0; each may take
        `PROGRAMME_SHARE` of what is left. Without time the labels of these components keep the
        cannot-links but need not be the cheapest
    known : labels (m,) that keep the cannot-links, to begin the search of a component from; looked
        for if None
    time_left : asked on the way of the preparation

    Raises
    ------
    OutOfTime
        If no time is left on that way.
    ParameterError
        If a component is searched and has no labels that keep the cannot-links.
    """

    def __init__(
        self,
        contraction: Contraction,
        table_budget: float = TABLE_BUDGET,
        time_limit: float = np.inf,
        known: NDArray[np.intp] | None = None,
        time_left: TimeLeft = no_limit,
    ) -> None:
        self._weights = contraction.weights
        self._means = np.ascontiguousarray(contraction.means)
        self._k = contraction.k
        self._linked, ends = np.unique(contraction.cannot_link, return_inverse=True)
        pairs = ends.reshape(-1, 2).astype(np.int64)
        degree = np.bincount(pairs.reshape(-1))
        parts = (
            (part, min(self._k, 1 + int(degree[part.blocks].max())))
            for part in components(len(self._linked), pairs)
        )
        budget = BUDGETS * table_budget
        narrow, wide = separate_narrow(parts, pairs, table_budget, budget, time_left)
        self._groups = _groups(narrow, pairs, BUDGETS_AT_ONCE * table_budget, time_left)
        self._wide = [WideComponent(part.blocks, pairs[part.pairs]) for part in wide]
        self._time_limit = time_limit
        if self._wide:
            feasible = find_feasible(contraction) if known is None else known
            if isinstance(feasible, Infeasibility):
                raise ParameterError(f"no clustering satisfies the cannot-links: {feasible}")
            assert feasible is not None  # no time limit was given
            self._last = feasible[self._linked]  # the searches begin from those of the last call

    def __call__(
        self, centres: NDArray[np.float64], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) for centres (k, r), with exactly k clusters.

        If the cheapest labels leave a cluster empty, the block whose move there reduces the sum of
        squares most is moved, out of a cluster of at least two blocks. This keeps the
        cannot-links, as an empty cluster holds no neighbour of the block; the labels are the
        minimum over all labels that keep the cannot-links only where nothing had to be moved.

        Raises
        ------
        OutOfTime
            If no time is left on the way.
        ParameterError, BackendFailure
            As `minimise` does.
        """
        # || c_i ||^2 is the same for all labels of i, and left out.
        norms = (centres**2).sum(axis=1)
        labels = nearest_labels(self._means, centres, time_left)
        linked = self._linked
        if len(linked):
            costs = np.empty((len(linked), self._k))
            for first, last in chunks(len(linked), centres.size, time_left):
                rows = linked[first:last]
                distances = norms - 2.0 * (self._means[rows] @ centres.T)
                costs[first:last] = self._weights[rows, None] * distances
            labels[linked] = self._minimise(costs, time_left)
        return fill_empty_clusters(labels, self._weights, self._means, self._k, time_left)

    def minimise(
        self, costs: NDArray[np.float64], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) that minimise sum_i costs[i, l(i)] and keep the cannot-links.

        Clusters may be empty.

        Parameters
        ----------
        costs : (m, k), finite

        Raises
        ------
        OutOfTime
            If no time is left on the way.
        ParameterError
            If no labels keep the cannot-links, or a cost is not finite.
        BackendFailure
            If the integer programming solver fails.
        """
        if not np.isfinite(costs).all():
            raise ParameterError("costs: every cost must be finite")
        labels: NDArray[np.int64] = costs.argmin(axis=1).astype(np.int64)
        if len(self._linked):
            labels[self._linked] = self._minimise(costs[self._linked], time_left)
        return labels

    def _minimise(self, costs: NDArray[np.float64], time_left: TimeLeft) -> NDArray[np.int64]:
        """Return labels (l,) of the linked blocks for their costs (l, k)."""
        labels = np.full(len(costs), -1, np.int64)
        for group in self._groups:
            check_time(time_left)
            if not group.solve(costs, labels):
                raise ParameterError("no clustering satisfies the cannot-links of the contraction")
        for part in self._wide:
            check_time(time_left)
            found, seconds = part.solve(
                costs[part.blocks], self._last[part.blocks], self._time_limit, time_left
            )
            self._time_limit -= seconds
            labels[part.blocks] = self._last[part.blocks] = found
        return labels


class _Group(NamedTuple):
    """Narrow components of q needed labels, whose tables are filled by one call.

    weights : (p,) of all pairs, inf
    """

    q: int
    tables: Tables
    weights: NDArray[np.float64]

    def solve(self, costs: NDArray[np.float64], labels: NDArray[np.int64]) -> bool:
        """Write labels of the blocks; return False if there are none."""
        mine, candidates, match = costs[self.tables.blocks], None, None
        if self.q < costs.shape[1]:
            cheapest = np.argpartition(mine, self.q - 1, axis=1)[:, : self.q]
            candidates = np.sort(cheapest, axis=1).astype(np.int64)
            mine = np.take_along_axis(mine, candidates, axis=1)
            match = self.tables.matches(candidates)
        chosen = self.tables.minimise(mine, self.weights, match)
        if chosen is None:
            return False
        if candidates is not None:
            chosen = candidates[np.arange(len(chosen)), chosen]
        labels[self.tables.blocks] = chosen
        return True


def _groups(
    narrow: list[Narrow], pairs: NDArray[np.int64], budget: float, time_left: TimeLeft
) -> list[_Group]:
    """Return groups of components with the same number of labels, up to so many entries each."""
    weights = np.full(len(pairs), np.inf)
    groups: list[list[Narrow]] = []
    entries = 0
    for part in sorted(narrow, key=lambda part: part.q):
        if not groups or part.q != groups[-1][0].q or entries + part.entries > budget:
            groups.append([])
            entries = 0
        groups[-1].append(part)
        entries += part.entries
    laid_out = []
    for group in groups:
        check_time(time_left)
        laid_out.append(_Group(group[0].q, lay_out(group, pairs, group[0].q), weights))
    return laid_out


class WideComponent:
    """Component of hard cannot-links that is not narrow.

    It is solved by branch and bound, where that ends soon; else by local search, and by an integer
    programme where there is time for it.

    Parameters
    ----------
    blocks : (b,) its numbers, increasing
    pairs : (p, 2) of these, i < j
    """

    def __init__(self, blocks: NDArray[np.int64], pairs: NDArray[np.int64]) -> None:
        self.blocks = blocks
        self._pairs, self._weights = np.searchsorted(blocks, pairs), np.full(len(pairs), np.inf)
        self._neighbours = adjacency_lists(len(blocks), self._pairs)
        lists = np.split(self._neighbours.block, self._neighbours.starts[1:-1])
        self._cliques = partition_into_cliques([set(others.tolist()) for others in lists])
        self._programme = KeptProgramme()

    def solve(
        self,
        costs: NDArray[np.float64],
        last: NDArray[np.int64],
        time_limit: float,
        time_left: TimeLeft,
    ) -> tuple[NDArray[np.int64], float]:
        """Return labels (b,) that keep the cannot-links, and the seconds of integer programming.

        They are at most as costly as the last ones, (b,), under any renaming of the clusters.
        """
        start = rename_clusters(last, costs)
        labels, is_optimal = cheapest_labels(costs, self._neighbours, self._cliques, start)
        if is_optimal:
            return labels, 0.0
        potts = Potts(costs, None, self._pairs, self._weights)
        labels = self._search(potts, labels, time_left)
        began = perf_counter()
        seconds = PROGRAMME_SHARE * min(time_limit, time_left())
        found = self._programme.minimise(potts, labels, seconds, time_left)
        if found is not None and found.labels is not None:
            labels = found.labels if potts.value(found.labels) <= potts.value(labels) else labels
        return labels, perf_counter() - began

    def exercise_search(self) -> None:
        """Search for labels of some costs, so that all of it is compiled."""
        b = len(self.blocks)
        self._search(Potts(np.eye(b), None, self._pairs, self._weights), np.arange(b), no_limit)

    def _search(
        self, potts: Potts, labels: NDArray[np.int64], time_left: TimeLeft
    ) -> NDArray[np.int64]:
        """Return the better labels of two descents.

        They are from these labels, and from the cheapest of each block with the broken pairs
        mended.
        """
        found = improve(potts, labels, time_left, by_tabu=False)
        near = mend(potts, potts.costs.argmin(axis=1), time_left)
        if near is None:
            return found
        return min(found, improve(potts, near, time_left, by_tabu=False), key=potts.value)
