"""Undirected graphs as sparse adjacency matrices, without loops and parallel edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

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
    ends = graph.tocoo()
    pairs = np.column_stack([ends.row, ends.col]).astype(np.intp)
    component = connected_components(graph.shape[0], pairs)
    for number in range(component.max(initial=-1) + 1):
        yield np.flatnonzero(component == number)


def k_core(graph: csr_array, k: int) -> tuple[NDArray[np.intp], list[int]]:
    """Return the vertices of the k-core, and the others in an order of elimination.

    Each of these has fewer than k neighbours among the core and those after it: any colouring of
    the core with k colours can be extended to them, last ones first.
    """
    degree = np.diff(graph.indptr)
    remaining = np.ones(len(degree), dtype=bool)
    peeled = np.flatnonzero(degree < k).tolist()
    remaining[peeled] = False
    for vertex in peeled:  # it grows on the way
        others = neighbours(graph, vertex)
        degree[others] -= 1
        loose = others[remaining[others] & (degree[others] < k)]
        remaining[loose] = False
        peeled += loose.tolist()
    return np.flatnonzero(remaining), peeled
