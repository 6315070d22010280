"""Dynamic programming over narrow components, along an elimination (bucket elimination).

Eliminating block v replaces its costs and the tables it receives by one table over its separator S,
its remaining neighbours,

    h_v(s) = min_c { cost_vc + sum of received tables at (s, c) + sum_{u in S} w_uv [c = s_u] },

with w_uv the weight of the pair uv (inf for a hard cannot-link). A block needs only its q_v
cheapest labels. So the table has prod_{u in S} q_u entries, and takes q_v times as many steps. The
order and the layout of the tables depend on the graph alone and apply to many costs. A connected
component is narrow if an elimination by minimum degree takes few steps.

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
from sdpbb.runtime.time_left import TimeLeft, check_time, chunks, no_limit

# Elementary steps of one step of an elimination.
LOOPS = 20


Bucket = tuple[int, tuple[int, ...]]
"""Step of an elimination: a block and its separator, its remaining neighbours."""


def components(
    n: int, ends: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield blocks and numbers of pairs of each component of n blocks and pairs (p, 2).

    Components of single blocks are omitted; blocks and numbers increase.
    """
    if len(ends):
        number, linked = connected_components(n, ends), np.unique(ends)
        blocks_of = _split(linked, number[linked])
        yield from zip(blocks_of, _split(np.arange(len(ends)), number[ends[:, 0]]), strict=True)


def _split(values: NDArray[np.intp], groups: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the values (v,) of each group (v,), groups and values in increasing order."""
    order = np.argsort(groups, kind="stable")
    return np.split(values[order], np.flatnonzero(np.diff(groups[order])) + 1)


def eliminate(
    pairs: NDArray[np.intp], needed: NDArray[np.intp], budget: float
) -> tuple[list[Bucket], int] | None:
    """Return a minimum-degree elimination of a graph, and its number of steps.

    The number is sum_v q_v prod_{u in S} q_u; None if it exceeds the budget.

    Parameters
    ----------
    pairs : (p, 2) of blocks, each of which has a pair
    needed : (n,) q, the number of labels that each block needs
    budget : maximum number of steps
    """
    blocks = np.unique(pairs)
    # Separators of at most w blocks leave at most w pairs for each block.
    usual = max(2.0, float(np.median(needed[blocks])))
    if len(pairs) > len(blocks) * math.log(max(budget, 1.0), usual):
        return None
    q = dict(zip(blocks.tolist(), needed[blocks].tolist(), strict=True))
    neighbours: dict[int, set[int]] = {block: set() for block in q}
    for i, j in pairs.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    buckets, n_steps = [], 0
    waiting = [(len(others), block) for block, others in neighbours.items()]
    heapify(waiting)
    while neighbours:
        degree, block = heappop(waiting)
        if block not in neighbours or degree != len(neighbours[block]):
            continue  # an entry from before its degree changed
        separator = neighbours.pop(block)
        n_steps += q[block] * math.prod(q[u] for u in separator)
        if n_steps > budget:
            return None
        buckets.append((block, tuple(sorted(separator))))
        for u in separator:
            before = len(neighbours[u])
            neighbours[u] |= separator
            neighbours[u] -= {u, block}
            if len(neighbours[u]) != before:
                heappush(waiting, (len(neighbours[u]), u))
    return buckets, n_steps


class Tables(NamedTuple):
    """Eliminations of b blocks as flat arrays; step t fills the table of blocks[t].

    n_labels (b,) are the labels that blocks need, by cost. Separators and sources are numbers of
    steps. The entry of a table at labels s of the separator u_1, u_2, ... is number
    s_1 + q_1 (s_2 + q_2 (...)). `pair` is the number of the pair of the block and a member of its
    separator, -1 for none. Step t receives the tables source[source_at[t] : source_at[t + 1]], each
    with |S| + 1 strides that lead from the labels of the separator, and of the block itself, to an
    entry of it.
    """

    blocks: NDArray[np.int64]
    n_labels: NDArray[np.int64]
    separator_at: NDArray[np.int64]
    separator: NDArray[np.int64]
    pair: NDArray[np.int64]
    source_at: NDArray[np.int64]
    source: NDArray[np.int64]
    stride_at: NDArray[np.int64]
    stride: NDArray[np.int64]
    table_at: NDArray[np.int64]

    @classmethod
    def of(
        cls, buckets: list[Bucket], numbers: dict[tuple[int, int], int], needed: NDArray[np.intp]
    ) -> Tables:
        """Return the tables of eliminations.

        Parameters
        ----------
        numbers : of the pairs i < j
        needed : (n,) labels that each block needs
        """
        step_of = {block: t for t, (block, _) in enumerate(buckets)}
        sources: list[list[int]] = [[] for _ in buckets]
        strides_of, sizes = list[dict[int, int]](), list[int]()
        for t, (_, separator) in enumerate(buckets):
            size, own = 1, {}
            for u in separator:
                own[u] = size
                size *= int(needed[u])
            strides_of.append(own)
            sizes.append(size)
            if own:  # the table goes to the first of the separator to be eliminated
                sources[min(step_of[u] for u in own)].append(t)
        strides = [
            [strides_of[child].get(u, 0) for u in (*separator, block)]
            for (block, separator), received in zip(buckets, sources, strict=True)
            for child in received
        ]
        blocks = np.array([block for block, _ in buckets], np.int64)
        return cls(
            blocks=blocks,
            n_labels=needed[blocks].astype(np.int64),
            separator_at=_offsets(len(separator) for _, separator in buckets),
            separator=_flat([step_of[u] for u in separator] for _, separator in buckets),
            pair=_flat(
                [numbers.get((min(u, block), max(u, block)), -1) for u in separator]
                for block, separator in buckets
            ),
            source_at=_offsets(len(received) for received in sources),
            source=_flat(sources),
            stride_at=_offsets(len(stride) for stride in strides),
            stride=_flat(strides),
            table_at=_offsets(sizes),
        )

    def minimise(
        self,
        costs: NDArray[np.float64],
        weights: NDArray[np.float64],
        labels: NDArray[np.int64],
        time_left: TimeLeft = no_limit,
    ) -> bool:
        """Write the cheapest labels of the blocks; return False if no labels are allowed.

        Parameters
        ----------
        costs : (n, k) of all blocks, inf for forbidden labels
        weights : (p,) of all pairs
        labels : (n,) of all blocks

        Raises
        ------
        OutOfTime
            If the time is over before the end.
        """
        b = len(self.blocks)
        if not b:
            return True
        check_time(time_left)
        costs = costs[self.blocks]
        kept = np.argsort(costs, axis=1)[:, : self.n_labels.max()].astype(np.int64)
        rank = np.full(costs.shape, costs.shape[1], np.int64)
        np.put_along_axis(rank, kept, np.arange(kept.shape[1])[None], axis=1)
        in_separators = np.append(weights, 0.0)[self.pair]
        costs = np.take_along_axis(costs, kept, axis=1)
        n_entries = int(self.table_at[-1])
        table, choice = np.empty(n_entries), np.empty(n_entries, np.int64)
        each = LOOPS * kept.shape[1] * n_entries // b
        for first, last in chunks(b, each, time_left):
            _fill(first, last, self, costs, in_separators, kept, rank, table, choice)
        found = np.empty(b, np.int64)
        if not _read_off(self, table, choice, found):
            return False
        labels[self.blocks] = kept[np.arange(b), found]
        return True


def _flat(rows: Iterable[Iterable[int]]) -> NDArray[np.int64]:
    return np.array([x for row in rows for x in row], dtype=np.int64)


def _offsets(lengths: Iterable[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(list(lengths), dtype=np.int64)]).astype(np.int64)


@njit(cache=True, nogil=True)
def _fill(
    first: int,
    last: int,
    tables: Tables,
    costs: Reals,
    weight: Reals,
    kept: Integers,
    rank: Integers,
    table: Reals,
    choice: Integers,
) -> None:
    """Fill the tables of the steps from the first to before the last.

    Parameters
    ----------
    costs, kept : (b, q) of the labels that blocks need and these labels, the cheapest first
    weight : of the pair of each member of a separator, 0 for none
    rank : (b, k) of each label, k or more for labels that are not kept
    table, choice : of all steps, written: the least value, and the rank of its label
    """
    separator_at, separator, table_at = tables.separator_at, tables.separator, tables.table_at
    source_at, source = tables.source_at, tables.source
    stride_at, stride, n_labels = tables.stride_at, tables.stride, tables.n_labels
    widest = 0
    for t in range(first, last):
        widest = max(widest, separator_at[t + 1] - separator_at[t])
    digits, value = np.empty(widest, np.int64), np.empty(costs.shape[1])
    for t in range(first, last):
        start, width, q = separator_at[t], separator_at[t + 1] - separator_at[t], n_labels[t]
        for entry in range(table_at[t + 1] - table_at[t]):
            rest = entry
            for j in range(width):
                digits[j] = rest % n_labels[separator[start + j]]
                rest //= n_labels[separator[start + j]]
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
                same = rank[t, kept[separator[start + j], digits[j]]]
                if same < q:
                    value[same] += weight[start + j]
            best = 0
            for c in range(1, q):
                if value[c] < value[best]:
                    best = c
            table[table_at[t] + entry] = value[best]
            choice[table_at[t] + entry] = best


@njit(cache=True, nogil=True)
def _read_off(tables: Tables, table: Reals, choice: Integers, found: Integers) -> bool:
    """Write the ranks (b,) of the cheapest labels; return False if nothing is feasible."""
    for t in range(len(found) - 1, -1, -1):
        entry, power = tables.table_at[t], 1
        for j in range(tables.separator_at[t], tables.separator_at[t + 1]):
            entry += power * found[tables.separator[j]]
            power *= tables.n_labels[tables.separator[j]]
        if table[entry] == np.inf:
            return False
        found[t] = choice[entry]
    return True
