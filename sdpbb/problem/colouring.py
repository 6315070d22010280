"""Colourings of a graph with k colours: by branching, and by a binary programme.

Graphs are undirected and without loops; they are sparse adjacency matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from sdpbb.problem.coordinates import members_of
from sdpbb.problem.graph import connected_components
from sdpbb.problem.programme import assignment_rows
from sdpbb.runtime.backends.milp import solve_binary_programme
from sdpbb.runtime.backends.programme import MilpStatus
from sdpbb.runtime.time_left import TimeLeft, no_limit

# Number of vertices of largest degree from which cliques are grown.
CLIQUE_STARTS = 32
# Rows that HiGHS presolves in about a second; it checks the clock only afterwards.
ROWS_PER_SECOND = 20_000
# Larger than all keys of vertices without a colour.
_COLOURED = 2**62

Labels = NDArray[np.intp]
Fits = Callable[[Sequence[int]], bool]


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
    """Return the induced subgraph of some vertices, numbered by their positions."""
    return graph[vertices][:, vertices]


def k_core(graph: csr_array, k: int) -> tuple[NDArray[np.intp], list[int]]:
    """Return the vertices of the k-core, and the other vertices in an order of elimination.

    Each of the others has fewer than k neighbours among the core and the vertices after it. So a
    colouring of the core with k colours can be extended to them, in reverse order.
    """
    degree = np.diff(graph.indptr)
    remaining = degree >= k
    rounds = [np.flatnonzero(~remaining)]
    while len(rounds[-1]):
        remaining[rounds[-1]] = False
        heads = np.concatenate([neighbours(graph, vertex) for vertex in rounds[-1].tolist()])
        np.subtract.at(degree, heads, 1)
        rounds.append(np.unique(heads[remaining[heads] & (degree[heads] < k)]))
    return np.flatnonzero(remaining), np.concatenate(rounds).tolist()


def greedy_clique(graph: csr_array) -> NDArray[np.intp]:
    """Return a large clique: vertices (w,) in increasing order, w >= 1 if the graph has a vertex.

    A clique is grown from each of the vertices of largest degree, by candidates of largest degree.
    The largest of these cliques need not be a maximum clique.
    """
    best: list[int] = []
    degree = np.diff(graph.indptr)
    by_degree = np.argsort(-degree, kind="stable")
    for start in by_degree[:CLIQUE_STARTS].tolist():
        if degree[start] < len(best):
            break  # cliques with it, or with later vertices, are not larger
        clique, candidates = [start], by_degree[np.isin(by_degree, neighbours(graph, start))]
        while len(candidates):
            clique.append(int(candidates[0]))
            candidates = candidates[np.isin(candidates, neighbours(graph, clique[-1]))]
        best = max(best, clique, key=len)
    return np.array(sorted(best), dtype=np.intp)


def colour_exactly(
    graph: csr_array,
    k: int,
    budget: int,
    fits: Fits | None = None,
    keeps: Callable[[Labels], bool] | None = None,
) -> tuple[bool | None, Labels | None]:
    """Search for a colouring of m vertices with at most k colours, by saturation (DSATUR).

    The next vertex is one whose neighbours have the most different colours; ties are broken by
    largest degree. It receives the first colour that no neighbour has. The search backtracks. The
    checker has another search on purpose (`sdpbb.checker.packing`).

    Parameters
    ----------
    k : number of colours, k >= 1
    budget : maximum number of colouring steps. With m, the search never backtracks; that is enough
        for bipartite graphs
    fits : whether a set of vertices without edges may have the same colour. If it holds for a set,
        it must hold for all subsets. None: any set may
    keeps : whether a complete colouring (m,) is accepted; None: any is. The answer must depend on
        the sets of vertices of one colour only, not on the numbers of colours

    Returns
    -------
    True and the colours (m,) of the vertices, which are 0, 1, ... by first use; False and None, if
    it is proven that no colouring exists; or None and None, if the budget is spent.

    Source: D. Brélaz, New methods to color the vertices of a graph, Comm. ACM 22 (1979).
    """
    m = graph.shape[0]
    search = _Colours(graph, k, fits)
    waiting = [search.choice(0)] if m else []
    while waiting:
        vertex, free, used = waiting[-1]
        if search.colour[vertex] >= 0:
            search.uncolour(vertex)
        if not free:
            waiting.pop()
            continue
        if budget <= 0:
            return None, None
        budget -= 1
        colour = free.pop()
        search.give(vertex, colour)
        if len(waiting) < m:
            waiting.append(search.choice(max(used, colour + 1)))
        elif keeps is None or keeps(search.colour):
            return True, search.colour
    return (False, None) if m else (True, search.colour)


class _Colours:
    """Colours of the vertices of a graph, -1 if not coloured, and counts of neighbours' colours."""

    def __init__(self, graph: csr_array, k: int, fits: Fits | None) -> None:
        m = graph.shape[0]
        self._graph, self._k, self._fits = graph, k, fits
        self.colour = np.full(m, -1, np.intp)
        # Number of neighbours of a vertex that have a colour.
        self._seen = np.zeros((m, k), np.int32)
        # The vertex with the least key is next: most colours among neighbours, then largest degree,
        # then least number.
        self._key = np.arange(m) - m * np.diff(graph.indptr).astype(np.int64)

    def choice(self, used: int) -> tuple[int, list[int], int]:
        """Return the next vertex, its possible colours in falling order, and `used`.

        used : number of colours in use. Only the first unused colour is possible: all are alike
        """
        vertex = int(self._key.argmin())
        free = np.flatnonzero(self._seen[vertex, : min(used + 1, self._k)] == 0)[::-1].tolist()
        if self._fits is not None:
            members = {c: np.flatnonzero(self.colour == c).tolist() for c in free}
            free = [c for c in free if self._fits([*members[c], vertex])]
        return vertex, free, used

    def give(self, vertex: int, colour: int) -> None:
        self.colour[vertex] = colour
        self._key[vertex] += _COLOURED
        around = neighbours(self._graph, vertex)
        self._key[around[self._seen[around, colour] == 0]] -= len(self._key) ** 2
        self._seen[around, colour] += 1

    def uncolour(self, vertex: int) -> None:
        colour = self.colour[vertex]
        self.colour[vertex] = -1
        self._key[vertex] -= _COLOURED
        around = neighbours(self._graph, vertex)
        self._seen[around, colour] -= 1
        self._key[around[self._seen[around, colour] == 0]] += len(self._key) ** 2


class Colouring(NamedTuple):
    """Answer to whether a graph has a colouring with k colours.

    is_possible : None: not decided
    labels : (m,) colours 0..k-1, if a colouring exists
    vertices : (w,) vertices whose induced subgraph has no colouring, if none exists
    is_clique : whether these are a clique of more than k vertices
    """

    is_possible: bool | None
    labels: Labels | None = None
    vertices: NDArray[np.intp] | None = None
    is_clique: bool = False


UNKNOWN = Colouring(None)


def decide(graph: csr_array, k: int, nodes: int = 0, time_left: TimeLeft = no_limit) -> Colouring:
    """Decide whether a graph has a colouring with k colours.

    A greedy descent of the search comes first; if it colours all vertices, the answer is yes.
    Otherwise each component of the k-core is decided, as vertices with fewer than k neighbours can
    be coloured last. A clique of more than k vertices proves that no colouring exists. A search
    with backtracking follows, and then an integer programme.

    Parameters
    ----------
    nodes : maximum number of colouring steps in each component before the integer programme, but
        at least one for each vertex
    time_left : for integer programmes; skip those too large for HiGHS to presolve in that time

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    labels, linked = np.zeros(graph.shape[0], np.intp), np.flatnonzero(np.diff(graph.indptr))
    _, colours = colour_exactly(induced(graph, linked), k, len(linked))
    if colours is not None:
        labels[linked] = colours
        return Colouring(True, labels)
    core, peeled = k_core(graph, k)
    inner = induced(graph, core)
    labels[:], is_known = -1, True
    component = connected_components(len(core), np.column_stack(inner.nonzero()))
    for mine in members_of(component) if len(core) else []:
        found = _decide_component(induced(inner, mine), k, nodes, time_left)
        if found.vertices is not None:
            return found._replace(vertices=core[mine[found.vertices]])
        if found.labels is None:
            is_known = False
        else:
            labels[core[mine]] = found.labels
    if not is_known:
        return UNKNOWN
    for vertex in reversed(peeled):
        taken = set(labels[neighbours(graph, vertex)].tolist())
        labels[vertex] = next(colour for colour in range(k) if colour not in taken)
    return Colouring(True, labels)


def _decide_component(graph: csr_array, k: int, nodes: int, time_left: TimeLeft) -> Colouring:
    m, clique = graph.shape[0], greedy_clique(graph)
    if len(clique) > k:
        return Colouring(False, vertices=clique, is_clique=True)
    is_possible, labels = colour_exactly(graph, k, max(nodes, m))
    if is_possible is not None:
        return Colouring(is_possible, labels, None if is_possible else np.arange(m))
    seconds = time_left()
    if seconds <= 0.0 or m + graph.nnz // 2 * k > ROWS_PER_SECOND * seconds:
        return UNKNOWN
    edges = np.column_stack(triu(graph).nonzero())
    solution = solve_binary_programme(assignment_rows(m, k, edges, fixed=clique), time_left)
    if solution.status is MilpStatus.INFEASIBLE:
        return Colouring(False, vertices=np.arange(m))
    if solution.x is None:
        return UNKNOWN
    return Colouring(True, np.argmax(solution.x.reshape(-1, k), axis=1))
