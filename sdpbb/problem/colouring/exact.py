"""Colourings of a graph by branching: exact where the search ends within a budget."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.problem.colouring.graph import neighbours

# Entries of the heap of vertices, for each vertex, beyond which older keys are dropped.
HEAP_PER_VERTEX = 64

Fits = Callable[[Sequence[int]], bool]


class Colourability(Enum):
    """Answer of a limited search to whether something is possible."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def colour_exactly(
    graph: csr_array,
    k: int,
    budget: int,
    fits: Fits | None = None,
    keeps: Callable[[NDArray[np.intp]], bool] | None = None,
) -> tuple[Colourability, NDArray[np.intp] | None]:
    """Look for a colouring of m vertices with at most k colours, by saturation (DSATUR).

    The next vertex is the one whose neighbours show the most colours (of these, the one of largest
    degree); it takes the first colour that none of its neighbours has. The search backtracks.

    Parameters
    ----------
    k : number of colours, k >= 1
    budget : maximum number of vertices coloured, again and again included. With m, a colouring that
        takes no step back is found: of bipartite graphs there is one
    fits : whether vertices that are not neighbours may all have the same colour; must hold
        for all subsets of a set that it holds for. None for no such condition
    keeps : whether the colours (m,) of all vertices are those of a colouring that is looked for;
        None: they are. It says the same for the same sets of vertices, whatever their colours

    Returns
    -------
    YES and the colours (m,) of the vertices, which are 0, 1, ... by first use; NO, which is exact;
    or UNKNOWN.

    Source: D. Brélaz, New methods to color the vertices of a graph, Comm. ACM 22 (1979).
    """
    return _ColourSearch(graph, k, fits, keeps).run(budget)


class _ColourSearch:
    """Depth-first search for a colouring, without recursion.

    It holds the vertices in the order in which they were coloured, each with the colours that it
    has not tried yet. The checker has a search of its own on purpose (`sdpbb.checker.colouring`).
    """

    def __init__(
        self,
        graph: csr_array,
        k: int,
        fits: Fits | None,
        keeps: Callable[[NDArray[np.intp]], bool] | None,
    ) -> None:
        m = graph.shape[0]
        self._graph, self._k, self._fits, self._keeps = graph, k, fits, keeps
        self._colour = np.full(m, -1, np.intp)
        # How many neighbours of a vertex have a colour.
        self._seen = np.zeros((m, k), np.int32)
        # The vertex of the least key is next: the most colours of neighbours, then the largest
        # degree, then the least number. The heap has older keys, too, which are passed over.
        self._key = np.arange(m) - m * np.diff(graph.indptr).astype(np.int64)
        self._heap = sorted(self._key.tolist())
        self._path: list[int] = []
        self._left: list[list[int]] = []
        self._used: list[int] = [0]  # colours in use before each vertex of the path, and now

    def run(self, budget: int) -> tuple[Colourability, NDArray[np.intp] | None]:
        if not len(self._colour):
            return Colourability.YES, self._colour
        self._enter()
        while self._path:
            vertex = self._path[-1]
            if self._colour[vertex] >= 0:
                self._uncolour(vertex)
            if not self._left[-1]:
                self._backtrack()
                continue
            if budget <= 0:
                return Colourability.UNKNOWN, None
            budget -= 1
            self._give(vertex, self._left[-1].pop())
            if len(self._path) < len(self._colour):
                self._enter()
            elif self._keeps is None or self._keeps(self._colour):
                return Colourability.YES, self._colour
        return Colourability.NO, None

    def _enter(self) -> None:
        """Go on to the vertex whose neighbours show the most colours."""
        vertex, used = self._next(), self._used[-1]
        # One colour that is not in use stands for all of them.
        free = np.flatnonzero(self._seen[vertex, : min(used + 1, self._k)] == 0).tolist()
        if self._fits is not None:
            free = [c for c in free if self._fits([*self._members(c), vertex])]
        self._path.append(vertex)
        self._left.append(free[::-1])
        self._used.append(used)

    def _next(self) -> int:
        """Return the vertex of the least key that has no colour."""
        m = len(self._colour)
        if len(self._heap) > HEAP_PER_VERTEX * m:
            self._heap = sorted(self._key[self._colour < 0].tolist())
        while True:
            key = heapq.heappop(self._heap)
            vertex: int = key % m
            if self._colour[vertex] < 0 and self._key[vertex] == key:
                return vertex

    def _members(self, colour: int) -> list[int]:
        found: list[int] = np.flatnonzero(self._colour == colour).tolist()
        return found

    def _backtrack(self) -> None:
        """Go back to the vertex before."""
        heapq.heappush(self._heap, int(self._key[self._path.pop()]))
        self._left.pop()
        self._used.pop()

    def _give(self, vertex: int, colour: int) -> None:
        self._colour[vertex] = colour
        self._used[-1] = max(self._used[-2], colour + 1)
        around = neighbours(self._graph, vertex)
        self._see(around[self._seen[around, colour] == 0], -1)
        self._seen[around, colour] += 1

    def _uncolour(self, vertex: int) -> None:
        colour = self._colour[vertex]
        self._colour[vertex] = -1
        around = neighbours(self._graph, vertex)
        self._seen[around, colour] -= 1
        self._see(around[self._seen[around, colour] == 0], 1)

    def _see(self, vertices: NDArray[np.intp], sign: int) -> None:
        """Count one colour more (-1) or less (1) among the neighbours of vertices."""
        m = len(self._colour)
        self._key[vertices] += sign * m * m
        for key in self._key[vertices[self._colour[vertices] < 0]].tolist():
            heapq.heappush(self._heap, key)
