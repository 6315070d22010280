"""Minimisation of a Potts model, component by component.

Narrow components are solved by dynamic programming. Of the others, labels that another one
dominates are left out. With two labels left for each block, roof duality settles most of them and
proves it; what is left falls apart into smaller components, many of them narrow. Otherwise, and for
what is still not narrow then, a local search finds labels and an integer programme improves them,
where it is of a size that has a chance, until it has proven that there are none cheaper or the time
is over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.components import Component, components, separate_narrow
from heuristics.assignment.descent import improve
from heuristics.assignment.feasible_labels import construct, mend, rename_clusters
from heuristics.assignment.integer_programme import KeptProgramme
from heuristics.assignment.parameters import AssignmentParameters
from heuristics.assignment.potts import Potts
from heuristics.assignment.reduction import reduce_potts, without_dominated
from heuristics.assignment.roof_duality import find_satisfying, roof_dual
from heuristics.assignment.tables import lay_out
from sdpbb.runtime.arrays import Booleans, Integers
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import TimeLeft, at_most, no_limit

# Dynamic programming over all components together may take this many times the budget of one.
BUDGETS = 20


class Structure:
    """Components and tables, which follow from candidates and pairs alone: the same for all costs.

    Parameters
    ----------
    potts : gives candidates and pairs. A pair whose candidates are disjoint is the same for all
        labels, and connects nothing
    parameters : of the assignment step
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

    def __init__(
        self, potts: Potts, parameters: AssignmentParameters, time_left: TimeLeft = no_limit
    ) -> None:
        self._candidates = potts.candidates
        self._linked = np.unique(potts.pairs)
        ends, matter = potts.pairs, _pairs_that_matter(potts)
        parts = (
            (Component(part.blocks, matter[part.pairs]), potts.q)
            for part in components(potts.n, ends[matter])
        )
        budget = parameters.table_budget
        narrow, wide = separate_narrow(parts, ends, budget, BUDGETS * budget, time_left)
        self.narrow_pairs = np.concatenate([np.empty(0, np.intp), *(x.pairs for x in narrow)])
        self._tables = lay_out(narrow, ends, potts.q)
        self._match = None
        if potts.candidates is not None:
            self._match = self._tables.matches(potts.candidates[self._tables.blocks])
        self.wide = [(part, KeptProgramme(parameters.solver, parameters.max_rows)) for part in wide]
        self.is_outside = np.ones(potts.n, dtype=bool)
        for part in wide:
            self.is_outside[part.blocks] = False

    def serves(self, candidates: NDArray[np.int64] | None) -> bool:
        """Return whether the structure is that of these candidates too."""
        if candidates is None or self._candidates is None:
            return candidates is self._candidates
        linked = self._linked
        return np.array_equal(candidates[linked], self._candidates[linked])

    def minimise_narrow(self, potts: Potts, labels: NDArray[np.int64]) -> bool:
        """Write the minimum over the narrow components into labels; False if there is none."""
        blocks = self._tables.blocks
        found = self._tables.minimise(potts.costs[blocks], potts.weights, self._match)
        if found is not None:
            labels[blocks] = found
        return found is not None


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
    time_left: TimeLeft,
    parameters: AssignmentParameters,
    may_reduce: bool = True,
) -> PottsSolution:
    """Minimise a programme, component by component.

    Parameters
    ----------
    structure : of its candidates and pairs
    start : (n,) labels to begin from, which need not keep the hard pairs, or None
    time_left : time left
    may_reduce : whether dominance and roof duality may settle blocks; they did what they can if not
    """
    labels = np.argmin(potts.costs, axis=1)
    least = potts.costs[np.arange(potts.n), labels]
    if not (np.isfinite(least).all() and structure.minimise_narrow(potts, labels)):
        return INFEASIBLE
    bound = _value_of_narrow(potts, structure, labels)
    is_optimal, is_missing = True, False
    sizes = [len(part.pairs) for part, _ in structure.wide]
    for position, (part, programme) in enumerate(structure.wide):
        # Each part may take its share, by size, of what is left.
        share = sizes[position] / sum(sizes[position:])
        solution = _minimise_wide(
            potts.restricted(part.blocks, part.pairs),
            programme,
            None if start is None else start[part.blocks],
            at_most(time_left, share * max(0.0, time_left())),
            parameters,
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
    time_left: TimeLeft,
    parameters: AssignmentParameters,
    may_reduce: bool,
) -> PottsSolution:
    least = np.argmin(potts.costs, axis=1)
    lowest = float(potts.costs.min(axis=1).sum()) - potts.must_link_weight
    if potts.value(least) <= lowest:  # no pair is violated
        return PottsSolution(least, True, False, lowest)
    if may_reduce:
        fewer = without_dominated(potts, time_left)
        if fewer is not None or potts.q == 2 or not np.isfinite(potts.costs).all():
            rest = reduce_potts(fewer or potts, np.full(potts.n, -1))
            if rest is None:
                return INFEASIBLE
            begin = None if start is None else rest.lower(start)
            solve = _with_two_labels if rest.potts.q <= 2 else _by_components
            solution = solve(rest.potts, begin, time_left, parameters)
            labels = None if solution.labels is None else rest.lift(solution.labels)
            return solution._replace(labels=labels, bound=solution.bound + rest.constant)
    return _search(potts, programme, start, lowest, time_left)


def _with_two_labels(
    potts: Potts,
    start: NDArray[np.int64] | None,
    time_left: TimeLeft,
    parameters: AssignmentParameters,
) -> PottsSolution:
    """Minimise a programme in which each block has two allowed labels."""
    if not potts.n:
        return PottsSolution(np.empty(0, np.int64), True, False, 0.0)
    feasible = find_satisfying(potts)
    if feasible is None:
        return INFEASIBLE
    dual = roof_dual(potts, time_left)
    rest = reduce_potts(potts, dual.labels)
    assert rest is not None  # persistent labels keep the hard pairs among them, and extend
    begin = feasible if start is None or potts.value(start) == np.inf else start
    solution = _by_components(rest.potts, rest.lower(begin), time_left, parameters)
    assert solution.labels is not None  # `begin` keeps the hard pairs
    bound = max(dual.bound, solution.bound + rest.constant)
    labels = rest.lift(solution.labels)
    return PottsSolution(labels, solution.is_optimal, False, bound)


def _by_components(
    potts: Potts,
    start: NDArray[np.int64] | None,
    time_left: TimeLeft,
    parameters: AssignmentParameters,
) -> PottsSolution:
    """Minimise a programme that is reduced already, and may have fallen apart."""
    structure = Structure(potts, parameters, time_left)
    return minimise(potts, structure, start, time_left, parameters, may_reduce=False)


def _search(
    potts: Potts,
    programme: KeptProgramme,
    start: NDArray[np.int64] | None,
    lowest: float,
    time_left: TimeLeft,
) -> PottsSolution:
    """Search by local search, then by an integer programme."""
    best = _local(potts, start, time_left)
    value = np.inf if best is None else potts.value(best)
    if value <= lowest:
        return PottsSolution(best, True, False, lowest)
    found = programme.minimise(potts, best, time_left(), time_left)
    if found is None:
        return PottsSolution(best, False, False, lowest)
    bound = max(found.bound, lowest)
    if best is not None and (found.labels is None or potts.value(found.labels) >= value):
        # Up to the tolerances of the solver, its minimum is no lower.
        return PottsSolution(best, found.is_optimal, False, bound)
    return PottsSolution(found.labels, found.is_optimal, found.is_infeasible, bound)


def _local(
    potts: Potts, start: NDArray[np.int64] | None, time_left: TimeLeft
) -> NDArray[np.int64] | None:
    """Return the best labels of several descents.

    They are from `start`, from labels made block by block, and from the cheapest labels with the
    broken hard pairs mended.
    """
    options = []
    if start is not None and potts.value(start) < np.inf:
        options.append(start)
    built = construct(potts, time_left)
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
    return improve(potts, min(found, key=potts.value), time_left)


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
