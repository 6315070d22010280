"""Proofs of infeasibility by short walks through must-links and cannot-links."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem.graph import (
    NeighbourSets,
    connected_components,
    distinct_edges,
    spanning_forest,
)
from sdpbb.problem.statements import Catalogue
from sdpbb.runtime.time_left import TimeLeft

# The share of the time that is left for what follows when the search for shorter walks ends.
WALKING = 0.5


def cannot_link_in_block(catalogue: Catalogue, time_left: TimeLeft) -> list[int] | None:
    """Return a cannot-link, and a shortest path of must-links between its two points.

    None if there is none. When the time is over, one that may be longer.
    """
    must_link, cannot_link = catalogue.must_link, catalogue.cannot_link
    n = catalogue.instance.n_points
    block_of = connected_components(n, must_link)
    inside = cannot_link[block_of[cannot_link[:, 0]] == block_of[cannot_link[:, 1]]]
    if not len(inside):
        return None
    graph = NeighbourSets(n, distinct_edges(must_link))
    ends = [(i, j) for i, j in distinct_edges(inside).tolist()]
    least = 1 if _states_both(must_link, inside) else 2
    path = _shortest(graph, ends, least, time_left)
    return [*_must_links(catalogue, path), catalogue.cannot_link_number(path[0], path[-1])]


def odd_cycle(catalogue: Catalogue, time_left: TimeLeft) -> list[int] | None:
    """Return a shortest cycle with an odd number of cannot-links, which two clusters cannot keep.

    It is of must-links and cannot-links. None if there is none. When the time is over, one that may
    be longer.

    A shortest path from (i, 0) to (i, 1), for any point i, in the double cover of the graph, where
    must-links keep the side and cannot-links change it.
    """
    n = catalogue.instance.n_points
    must_link, cannot_link = catalogue.must_link, catalogue.cannot_link
    other = np.array([0, n])
    cover = np.concatenate(
        [must_link, must_link + n, cannot_link + other, cannot_link + other[::-1]]
    )
    component = connected_components(2 * n, cover)
    odd = np.flatnonzero(component[:n] == component[n:])
    if not len(odd):
        return None
    graph = NeighbourSets(2 * n, distinct_edges(cover))
    least = 2 if _states_both(must_link, cannot_link) else 3
    walk = _shortest(graph, [(i, i + n) for i in odd.tolist()], least, time_left)
    steps = []
    for a, b in pairwise(walk):
        number_of = catalogue.must_link_number if a // n == b // n else catalogue.cannot_link_number
        steps.append(number_of(a % n, b % n))
    # One that is not the shortest may pass a point on both sides; then a part of it is one as well.
    cycle = list(dict.fromkeys(steps))
    # With a single cannot-link, a path of must-links and then that.
    p = len(must_link)
    if sum(number >= p for number in cycle) == 1:
        at = next(position for position, number in enumerate(cycle) if number >= p) + 1
        cycle = cycle[at:] + cycle[:at]
    return cycle


def too_many_must_links(catalogue: Catalogue) -> list[int] | None:
    """Return n - k + 1 must-links, each of which joins two groups; None if there are not so many.

    Fewer than k groups are left by them. All of them are needed.
    """
    instance = catalogue.instance
    wanted = instance.n_points - instance.k + 1
    found = list(islice(spanning_forest(instance.n_points, catalogue.must_link), wanted))
    return found if len(found) == wanted else None


def connecting_must_links(
    catalogue: Catalogue, graph: NeighbourSets, points: Iterable[int]
) -> list[int]:
    """Return must-links that connect some points of one block.

    graph : the neighbours of each point by must-links
    """
    root, *others = sorted(points)
    numbers: list[int] = []
    for point in others:
        path = _walk(graph, root, point, len(graph))
        assert path is not None  # they are in one block
        numbers += _must_links(catalogue, path)
    return list(dict.fromkeys(numbers))


def cannot_links_between(
    catalogue: Catalogue, block_of: NDArray[np.intp], blocks: Iterable[int]
) -> list[int]:
    """Return a cannot-link between each two of these blocks that cannot link.

    It goes through points that others of them go through already, where there is a choice.

    block_of : (n,)
    """
    wanted = np.zeros(int(block_of.max()) + 1, dtype=bool)
    wanted[list(blocks)] = True
    sides = block_of[catalogue.cannot_link]
    between: dict[tuple[int, int], list[int]] = {}
    for position in np.flatnonzero(wanted[sides].all(axis=1)).tolist():
        a, b = sides[position].tolist()
        between.setdefault((min(a, b), max(a, b)), []).append(position)
    used: set[int] = set()
    chosen = []
    for positions in between.values():
        rows = catalogue.cannot_link[positions].tolist()
        _, at = max((sum(row in used for row in pair), -at) for at, pair in enumerate(rows))
        used.update(rows[-at])
        chosen.append(len(catalogue.must_link) + positions[-at])
    return chosen


def _states_both(must_link: NDArray[np.intp], cannot_link: NDArray[np.intp]) -> bool:
    """Return whether a pair of points is in both lists."""
    both = [distinct_edges(must_link), distinct_edges(cannot_link)]
    return len(distinct_edges(np.concatenate(both))) < len(both[0]) + len(both[1])


def _must_links(catalogue: Catalogue, path: list[int]) -> list[int]:
    return [catalogue.must_link_number(i, j) for i, j in pairwise(path)]


def _shortest(
    graph: NeighbourSets, ends: list[tuple[int, int]], least: int, time_left: TimeLeft
) -> list[int]:
    """Return the shortest walk from the first to the second of any of these, of which all have one.

    least : no walk has fewer steps
    """
    at_least = WALKING * time_left()
    best = _walk(graph, *ends[0], len(graph))
    assert best is not None
    for start, goal in ends[1:]:
        steps = len(best) - 1
        if steps <= least or time_left() < at_least:
            break
        best = _walk(graph, start, goal, steps - 1) or best
    return best


def _walk(graph: NeighbourSets, start: int, goal: int, most: int) -> list[int] | None:
    """Return a shortest walk; None if it has more steps than `most`."""
    before, steps = {start: start}, {start: 0}
    queue = deque([start])
    while queue and goal not in before:
        vertex = queue.popleft()
        if steps[vertex] == most:
            return None
        for neighbour in graph[vertex]:
            if neighbour not in before:
                before[neighbour], steps[neighbour] = vertex, steps[vertex] + 1
                queue.append(neighbour)
    if goal not in before:
        return None
    walk = [goal]
    while walk[-1] != start:
        walk.append(before[walk[-1]])
    return walk[::-1]
