"""Packing: blocks put into k clusters of allowed sizes and weights, cannot-linked ones apart."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.backends.milp import solve_binary_programme
from sdpbb.backends.programme import ROW_TOLERANCE, BinaryProgramme, MilpStatus, unit
from sdpbb.checker.cluster_packing import ClusterPacking
from sdpbb.checker.rejection import Rejected
from sdpbb.checker.sizes import CheckedSizes
from sdpbb.problem.contraction import Contraction, Measure
from sdpbb.problem.graph import NeighbourSets
from sdpbb.problem.size_limits import SizeLimits

# Blocks times clusters that an integer programme is solved for under a time limit: HiGHS looks at
# no clock while it presolves.
MOST_VARIABLES = 300_000
# Sums of up to so many units are told apart within the tolerance of entries, 10^-6.
FEW_UNITS = 1_000_000
# Part of the largest cluster by which rows of more units are wider, and narrower: ten times that.
MARGIN = 1e-5
# Values of a vertex so near to 0 and 1 are these.
INTEGRAL = 1e-6


def size_bounds(limits: SizeLimits) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the least and the most points (k,) of each cluster.

    Where sizes are listed, cluster c has the c-th of them.
    """
    if limits.listed is not None:
        sizes = np.array(limits.listed, np.intp)
        return sizes, sizes
    return np.full(limits.k, limits.least, np.intp), np.full(limits.k, limits.most, np.intp)


def packed_greedily(
    contraction: Contraction, labels: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return labels (m,) within the limits, or None where greedy choices find none.

    By each measure that is limited, points or weight, in turn.

    labels : a colouring (m,) of the blocks; None where there are no cannot-links
    """
    for measure in contraction.measures:
        found = _packed_by(measure, contraction, labels)
        if found is not None:
            return found
    return None


def _packed_by(
    measure: Measure, contraction: Contraction, labels: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return labels (m,) within the limits, or None where a greedy choice finds none.

    Blocks that are cannot-linked keep together as labels (m,), a colouring, have them; the others
    go where most room is left, the largest first.
    """
    limits, counts, k = measure.limits, measure.of_blocks, contraction.k
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
    places = np.concatenate(
        [np.repeat(np.arange(len(sizes)), lacking), np.repeat(np.arange(len(sizes)), room)]
    )[: len(points)]
    found[points[: len(places)]] = places


def packed_exactly(
    contraction: Contraction,
    objective: NDArray[np.float64] | None = None,
    time_limit: float | None = None,
    stop: Callable[[], bool] | None = None,
) -> tuple[NDArray[np.intp] | None, bool]:
    """Return labels (m,) within the limits that keep the cannot-links, and what is proven.

    By an integer programme.

    Parameters
    ----------
    objective : (m, k) the cost of each block in each cluster, or None. Without one, blocks of a
        greedy clique have fixed clusters where all of these are alike
    time_limit : seconds, > 0, or None; with one, no programme of more than MOST_VARIABLES is begun

    With an objective the linear relaxation is solved first, in a tenth of the time: its vertex is
    often one of zeros and ones, as clusters of single points without cannot-links are a flow.

    Returns
    -------
    labels, or None; and whether it is proven that there are none, by the solver in floating point.
    Where units of weight are so small that its tolerances are more than one of them, a search in
    whole units is tried before, if there is no objective (`packed_in_units`); and the programme
    allows clusters a little beyond the limits, so that it still proves that. One that allows a
    little less is solved next where its labels are not within the limits themselves. Where that has
    no solution, it is not known whether there are any, and the labels are those a little beyond.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    m, k = contraction.n_blocks, contraction.k
    assert contraction.has_limits
    if time_limit is not None and m * k > MOST_VARIABLES:
        return None, False
    costs = None if objective is None else objective.reshape(-1)
    ended = time.perf_counter() + (math.inf if time_limit is None else time_limit)
    beyond = None
    many = any(measure.limits.n > FEW_UNITS for measure in contraction.measures)
    if many and costs is None:
        with suppress(Rejected):
            found = packed_in_units(contraction)
            return found, found is None
    for slack in (MARGIN, -MARGIN) if many else (0.0,):
        seconds = None if time_limit is None else max(0.01, ended - time.perf_counter())
        programme = _programme(contraction, costs, slack, seconds)
        if costs is not None:
            labels = _packed_by_relaxation(contraction, programme, stop)
            if labels is not None:
                return labels, False
            if seconds is not None:
                left = max(0.01, ended - time.perf_counter())
                programme = replace(programme, time_limit=left)
        solution = solve_binary_programme(programme, stop=stop)
        if solution.x is None:
            return beyond, slack >= 0.0 and solution.status is MilpStatus.INFEASIBLE
        labels = solution.x.reshape(m, k).argmax(axis=1).astype(np.intp)
        if contraction.keeps_sizes(labels):
            return labels, False
        beyond = labels
    return beyond, False


def packed_in_units(contraction: Contraction) -> NDArray[np.intp] | None:
    """Return labels (m,) within the limits that keep the cannot-links; None if there are none.

    In whole numbers, by the checker's search.

    Raises
    ------
    Rejected
        If that is not found out within the work of the search: about a second.
    """
    measures = [
        (each.of_blocks, CheckedSizes(*astuple(each.limits))) for each in contraction.measures
    ]
    return ClusterPacking(measures, contraction.adjacency).labels()


def _packed_by_relaxation(
    contraction: Contraction, programme: BinaryProgramme, stop: Callable[[], bool] | None
) -> NDArray[np.intp] | None:
    """Return the labels (m,) of an optimum of the linear relaxation that is one of the programme.

    None where its vertex is fractional, or time is over.
    """
    from sdpbb.backends.linear import LinearModel  # HiGHS, which most runs do without

    objective = programme.objective / unit(programme.objective)
    solution = LinearModel(programme).minimise(objective, programme.time_limit, stop)
    if solution.x is None:
        return None
    x = np.round(solution.x)
    if np.abs(solution.x - x).max() > INTEGRAL or not programme.satisfied_by(x):
        return None
    labels = x.reshape(contraction.n_blocks, -1).argmax(axis=1).astype(np.intp)
    return labels if contraction.keeps_sizes(labels) else None


def _programme(
    contraction: Contraction, costs: NDArray[np.float64] | None, slack: float, seconds: float | None
) -> BinaryProgramme:
    """Return the programme of packings.

    slack : part of a limit on many units that clusters may be beyond it
    """
    sizes = [_size_rows(measure, slack) for measure in contraction.measures]
    if all(measure.limits.n > FEW_UNITS for measure in contraction.measures):
        # Without blocks a cluster lacks a unit, or a few, which rows in parts do not tell from 0.
        m, k = contraction.n_blocks, contraction.k
        blocks, one = np.ones(m, np.intp), np.ones(k, np.intp)
        sizes.append(size_rows(blocks, one, m * one))
    rows = assignment_rows(contraction, sizes)
    alike = all(
        measure.limits.listed is None or measure.limits.is_equal for measure in contraction.measures
    )
    if costs is None and alike:
        rows = _with_fixed(rows, _some_clique(contraction), contraction.k)
    return BinaryProgramme(
        rows.objective if costs is None else costs,
        rows.matrix,
        rows.lower,
        rows.upper,
        time_limit=seconds,
        row_tolerance=MARGIN / 10.0 if slack else ROW_TOLERANCE,
    )


def _some_clique(contraction: Contraction) -> list[int]:
    """Return a clique of cannot-linked blocks, or the largest block alone."""
    cover = clique_cover(contraction.n_blocks, contraction.cannot_link)
    # One of more than k blocks is for the programme to refuse.
    fitting = [clique for clique in cover if len(clique) <= contraction.k]
    return max(fitting, key=len, default=[int(contraction.counts.argmax())])


def _with_fixed(rows: BinaryProgramme, blocks: list[int], k: int) -> BinaryProgramme:
    """Return the programme with blocks in the clusters 0, 1, ..."""
    at = np.array(blocks) * k + np.arange(len(blocks))
    fixed = csr_array(
        (np.ones(len(at)), (np.arange(len(at)), at)), shape=(len(at), rows.n_variables)
    )
    whole, more = rows.matrix, np.ones(len(at))
    matrix = csr_array(
        (
            np.concatenate([whole.data, fixed.data]),
            np.concatenate([whole.indices, fixed.indices]),
            np.concatenate([whole.indptr, whole.indptr[-1] + fixed.indptr[1:]]),
        ),
        shape=(whole.shape[0] + len(at), rows.n_variables),
    )
    lower, upper = np.concatenate([rows.lower, more]), np.concatenate([rows.upper, more])
    return BinaryProgramme(rows.objective, matrix, lower, upper)


@dataclass(frozen=True, eq=False)
class SizeRows:
    """Rows of a programme on what clusters have of a measure of blocks.

    values : (m,) of the blocks
    least, most : (k,) of the clusters
    """

    values: NDArray[np.float64]
    least: NDArray[np.float64]
    most: NDArray[np.float64]


def size_rows(
    of_blocks: NDArray[np.integer], least: NDArray[np.integer], most: NDArray[np.integer]
) -> SizeRows:
    """Return rows of whole numbers (m,) of blocks, least_c to most_c of them in cluster c."""
    return SizeRows(*(each.astype(np.float64) for each in (of_blocks, least, most)))


def _size_rows(measure: Measure, slack: float) -> SizeRows:
    """Return the rows of a measure.

    slack : part of a limit on many units that clusters may be beyond it
    """
    rows = size_rows(measure.of_blocks, *size_bounds(measure.limits))
    if measure.limits.n <= FEW_UNITS:
        return rows
    scale = 1.0 / measure.limits.most
    return SizeRows(
        rows.values * scale,
        rows.least * scale * (1.0 - slack),
        rows.most * scale * (1.0 + slack),
    )


def assignment_rows(contraction: Contraction, sizes: Sequence[SizeRows]) -> BinaryProgramme:
    """Return the binary programme of assignments of blocks to clusters, without costs.

    s_bc is at position b k + c.

        sum_c s_bc = 1,  least_c <= sum_b v_b s_bc <= most_c for the rows of sizes,
        sum_{b in Q} s_bc <= 1 for cliques Q of cannot-links,  s_bc in {0, 1}
    """
    m, k = contraction.n_blocks, contraction.k
    cliques = clique_cover(m, contraction.cannot_link)
    by_size = (np.arange(m) * k + np.arange(k)[:, None]).reshape(-1)
    by_clique = [(np.array(clique) * k + c) for clique in cliques for c in range(k)]
    columns = np.concatenate([np.arange(m * k), *[by_size] * len(sizes), *by_clique])
    n_pairs = len(by_clique)
    lengths = np.concatenate(
        [np.full(m, k), np.full(k * len(sizes), m), [len(row) for row in by_clique]]
    )
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
    values = np.ones(len(columns))
    for position, rows in enumerate(sizes, 1):
        values[position * m * k : (position + 1) * m * k] = np.tile(rows.values, k)
    matrix = csr_array((values, columns, starts), shape=(len(lengths), m * k))
    lower = np.concatenate([np.ones(m), *(rows.least for rows in sizes), np.full(n_pairs, -np.inf)])
    upper = np.concatenate([np.ones(m), *(rows.most for rows in sizes), np.ones(n_pairs)])
    return BinaryProgramme(np.zeros(m * k), matrix, lower, upper)


def clique_cover(m: int, edges: NDArray[np.intp]) -> list[list[int]]:
    """Return cliques of a graph that cover exactly its edges.

    The graph has m vertices, and the cliques contain each of its edges (q, 2), i < j, and together
    nothing else: each is grown from the first edge in none yet, by the smallest vertices.
    """
    neighbours = NeighbourSets(m, edges)
    covered: set[tuple[int, int]] = set()
    cliques = []
    for i, j in edges.tolist():
        if (i, j) in covered:
            continue
        clique, common = [i, j], neighbours[i] & neighbours[j]
        while common:
            vertex = min(common)
            clique.append(vertex)
            common = common & neighbours[vertex]
        covered.update(combinations(sorted(clique), 2))
        cliques.append(clique)
    return cliques
