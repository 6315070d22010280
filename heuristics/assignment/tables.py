"""Dynamic programming over narrow components, along an elimination (bucket elimination).

Eliminating block v replaces its costs and the tables it receives by one table over its separator S,
the neighbours it has left,

    h_v(s) = min_c { cost_vc + sum of received tables at (s, c) + sum_{u in S} w_uv [c = s_u] },

of q^|S| entries found in O(q^(|S|+1)), q the number of labels of a block and w_uv the weight of the
pair uv (inf for a hard cannot-link). The order and the layout of the tables depend on the graph
alone and serve for many costs. A connected component is narrow if that takes few entries, along an
order of minimum degree.

Source: R. Dechter, Bucket elimination: a unifying framework for reasoning, Artificial Intelligence
113 (1999).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem.graph import connected_components
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit
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


class Tables(NamedTuple):
    """Elimination of b blocks as flat arrays; step t fills the table of blocks[t].

    Separators and sources are numbers of steps. The entry of a table at labels s of the separator
    is number sum_j s_j q^j. `pair` is the number of the pair of the block and a member of its
    separator, -1 for none. Step t receives the tables source[source_at[t] : source_at[t + 1]], each
    with |S| + 1 strides that lead from the labels of the separator, and of the block itself, to an
    entry of it.
    """

    blocks: NDArray[np.int64]
    separator_at: NDArray[np.int64]
    separator: NDArray[np.int64]
    pair: NDArray[np.int64]
    source_at: NDArray[np.int64]
    source: NDArray[np.int64]
    stride_at: NDArray[np.int64]
    stride: NDArray[np.int64]
    table_at: NDArray[np.int64]

    def matches(self, candidates: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the matching labels (|separator|, q) of the block for the members of a separator.

        For each label of a member it is the label of the block that stands for the same cluster, -1
        for none, where the block of step t may have the clusters candidates[t], each once.
        """
        steps = np.repeat(np.arange(len(self.blocks)), np.diff(self.separator_at))
        theirs, own = candidates[self.separator], candidates[steps]
        matching = np.full(theirs.shape, -1, np.int64)
        for label in range(own.shape[1]):
            matching[theirs == own[:, label, None]] = label
        return matching

    def minimise(
        self,
        costs: NDArray[np.float64],
        weights: NDArray[np.float64],
        match: NDArray[np.int64] | None,
    ) -> NDArray[np.int64] | None:
        """Return the cheapest labels (b,) in the order of the steps; None if there are none.

        Parameters
        ----------
        costs : (b, q) in the order of the steps, inf for a label that is not allowed
        weights : (p,) of all pairs
        match : `matches`, or None where label c stands for the same cluster everywhere
        """
        labels = np.empty(len(self.blocks), np.int64)
        in_separators = np.append(weights, 0.0)[self.pair]
        costs = np.ascontiguousarray(costs)
        if match is None:
            match = np.empty((0, 0), np.int64)
        return labels if _propagate(self, costs, in_separators, match, labels) else None


def lay_out(parts: list[Narrow], ends: NDArray[np.intp], q: int) -> Tables:
    """Return the tables of components for q labels each, of a graph of pairs (p, 2), i < j."""
    buckets = [bucket for part in parts for bucket in part.buckets]
    step_of = {bucket.block: t for t, bucket in enumerate(buckets)}
    number_of = {
        pair: number
        for part in parts
        for number, pair in zip(
            part.pairs.tolist(), map(tuple, ends[part.pairs].tolist()), strict=True
        )
    }
    sources: list[list[int]] = [[] for _ in buckets]
    for t, bucket in enumerate(buckets):
        if bucket.separator:  # the table goes to the first of the separator to be eliminated
            sources[min(step_of[u] for u in bucket.separator)].append(t)
    strides = [
        [
            q ** buckets[child].separator.index(u) if u in buckets[child].separator else 0
            for u in (*bucket.separator, bucket.block)
        ]
        for bucket, received in zip(buckets, sources, strict=True)
        for child in received
    ]
    pair = [
        [number_of.get((min(u, b.block), max(u, b.block)), -1) for u in b.separator]
        for b in buckets
    ]
    return Tables(
        blocks=np.array([bucket.block for bucket in buckets], np.int64),
        separator_at=_offsets(len(bucket.separator) for bucket in buckets),
        separator=_flat([step_of[u] for u in bucket.separator] for bucket in buckets),
        pair=_flat(pair),
        source_at=_offsets(len(received) for received in sources),
        source=_flat(sources),
        stride_at=_offsets(len(stride) for stride in strides),
        stride=_flat(strides),
        table_at=_offsets(q ** len(bucket.separator) for bucket in buckets),
    )


def _flat(rows: Iterable[Iterable[int]]) -> NDArray[np.int64]:
    return np.array([x for row in rows for x in row], dtype=np.int64)


def _offsets(lengths: Iterable[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(list(lengths), dtype=np.int64)]).astype(np.int64)


@njit(cache=True, nogil=True)
def _propagate(
    tables: Tables, costs: Reals, weight: Reals, match: Integers, labels: Integers
) -> bool:
    """Fill the tables forwards, read the labels off backwards; False if nothing is feasible.

    Parameters
    ----------
    weight : of the pair of each member of a separator, 0 for none
    labels : (b,) written

    The others as for `Tables.minimise`.
    """
    separator_at, separator, table_at = tables.separator_at, tables.separator, tables.table_at
    source_at, source = tables.source_at, tables.source
    stride_at, stride = tables.stride_at, tables.stride
    q = costs.shape[1]
    n_steps = len(labels)
    table = np.empty(table_at[n_steps])
    choice = np.empty(table_at[n_steps], np.int64)
    widest = 0
    for t in range(n_steps):
        widest = max(widest, separator_at[t + 1] - separator_at[t])
    digits = np.empty(widest, np.int64)
    value = np.empty(q)
    for t in range(n_steps):
        first, width = separator_at[t], separator_at[t + 1] - separator_at[t]
        for entry in range(table_at[t + 1] - table_at[t]):
            rest = entry
            for j in range(width):
                digits[j] = rest % q
                rest //= q
            for c in range(q):
                value[c] = costs[t, c]
            for number in range(source_at[t], source_at[t + 1]):
                at = table_at[source[number]]
                for j in range(width):
                    at += digits[j] * stride[stride_at[number] + j]
                own = stride[stride_at[number] + width]
                for c in range(q):
                    value[c] += table[at + own * c]
            for j in range(width):
                if len(match) == 0:
                    value[digits[j]] += weight[first + j]
                else:
                    same = match[first + j, digits[j]]
                    if same >= 0:
                        value[same] += weight[first + j]
            best = 0
            for c in range(1, q):
                if value[c] < value[best]:
                    best = c
            table[table_at[t] + entry] = value[best]
            choice[table_at[t] + entry] = best

    for t in range(n_steps - 1, -1, -1):
        entry = table_at[t]
        power = 1
        for j in range(separator_at[t], separator_at[t + 1]):
            entry += power * labels[separator[j]]
            power *= q
        if table[entry] == np.inf:
            return False
        labels[t] = choice[entry]
    return True
