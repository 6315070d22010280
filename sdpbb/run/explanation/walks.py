"""Proofs of infeasibility by short walks through must-links and cannot-links."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from sdpbb.problem.graph import connected_components, distinct_edges, spanning_forest
from sdpbb.problem.statements import Catalogue
from sdpbb.runtime.time_left import TimeLeft

# The share of the time that is left for what follows when the search for shorter walks ends.
WALKING = 0.5


def closed_walk(catalogue: Catalogue, time_left: TimeLeft) -> list[int] | None:
    """Return a shortest closed walk that k clusters cannot keep; None if there is none.

    It is of must-links and one cannot-link, or for k = 2 an odd number of cannot-links. When the
    time is over, it may be longer.

    A shortest path from (i, 0) to (i, 1), for any point i, in two copies of the points, where
    must-links stay in a copy, and cannot-links lead to the second one, and for k = 2 back again.
    """
    must_link, cannot_link = catalogue.must_link, catalogue.cannot_link
    n, p = catalogue.instance.n_points, len(must_link)
    if catalogue.instance.k == 1 and len(cannot_link):
        return [p]
    across = np.concatenate([cannot_link, cannot_link[:, ::-1]]) + np.array([0, n])
    if catalogue.instance.k == 2:
        across = np.concatenate([across, across[:, ::-1]])
        copies = connected_components(2 * n, np.concatenate([must_link, must_link + n, across]))
        starts = np.flatnonzero(copies[:n] == copies[n:])
    else:
        block_of = connected_components(n, must_link)
        sides = block_of[cannot_link]
        starts = np.unique(cannot_link[sides[:, 0] == sides[:, 1], 0])
    if not len(starts):
        return None
    both_ways = np.concatenate([must_link, must_link[:, ::-1]])
    graph = _graph(2 * n, np.concatenate([both_ways, both_ways + n, across]))
    walk = _shortest(graph, n, starts, 2 if _states_both(must_link, cannot_link) else 3, time_left)
    steps = []
    for a, b in pairwise(walk):
        number_of = catalogue.must_link_number if a // n == b // n else catalogue.cannot_link_number
        steps.append(number_of(a % n, b % n))
    # One that is not the shortest may pass a point on both sides; then a part of it is one as well.
    cycle = list(dict.fromkeys(steps))
    cannot = [number for number in cycle if number >= p]
    if len(cannot) > 1:
        return cycle
    # A path of must-links, and then the cannot-link between its ends.
    at = cycle.index(cannot[0])
    path = cycle[at + 1 :] + cycle[:at]
    first = cannot_link[cannot[0] - p, 0]
    return [*(path if first in must_link[path[0]] else path[::-1]), *cannot]


def too_many_must_links(catalogue: Catalogue) -> list[int] | None:
    """Return n - k + 1 must-links, each of which joins two groups; None if there are not so many.

    Fewer than k groups are left by them. All of them are needed.
    """
    instance = catalogue.instance
    wanted = instance.n_points - instance.k + 1
    found = list(islice(spanning_forest(instance.n_points, catalogue.must_link), wanted))
    return found if len(found) == wanted else None


def connecting_must_links(catalogue: Catalogue, groups: Iterable[Iterable[int]]) -> list[int]:
    """Return must-links that connect the points of each group, which are of one block each."""
    graph = _graph(catalogue.instance.n_points, catalogue.must_link)
    numbers: list[int] = []
    for points in groups:
        root, *others = sorted(points)
        before = breadth_first_order(graph, root, directed=False)[1]
        for point in others:
            path = pairwise(_path(before, root, point))
            numbers += [catalogue.must_link_number(i, j) for i, j in path]
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


def _graph(n: int, edges: NDArray[np.intp]) -> csr_array:
    """Return the graph of n vertices with these edges (p, 2)."""
    return csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))


def _shortest(
    graph: csr_array, n: int, starts: NDArray[np.intp], least: int, time_left: TimeLeft
) -> list[int]:
    """Return the shortest path from some vertex i to i + n, of which all have one.

    least : no path has fewer steps
    """
    at_least = WALKING * time_left()
    best: list[int] = []
    for i in starts.tolist():
        path = _path(breadth_first_order(graph, i)[1], i, i + n)
        if not best or len(path) < len(best):
            best = path
        if len(best) - 1 <= least or time_left() < at_least:
            break
    return best


def _path(before: NDArray[Any], start: int, goal: int) -> list[int]:
    """Return the path to a goal in a tree of which each vertex but the start has one before it."""
    path = [goal]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return path[::-1]
