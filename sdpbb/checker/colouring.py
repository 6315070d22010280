"""Exact graph colouring: whether k colours suffice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .kernel.rejection import Rejected

# What a search may take: some minutes at most.
STEPS = 2_000_000
# Cliques are grown from so many vertices of largest degree.
_CLIQUE_STARTS = 16


def is_colourable(adjacency: NDArray[np.bool_], k: int, steps: int = STEPS) -> bool:
    """Return whether the vertices of a graph can be given k colours, neighbours different ones.

    Parameters
    ----------
    adjacency : (m, m) symmetric; a vertex next to itself cannot be coloured
    steps : how often a vertex may be given a colour, in all

    Raises
    ------
    Rejected
        If that was not enough to tell.
    """
    if adjacency.diagonal().any():
        return False
    neighbours = [_bits(row) for row in adjacency]
    budget = _Budget(steps)
    return all(
        _ColourSearch(neighbours, component, k, budget).succeeds()
        for component in _components(neighbours, _core(neighbours, k))
    )


@dataclass
class _Budget:
    steps: int
    taken: int = 0

    def take(self) -> None:
        if self.taken == self.steps:
            raise Rejected(f"a colouring that could not be decided within {self.steps} steps")
        self.taken += 1


def _bits(row: NDArray[np.bool_]) -> int:
    """Return a set of vertices as an integer: bit v stands for vertex v."""
    return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")


def _members(vertices: int) -> list[int]:
    members = []
    while vertices:
        lowest = vertices & -vertices
        members.append(lowest.bit_length() - 1)
        vertices ^= lowest
    return members


def _core(neighbours: list[int], k: int) -> int:
    """Return the vertices left once those with fewer than k neighbours are taken off, repeatedly.

    Whatever colours the others have, one is free for them, the last one taken off first.
    """
    core = (1 << len(neighbours)) - 1
    pending = list(range(len(neighbours)))
    while pending:
        v = pending.pop()
        if core >> v & 1 and (neighbours[v] & core).bit_count() < k:
            core ^= 1 << v
            pending += _members(neighbours[v] & core)
    return core


def _components(neighbours: list[int], vertices: int) -> list[int]:
    components = []
    while vertices:
        component, frontier = 0, vertices & -vertices
        while frontier:
            component |= frontier
            reached = 0
            for v in _members(frontier):
                reached |= neighbours[v]
            frontier = reached & vertices & ~component
        components.append(component)
        vertices &= ~component
    return components


def _clique(neighbours: list[int], vertices: int) -> list[int]:
    """Return the largest of some greedy cliques.

    In any colouring, its vertices have different colours.
    """
    best: list[int] = []
    by_degree = sorted(_members(vertices), key=lambda v: -(neighbours[v] & vertices).bit_count())
    for start in by_degree[:_CLIQUE_STARTS]:
        clique, candidates = [start], neighbours[start] & vertices
        while candidates:
            degree = {v: (neighbours[v] & candidates).bit_count() for v in _members(candidates)}
            clique.append(max(degree, key=degree.__getitem__))
            candidates &= neighbours[clique[-1]]
        best = max(best, clique, key=len)
    return best


class _ColourSearch:
    """Depth-first search for a colouring by saturation (DSATUR, Brelaz 1979).

    The vertex with the fewest colours left is next. Of the colours that no vertex has yet only the
    first is tried, since they differ by name alone. The engine has a search of its own on purpose
    (`sdpbb.problem.colouring.exact`): the checker relies on none of its code.
    """

    def __init__(self, neighbours: list[int], vertices: int, k: int, budget: _Budget) -> None:
        members = _members(vertices)
        number = {v: position for position, v in enumerate(members)}
        self.near = [[number[u] for u in _members(neighbours[v] & vertices)] for v in members]
        self.clique = [number[v] for v in _clique(neighbours, vertices)]
        self.k = k
        self.budget = budget
        self.uncoloured = set(range(len(members)))
        # How many neighbours of each vertex have each colour, and the colours that none has.
        self.counts = [[0] * k for _ in members]
        self.free = [(1 << k) - 1] * len(members)
        # How many vertices have each colour, and how many colours any has: the first ones.
        self.sizes = [0] * k
        self.used = 0

    def succeeds(self) -> bool:
        if len(self.clique) > self.k:
            return False
        for colour, v in enumerate(self.clique):
            self._colour(v, colour)
        # Of each coloured vertex: which one, its colour, and those that are still to be tried.
        path: list[tuple[int, int, int]] = []
        v, colours = self._next()
        while self.uncoloured:
            if colours:
                self.budget.take()
                colour = (colours & -colours).bit_length() - 1
                self._colour(v, colour)
                path.append((v, colour, colours & (colours - 1)))
                v, colours = self._next()
            elif path:
                v, colour, colours = path.pop()
                self._uncolour(v, colour)
            else:
                return False
        return True

    def _colour(self, v: int, colour: int) -> None:
        self.uncoloured.remove(v)
        self.used += self.sizes[colour] == 0
        self.sizes[colour] += 1
        for u in self.near[v]:
            if not self.counts[u][colour]:
                self.free[u] ^= 1 << colour
            self.counts[u][colour] += 1

    def _uncolour(self, v: int, colour: int) -> None:
        self.uncoloured.add(v)
        self.sizes[colour] -= 1
        self.used -= self.sizes[colour] == 0
        for u in self.near[v]:
            self.counts[u][colour] -= 1
            if not self.counts[u][colour]:
                self.free[u] ^= 1 << colour

    def _next(self) -> tuple[int, int]:
        """Return a vertex, and the set of colours to be tried for it."""
        best, fewest, degree = -1, self.k + 1, -1
        for v in self.uncoloured:
            left = self.free[v].bit_count()
            if left < fewest or (left == fewest and len(self.near[v]) > degree):
                best, fewest, degree = v, left, len(self.near[v])
                if left == 0:
                    break
        return best, self.free[best] & ((2 << self.used) - 1)
