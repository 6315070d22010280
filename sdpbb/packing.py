"""Packing: blocks put into k clusters of allowed sizes and weights, cannot-linked ones apart."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from itertools import combinations
from typing import NamedTuple

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
from sdpbb.problem.soft_blocks import SoftBlocks

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


class Packing(NamedTuple):
    """Outcome of an integer programme; what is proven is so by a solver in floating point.

    labels : (m,), or None
    is_impossible : whether it is proven that there are none within the limits
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
    solver: str = "auto",
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
    solver : as `sdpbb.backends.milp.load` has it

    With an objective the linear relaxation is solved first, in a tenth of the time: its vertex is
    often one of zeros and ones, as clusters of single points without cannot-links are a flow.

    Where units of weight are so small that its tolerances are more than one of them, a search in
    whole units is tried before, if there is no objective (`packed_in_units`); and the programme
    allows clusters a little beyond the limits, so that it still proves that there are none. One
    that allows a little less is solved next where its labels are not within the limits themselves.
    Where that has no solution, it is not known whether there are any, and the labels are those a
    little beyond.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    m, k = contraction.n_blocks, contraction.k
    assert contraction.has_limits
    if time_limit is not None and m * k > MOST_VARIABLES:
        return Packing(None)
    costs = None if objective is None else objective.reshape(-1)
    ended = time.perf_counter() + (math.inf if time_limit is None else time_limit)
    beyond = None
    many = any(measure.limits.n > FEW_UNITS for measure in contraction.measures)
    if many and costs is None:
        with suppress(Rejected):
            found = packed_in_units(contraction)
            return Packing(found, found is None)
    for slack in (MARGIN, -MARGIN) if many else (0.0,):
        is_proof = slack >= 0.0
        seconds = None if time_limit is None else max(0.01, ended - time.perf_counter())
        programme = _programme(contraction, costs, slack, seconds)
        if costs is not None:
            programme = programme if soft is None else _with_soft_pairs(programme, k, soft)
            labels = _packed_by_relaxation(contraction, programme, stop)
            if labels is not None:
                return Packing(labels, is_cheapest=is_proof)
            if seconds is not None:
                left = max(0.01, ended - time.perf_counter())
                programme = replace(programme, time_limit=left)
        solution = solve_binary_programme(programme, solver, stop)
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
    labels = _labels(contraction, x)
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
    one = np.ones(len(at))
    return _with_rows(rows, rows.objective, at[:, None], one[:, None], one, one)


def _with_soft_pairs(rows: BinaryProgramme, k: int, soft: SoftBlocks) -> BinaryProgramme:
    """Return the programme with costs |w| y_p and |w| z_pc of the soft pairs p = ij.

        x_ic + x_jc - y_p <= 1   for soft cannot-links and clusters c,
        x_ic - x_jc - z_pc <= 0  for soft must-links.

    A must-link has a variable for each cluster, as in `heuristics.assignment.integer_programme`,
    of which a solution pays for one at most.
    """
    is_apart = soft.weights > 0.0
    n_apart, n_together = int(is_apart.sum()), int((~is_apart).sum())
    paid = np.empty((len(soft), k), np.intp)
    paid[is_apart] = rows.n_variables + np.arange(n_apart)[:, None]
    paid[~is_apart] = rows.n_variables + n_apart + np.arange(n_together * k).reshape(-1, k)
    one, other = (soft.pairs[:, end, None] * k + np.arange(k) for end in (0, 1))
    columns = np.stack([one, other, paid], axis=2).reshape(-1, 3)
    sign = np.repeat(np.where(is_apart, 1.0, -1.0), k)
    values = np.column_stack([np.ones(len(sign)), sign, np.full(len(sign), -1.0)])
    prices = soft.weights[is_apart], np.repeat(-soft.weights[~is_apart], k)
    upper = np.maximum(sign, 0.0)
    return _with_rows(
        rows,
        np.concatenate([rows.objective, *prices]),
        columns,
        values,
        np.full(len(upper), -np.inf),
        upper,
    )


def _with_rows(
    rows: BinaryProgramme,
    objective: NDArray[np.float64],
    columns: NDArray[np.intp],
    values: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
) -> BinaryProgramme:
    """Return the programme with more rows, and as many variables as the objective.

    columns, values : (q, e) the entries of each of them
    """
    whole, (q, e) = rows.matrix, columns.shape
    starts = whole.indptr[-1] + e * np.arange(1, q + 1)
    matrix = csr_array(
        (
            np.concatenate([whole.data, values.reshape(-1)]),
            np.concatenate([whole.indices, columns.reshape(-1)]),
            np.concatenate([whole.indptr, starts]),
        ),
        shape=(whole.shape[0] + q, len(objective)),
    )
    return replace(
        rows,
        objective=objective,
        matrix=matrix,
        lower=np.concatenate([rows.lower, lower]),
        upper=np.concatenate([rows.upper, upper]),
    )


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
