"""Greedy colourings and cliques: bounds on the chromatic number from above and from below."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.problem.colouring.graph import induced, neighbours, neighbours_of_all

# Cliques are grown from this many vertices of largest degree.
CLIQUE_STARTS = 32


def greedy_colouring(graph: csr_array, k: int) -> NDArray[np.intp] | None:
    """Colour a graph with at most k colours by saturation (DSATUR).

    The next vertex is the one whose neighbours show the most colours (of these, the one of
    largest degree); it takes the first colour that none of its neighbours has.

    Parameters
    ----------
    graph : (m, m); the memory also holds m k flags, and a heap of at most m k numbers
    k : number of colours, k >= 1

    Returns
    -------
    (m,) colours 0..k-1, or None if the greedy order needs more: that proves nothing, except on
    bipartite graphs, which the order colours optimally.

    Source: D. Brélaz, New methods to color the vertices of a graph, Comm. ACM 22 (1979).
    """
    starts = graph.indptr
    m = graph.shape[0]
    degree = np.diff(starts).astype(np.intp)
    labels = np.zeros(m, dtype=np.intp)
    linked = np.flatnonzero(degree)
    neighbours = (np.cumsum(degree > 0) - 1)[graph.indices]  # among the linked ones
    starts = starts[np.append(linked, m)].tolist()
    size = len(linked)
    colours = [-1] * size
    seen = np.zeros((size, k), dtype=bool)  # the colours of the neighbours
    # The least key is that of the next vertex: saturation, then degree, then its number. Keys only
    # fall: those from before in the heap come up when their vertex has its colour.
    key = (np.arange(size) - size * degree[linked]).tolist()
    heap = sorted(key)
    while heap:
        at = heapq.heappop(heap) % size
        if colours[at] >= 0:
            continue
        colour = int(seen[at].argmin())
        if seen[at, colour]:
            return None
        colours[at] = colour
        others = neighbours[starts[at] : starts[at + 1]]
        newly = others[~seen[others, colour]]
        seen[newly, colour] = True
        for vertex in newly.tolist():
            if colours[vertex] < 0:
                key[vertex] -= size * m
                heapq.heappush(heap, key[vertex])
    labels[linked] = colours
    return labels


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
