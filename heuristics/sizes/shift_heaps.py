"""Cheapest point to shift from one cluster to another: a pairing heap for each pair of clusters.

The heap of (c, d) holds the points of c, the first of which costs least more in d than in c. A
point joins and leaves the heaps of its cluster one by one, so that a shift takes time logarithmic
in the size of a cluster, amortised.

Source: M. L. Fredman, R. Sedgewick, D. D. Sleator, R. E. Tarjan, The pairing heap: a new form of
self-adjusting heap, Algorithmica 1 (1986).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import NONE, Integers, Reals
from sdpbb.runtime.jit import njit

Links = NDArray[np.int32]


class ShiftHeaps(NamedTuple):
    """Heaps of points, by their cluster and another one; -1 stands for no point.

    costs : (m, k) of each point in each cluster
    labels : (m,)
    top : (k, k) first point of the heap of a pair
    child, following, before : (m, k) links of each point in its heap for another cluster: its
        first child, its next sibling, and its previous sibling or else its parent
    """

    costs: Reals
    labels: Integers
    top: Integers
    child: Links
    following: Links
    before: Links


@njit(cache=True, nogil=True)
def fill_heaps(heaps: ShiftHeaps) -> None:
    """Put all points into the heaps of their clusters."""
    m, k = heaps.costs.shape
    for c in range(k):
        for d in range(k):
            heaps.top[c, d] = -1
    for i in range(m):
        put_in(heaps, i)


@njit(cache=True, nogil=True)
def find_tops(heaps: ShiftHeaps, c: int) -> None:
    """Write the first points of the heaps of a cluster alone, by a look at all points."""
    costs, top = heaps.costs, heaps.top
    m, k = costs.shape
    top[c] = -1
    least = np.full(k, np.inf)
    for i in range(m):
        if heaps.labels[i] != c:
            continue
        own = costs[i, c]
        for d in range(k):
            if costs[i, d] - own < least[d]:
                least[d] = costs[i, d] - own
                top[c, d] = i


@njit(cache=True, nogil=True)
def put_in(heaps: ShiftHeaps, i: int) -> None:
    """Put point i into the heaps of its cluster."""
    own = heaps.labels[i]
    for d in range(heaps.costs.shape[1]):
        if d != own:
            heaps.child[i, d] = heaps.following[i, d] = heaps.before[i, d] = -1
            heaps.top[own, d] = _meld(heaps, d, heaps.top[own, d], i)


@njit(cache=True, nogil=True)
def take_out(heaps: ShiftHeaps, i: int) -> None:
    """Take point i out of the heaps of its cluster."""
    own, following, before = heaps.labels[i], heaps.following, heaps.before
    for d in range(heaps.costs.shape[1]):
        if d == own:
            continue
        rest = _meld_children(heaps, d, i)
        if heaps.top[own, d] == i:
            heaps.top[own, d] = rest
            continue
        last, after = before[i, d], following[i, d]
        if heaps.child[last, d] == i:
            heaps.child[last, d] = after
        else:
            following[last, d] = after
        if after >= 0:
            before[after, d] = last
        heaps.top[own, d] = _meld(heaps, d, heaps.top[own, d], rest)


@njit(cache=True, nogil=True)
def shift_price(heaps: ShiftHeaps, c: int, d: int) -> float:
    """Return what it costs at least to shift a point of c to d; inf where c has none."""
    i = heaps.top[c, d]
    return heaps.costs[i, d] - heaps.costs[i, c] if i >= 0 else np.inf


@njit(cache=True, nogil=True)
def _meld(heaps: ShiftHeaps, d: int, first: int, second: int) -> int:
    """Return the first point of two heaps for cluster d, -1 for an empty one, made one."""
    if first < 0:
        return second
    if second < 0:
        return first
    costs, own = heaps.costs, heaps.labels[first]
    if costs[second, d] - costs[second, own] < costs[first, d] - costs[first, own]:
        first, second = second, first
    after = heaps.child[first, d]
    heaps.following[second, d], heaps.before[second, d] = after, first
    if after >= 0:
        heaps.before[after, d] = second
    heaps.child[first, d] = second
    return first


@njit(cache=True, nogil=True)
def _meld_children(heaps: ShiftHeaps, d: int, i: int) -> int:
    """Return the first point of the heap of all that is below point i, without it.

    Children are melded in pairs, and these from the last to the first.
    """
    following = heaps.following
    at, paired = int(heaps.child[i, d]), NONE
    while at >= 0:
        other, rest = int(following[at, d]), NONE
        if other >= 0:
            rest = int(following[other, d])
        both = _meld(heaps, d, at, other)
        following[both, d] = paired
        paired, at = both, rest
    first = NONE
    while paired >= 0:
        rest = int(following[paired, d])
        first = _meld(heaps, d, first, paired)
        paired = rest
    if first >= 0:
        heaps.following[first, d] = heaps.before[first, d] = -1
    heaps.child[i, d] = -1
    return first
