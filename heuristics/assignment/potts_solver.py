"""Minimisation of a Potts model, component by component.

Dynamic programming solves the narrow components. In the others, labels that another label dominates
are left out first. That settles blocks, and what remains falls apart into smaller components, many
of them narrow. For a component that is still wide, a local search finds labels. An integer
programme improves them if it is small enough, until the labels are proven optimal or the time is
over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.components import Component, Narrow, components, separate_narrow
from heuristics.assignment.descent import improve
from heuristics.assignment.feasible_labels import construct, mend, rename_clusters
from heuristics.assignment.integer_programme import KeptProgramme, ProgrammeTime
from heuristics.assignment.parameters import AssignmentParameters
from heuristics.assignment.potts import Potts
from heuristics.assignment.reduction import reduce_potts, without_dominated
from heuristics.assignment.tables import Tables, lay_out
from sdpbb.runtime.arrays import Booleans, Integers
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, at_most, check_time, no_limit

# Entries of dynamic programming over all components together, in units of the budget of one.
BUDGETS = 5


class StepLimits(NamedTuple):
    """Limits of assignment steps: parameters, and the time for integer programmes.

    is_brief : whether to leave out the bound, tabu search, and labels constructed besides a start
    """

    parameters: AssignmentParameters
    programmes: ProgrammeTime
    is_brief: bool = False


class Structure:
    """Components and tables: they follow from candidates and pairs, and serve for many costs.

    A block with D pairs, all of them cannot-links, hard or soft, needs only its 1 + D cheapest
    labels: one of these is free, whatever labels the neighbours have. The tables of a component
    have as many labels as its blocks need.

    Parameters
    ----------
    potts : gives candidates and pairs. A pair whose candidates are disjoint is the same for all
        labels, and connects nothing
    limits : of the assignment step
    time_left : time left

    Raises
    ------
    OutOfTime
        If no time is left on the way.

    Attributes
    ----------
    narrow_pairs : numbers of the pairs within the components that are solved by tables
    wide : the other components, each with its programme
    is_outside : (n,) whether a block is in none of these
    """

    def __init__(self, potts: Potts, limits: StepLimits, time_left: TimeLeft = no_limit) -> None:
        self._candidates = potts.candidates
        self._linked = np.unique(potts.pairs)
        self._is_together = potts.weights < 0
        ends, matter = potts.pairs, _pairs_that_matter(potts)
        degree = np.bincount(ends[matter].reshape(-1), minlength=potts.n)

        def needed(part: Component) -> int:
            if self._is_together[part.pairs].any():
                return potts.q
            return min(potts.q, 1 + int(degree[part.blocks].max()))

        whole = (
            Component(part.blocks, matter[part.pairs]) for part in components(potts.n, ends[matter])
        )
        parts = ((part, needed(part)) for part in whole)
        parameters = limits.parameters
        budget = parameters.table_budget
        narrow, wide = separate_narrow(parts, ends, budget, BUDGETS * budget, time_left)
        self.narrow_pairs = np.concatenate([np.empty(0, np.intp), *(x.pairs for x in narrow)])
        self._groups = _groups(narrow, ends, budget, time_left)
        self.wide = [
            (part, KeptProgramme(limits.programmes, parameters.solver, parameters.max_rows))
            for part in wide
        ]
        self.is_outside = np.ones(potts.n, dtype=bool)
        for part in wide:
            self.is_outside[part.blocks] = False

    def serves(self, potts: Potts) -> bool:
        """Return whether the structure is that of another programme of the same graph, too."""
        if not np.array_equal(potts.weights < 0, self._is_together):
            return False
        candidates, linked = potts.candidates, self._linked
        if candidates is None or self._candidates is None:
            return candidates is self._candidates
        return np.array_equal(candidates[linked], self._candidates[linked])

    def minimise_narrow(
        self, potts: Potts, labels: NDArray[np.int64], time_left: TimeLeft = no_limit
    ) -> bool:
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
        blocks, kept = self.tables.blocks, None
        costs = potts.costs[blocks]
        candidates = None if potts.candidates is None else potts.candidates[blocks]
        if self.q < potts.q:
            cheapest = np.argpartition(costs, self.q - 1, axis=1)[:, : self.q]
            kept = np.sort(cheapest, axis=1).astype(np.int64)
            costs = np.take_along_axis(costs, kept, axis=1)
            candidates = kept if candidates is None else np.take_along_axis(candidates, kept, 1)
        match = None if candidates is None else self.tables.matches(candidates)
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


class PottsSolution(NamedTuple):
    """Solution of a Potts model.

    labels : (n,) that keep the hard pairs, or None
    is_optimal, is_infeasible : what is proven
    bound : on the objective of `Potts`
    """

    labels: NDArray[np.int64] | None
    is_optimal: bool
    is_infeasible: bool
    bound: float


INFEASIBLE = PottsSolution(None, False, True, np.inf)


def minimise(
    potts: Potts,
    structure: Structure,
    start: NDArray[np.int64] | None,
    limits: StepLimits,
    time_left: TimeLeft,
    may_reduce: bool = True,
) -> PottsSolution:
    """Minimise a programme, component by component.

    Parameters
    ----------
    structure : of its candidates and pairs
    start : (n,) labels to start from, which need not keep the hard pairs, or None
    limits : of the step
    time_left : time left to the caller
    may_reduce : whether to leave dominated labels out; False if that is done

    Raises
    ------
    OutOfTime
        If no time is left before the narrow components are solved.
    """
    labels = np.argmin(potts.costs, axis=1)
    least = potts.costs[np.arange(potts.n), labels]
    if not (np.isfinite(least).all() and structure.minimise_narrow(potts, labels, time_left)):
        return INFEASIBLE
    bound = -np.inf if limits.is_brief else _value_of_narrow(potts, structure, labels)
    is_optimal, is_missing = True, False
    sizes = [len(part.pairs) for part, _ in structure.wide]
    time_left = at_most(time_left, limits.parameters.time_limit)
    for position, (part, programme) in enumerate(structure.wide):
        # Each component may take its share, by size, of the remaining time.
        share = sizes[position] / sum(sizes[position:])
        solution = _minimise_wide(
            potts.restricted(part.blocks, part.pairs),
            programme,
            None if start is None else start[part.blocks],
            limits,
            at_most(time_left, share * max(0.0, time_left())),
            may_reduce,
        )
        if solution.is_infeasible:
            return INFEASIBLE
        bound += solution.bound
        is_optimal &= solution.is_optimal
        if solution.labels is None:
            is_missing = True
        else:
            labels[part.blocks] = solution.labels
    return PottsSolution(
        None if is_missing else labels, is_optimal and not is_missing, False, bound
    )


def _minimise_wide(
    potts: Potts,
    programme: KeptProgramme,
    start: NDArray[np.int64] | None,
    limits: StepLimits,
    time_left: TimeLeft,
    may_reduce: bool,
) -> PottsSolution:
    """Minimise a programme whose graph is connected; labels are no dearer than the start."""
    least = np.argmin(potts.costs, axis=1)
    lowest = float(potts.costs.min(axis=1).sum()) - potts.must_link_weight
    if potts.value(least) <= lowest:  # no pair is violated
        return PottsSolution(least, True, False, lowest)
    if start is not None and potts.candidates is None:
        start = rename_clusters(start, potts.costs)
    fewer = without_dominated(potts, time_left) if may_reduce else None
    if fewer is None and (not may_reduce or np.isfinite(potts.costs).all()):
        return _search(potts, programme, start, lowest, limits.is_brief, time_left)
    rest = reduce_potts(fewer or potts)
    if rest is None:
        return INFEASIBLE
    solution = _minimise_rest(
        rest.potts, None if start is None else rest.lower(start), limits, time_left
    )
    labels = None if solution.labels is None else rest.lift(solution.labels)
    value = np.inf if labels is None else potts.value(labels)
    if start is not None and potts.value(start) < value:  # it has labels that are left out
        labels = start
    bound = max(lowest, solution.bound + rest.constant)
    return solution._replace(labels=labels, bound=bound)


def _minimise_rest(
    potts: Potts, start: NDArray[np.int64] | None, limits: StepLimits, time_left: TimeLeft
) -> PottsSolution:
    """Minimise a programme without dominated labels, which may have fallen apart."""
    try:
        return minimise(
            potts, Structure(potts, limits, time_left), start, limits, time_left, may_reduce=False
        )
    except OutOfTime:
        return PottsSolution(None, False, False, -np.inf)


def _search(
    potts: Potts,
    programme: KeptProgramme,
    start: NDArray[np.int64] | None,
    lowest: float,
    is_brief: bool,
    time_left: TimeLeft,
) -> PottsSolution:
    """Search by local search, then by an integer programme."""
    best = _local(potts, start, is_brief, time_left)
    value = np.inf if best is None else potts.value(best)
    if value <= lowest:
        return PottsSolution(best, True, False, lowest)
    found = programme.minimise(potts, best, time_left)
    if found is None:
        return PottsSolution(best, False, False, lowest)
    bound = max(found.bound, lowest)
    if best is not None and (found.labels is None or potts.value(found.labels) >= value):
        # Up to the tolerances of the solver, its minimum is no lower.
        return PottsSolution(best, found.is_optimal, False, bound)
    return PottsSolution(found.labels, found.is_optimal, found.is_infeasible, bound)


def _local(
    potts: Potts, start: NDArray[np.int64] | None, is_brief: bool, time_left: TimeLeft
) -> NDArray[np.int64] | None:
    """Return the best labels of several descents.

    They are from `start`, from labels made block by block, and from the cheapest labels with the
    broken hard pairs mended.
    """
    options = []
    if start is not None and potts.value(start) < np.inf:
        options.append(start)
    built = None if is_brief and options else construct(potts, time_left)
    if built is not None:
        if potts.candidates is None:
            built = rename_clusters(built, potts.costs)
        options.append(built)
    near = mend(potts, potts.costs.argmin(axis=1), at_most(time_left, 0.5 * time_left()))
    if near is not None:
        options.append(near)
    found = [improve(potts, x, time_left, by_tabu=False) for x in options]
    if not found:
        return None
    best = min(found, key=potts.value)
    return best if is_brief else improve(potts, best, time_left)


def _value_of_narrow(potts: Potts, structure: Structure, labels: NDArray[np.int64]) -> float:
    """Return the objective of the blocks outside of wide components."""
    clusters = potts.clusters(labels)
    i, j = potts.pairs[structure.narrow_pairs].T
    same = clusters[i] == clusters[j]
    costs = potts.costs[np.arange(potts.n), labels][structure.is_outside]
    return float(costs.sum() + potts.weights[structure.narrow_pairs][same].sum())


def _pairs_that_matter(potts: Potts) -> NDArray[np.intp]:
    """Return the numbers of the pairs whose blocks have a candidate in common."""
    if potts.candidates is None:
        return np.arange(len(potts.pairs))
    return np.flatnonzero(_share(potts.candidates, potts.pairs))


@njit(cache=True, nogil=True)
def _share(candidates: Integers, pairs: Integers) -> Booleans:
    """Return whether the two blocks of a pair share a candidate, (p,); negative ones are none."""
    shared = np.zeros(len(pairs), np.bool_)
    q = candidates.shape[1]
    for p in range(len(pairs)):
        i, j = pairs[p]
        for a in range(q):
            for b in range(q):
                if candidates[i, a] == candidates[j, b] and candidates[i, a] >= 0:
                    shared[p] = True
    return shared
