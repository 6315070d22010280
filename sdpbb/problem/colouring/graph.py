"""Undirected graphs as sparse matrices without loops: their cores, components and cliques."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.problem.coordinates import members_of
from sdpbb.problem.graph import connected_components

# Cliques are grown from this many vertices of largest degree.
CLIQUE_STARTS = 32


def sparse_graph(m: int, edges: NDArray[np.intp]) -> csr_array:
    """Return the adjacency matrix (m, m) of edges (q, 2), each once."""
    i, j = edges.T
    tails, heads = np.concatenate([i, j]), np.concatenate([j, i])
    return csr_array((np.ones(len(tails), bool), (tails, heads)), shape=(m, m))


def neighbours(graph: csr_array, vertex: int) -> NDArray[np.intp]:
    """Return the neighbours of a vertex."""
    found: NDArray[np.intp] = graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]]
    return found


def induced(graph: csr_array, vertices: Sequence[int] | NDArray[np.intp]) -> csr_array:
    """Return the graph among some vertices, numbered by their positions."""
    return graph[vertices][:, vertices]


def components(graph: csr_array) -> Iterator[NDArray[np.intp]]:
    """Yield the vertices of each connected component, in increasing order."""
    if not graph.shape[0]:
        return
    ends = graph.tocoo()
    pairs = np.column_stack([ends.row, ends.col]).astype(np.intp)
    yield from members_of(connected_components(graph.shape[0], pairs))


def k_core(graph: csr_array, k: int) -> tuple[NDArray[np.intp], list[int]]:
    """Return the vertices of the k-core, and the others in an order of elimination.

    Each of these has fewer than k neighbours among the core and those after it: any colouring of
    the core with k colours can be extended to them, last ones first.
    """
    degree = np.diff(graph.indptr)
    remaining = degree >= k
    rounds = [np.flatnonzero(~remaining)]
    while len(rounds[-1]):
        heads = neighbours_of_all(graph, rounds[-1])
        heads = heads[remaining[heads]]
        at = np.argsort(heads, kind="stable")
        others, start, count = np.unique(heads[at], return_index=True, return_counts=True)
        # A vertex is loose as soon as that many of its neighbours are gone that k - 1 are left.
        loose = count > degree[others] - k
        since = np.sort(at[start[loose] + degree[others[loose]] - k])
        degree[others] -= count
        remaining[heads[since]] = False
        rounds.append(heads[since])
    return np.flatnonzero(remaining), np.concatenate(rounds).tolist()


def neighbours_of_all(graph: csr_array, vertices: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the neighbours of the first vertex, then of the second, and so on."""
    start = graph.indptr[vertices]
    count = graph.indptr[vertices + 1] - start
    end = np.cumsum(count)
    found: NDArray[np.intp] = graph.indices[
        np.arange(end[-1]) + np.repeat(start - end + count, count)
    ]
    return found


def greedy_clique(graph: csr_array) -> NDArray[np.intp]:
    """Return a large clique: vertices (w,) in increasing order, w >= 1 if the graph has a vertex.

    Grown from each of the vertices of largest degree by the candidate that keeps the most other
    candidates; the largest clique met is returned. It need not be a maximum clique.
    """
    best: list[int] = []
    degree = np.diff(graph.indptr)
    by_degree = np.argsort(-degree, kind="stable")
    for start in by_degree[:CLIQUE_STARTS].tolist():
        if degree[start] < len(best):
            break  # no clique of it is larger, nor of those that follow
        clique = _grown_clique(graph, start)
        if len(clique) > len(best):
            best = clique
    return np.array(sorted(best), dtype=np.intp)


def _grown_clique(graph: csr_array, start: int) -> list[int]:
    """Return a clique that begins with a vertex."""
    candidates = np.sort(neighbours(graph, start))
    among, clique = induced(graph, candidates), [start]
    is_left = np.ones(len(candidates), dtype=bool)
    n_left = np.diff(among.indptr).astype(np.intp)  # neighbours of each that are left
    while is_left.any():
        chosen = int(np.argmax(np.where(is_left, n_left, -1)))
        clique.append(int(candidates[chosen]))
        goes = is_left.copy()
        goes[neighbours(among, chosen)] = False
        lost = neighbours_of_all(among, np.flatnonzero(goes))
        n_left -= np.bincount(lost, minlength=len(candidates))
        is_left &= ~goes
    return clique
