"""Connected components of a graph of pairs, and the narrow ones among them: those of small tables.

A component is narrow if `tables` solves it by few entries, along an order of minimum degree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.neighbours import neighbour_lists
from sdpbb.problem.graph import connected_components
from sdpbb.runtime.arrays import Integers
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import TimeLeft, check_time, no_limit

# For so many blocks, all labellings are more than any table has entries.
FEW_BLOCKS = 64


class Component(NamedTuple):
    """Connected component of a graph.

    blocks : (b,) at least two, increasing
    pairs : (p,) numbers of the pairs within
    """

    blocks: NDArray[np.intp]
    pairs: NDArray[np.intp]


class Bucket(NamedTuple):
    """Step of an elimination: a block and its separator, the neighbours it has left."""

    block: int
    separator: tuple[int, ...]


class Narrow(NamedTuple):
    """Component with an elimination for q labels of each block.

    entries : that the elimination visits, sum of q^(|S|+1) over the separators S
    """

    pairs: NDArray[np.intp]
    q: int
    buckets: list[Bucket]
    entries: int


def components(n: int, ends: NDArray[np.intp]) -> Iterator[Component]:
    """Yield the components of n blocks and pairs (p, 2), those of single blocks left out."""
    if not len(ends):
        return
    number = connected_components(n, ends)
    linked = np.unique(ends)
    blocks_of = _split(linked, number[linked])
    pairs_of = _split(np.arange(len(ends)), number[ends[:, 0]])
    yield from map(Component, blocks_of, pairs_of)


def _split(values: NDArray[np.intp], groups: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the values (v,) of each group (v,), by the numbers of these and in their order."""
    order = np.argsort(groups, kind="stable")
    return np.split(values[order], np.flatnonzero(np.diff(groups[order])) + 1)


def separate_narrow(
    parts: Iterable[tuple[Component, int]],
    ends: NDArray[np.intp],
    budget: float,
    total: float,
    time_left: TimeLeft = no_limit,
) -> tuple[list[Narrow], list[Component]]:
    """Return the components that are narrow, and the others.

    Parameters
    ----------
    parts : components, each with the labels that its blocks need
    ends : (p, 2) the pairs
    budget, total : entries allowed to one component, and to all of them

    Raises
    ------
    OutOfTime
        If no time is left on the way.
    """
    narrow: list[Narrow] = []
    wide: list[Component] = []
    for part, q in parts:
        if narrow or wide:
            check_time(time_left)
        buckets = eliminate(ends[part.pairs], q, min(budget, total))
        if buckets is None:
            wide.append(part)
            continue
        entries = sum(q ** (len(bucket.separator) + 1) for bucket in buckets)
        total -= entries
        narrow.append(Narrow(part.pairs, q, buckets, entries))
    return narrow, wide


def eliminate(pairs: NDArray[np.intp], q: int, budget: float) -> list[Bucket] | None:
    """Return a minimum-degree elimination of a graph; None if it has more entries than the budget.

    Parameters
    ----------
    pairs : (p, 2) of blocks, each of which has a pair
    q : labels of a block
    budget : of the sum over the blocks of q^(|S|+1), S the separator
    """
    # Components of a few pairs are many where there are any: they are not to take long.
    if q ** min(2 * len(pairs), FEW_BLOCKS) > budget:
        blocks, renumbered = np.unique(pairs, return_inverse=True)
        lists = neighbour_lists(len(blocks), renumbered.reshape(pairs.shape))
        if q ** len(blocks) > budget and q ** (_core(lists.starts, lists.block) + 1) > budget:
            return None
    neighbours: dict[int, set[int]] = {}
    for i, j in pairs.tolist():
        neighbours.setdefault(i, set()).add(j)
        neighbours.setdefault(j, set()).add(i)
    buckets = []
    entries = 0
    waiting = [(len(others), block) for block, others in neighbours.items()]
    heapify(waiting)
    while neighbours:
        degree, block = heappop(waiting)
        if block not in neighbours or degree != len(neighbours[block]):
            continue  # an entry from before its degree changed
        separator = neighbours.pop(block)
        entries += q ** (degree + 1)
        if entries > budget:
            return None
        buckets.append(Bucket(block, tuple(sorted(separator))))
        for u in separator:
            before = len(neighbours[u])
            neighbours[u] |= separator
            neighbours[u] -= {u, block}
            if len(neighbours[u]) != before:
                heappush(waiting, (len(neighbours[u]), u))
    return buckets


@njit(cache=True, nogil=True)
def _core(starts: Integers, neighbours: Integers) -> int:
    """Return the degeneracy of a graph, the largest c such that some subgraph has least degree c.

    Every elimination has a separator of that size.
    """
    n = len(starts) - 1
    degree = starts[1:] - starts[:-1]
    largest = degree.max()
    at = np.zeros(largest + 2, np.int64)
    for v in range(n):
        at[degree[v] + 1] += 1
    at = np.cumsum(at)
    order = np.empty(n, np.int64)
    position = np.empty(n, np.int64)
    free = at[:-1].copy()
    for v in range(n):
        position[v] = free[degree[v]]
        order[position[v]] = v
        free[degree[v]] += 1
    core = 0
    for turn in range(n):
        v = order[turn]
        core = max(core, degree[v])
        for number in range(starts[v], starts[v + 1]):
            u = neighbours[number]
            if degree[u] > degree[v]:
                # u changes places with the first of its degree, which then begins one later.
                first = at[degree[u]]
                w = order[first]
                order[first], order[position[u]] = u, w
                position[w], position[u] = position[u], first
                at[degree[u]] += 1
                degree[u] -= 1
    return core
