"""Greedy bounds on the chromatic number of a graph, from above and from below."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Cliques are grown from this many vertices of largest degree.
CLIQUE_STARTS = 32


def greedy_colouring(adjacency: NDArray[np.bool_], k: int) -> NDArray[np.intp] | None:
    """Colour a graph with at most k colours by saturation (DSATUR).

    The next vertex is the one whose neighbours show the most colours (of these, the one of
    largest degree); it takes the first colour that none of its neighbours has.

    Parameters
    ----------
    adjacency : (m, m) symmetric, False on the diagonal
    k : number of colours, k >= 1

    Returns
    -------
    (m,) colours 0..k-1, or None if the greedy order needs more: that proves nothing, except on
    bipartite graphs, which the order colours optimally.

    Source: D. Brélaz, New methods to color the vertices of a graph, Comm. ACM 22 (1979).
    """
    m = len(adjacency)
    degree = adjacency.sum(axis=1)
    seen = np.zeros((m, k), dtype=bool)  # the colours of the neighbours
    priority = degree.copy()  # saturation * m + degree; negative once coloured
    labels = np.full(m, -1, dtype=np.intp)
    for _ in range(m):
        vertex = int(np.argmax(priority))
        colour = int(np.argmin(seen[vertex]))
        if seen[vertex, colour]:
            return None
        labels[vertex] = colour
        priority[vertex] = -1
        newly = adjacency[vertex] & ~seen[:, colour] & (labels < 0)
        seen[newly, colour] = True
        priority[newly] += m
    return labels


def greedy_clique(adjacency: NDArray[np.bool_]) -> NDArray[np.intp]:
    """A large clique: vertices (w,) in increasing order, w >= 1 if the graph has a vertex.

    Grown from each of the vertices of largest degree by the candidate that keeps the most other
    candidates; the largest clique met is returned. It need not be a maximum clique.

    Parameters
    ----------
    adjacency : (m, m) symmetric, False on the diagonal
    """
    best: list[int] = []
    by_degree = np.argsort(-adjacency.sum(axis=1), kind="stable")
    for start in by_degree[:CLIQUE_STARTS].tolist():
        clique = [start]
        candidates = np.flatnonzero(adjacency[start])
        while len(candidates):
            among = adjacency[np.ix_(candidates, candidates)]
            chosen = int(np.argmax(among.sum(axis=1)))
            clique.append(int(candidates[chosen]))
            candidates = candidates[among[chosen]]
        if len(clique) > len(best):
            best = clique
    return np.array(sorted(best), dtype=np.intp)
