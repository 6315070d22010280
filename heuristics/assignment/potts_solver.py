"""Minimisation of a Potts model, component by component.

Dynamic programming solves the narrow components. In the others, a local search finds labels. An
integer programme improves them if it is small enough, until the labels are proven optimal or the
time is over.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.descent import improve
from heuristics.assignment.feasible_labels import construct, mend, rename_clusters
from heuristics.assignment.integer_programme import minimise_by_programme, n_rows_of
from heuristics.assignment.potts import AssignmentSolution, Potts
from heuristics.assignment.tables import (
    Component,
    Narrow,
    Tables,
    components,
    lay_out,
    separate_narrow,
)
from heuristics.parameters import ROWS_PER_SECOND, AssignmentParameters
from sdpbb.runtime.time_left import RUN_CLOCK, TimeLeft, at_most, check_time, no_limit

# Entries of dynamic programming over all components together, in units of the budget of one.
BUDGETS = 5

NOTHING, INFEASIBLE = AssignmentSolution(None), AssignmentSolution(None, is_infeasible=True)


class PottsSolver:
    """Solver of assignment steps: it keeps components and tables for as long as they serve.

    Parameters
    ----------
    parameters : limits, and the integer programming solver
    seconds : for integer programmes over all steps together, >= 0
    share : of the remaining seconds, what one programme may take
    is_brief : whether to leave out tabu search, and labels constructed besides a start
    """

    def __init__(
        self,
        parameters: AssignmentParameters,
        seconds: float = math.inf,
        share: float = 1.0,
        is_brief: bool = False,
    ) -> None:
        self._parameters, self._is_brief = parameters, is_brief
        self._seconds, self._share = seconds, share
        self._structure: _Structure | None = None

    def minimise(
        self, potts: Potts, start: NDArray[np.int64] | None, time_left: TimeLeft = no_limit
    ) -> AssignmentSolution:
        """Minimise a programme, of the same pairs each time.

        Parameters
        ----------
        start : (n,) labels to start from, which need not keep the hard pairs, or None
        time_left : time left to the caller

        Raises
        ------
        OutOfTime
            If no time is left before the narrow components are solved.
        BackendFailure
            If the integer programming solver fails.
        """
        if self._structure is None or not self._structure.serves(potts):  # k-means often settles
            self._structure = _Structure(potts, self._parameters.table_budget, time_left)
        structure = self._structure
        labels = np.argmin(potts.costs, axis=1)
        has_label = potts.allowed[np.arange(potts.n), labels].all()
        if not (has_label and structure.minimise_narrow(potts, labels, time_left)):
            return INFEASIBLE
        is_optimal, is_missing = True, False
        sizes = [len(part.pairs) for part in structure.wide]
        time_left = at_most(time_left, self._parameters.time_limit)
        for position, part in enumerate(structure.wide):
            # Each component may take its share, by size, of the remaining time.
            share = sizes[position] / sum(sizes[position:])
            found = self._minimise_wide(
                potts.restricted(part.blocks, part.pairs),
                None if start is None else start[part.blocks],
                at_most(time_left, share * max(0.0, time_left())),
            )
            if found.is_infeasible:
                return INFEASIBLE
            is_optimal &= found.is_optimal
            if found.labels is None:
                is_missing = True
            else:
                labels[part.blocks] = found.labels
        return NOTHING if is_missing else AssignmentSolution(labels, is_optimal)

    def _minimise_wide(
        self, potts: Potts, start: NDArray[np.int64] | None, time_left: TimeLeft
    ) -> AssignmentSolution:
        """Minimise a programme whose graph is connected, by local search and integer programming.

        Labels are no dearer than the start.
        """
        cheapest = np.argmin(potts.costs, axis=1)
        if potts.value(cheapest) <= potts.lowest:  # no pair is violated
            return AssignmentSolution(cheapest, True)
        if start is not None and potts.allowed.all():
            start = rename_clusters(start, potts.costs)
        best = self._local(potts, start, time_left)
        value = np.inf if best is None else potts.value(best)
        if value <= potts.lowest:
            return AssignmentSolution(best, True)
        found = self._by_programme(potts, best, time_left)
        if best is not None and (found.labels is None or potts.value(found.labels) >= value):
            # Up to the tolerances of the solver, its minimum is no lower.
            return AssignmentSolution(best, found.is_optimal)
        return found

    def _by_programme(
        self, potts: Potts, start: NDArray[np.int64] | None, time_left: TimeLeft
    ) -> AssignmentSolution:
        """Solve the integer programme, unless it is too large for the time."""
        seconds = self._share * min(self._seconds, time_left())
        most = self._parameters.max_rows
        if n_rows_of(potts, most) > min(most, ROWS_PER_SECOND * seconds):
            return NOTHING
        began = RUN_CLOCK()
        found = minimise_by_programme(potts, start, seconds, self._parameters.solver, time_left)
        self._seconds -= RUN_CLOCK() - began
        return found

    def _local(
        self, potts: Potts, start: NDArray[np.int64] | None, time_left: TimeLeft
    ) -> NDArray[np.int64] | None:
        """Return the best labels of several descents.

        They are from `start`, from labels made block by block, and from the cheapest labels with
        the broken hard pairs mended.
        """
        options = []
        if start is not None and potts.value(start) < np.inf:
            options.append(start)
        built = None if self._is_brief and options else construct(potts, time_left)
        if built is not None:
            options.append(rename_clusters(built, potts.costs) if potts.allowed.all() else built)
        near = mend(potts, potts.costs.argmin(axis=1), at_most(time_left, 0.5 * time_left()))
        if near is not None:
            options.append(near)
        found = [improve(potts, x, time_left, by_tabu=False) for x in options]
        if not found:
            return None
        best = min(found, key=potts.value)
        return best if self._is_brief else improve(potts, best, time_left)


class _Structure:
    """Components and tables: they follow from allowed labels and pairs, and serve for many costs.

    A block with D pairs, all of them cannot-links, hard or soft, needs only its 1 + D cheapest
    labels: one of these is free, whatever labels the neighbours have. The tables of a component
    have as many labels as its blocks need.

    Raises
    ------
    OutOfTime
        If no time is left on the way.

    Attributes
    ----------
    wide : the components that tables do not solve
    """

    def __init__(self, potts: Potts, budget: float, time_left: TimeLeft) -> None:
        self._linked = np.unique(potts.pairs)
        self._allowed = potts.allowed[self._linked]
        self._is_together = potts.weights < 0
        ends, matter = potts.pairs, _pairs_that_matter(potts)
        degree = np.bincount(ends[matter].reshape(-1), minlength=potts.n)
        n_allowed = potts.allowed.sum(axis=1)

        def needed(part: Component) -> int:
            most = int(n_allowed[part.blocks].max())
            if self._is_together[part.pairs].any():
                return most
            return min(most, 1 + int(degree[part.blocks].max()))

        whole = (
            Component(part.blocks, matter[part.pairs]) for part in components(potts.n, ends[matter])
        )
        parts = ((part, needed(part)) for part in whole)
        narrow, self.wide = separate_narrow(parts, ends, budget, BUDGETS * budget, time_left)
        self._groups = _groups(narrow, ends, budget, time_left)

    def serves(self, potts: Potts) -> bool:
        """Return whether the structure is that of another programme of the same pairs, too."""
        is_same = np.array_equal(potts.weights < 0, self._is_together)
        return is_same and np.array_equal(potts.allowed[self._linked], self._allowed)

    def minimise_narrow(self, potts: Potts, labels: NDArray[np.int64], time_left: TimeLeft) -> bool:
        """Write the minimum over the narrow components into labels; False if there is none.

        Raises
        ------
        OutOfTime
            If no time is left on the way.
        """
        for group in self._groups:
            check_time(time_left)
            if not group.minimise(potts, labels):
                return False
        return True


class _Group(NamedTuple):
    """Narrow components whose blocks need q labels: one call fills their tables."""

    q: int
    tables: Tables

    def minimise(self, potts: Potts, labels: NDArray[np.int64]) -> bool:
        """Write the cheapest labels of the blocks; return False if there are none."""
        blocks, kept, match = self.tables.blocks, None, None
        costs = potts.costs[blocks]
        if self.q < potts.k:
            cheapest = np.argpartition(costs, self.q - 1, axis=1)[:, : self.q]
            kept = np.sort(cheapest, axis=1).astype(np.int64)
            costs = np.take_along_axis(costs, kept, axis=1)
            match = self.tables.matches(kept)
        found = self.tables.minimise(costs, potts.weights, match)
        if found is None:
            return False
        labels[blocks] = found if kept is None else kept[np.arange(len(blocks)), found]
        return True


def _groups(
    narrow: list[Narrow], ends: NDArray[np.intp], budget: float, time_left: TimeLeft
) -> list[_Group]:
    """Return components of the same number of labels together, up to the budget of entries."""
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
        laid_out.append(_Group(group[0].q, lay_out(group, ends, group[0].q)))
    return laid_out


def _pairs_that_matter(potts: Potts) -> NDArray[np.intp]:
    """Return the numbers of the pairs whose blocks may have a label in common."""
    if potts.allowed.all():
        return np.arange(len(potts.pairs))
    bits = np.packbits(potts.allowed, axis=1)
    i, j = potts.pairs.T
    return np.flatnonzero((bits[i] & bits[j]).any(axis=1))
