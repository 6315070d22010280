"""Whether the blocks can be clustered at all (PC-SOS-SDP, section 3.3, problem (11))."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sdpbb.backends.milp import solve_binary_programme
from sdpbb.backends.programme import BinaryProgramme, MilpStatus
from sdpbb.problem.colouring import greedy_clique, greedy_colouring
from sdpbb.problem.contraction import Contraction
from sdpbb.problem.infeasibility import Infeasibility, InfeasibilityKind


def find_feasible(
    contraction: Contraction, time_limit: float | None = None
) -> NDArray[np.intp] | Infeasibility | None:
    """A clustering of the blocks into exactly k clusters that keeps the cannot-links.

    Clusterings are the proper colourings of the cannot-link graph that use all k colours. As
    m >= k, any proper colouring with fewer colours becomes one by giving unused colours to blocks
    that share theirs; so the verdict is that of k-colourability. A greedy colouring accepts, a
    clique of more than k blocks rejects, and otherwise an integer programme decides each component
    of the k-core (a block with fewer than k neighbours can be coloured after all others).

    Returns
    -------
    labels (m,), or the Infeasibility: CLIQUE or NOT_COLOURABLE, with the first points of the
    blocks that cannot be coloured; None if an integer programme took longer than time_limit
    seconds (as the solver counts them), so that nothing is known.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    labels = _colour(contraction.adjacency, contraction.k, time_limit)
    if labels is None:
        return None
    if isinstance(labels, Infeasibility):
        first = contraction.representatives
        return Infeasibility(labels.kind, tuple(int(first[block]) for block in labels.points))
    return _use_every_colour(labels, contraction.k)


def colouring_programme(
    adjacency: NDArray[np.bool_],
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
    adjacency : (m, m) symmetric, False on the diagonal
    k : number of colours
    objective : (m, k)
    fixed : (w,) vertices to have the colours 0..w-1, w <= k, or None. Where the objective does not
        tell the colours apart, fixing those of a clique takes off their symmetry.
    """
    m = len(adjacency)
    u, v = np.nonzero(np.triu(adjacency))
    colours = np.arange(k)
    edges = np.stack([u[:, None] * k + colours, v[:, None] * k + colours], axis=-1)
    singles = np.empty(0, np.intp) if fixed is None else fixed * k + np.arange(len(fixed))
    columns = np.concatenate([np.arange(m * k), edges.reshape(-1), singles])
    lengths = np.repeat([k, 2, 1], [m, len(u) * k, len(singles)])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    matrix = csr_array((np.ones(len(columns)), columns, starts), shape=(len(lengths), m * k))
    lower = np.repeat([1.0, -np.inf, 1.0], [m, len(u) * k, len(singles)])
    return BinaryProgramme(objective.reshape(-1), matrix, lower, np.ones(len(lengths)))


def _colour(
    adjacency: NDArray[np.bool_], k: int, time_limit: float | None
) -> NDArray[np.intp] | Infeasibility | None:
    """A proper colouring (m,) with at most k colours, or why there is none, in vertex numbers."""
    labels = greedy_colouring(adjacency, k)
    if labels is not None:
        return labels
    core, peeled = _peel(adjacency, k)
    labels = np.full(len(adjacency), -1, dtype=np.intp)
    component = connected_components(csr_array(adjacency[np.ix_(core, core)]), directed=False)[1]
    for number in range(component.max(initial=-1) + 1):
        vertices = core[component == number]
        found = _colour_component(adjacency[np.ix_(vertices, vertices)], k, time_limit)
        if found is None:
            return None
        if isinstance(found, Infeasibility):
            return Infeasibility(found.kind, tuple(vertices[list(found.points)].tolist()))
        labels[vertices] = found
    for vertex in reversed(peeled):
        taken = set(labels[adjacency[vertex]].tolist())
        labels[vertex] = next(colour for colour in range(k) if colour not in taken)
    return labels


def _colour_component(
    adjacency: NDArray[np.bool_], k: int, time_limit: float | None
) -> NDArray[np.intp] | Infeasibility | None:
    labels = greedy_colouring(adjacency, k)
    if labels is not None:
        return labels
    clique = greedy_clique(adjacency)
    if len(clique) > k:
        return Infeasibility(InfeasibilityKind.CLIQUE, tuple(clique.tolist()))
    no_objective = np.zeros((len(adjacency), k))
    programme = colouring_programme(adjacency, k, no_objective, fixed=clique)
    solution = solve_binary_programme(replace(programme, time_limit=time_limit))
    if solution.status is MilpStatus.INFEASIBLE:
        return Infeasibility(InfeasibilityKind.NOT_COLOURABLE, tuple(range(len(adjacency))))
    if solution.x is None:
        return None
    return np.argmax(solution.x.reshape(-1, k), axis=1)


def _peel(adjacency: NDArray[np.bool_], k: int) -> tuple[NDArray[np.intp], list[int]]:
    """The k-core, and the other vertices in an order in which each has, when its turn comes, fewer
    than k neighbours left."""
    degree = adjacency.sum(axis=1)
    remaining = np.ones(len(adjacency), dtype=bool)
    peeled: list[int] = []
    while (loose := np.flatnonzero(remaining & (degree < k))).size:
        remaining[loose] = False
        degree -= adjacency[:, loose].sum(axis=1)
        peeled += loose.tolist()
    return np.flatnonzero(remaining), peeled


def _use_every_colour(labels: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    labels = labels.copy()
    counts = np.bincount(labels, minlength=k)
    for colour in np.flatnonzero(counts == 0):
        crowded = int(np.argmax(counts))
        labels[np.argmax(labels == crowded)] = colour
        counts[crowded] -= 1
        counts[colour] = 1
    return labels
