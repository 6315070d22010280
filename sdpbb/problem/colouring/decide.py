"""Decision whether a graph has a colouring with k colours, by all means within limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from sdpbb.problem.colouring.exact import Colourability, colour_exactly
from sdpbb.problem.colouring.graph import (
    components,
    greedy_clique,
    induced,
    k_core,
    neighbours,
)
from sdpbb.runtime.backends.milp import solve_binary_programme
from sdpbb.runtime.backends.programme import BinaryProgramme, MilpStatus
from sdpbb.runtime.time_left import TimeLeft, no_limit


def colouring_programme(
    graph: csr_array, k: int, fixed: Sequence[int] | NDArray[np.intp] = ()
) -> BinaryProgramme:
    """Return the colourings of a graph with k colours as the solutions of a binary programme.

        sum_c x_vc = 1          for every vertex v,
        x_uc + x_vc <= 1        for every edge uv and colour c,
        x_vc in {0, 1}, x_vc at position v k + c.

    fixed : (w,) vertices to have the colours 0..w-1, w <= k. Fixing the colours of a clique takes
        off their symmetry
    """
    m = graph.shape[0]
    u, v = (ends.astype(np.intp) for ends in triu(graph, format="csr").nonzero())
    colours = np.arange(k)
    edges = np.stack([u[:, None] * k + colours, v[:, None] * k + colours], axis=-1)
    singles = np.array(fixed, np.intp) * k + np.arange(len(fixed))
    columns = np.concatenate([np.arange(m * k), edges.reshape(-1), singles])
    lengths = np.repeat([k, 2, 1], [m, len(u) * k, len(singles)])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    matrix = csr_array((np.ones(len(columns)), columns, starts), shape=(len(lengths), m * k))
    lower = np.repeat([1.0, -np.inf, 1.0], [m, len(u) * k, len(singles)])
    return BinaryProgramme(np.zeros(m * k), matrix, lower, np.ones(len(lengths)))


# Maximum rows: HiGHS presolves them in about a second, and looks at the clock only afterwards.
ROWS_PER_SECOND = 20_000


@dataclass(frozen=True)
class ColouringLimits:
    """Limits of the decision whether a graph has a colouring.

    nodes : vertices that a search colours in each component before an integer programme is solved;
        at least all of them once
    time_left : seconds for integer programmes, asked before each; none is built that is too
        large for HiGHS to presolve in that time
    stop : asked while integer programmes are solved; when true they are given up
    """

    nodes: int = 0
    time_left: TimeLeft = no_limit
    stop: Callable[[], bool] | None = None


@dataclass(frozen=True, eq=False)
class Colouring:
    """Answer to whether a graph has a colouring with k colours.

    labels : (m,) colours 0..k-1, for YES
    vertices : for NO, (w,) vertices that cannot be coloured by themselves
    is_clique : whether these are more than k that are all neighbours
    is_exact : False where NO is the word of an integer programming solver in floating point
    """

    answer: Colourability
    labels: NDArray[np.intp] | None = None
    vertices: NDArray[np.intp] | None = None
    is_clique: bool = False
    is_exact: bool = True


UNKNOWN = Colouring(Colourability.UNKNOWN)


def decide(graph: csr_array, k: int, limits: ColouringLimits) -> Colouring:
    """Decide whether a graph has a colouring with k colours.

    A first descent of the search accepts, without a step back: it is greedy. Otherwise each
    component of the k-core is decided (a vertex with fewer than k neighbours can be coloured after
    all others): a clique of more than k vertices rejects, the search decides where it ends, and an
    integer programme.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    labels, linked = np.zeros(graph.shape[0], np.intp), np.flatnonzero(np.diff(graph.indptr))
    _, colours = colour_exactly(induced(graph, linked), k, len(linked))
    if colours is not None:
        labels[linked] = colours
        return Colouring(Colourability.YES, labels)
    core, peeled = k_core(graph, k)
    inner = induced(graph, core)
    labels[:], is_known = -1, True
    for mine in components(inner):
        found = _decide_component(induced(inner, mine), k, limits)
        if found.vertices is not None:
            return replace(found, vertices=core[mine[found.vertices]])
        if found.labels is None:
            is_known = False
        else:
            labels[core[mine]] = found.labels
    if not is_known:
        return UNKNOWN
    for vertex in reversed(peeled):
        taken = set(labels[neighbours(graph, vertex)].tolist())
        labels[vertex] = next(colour for colour in range(k) if colour not in taken)
    return Colouring(Colourability.YES, labels)


def _decide_component(graph: csr_array, k: int, limits: ColouringLimits) -> Colouring:
    clique = greedy_clique(graph)
    if len(clique) > k:
        return Colouring(Colourability.NO, vertices=clique, is_clique=True)
    answer, labels = colour_exactly(graph, k, max(limits.nodes, graph.shape[0]))
    if answer is Colourability.UNKNOWN:
        return _ask_solver(graph, k, clique, limits)
    vertices = np.arange(graph.shape[0]) if answer is Colourability.NO else None
    return Colouring(answer, labels, vertices)


def _ask_solver(
    graph: csr_array, k: int, clique: NDArray[np.intp], limits: ColouringLimits
) -> Colouring:
    """Decide by an integer programme."""
    m, seconds = graph.shape[0], limits.time_left()
    if limits.stop is not None and limits.stop():
        return UNKNOWN
    if seconds <= 0.0 or m + graph.nnz // 2 * k > ROWS_PER_SECOND * seconds:
        return UNKNOWN
    programme = colouring_programme(graph, k, clique)
    limit = None if seconds == math.inf else seconds
    solution = solve_binary_programme(programme, stop=limits.stop, time_limit=limit)
    if solution.status is MilpStatus.INFEASIBLE:
        return Colouring(Colourability.NO, vertices=np.arange(m), is_exact=False)
    if solution.x is None:
        return UNKNOWN
    return Colouring(Colourability.YES, np.argmax(solution.x.reshape(-1, k), axis=1))
