"""Packings: greedy ones, and by a binary programme or in whole units also proofs of absence."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.problem.contraction import Contraction
from sdpbb.problem.packing.in_units import ClusterPacking, UndecidedPacking
from sdpbb.problem.packing.rows import (
    FEW_UNITS,
    assignment_rows,
    clique_cover,
    quantity_rows,
    size_bounds,
    size_rows,
    with_fixed,
    with_soft_pairs,
)
from sdpbb.problem.quantities import Quantity
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.backends.milp import solve_binary_programme
from sdpbb.runtime.backends.programme import ROW_TOLERANCE, BinaryProgramme, MilpStatus, unit
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, no_limit, with_stop

# Blocks times clusters that an integer programme is solved for under a time limit: HiGHS looks at
# no clock while it presolves.
MOST_VARIABLES = 300_000
# Part of the largest cluster by which rows of more units are wider, and narrower: ten times that.
MARGIN = 1e-5
# Values of a vertex so near to 0 and 1 are these.
INTEGRAL = 1e-6


class Packing(NamedTuple):
    """Outcome of an integer programme; what is proven is so by a solver in floating point.

    labels : (m,), or None
    is_impossible : whether it is proven that no labels are within the limits
    is_cheapest : whether it is proven that the labels are within them, and none there cost less
    """

    labels: NDArray[np.intp] | None
    is_impossible: bool = False
    is_cheapest: bool = False


def packed_exactly(
    contraction: Contraction,
    objective: NDArray[np.float64] | None = None,
    time_limit: float | None = None,
    stop: Callable[[], bool] | None = None,
    soft: SoftBlocks | None = None,
) -> Packing:
    """Return labels (m,) within the limits that keep the cannot-links, and what is proven.

    By an integer programme.

    Parameters
    ----------
    objective : (m, k) the cost of each block in each cluster, or None. Without one, blocks of a
        greedy clique have fixed clusters where all of these are alike
    time_limit : seconds, > 0, or None; with one, no programme of more than MOST_VARIABLES is begun
    soft : pairs whose weights count, if they are violated, besides an objective; its constant is
        left out

    With an objective the linear relaxation is solved first, in a tenth of the time: its vertex is
    often one of zeros and ones, as clusters of single points without cannot-links are a flow.

    Where units of weight are so small that its tolerances are more than one of them, a search in
    whole units is tried before, if there is no objective (`packed_in_units`); and the programme
    allows clusters a little beyond the limits, so that it still proves infeasibility. One
    that allows a little less is solved next where its labels are not within the limits themselves.
    Where that has no solution, it is not known whether there are any, and the labels are those a
    little beyond.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    m, k = contraction.n_blocks, contraction.k
    assert contraction.packed_quantities
    if time_limit is not None and m * k > MOST_VARIABLES:
        return Packing(None)
    costs = None if objective is None else objective.reshape(-1)
    ended = time.perf_counter() + (math.inf if time_limit is None else time_limit)
    beyond = None
    many = any(quantity.limits.n > FEW_UNITS for quantity in contraction.packed_quantities)
    if many and costs is None:
        time_left = with_stop(lambda: ended - time.perf_counter(), stop)
        with suppress(UndecidedPacking, OutOfTime):
            found = packed_in_units(contraction, time_left)
            return Packing(found, found is None)

    def seconds_left() -> float | None:
        return None if time_limit is None else max(0.01, ended - time.perf_counter())

    for slack in (MARGIN, -MARGIN) if many else (0.0,):
        is_proof = slack >= 0.0
        programme = _programme(contraction, costs, slack)
        if costs is not None:
            programme = programme if soft is None else with_soft_pairs(programme, k, soft)
            labels = _packed_by_relaxation(contraction, programme, stop, seconds_left())
            if labels is not None:
                return Packing(labels, is_cheapest=is_proof)
        solution = solve_binary_programme(programme, "auto", stop, seconds_left())
        if solution.x is None:
            return Packing(beyond, is_proof and solution.status is MilpStatus.INFEASIBLE)
        labels = _labels(contraction, solution.x)
        if contraction.keeps_sizes(labels):
            is_cheapest = is_proof and solution.status is MilpStatus.OPTIMAL
            return Packing(labels, is_cheapest=is_cheapest)
        beyond = labels
    return Packing(beyond)


def _labels(contraction: Contraction, x: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the labels (m,) that a vertex of the programme stands for."""
    m, k = contraction.n_blocks, contraction.k
    labels: NDArray[np.intp] = x[: m * k].reshape(m, k).argmax(axis=1)
    return labels


def packed_in_units(
    contraction: Contraction, time_left: TimeLeft = no_limit
) -> NDArray[np.intp] | None:
    """Return labels (m,) that satisfy limits and cannot-links; None if no labels do.

    By a search in whole numbers.

    Raises
    ------
    UndecidedPacking
        If that is not decided within the work of the search: about a second.
    OutOfTime
        If the time is over before.
    """
    m, k = contraction.n_blocks, contraction.k
    measures = [(each.linear, each.limits) for each in contraction.packed_quantities]
    if not any(each.is_in_all for each in contraction.packed_quantities):
        measures.append((np.ones(m, np.int64), SizeLimits(m, k, 1, m)))  # all blocks are packed
    at_step = partial(check_time, time_left)
    return ClusterPacking(measures, contraction.adjacency, at_step=at_step).labels()


def _packed_by_relaxation(
    contraction: Contraction,
    programme: BinaryProgramme,
    stop: Callable[[], bool] | None,
    time_limit: float | None,
) -> NDArray[np.intp] | None:
    """Return the labels (m,) of an optimum of the linear relaxation that is one of the programme.

    None where its vertex is fractional, or time is over.
    """
    from sdpbb.runtime.backends.highs import LinearModel  # HiGHS, which most runs do without

    objective = programme.objective / unit(programme.objective)
    solution = LinearModel(programme).minimise(objective, time_limit, stop)
    if solution.x is None:
        return None
    x = np.round(solution.x)
    if np.abs(solution.x - x).max() > INTEGRAL or not programme.satisfied_by(x):
        return None
    labels = _labels(contraction, x)
    return labels if contraction.keeps_sizes(labels) else None


def _programme(
    contraction: Contraction, costs: NDArray[np.float64] | None, slack: float
) -> BinaryProgramme:
    """Return the programme of packings.

    slack : part of a limit on many units that clusters may be beyond it
    """
    sizes = [quantity_rows(quantity, slack) for quantity in contraction.packed_quantities]
    if all(quantity.limits.n > FEW_UNITS for quantity in contraction.packed_quantities):
        # Without blocks a cluster lacks a unit, or a few, which rows in parts do not tell from 0.
        m, k = contraction.n_blocks, contraction.k
        blocks, one = np.ones(m, np.intp), np.ones(k, np.intp)
        sizes.append(size_rows(blocks, one, m * one))
    rows = assignment_rows(contraction, sizes)
    alike = all(quantity.limits.listed is None for quantity in contraction.packed_quantities)
    if costs is None and alike:
        rows = with_fixed(rows, _some_clique(contraction), contraction.k)
    return BinaryProgramme(
        rows.objective if costs is None else costs,
        rows.matrix,
        rows.lower,
        rows.upper,
        row_tolerance=MARGIN / 10.0 if slack else ROW_TOLERANCE,
    )


def _some_clique(contraction: Contraction) -> list[int]:
    """Return a clique of cannot-linked blocks, or the largest block alone."""
    cover = clique_cover(contraction.n_blocks, contraction.cannot_link)
    # One of more than k blocks is for the programme to refuse.
    fitting = [clique for clique in cover if len(clique) <= contraction.k]
    return max(fitting, key=len, default=[int(contraction.counts.argmax())])


def packed_greedily(
    contraction: Contraction, labels: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return labels (m,) within the limits, or None where greedy choices find none.

    By each limited quantity, points or weight, in turn.

    labels : a colouring (m,) of the blocks; None where there are no cannot-links
    """
    for quantity in contraction.packed_quantities:
        found = _packed_by(quantity, contraction, labels)
        if found is not None:
            return found
    return None


def _packed_by(
    quantity: Quantity, contraction: Contraction, labels: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return labels (m,) within the limits, or None where a greedy choice finds none.

    Blocks that are cannot-linked keep together as labels (m,), a colouring, have them; the others
    go where most room remains, the largest first.
    """
    limits, counts, k = quantity.limits, quantity.linear, contraction.k
    least, most = size_bounds(limits)
    sizes = np.zeros(k, np.intp)
    found = np.full(contraction.n_blocks, -1, np.intp)
    linked = np.unique(contraction.cannot_link)
    if len(linked):
        assert labels is not None
        of_colours = np.bincount(labels[linked], counts[linked], k).astype(np.intp)
        # The largest colour goes where most room is.
        cluster_of = np.empty(k, np.intp)
        cluster_of[np.argsort(-of_colours, kind="stable")] = np.argsort(-most, kind="stable")
        found[linked] = cluster_of[labels[linked]]
        sizes[cluster_of] = of_colours
    free = np.flatnonzero(found < 0)
    free = free[np.argsort(-counts[free], kind="stable")]
    for position, block in enumerate(free.tolist()):
        if counts[block] == 1:  # the rest is of single points
            _fill(free[position:], found, sizes, least, most)
            break
        cluster = int(np.argmax(most - sizes))
        found[block] = cluster
        sizes[cluster] += counts[block]
    return found if (found >= 0).all() and contraction.keeps_sizes(found) else None


def _fill(
    points: NDArray[np.intp],
    found: NDArray[np.intp],
    sizes: NDArray[np.intp],
    least: NDArray[np.intp],
    most: NDArray[np.intp],
) -> None:
    """Put single points where sizes (k,) lack some to the least, then evenly up to the most."""
    lacking = np.maximum(least - sizes, 0)
    room = np.maximum(most - sizes - lacking, 0)
    clusters, filled = np.arange(len(sizes)), _dealt(len(points), lacking)
    places = np.concatenate(
        [
            np.repeat(clusters, filled),
            np.repeat(clusters, _dealt(len(points) - int(filled.sum()), room)),
        ]
    )
    found[points[: len(places)]] = places


def _dealt(n: int, room: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how many of n points each cluster takes, (k,): the first take all they have room for.

    room : (k,) units of weight, maybe far more than points
    """
    ends = np.minimum(np.cumsum(np.minimum(room, n)), n)
    return np.asarray(np.diff(ends, prepend=0))
