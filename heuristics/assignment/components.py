"""Connected components of a graph of pairs, and the narrow ones among them: those of small tables.

A component is narrow if `tables` solves it by few entries, along an order of minimum degree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem.graph import connected_components
from sdpbb.runtime.time_left import TimeLeft, check_time, no_limit

# Of a logarithm.
ROUNDING = 1e-9


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
    # Separators of at most w blocks leave at most w pairs for each block.
    width = math.inf if q == 1 else math.log(max(budget, 1.0), q) - 1.0 + ROUNDING
    if len(pairs) > max(0.0, width) * len(np.unique(pairs)):
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
