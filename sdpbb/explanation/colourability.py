"""Whether a graph has a colouring with k colours: exactly, by branching, where that ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Graph = list[set[int]]
Fits = Callable[[Sequence[int]], bool]


class Colourability(Enum):
    """Whether something can be, as far as a limited search could tell."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def colourable(
    graph: Graph, k: int, budget: int, fits: Fits | None = None
) -> tuple[Colourability, NDArray[np.intp] | None]:
    """Look for a colouring of m vertices with at most k colours, by saturation (DSATUR) with
    backtracking.

    Parameters
    ----------
    graph : the neighbours of each vertex
    k : number of colours, k >= 1
    budget : give up after so many vertices coloured, those coloured anew included
    fits : whether vertices may all have the same colour, besides not being neighbours; must hold
        for all subsets of a set that it holds for. None for no such condition

    Returns
    -------
    YES and the colours (m,) of the vertices, which are 0, 1, ... by first use; NO, which is exact;
    or UNKNOWN.

    Source: D. Brélaz, New methods to color the vertices of a graph, Comm. ACM 22 (1979).
    """
    search = _Search(graph, k, fits)
    return search.run(budget)


class _Search:
    """A depth-first search, without recursion: vertices as they were coloured, each with the
    colours it has not tried yet."""

    def __init__(self, graph: Graph, k: int, fits: Fits | None) -> None:
        self._graph, self._k, self._fits = graph, k, fits
        self._colour = np.full(len(graph), -1, np.intp)
        # How many neighbours of a vertex have a colour.
        self._seen = np.zeros((len(graph), k), np.intp)
        self._saturation = np.zeros(len(graph), np.intp)
        self._degree = np.array([len(adjacent) for adjacent in graph], np.intp)
        self._neighbours = [np.array(sorted(adjacent), np.intp) for adjacent in graph]
        self._path: list[int] = []
        self._left: list[list[int]] = []
        self._used: list[int] = [0]  # colours in use before each vertex of the path, and now

    def run(self, budget: int) -> tuple[Colourability, NDArray[np.intp] | None]:
        if not self._graph:
            return Colourability.YES, self._colour
        self._enter()
        while self._path:
            vertex = self._path[-1]
            if self._colour[vertex] >= 0:
                self._uncolour(vertex)
            if not self._left[-1]:
                self._leave()
                continue
            if budget <= 0:
                return Colourability.UNKNOWN, None
            budget -= 1
            self._give(vertex, self._left[-1].pop())
            if len(self._path) == len(self._graph):
                return Colourability.YES, self._colour
            self._enter()
        return Colourability.NO, None

    def _enter(self) -> None:
        """Go on to the vertex whose neighbours show the most colours."""
        used = self._used[-1]
        rank = self._saturation * (len(self._graph) + 1) + self._degree
        rank[self._colour >= 0] = -1
        vertex = int(np.argmax(rank))
        # One colour that is not in use stands for all of them.
        free = np.flatnonzero(self._seen[vertex, : min(used + 1, self._k)] == 0)
        choices = [int(c) for c in free if c >= used or self._may_join(vertex, int(c))]
        if self._fits is not None and not self._fits([vertex]):
            choices = []
        self._path.append(vertex)
        self._left.append(choices[::-1])
        self._used.append(used)

    def _leave(self) -> None:
        """Go back to the vertex before."""
        self._path.pop()
        self._left.pop()
        self._used.pop()

    def _may_join(self, vertex: int, colour: int) -> bool:
        if self._fits is None:
            return True
        return self._fits([*np.flatnonzero(self._colour == colour).tolist(), vertex])

    def _give(self, vertex: int, colour: int) -> None:
        self._colour[vertex] = colour
        self._used[-1] = max(self._used[-2], colour + 1)
        around = self._neighbours[vertex]
        self._saturation[around] += self._seen[around, colour] == 0
        self._seen[around, colour] += 1

    def _uncolour(self, vertex: int) -> None:
        colour = self._colour[vertex]
        self._colour[vertex] = -1
        around = self._neighbours[vertex]
        self._seen[around, colour] -= 1
        self._saturation[around] -= self._seen[around, colour] == 0


def core(graph: Graph, k: int) -> list[int]:
    """The vertices left when, again and again, those with fewer than k neighbours are removed: any
    colouring of these with k colours can be completed."""
    degree = [len(adjacent) for adjacent in graph]
    loose = [v for v, d in enumerate(degree) if d < k]
    removed = set(loose)
    while loose:
        for neighbour in graph[loose.pop()]:
            degree[neighbour] -= 1
            if degree[neighbour] < k and neighbour not in removed:
                removed.add(neighbour)
                loose.append(neighbour)
    return [v for v in range(len(graph)) if v not in removed]


def induced(graph: Graph, vertices: Sequence[int]) -> Graph:
    """The graph among some vertices, numbered by their positions."""
    number = {v: position for position, v in enumerate(vertices)}
    return [{number[u] for u in graph[v] if u in number} for v in vertices]


def components(graph: Graph) -> list[list[int]]:
    """The vertices of each connected component."""
    found, seen = [], [False] * len(graph)
    for start in range(len(graph)):
        if seen[start]:
            continue
        seen[start] = True
        members = [start]
        for v in members:  # grows while it is read
            for u in graph[v]:
                if not seen[u]:
                    seen[u] = True
                    members.append(u)
        found.append(sorted(members))
    return found


def find_clique(graph: Graph, order: int, budget: int) -> list[int] | None:
    """A clique of so many vertices; None if there is none or the budget of candidates looked at
    is spent."""
    # Sparse vertices first: they have the fewest candidates, and are out of the way afterwards.
    by_degree = sorted(range(len(graph)), key=lambda v: (len(graph[v]), v))
    rank = {v: position for position, v in enumerate(by_degree)}
    stack = [([v], {u for u in graph[v] if rank[u] > rank[v]}) for v in reversed(by_degree)]
    while stack and budget > 0:
        clique, candidates = stack.pop()
        budget -= 1 + len(candidates)
        if len(clique) == order:
            return clique
        if len(clique) + len(candidates) < order:
            continue
        for v in sorted(candidates, key=lambda u: rank[u], reverse=True):
            later = {u for u in candidates & graph[v] if rank[u] > rank[v]}
            stack.append(([*clique, v], later))
    return None
