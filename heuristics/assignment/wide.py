"""Components too wide for dynamic programming.

Labels that another one dominates are left out. With two labels left for each block, roof duality
settles most of them and proves it; what is left falls apart into smaller components, many of them
narrow. Otherwise, and for what is still wide then, a local search finds labels and an integer
programme improves them, where it is of a size that has a chance, until it has proven that there are
none cheaper or the time is over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.building import construct, mend
from heuristics.assignment.components import Structure, WidePottsComponent
from heuristics.assignment.improving import improve
from heuristics.assignment.parameters import ROWS_PER_SECOND, AssignmentParameters
from heuristics.assignment.potts import Potts
from heuristics.assignment.programme import AssignmentProgramme, size_of
from heuristics.assignment.reduction import reduce_potts, rename_clusters, without_dominated
from heuristics.assignment.roof_duality import find_satisfying, roof_dual
from sdpbb.time_left import TimeLeft, at_most


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
    sizes = [len(part.pairs) for part in structure.wide]
    for position, part in enumerate(structure.wide):
        # Each part may take its share, by size, of what is left.
        share = sizes[position] / sum(sizes[position:])
        solution = _minimise_wide(
            potts.restricted(part.blocks, part.pairs),
            part,
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
    part: WidePottsComponent,
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
    return _search(potts, part, start, lowest, time_left, parameters)


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
    structure = Structure(potts, parameters.table_budget, time_left)
    return minimise(potts, structure, start, time_left, parameters, may_reduce=False)


def _search(
    potts: Potts,
    part: WidePottsComponent,
    start: NDArray[np.int64] | None,
    lowest: float,
    time_left: TimeLeft,
    parameters: AssignmentParameters,
) -> PottsSolution:
    """Search by local search, then by an integer programme."""
    best = _local(potts, start, time_left)
    value = np.inf if best is None else potts.value(best)
    size, seconds = size_of(potts), time_left()
    if value <= lowest or size > min(parameters.max_rows, ROWS_PER_SECOND * seconds):
        return PottsSolution(best, value <= lowest, False, lowest)
    if part.programme is None or not part.programme.serves(potts.weights):
        part.programme = AssignmentProgramme(potts, parameters.solver)
    seconds = time_left()
    if seconds <= 0:
        return PottsSolution(best, False, False, lowest)
    found = part.programme.minimise(potts.costs, potts.weights, best, seconds, time_left)
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
    costs = potts.costs[np.arange(potts.n), labels][~structure.in_wide]
    return float(costs.sum() + potts.weights[structure.narrow_pairs][same].sum())
