"""Undirected graphs as sparse adjacency matrices, without loops and parallel edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.problem.coordinates import members_of
from sdpbb.problem.graph import connected_components


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
