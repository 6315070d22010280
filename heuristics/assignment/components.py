"""Components of the graph of pairs that matter, narrow ones with tables to solve them by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from heuristics.assignment.elimination import (
    Bucket,
    Tables,
    eliminate,
    entries_of,
    lay_out,
    propagate,
)
from heuristics.assignment.potts import Potts, adjacency_lists
from heuristics.assignment.programme import AssignmentProgramme
from sdpbb.arrays import Booleans, Integers
from sdpbb.time_left import TimeLeft, check_time, no_limit

# Dynamic programming over all components together may take this many times the budget of one.
BUDGETS = 20


@dataclass(eq=False)
class WidePottsComponent:
    """Component solved by search, as its tables would be too large (its width is).

    blocks : (b,) increasing
    pairs : (p,) numbers of the pairs within
    programme : built when it is first needed, and kept
    """

    blocks: NDArray[np.int64]
    pairs: NDArray[np.int64]
    programme: AssignmentProgramme | None = field(default=None)


class Structure:
    """Components and tables, which follow from candidates and pairs alone: the same for all costs.

    Parameters
    ----------
    potts : gives candidates and pairs. A pair whose candidates are disjoint is the same for all
        labels, and connects nothing
    table_budget : entries of dynamic programming allowed to one component
    time_left : time left

    Raises
    ------
    OutOfTime
        If no time is left on the way.

    Attributes
    ----------
    narrow_pairs : numbers of the pairs within the components that are solved by tables
    in_wide : (n,) whether a block is in one of the others
    wide : the other components
    """

    def __init__(self, potts: Potts, table_budget: float, time_left: TimeLeft = no_limit) -> None:
        self._candidates = potts.candidates
        matter = _pairs_that_matter(potts)
        i, j = potts.pairs[matter].T
        graph = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(potts.n, potts.n))
        component = connected_components(graph, directed=False)[1]
        buckets: list[Bucket] = []
        self.wide: list[WidePottsComponent] = []
        narrow: list[NDArray[np.int64]] = []
        budget = BUDGETS * table_budget
        for number, pairs in group_values(matter, component[i]):
            if narrow or self.wide:
                check_time(time_left)
            eliminated = _eliminate(potts, pairs, min(table_budget, budget))
            if eliminated is None:
                self.wide.append(WidePottsComponent(np.flatnonzero(component == number), pairs))
                continue
            budget -= entries_of(eliminated, potts.q)
            buckets += eliminated
            narrow.append(pairs)
        self.narrow_pairs = np.concatenate([np.empty(0, np.int64), *narrow])
        number_of = {
            (a, b): p
            for p, (a, b) in zip(
                self.narrow_pairs.tolist(), potts.pairs[self.narrow_pairs].tolist(), strict=True
            )
        }
        self._tables = lay_out(buckets, number_of, potts.q)
        self._match = None
        if potts.candidates is not None:
            self._match = self._tables.matches(potts.candidates)
        self.in_wide = np.zeros(potts.n, dtype=bool)
        for part in self.wide:
            self.in_wide[part.blocks] = True

    def serves(self, candidates: NDArray[np.int64] | None) -> bool:
        """Return whether the structure is that of these candidates too."""
        if candidates is None or self._candidates is None:
            return candidates is self._candidates
        return np.array_equal(candidates, self._candidates)

    def minimise_narrow(self, potts: Potts, labels: NDArray[np.int64]) -> bool:
        """Write the minimum over the narrow components into labels; False if there is none."""
        tables: Tables = self._tables
        return propagate(
            potts.costs,
            tables.block,
            tables.separator_at,
            tables.separator,
            tables.weights(potts.weights),
            self._match,
            tables.source_at,
            tables.source,
            tables.stride_at,
            tables.stride,
            tables.table_at,
            labels,
        )


def _pairs_that_matter(potts: Potts) -> NDArray[np.int64]:
    """Return the numbers of the pairs whose blocks have a candidate in common."""
    if potts.candidates is None:
        return np.arange(len(potts.pairs))
    return np.flatnonzero(_share(potts.candidates, potts.pairs))


def group_values(
    values: NDArray[np.int64], group: NDArray[np.int32]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the groups that have values, with these."""
    if not len(values):
        return
    order = np.argsort(group, kind="stable")
    numbers, first = np.unique(group[order], return_index=True)
    ends = [*first[1:].tolist(), len(order)]
    for number, start, end in zip(numbers.tolist(), first.tolist(), ends, strict=True):
        yield number, values[order[start:end]]


def _eliminate(potts: Potts, pairs: NDArray[np.int64], budget: float) -> list[Bucket] | None:
    """Return an elimination of one component, or None if it exceeds the budget."""
    ends = potts.pairs[pairs]
    core = _core(*_lists(ends))
    if potts.q ** (core + 1) > budget:
        return None
    return eliminate(ends, potts.q, budget)


def _lists(ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    blocks, renumbered = np.unique(ends, return_inverse=True)
    lists = adjacency_lists(len(blocks), renumbered.reshape(ends.shape))
    return lists.starts, lists.block


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


@njit(cache=True, nogil=True)
def _share(candidates: Integers, pairs: Integers) -> Booleans:
    """Return whether the two blocks of a pair share a candidate, (p,); negative ones are none."""
    shared = np.zeros(len(pairs), np.bool_)
    q = candidates.shape[1]
    for p in range(len(pairs)):
        i, j = pairs[p]
        for a in range(q):
            for b in range(q):
                if candidates[i, a] == candidates[j, b] and candidates[i, a] >= 0:
                    shared[p] = True
    return shared
