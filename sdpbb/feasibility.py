"""Whether the blocks can be clustered at all (PC-SOS-SDP, section 3.3, problem (11))."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu
from scipy.sparse.csgraph import connected_components

from sdpbb.backends.milp import solve_binary_programme
from sdpbb.backends.programme import BinaryProgramme, MilpStatus
from sdpbb.problem.colouring import Graph, greedy_clique, greedy_colouring, sparse_graph
from sdpbb.problem.contraction import Contraction
from sdpbb.problem.infeasibility import Infeasibility, InfeasibilityKind

# HiGHS presolves so many rows in about a second, and looks at the clock afterwards only.
ROWS_PER_SECOND = 20_000


def find_feasible(
    contraction: Contraction,
    time_limit: float | None = None,
    stop: Callable[[], bool] | None = None,
) -> NDArray[np.intp] | Infeasibility | None:
    """A clustering of the blocks into exactly k clusters that keeps the cannot-links.

    Clusterings are the proper colourings of the cannot-link graph that use all k colours. As
    m >= k, any proper colouring with fewer colours becomes one by giving unused colours to blocks
    that share theirs; so the verdict is that of k-colourability. A greedy colouring accepts, a
    clique of more than k blocks rejects, and otherwise an integer programme decides each component
    of the k-core (a block with fewer than k neighbours can be coloured after all others).

    Parameters
    ----------
    time_limit : seconds, > 0, for each integer programme, or None. With a limit, none is begun that
        is too large for HiGHS to presolve in that time
    stop : asked while integer programmes are solved; when true they are given up

    Returns
    -------
    labels (m,), or the Infeasibility: CLIQUE or NOT_COLOURABLE, with the first points of the
    blocks that cannot be coloured; None if an integer programme took longer than time_limit
    seconds (as the solver counts them) or was stopped, so that nothing is known.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    graph = sparse_graph(contraction.n_blocks, contraction.cannot_link)
    labels = _colour(graph, contraction.k, _Limits(time_limit, stop))
    if labels is None:
        return None
    if isinstance(labels, Infeasibility):
        first = contraction.representatives
        return Infeasibility(labels.kind, tuple(int(first[block]) for block in labels.points))
    return _use_every_colour(labels, contraction.k)


@dataclass(frozen=True)
class _Limits:
    """Of one integer programme: seconds, and what is asked on the way; None for no such limit."""

    seconds: float | None
    stop: Callable[[], bool] | None

    def permit(self, rows: int) -> bool:
        """Whether a programme with so many rows may be built."""
        if self.stop is not None and self.stop():
            return False
        return self.seconds is None or rows <= ROWS_PER_SECOND * self.seconds


def colouring_programme(
    adjacency: Graph,
    k: int,
    objective: NDArray[np.float64],
    fixed: NDArray[np.intp] | None = None,
) -> BinaryProgramme:
    """The colourings of a graph with k colours as the solutions of a binary programme.

    minimise    sum_{v, c} objective_vc x_vc
    subject to  sum_c x_vc = 1          for every vertex v,
                x_uc + x_vc <= 1        for every edge uv and colour c,
                x_vc in {0, 1}, x_vc at position v k + c.

    Parameters
    ----------
    adjacency : (m, m) symmetric, False on the diagonal, dense or sparse
    k : number of colours
    objective : (m, k)
    fixed : (w,) vertices to have the colours 0..w-1, w <= k, or None. Where the objective does not
        tell the colours apart, fixing those of a clique takes off their symmetry.
    """
    m = adjacency.shape[0]
    u, v = (ends.astype(np.intp) for ends in triu(csr_array(adjacency), format="csr").nonzero())
    colours = np.arange(k)
    edges = np.stack([u[:, None] * k + colours, v[:, None] * k + colours], axis=-1)
    singles = np.empty(0, np.intp) if fixed is None else fixed * k + np.arange(len(fixed))
    columns = np.concatenate([np.arange(m * k), edges.reshape(-1), singles])
    lengths = np.repeat([k, 2, 1], [m, len(u) * k, len(singles)])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    matrix = csr_array((np.ones(len(columns)), columns, starts), shape=(len(lengths), m * k))
    lower = np.repeat([1.0, -np.inf, 1.0], [m, len(u) * k, len(singles)])
    return BinaryProgramme(objective.reshape(-1), matrix, lower, np.ones(len(lengths)))


def _colour(graph: csr_array, k: int, limits: _Limits) -> NDArray[np.intp] | Infeasibility | None:
    """A proper colouring (m,) with at most k colours, or why there is none, in vertex numbers."""
    labels = greedy_colouring(graph, k)
    if labels is not None:
        return labels
    core, peeled = _peel(graph, k)
    labels = np.full(graph.shape[0], -1, dtype=np.intp)
    inner = graph[core][:, core]
    component = connected_components(inner, directed=False)[1]
    for number in range(component.max(initial=-1) + 1):
        mine = np.flatnonzero(component == number)
        found = _colour_component(inner[mine][:, mine], k, limits)
        if found is None:
            return None
        if isinstance(found, Infeasibility):
            points = core[mine[list(found.points)]]
            return Infeasibility(found.kind, tuple(points.tolist()))
        labels[core[mine]] = found
    for vertex in reversed(peeled):
        taken = set(labels[_neighbours(graph, vertex)].tolist())
        labels[vertex] = next(colour for colour in range(k) if colour not in taken)
    return labels


def _colour_component(
    graph: csr_array, k: int, limits: _Limits
) -> NDArray[np.intp] | Infeasibility | None:
    labels = greedy_colouring(graph, k)
    if labels is not None:
        return labels
    clique = greedy_clique(graph)
    if len(clique) > k:
        return Infeasibility(InfeasibilityKind.CLIQUE, tuple(clique.tolist()))
    m = graph.shape[0]
    if not limits.permit(m + graph.nnz // 2 * k):
        return None
    programme = colouring_programme(graph, k, np.zeros((m, k)), fixed=clique)
    programme = replace(programme, time_limit=limits.seconds)
    solution = solve_binary_programme(programme, stop=limits.stop)
    if solution.status is MilpStatus.INFEASIBLE:
        return Infeasibility(InfeasibilityKind.NOT_COLOURABLE, tuple(range(m)))
    if solution.x is None:
        return None
    return np.argmax(solution.x.reshape(-1, k), axis=1)


def _peel(graph: csr_array, k: int) -> tuple[NDArray[np.intp], list[int]]:
    """The k-core, and the other vertices in an order in which each has, when its turn comes, fewer
    than k neighbours left."""
    degree = np.diff(graph.indptr)
    remaining = np.ones(len(degree), dtype=bool)
    peeled = np.flatnonzero(degree < k).tolist()
    remaining[peeled] = False
    for vertex in peeled:  # it grows on the way
        others = _neighbours(graph, vertex)
        degree[others] -= 1
        loose = others[remaining[others] & (degree[others] < k)]
        remaining[loose] = False
        peeled += loose.tolist()
    return np.flatnonzero(remaining), peeled


def _neighbours(graph: csr_array, vertex: int) -> NDArray[np.intp]:
    return graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]]


def _use_every_colour(labels: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    labels = labels.copy()
    counts = np.bincount(labels, minlength=k)
    for colour in np.flatnonzero(counts == 0):
        crowded = int(np.argmax(counts))
        labels[np.argmax(labels == crowded)] = colour
        counts[crowded] -= 1
        counts[colour] = 1
    return labels
