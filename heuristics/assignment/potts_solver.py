"""Minimisation of a Potts model, component by component.

Dynamic programming solves the narrow components. In the others, a local search finds labels. If an
integer programme is small enough, it improves them until they are proven optimal or the time is
over:

    minimise    sum_{i, a} costs_ia x_ia + sum_{w_p > 0} w_p y_p + sum_{w_p < 0, a} |w_p| z_pa
    subject to  sum_a x_ia = 1               for every block i,
                sum_{i in Q} x_ia <= 1       for cliques Q of hard pairs,
                x_ia + x_ja - y_p <= 1       for every soft cannot-link p = ij,
                x_ia - x_ja - z_pa <= 0      for every soft must-link p = ij,

for all allowed labels a. This is the programme (MBLP) of PCCC, section 4.2, with two differences.
Hard pairs have rows of cliques (`sdpbb.problem.programme`). A soft must-link has a variable for
each label, where (MBLP) has one for all: the relaxation is at least as tight, and a solution pays
for at most one of them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.potts import AssignmentSolution, Potts
from heuristics.assignment.search import construct, improve, mend
from heuristics.assignment.tables import Bucket, Tables, components, eliminate
from sdpbb.problem.programme import assignment_rows, with_soft_pairs
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.backends.milp import solve_binary_programme
from sdpbb.runtime.backends.programme import MilpStatus
from sdpbb.runtime.time_left import RUN_CLOCK, TimeLeft, at_most, check_time, no_limit

# Maximum steps of dynamic programming for one component: 55 ms, as long as HiGHS needs for an easy
# component of that density. And for all components together, as a multiple.
TABLE_BUDGET, BUDGETS = 1_000_000, 5
# Maximum rows of an integer programme. For larger ones HiGHS finds nothing better than the local
# search, and does not check the clock in presolve: half a second for this number.
MAX_ROWS = 10_000
# Rows presolved in about a second: programmes too large for the time left are not solved.
ROWS_PER_SECOND = 20_000

NOTHING, INFEASIBLE = AssignmentSolution(None), AssignmentSolution(None, is_infeasible=True)


class PottsSolver:
    """Solver of assignment steps: it reuses components and tables as long as they apply.

    Parameters
    ----------
    step_limit : seconds of one step by a search or an integer programme
    seconds : for integer programmes over all steps together, >= 0
    share : of the remaining seconds, for one programme
    is_brief : whether to omit tabu search, and constructed labels if there is a start
    """

    def __init__(
        self,
        step_limit: float = math.inf,
        seconds: float = math.inf,
        share: float = 1.0,
        is_brief: bool = False,
    ) -> None:
        self._step_limit, self._seconds = step_limit, seconds
        self._share, self._is_brief = share, is_brief
        self._structure: _Structure | None = None

    def minimise(
        self, potts: Potts, start: NDArray[np.int64] | None, time_left: TimeLeft = no_limit
    ) -> AssignmentSolution:
        """Minimise a model, with the same pairs each time.

        Parameters
        ----------
        start : (n,) labels to start from, which may violate hard pairs, or None
        time_left : time left to the caller

        Raises
        ------
        OutOfTime
            If the time is over before the narrow components are solved.
        BackendFailure
            If the integer programming solver fails.
        """
        structure = self._structure
        if structure is None or not structure.applies_to(potts):  # k-means often settles
            structure = self._structure = _Structure(potts, time_left)
        labels = np.argmin(potts.costs, axis=1)
        has_label = potts.allowed[np.arange(potts.n), labels].all()
        narrow = structure.narrow
        if not (has_label and narrow.minimise(potts.costs, potts.weights, labels, time_left)):
            return INFEASIBLE
        is_optimal, is_missing = True, False
        sizes = [len(pairs) for _, pairs in structure.wide]
        time_left = at_most(time_left, self._step_limit)
        for position, (blocks, pairs) in enumerate(structure.wide):
            # Each component may take its share, by size, of the remaining time.
            share = sizes[position] / sum(sizes[position:])
            found = self._minimise_wide(
                potts.restricted(blocks, pairs),
                None if start is None else start[blocks],
                at_most(time_left, share * max(0.0, time_left())),
            )
            if found.is_infeasible:
                return INFEASIBLE
            is_optimal &= found.is_optimal
            if found.labels is None:
                is_missing = True
            else:
                labels[blocks] = found.labels
        return NOTHING if is_missing else AssignmentSolution(labels, is_optimal)

    def _minimise_wide(
        self, potts: Potts, start: NDArray[np.int64] | None, time_left: TimeLeft
    ) -> AssignmentSolution:
        """Minimise a model whose graph is connected, by local search and integer programming.

        Labels cost at most as much as the start.
        """
        cheapest = np.argmin(potts.costs, axis=1)
        if potts.value(cheapest) <= potts.lowest:  # no pair is violated
            return AssignmentSolution(cheapest, True)
        best = self._local(potts, start, time_left)
        value = np.inf if best is None else potts.value(best)
        if value <= potts.lowest:
            return AssignmentSolution(best, True)
        found = self._by_programme(potts, best, time_left)
        if best is not None and (found.labels is None or potts.value(found.labels) >= value):
            # Up to the tolerances of the solver, its minimum is not lower.
            return AssignmentSolution(best, found.is_optimal)
        return found

    def _by_programme(
        self, potts: Potts, start: NDArray[np.int64] | None, time_left: TimeLeft
    ) -> AssignmentSolution:
        """Solve the integer programme, unless it is too large for the time."""
        seconds = self._share * min(self._seconds, time_left())
        if n_rows_of(potts, MAX_ROWS) > min(MAX_ROWS, ROWS_PER_SECOND * seconds):
            return NOTHING
        began = RUN_CLOCK()
        found = minimise_by_programme(potts, start, seconds, time_left)
        self._seconds -= RUN_CLOCK() - began
        return found

    def _local(
        self, potts: Potts, start: NDArray[np.int64] | None, time_left: TimeLeft
    ) -> NDArray[np.int64] | None:
        """Return the best labels of several descents.

        They start from `start`, from labels constructed block by block, and from the cheapest
        labels after mending violated hard pairs.
        """
        options = []
        if start is not None and potts.value(start) < np.inf:
            options.append(start)
        built = None if self._is_brief and options else construct(potts, time_left)
        if built is not None:
            options.append(built)
        near = mend(potts, potts.costs.argmin(axis=1), at_most(time_left, 0.5 * time_left()))
        if near is not None:
            options.append(near)
        found = [improve(potts, x, time_left, by_tabu=False) for x in options]
        if not found:
            return None
        best = min(found, key=potts.value)
        return best if self._is_brief else improve(potts, best, time_left)


class _Structure:
    """Components and tables: they depend on allowed labels and pairs, and apply to many costs.

    A block with D pairs, all of them cannot-links, hard or soft, needs only its 1 + D cheapest
    labels: its neighbours leave one of these free.

    Raises
    ------
    OutOfTime
        If the time is over before the end.

    Attributes
    ----------
    narrow : the tables of components
    wide : blocks and pairs of the other components
    """

    def __init__(self, potts: Potts, time_left: TimeLeft) -> None:
        self._linked = np.unique(potts.pairs)
        self._allowed = potts.allowed[self._linked]
        self._is_together = potts.weights < 0
        ends, matter = potts.pairs, _pairs_that_matter(potts)
        needed = potts.allowed.sum(axis=1)
        degree = 1 + np.bincount(ends[matter].reshape(-1), minlength=potts.n)
        degree[ends[matter[self._is_together[matter]]]] = potts.k
        needed = np.minimum(needed, degree)
        self.wide: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
        total, buckets, numbers = (
            BUDGETS * TABLE_BUDGET,
            list[Bucket](),
            dict[tuple[int, int], int](),
        )
        for blocks, within in components(potts.n, ends[matter]):
            if buckets or self.wide:
                check_time(time_left)
            pairs = matter[within]
            found = eliminate(ends[pairs], needed, min(TABLE_BUDGET, total))
            if found is None:
                self.wide.append((blocks, pairs))
                continue
            buckets += found[0]
            total -= found[1]
            numbers |= zip(map(tuple, ends[pairs].tolist()), pairs.tolist(), strict=True)
        self.narrow = Tables.of(buckets, numbers, needed)

    def applies_to(self, potts: Potts) -> bool:
        """Return whether the structure applies to another model of the same pairs."""
        is_same = np.array_equal(potts.weights < 0, self._is_together)
        return is_same and np.array_equal(potts.allowed[self._linked], self._allowed)


def _pairs_that_matter(potts: Potts) -> NDArray[np.intp]:
    """Return the numbers of the pairs whose blocks may have a label in common."""
    if potts.allowed.all():
        return np.arange(len(potts.pairs))
    bits = np.packbits(potts.allowed, axis=1)
    i, j = potts.pairs.T
    return np.flatnonzero((bits[i] & bits[j]).any(axis=1))


def n_rows_of(potts: Potts, most: int) -> int:
    """Return the number of rows of the programme; if it exceeds `most`, any larger number."""
    if len(potts.pairs) > most:  # each pair has a row
        return len(potts.pairs)
    i, j = potts.pairs.T
    first, both = potts.allowed[i], potts.allowed[i] & potts.allowed[j]
    return potts.n + int(np.where((potts.weights < 0)[:, None], first, both).sum())


def minimise_by_programme(
    potts: Potts,
    start: NDArray[np.int64] | None,
    seconds: float,
    time_left: TimeLeft = no_limit,
) -> AssignmentSolution:
    """Minimise a Potts model by an integer programming solver.

    It ends after at most this number of seconds, without labels if none were found.

    Parameters
    ----------
    potts : each block has an allowed label
    start : labels (n,) to start from, allowed, or None

    Raises
    ------
    BackendFailure
        If the solver fails.
    """
    k, weights, (i, j) = potts.k, potts.weights, potts.pairs.T
    is_apart, is_together = (weights > 0) & (weights < np.inf), weights < 0
    apart, together = np.flatnonzero(is_apart), np.flatnonzero(is_together)
    is_soft = is_apart | is_together
    # Costs above the cheapest label of each block: differences get more digits.
    above = np.where(potts.allowed, potts.costs - potts.costs.min(axis=1, keepdims=True), 0.0)
    hard = potts.pairs[np.isinf(weights)]
    programme = replace(assignment_rows(potts.n, k, hard), objective=above.reshape(-1))
    soft = SoftBlocks(potts.pairs[is_soft], weights[is_soft])
    programme = with_soft_pairs(programme, k, soft)
    is_there = np.ones(programme.n_variables, np.bool_)
    is_there[: above.size] = potts.allowed.reshape(-1)
    programme = replace(
        programme,
        objective=programme.objective[is_there],
        matrix=programme.matrix[:, np.flatnonzero(is_there)],
    )
    warm = None
    if start is not None:
        is_own = start[:, None] == np.arange(k)
        same = start[i] == start[j]
        is_paid = is_own[i[together]] & ~same[together, None]
        warm = np.concatenate([is_own.reshape(-1), same[apart], is_paid.reshape(-1)])
        warm = warm[is_there].astype(np.float64)
    solution = solve_binary_programme(programme, at_most(time_left, seconds), warm)
    if solution.x is None:
        return AssignmentSolution(None, is_infeasible=solution.status is MilpStatus.INFEASIBLE)
    chosen = np.zeros(above.shape)
    chosen[potts.allowed] = solution.x[: potts.allowed.sum()]
    return AssignmentSolution(np.argmax(chosen, axis=1), solution.status is MilpStatus.OPTIMAL)
