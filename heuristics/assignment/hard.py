"""Assignment step with hard cannot-links alone: many sets of centres, one graph.

The programme (PC-SOS-SDP, section 3.4, with the centres of (2) fixed)

    minimise    sum_i e_i || c_i - m_{l(i)} ||^2
    subject to  l(i) != l(j) for every cannot-link ij

falls apart into the connected components of the cannot-link graph. Blocks without cannot-links take
the nearest centre. A block of D neighbours needs no other labels than its 1 + D cheapest ones: one
of these is free, whatever the neighbours have. The components are solved exactly by dynamic
programming over these labels; where its tables would be too large, by a short branch and bound; and
where that does not end, by a local search and an integer programming solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from heuristics.assignment.components import group_values
from heuristics.assignment.elimination import (
    Bucket,
    Tables,
    eliminate,
    entries_of,
    lay_out,
    propagate,
)
from heuristics.assignment.filling import fill_empty_clusters
from heuristics.assignment.parameters import TABLE_BUDGET
from heuristics.assignment.wide_hard import WideComponent
from sdpbb.colouring.graph import sparse_graph
from sdpbb.errors import ParameterError
from sdpbb.feasibility import find_feasible
from sdpbb.problem import Contraction, Infeasibility
from sdpbb.time_left import TimeLeft, check_time, chunks, no_limit

# Dynamic programming over all components together may take this many times the budget of one, and
# this many times between two looks at the time.
BUDGETS, BUDGETS_AT_ONCE = 5, 1


class Assignment:
    """Assignment step with cannot-links only, prepared for many sets of centres.

    Parameters
    ----------
    contraction : must have a clustering (see `sdpbb.feasibility.find_feasible`)
    table_budget : entries of dynamic programming allowed to one component; the components over it
        are searched, and those that are left then are integer programmes, solved by HiGHS
    time_limit : seconds allowed to integer programmes over all calls together, >= 0; each may take
        `wide_hard.PROGRAMME_SHARE` of what is left. Without time the labels of these components
        keep the cannot-links but need not be the cheapest
    known : labels (m,) that keep the cannot-links, to begin the search of a component from; looked
        for if None

    Raises
    ------
    ParameterError
        If a component is searched and has no labels that keep the cannot-links.
    """

    def __init__(
        self,
        contraction: Contraction,
        table_budget: float = TABLE_BUDGET,
        time_limit: float = np.inf,
        known: NDArray[np.intp] | None = None,
    ) -> None:
        self._sizes = contraction.sizes
        self._means = np.ascontiguousarray(contraction.means)
        self._k = contraction.k
        self._linked, ends = np.unique(contraction.cannot_link, return_inverse=True)
        pairs = ends.reshape(-1, 2).astype(np.int64)
        narrow: list[_Narrow] = []
        self._wide: list[WideComponent] = []
        entries_left = BUDGETS * table_budget
        for blocks, inside in _components(len(self._linked), pairs):
            component = _eliminate(inside, self._k, min(table_budget, entries_left))
            if component is None:
                self._wide.append(WideComponent(blocks, inside, self._k))
            else:
                entries_left -= component.entries
                narrow.append(component)
        self._groups = list(_groups(narrow, BUDGETS_AT_ONCE * table_budget))
        self._time_limit = time_limit
        if self._wide:
            feasible = find_feasible(contraction) if known is None else known
            if isinstance(feasible, Infeasibility):
                raise ParameterError(f"no clustering keeps the cannot-links: {feasible}")
            assert feasible is not None  # no time limit was given
            self._last = feasible[self._linked]  # the searches begin from those of the last call

    def __call__(
        self, centres: NDArray[np.float64], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) for centres (k, r), with exactly k clusters.

        If the cheapest labels leave a cluster empty, the block whose move there reduces the sum of
        squares most is moved, out of a cluster of at least two blocks. This keeps the
        cannot-links, as an empty cluster holds no neighbour of the block; the labels are the
        minimum over all labels that keep the cannot-links only where nothing had to be moved.

        Raises
        ------
        OutOfTime
            If no time is left on the way.
        ParameterError, BackendFailure
            As `minimise` does.
        """
        # || c_i ||^2 is the same for all labels of i, and left out.
        norms = (centres**2).sum(axis=1)
        labels = np.empty(len(self._means), np.int64)
        # Products of matrices take a tenth of the time of compiled loops, and their minima as well.
        each = max(centres.size // 10, 4 * self._k)
        for first, last in chunks(len(labels), each, time_left):
            distances = norms - 2.0 * (self._means[first:last] @ centres.T)
            labels[first:last] = distances.argmin(axis=1)
        linked = self._linked
        if len(linked):
            costs = np.empty((len(linked), self._k))
            for first, last in chunks(len(linked), each, time_left):
                rows = linked[first:last]
                distances = norms - 2.0 * (self._means[rows] @ centres.T)
                costs[first:last] = self._sizes[rows, None] * distances
            labels[linked] = self._minimise(costs, time_left)
        return fill_empty_clusters(labels, self._sizes, self._means, self._k, time_left)

    def minimise(
        self, costs: NDArray[np.float64], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) that minimise sum_i costs[i, l(i)] and keep the cannot-links.

        Clusters may be empty.

        Parameters
        ----------
        costs : (m, k), finite

        Raises
        ------
        OutOfTime
            If no time is left on the way.
        ParameterError
            If no labels keep the cannot-links, or a cost is not finite.
        BackendFailure
            If the integer programming solver fails.
        """
        if not np.isfinite(costs).all():
            raise ParameterError("costs: every cost must be finite")
        labels: NDArray[np.int64] = costs.argmin(axis=1).astype(np.int64)
        if len(self._linked):
            labels[self._linked] = self._minimise(costs[self._linked], time_left)
        return labels

    def _minimise(self, costs: NDArray[np.float64], time_left: TimeLeft) -> NDArray[np.int64]:
        """Return labels (l,) of the linked blocks for their costs (l, k)."""
        labels = np.full(len(costs), -1, np.int64)
        for group in self._groups:
            check_time(time_left)
            if not group.solve(costs, labels):
                raise ParameterError("no clustering keeps the cannot-links of the contraction")
        for part in self._wide:
            check_time(time_left)
            found, seconds = part.solve(
                costs[part.blocks], self._last[part.blocks], self._time_limit, time_left
            )
            self._time_limit -= seconds
            labels[part.blocks] = self._last[part.blocks] = found
        return labels


class _Narrow(NamedTuple):
    """Component that is solved by tables over q labels of each block."""

    q: int
    buckets: list[Bucket]
    entries: float
    pairs: NDArray[np.int64]


class _Group(NamedTuple):
    """Components whose tables are filled by one call.

    blocks : (b,) their numbers among the linked ones; the tables number them 0..b-1
    """

    q: int
    blocks: NDArray[np.int64]
    tables: Tables
    weights: NDArray[np.float64]

    def solve(self, costs: NDArray[np.float64], labels: NDArray[np.int64]) -> bool:
        """Write labels of the blocks; return False if there are none."""
        mine, candidates, match = costs[self.blocks], None, None
        if self.q < costs.shape[1]:
            cheapest = np.argpartition(mine, self.q - 1, axis=1)[:, : self.q]
            candidates = np.sort(cheapest, axis=1).astype(np.int64)
            mine = np.take_along_axis(mine, candidates, axis=1)
            match = self.tables.matches(candidates)
        tables, chosen = self.tables, np.full(len(mine), -1, np.int64)
        if not propagate(
            np.ascontiguousarray(mine),
            tables.block,
            tables.separator_at,
            tables.separator,
            self.weights,
            match,
            tables.source_at,
            tables.source,
            tables.stride_at,
            tables.stride,
            tables.table_at,
            chosen,
        ):
            return False
        if candidates is not None:
            chosen = candidates[np.arange(len(chosen)), chosen]
        labels[self.blocks] = chosen
        return True


def _components(
    n: int, pairs: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the blocks and the pairs of each component of a graph.

    Every block has a pair.
    """
    if not n:
        return
    component = connected_components(sparse_graph(n, pairs), directed=False)[1]
    by_block = group_values(np.arange(n), component)
    by_pair = group_values(np.arange(len(pairs)), component[pairs[:, 0]])
    for (_, blocks), (_, inside) in zip(by_block, by_pair, strict=True):
        yield blocks, pairs[inside]


def _eliminate(pairs: NDArray[np.int64], k: int, budget: float) -> _Narrow | None:
    """Return the component as tables, or None if they exceed the budget."""
    degree = np.unique(pairs, return_counts=True)[1]
    q = min(k, 1 + int(degree.max()))
    buckets = eliminate(pairs, q, budget)
    return None if buckets is None else _Narrow(q, buckets, entries_of(buckets, q), pairs)


def _groups(narrow: list[_Narrow], budget: float) -> Iterator[_Group]:
    """Yield groups of components with the same number of labels, up to so many entries each."""
    waiting: list[_Narrow] = []
    entries = 0.0
    for component in sorted(narrow, key=lambda part: part.q):
        if waiting and (component.q != waiting[0].q or entries + component.entries > budget):
            yield _group(waiting)
            waiting, entries = [], 0.0
        waiting.append(component)
        entries += component.entries
    if waiting:
        yield _group(waiting)


def _group(parts: list[_Narrow]) -> _Group:
    blocks = np.array([bucket.block for part in parts for bucket in part.buckets], np.int64)
    position = {block: number for number, block in enumerate(blocks.tolist())}
    buckets = [
        Bucket(position[block], tuple(sorted(position[u] for u in separator)))
        for part in parts
        for block, separator in part.buckets
    ]
    pairs = [(position[i], position[j]) for part in parts for i, j in part.pairs.tolist()]
    number = {(min(pair), max(pair)): p for p, pair in enumerate(pairs)}
    tables = lay_out(buckets, number, parts[0].q)
    return _Group(parts[0].q, blocks, tables, tables.weights(np.full(len(pairs), np.inf)))
