"""Dynamic programming along an elimination order (bucket elimination).

Eliminating block v replaces its costs and the tables it receives by one table over its separator S,
the neighbours it has left,

    h_v(s) = min_c { cost_vc + sum of received tables at (s, c) + sum_{u in S} w_uv [c = s_u] },

of q^|S| entries found in O(q^(|S|+1)), q the number of labels of a block and w_uv the weight of the
pair uv (inf for a hard cannot-link). The order and the layout of the tables depend on the graph
alone and serve for many costs.

Source: R. Dechter, Bucket elimination: a unifying framework for reasoning, Artificial Intelligence
113 (1999).
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sdpbb.arrays import Integers, Reals


class Bucket(NamedTuple):
    """One step of the elimination: a block and its separator."""

    block: int
    separator: tuple[int, ...]


class Tables(NamedTuple):
    """Elimination as flat arrays; step t fills the table of block[t].

    The entry of a table at labels s of the separator is number sum_j s_j q^j. `pair` is the number
    of the pair of the block and a member of its separator, -1 for none. Step t receives the tables
    source[source_at[t] : source_at[t + 1]], each with |S| + 1 strides that lead from the labels of
    the separator, and of the block itself, to an entry of it.
    """

    block: NDArray[np.int64]
    separator_at: NDArray[np.int64]
    separator: NDArray[np.int64]
    pair: NDArray[np.int64]
    source_at: NDArray[np.int64]
    source: NDArray[np.int64]
    stride_at: NDArray[np.int64]
    stride: NDArray[np.int64]
    table_at: NDArray[np.int64]

    def weights(self, of_pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of each member of a separator, from those of the pairs.

        It is 0 where there is no pair.
        """
        return np.append(of_pairs, 0.0)[self.pair]

    def matches(self, candidates: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the matching labels (|separator|, q) of the block for the members of a separator.

        For each label of a member it is the label of the block that stands for the same cluster, -1
        for none, where block i may have the clusters candidates[i], each at most once and negative
        for none.
        """
        blocks = np.repeat(self.block, np.diff(self.separator_at))
        theirs, own = candidates[self.separator], candidates[blocks]
        matching = np.full(theirs.shape, -1, np.int64)
        for label in range(own.shape[1]):
            same = (theirs == own[:, label, None]) & (theirs >= 0)
            matching[same] = label
        return matching


def eliminate(pairs: NDArray[np.int64], q: int, budget: float) -> list[Bucket] | None:
    """Return a minimum-degree elimination of a graph; None if the tables exceed the budget.

    Parameters
    ----------
    pairs : (p, 2) of blocks, each of which has a pair
    q : labels of a block
    budget : sum over the blocks of q^(|S|+1)
    """
    neighbours: dict[int, set[int]] = {block: set() for block in np.unique(pairs).tolist()}
    for i, j in pairs.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
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


def entries_of(buckets: Iterable[Bucket], q: int) -> int:
    """Return the number of entries that an elimination visits."""
    return sum(q ** (len(bucket.separator) + 1) for bucket in buckets)


def lay_out(buckets: list[Bucket], number: dict[tuple[int, int], int], q: int) -> Tables:
    """Return the tables of an elimination.

    Parameters
    ----------
    buckets : of one component after the other
    number : the number of each pair (i, j), i < j
    q : labels of a block
    """
    step_of = {bucket.block: t for t, bucket in enumerate(buckets)}
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
        [number.get((min(u, b.block), max(u, b.block)), -1) for u in b.separator] for b in buckets
    ]
    return Tables(
        block=_flat([[bucket.block] for bucket in buckets]),
        separator_at=_offsets(len(bucket.separator) for bucket in buckets),
        separator=_flat(bucket.separator for bucket in buckets),
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
def propagate(
    costs: Reals,
    block: Integers,
    separator_at: Integers,
    separator: Integers,
    weight: Reals,
    match: Integers | None,
    source_at: Integers,
    source: Integers,
    stride_at: Integers,
    stride: Integers,
    table_at: Integers,
    labels: Integers,
) -> bool:
    """Fill the tables forwards, read the labels off backwards; False if nothing is feasible.

    Parameters
    ----------
    costs : (m, q), inf for a label that is not allowed
    weight : `Tables.weights`
    match : `Tables.matches`, or None where label c stands for the same cluster everywhere
    labels : (m,) those of the blocks of the tables are written

    The others as in `Tables`.
    """
    q = costs.shape[1]
    n_steps = len(block)
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
                value[c] = costs[block[t], c]
            for number in range(source_at[t], source_at[t + 1]):
                at = table_at[source[number]]
                for j in range(width):
                    at += digits[j] * stride[stride_at[number] + j]
                own = stride[stride_at[number] + width]
                for c in range(q):
                    value[c] += table[at + own * c]
            for j in range(width):
                if match is None:
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
        labels[block[t]] = choice[entry]
    return True
