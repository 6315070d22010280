"""Blocks of a node: points that share a cluster, and cannot-links between blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .rejection import Rejected
from .rules import (
    Rules,
    broken_alone,
    broken_together,
    exceeded_by_all,
    measures,
    over_blocks,
    with_limits,
    without_idle,
)


@dataclass(frozen=True, eq=False)
class Blocks:
    """State of a node: its clusterings into exactly k clusters, by blocks of points.

    Each block is in one cluster, cannot-linked blocks are in different ones, and all clusters
    satisfy the rules. Nothing is changed in place.

    If k = 1, all points share a block. If k = 2, points an even number of cannot-links apart share
    a block. Two blocks that break the rules together are cannot-linked (`rules.broken_together`).

    Attributes
    ----------
    k : number of clusters
    block_of : (n,) the block of each point, 0..m-1, numbered by their first points
    adjacency : (m, m) symmetric, whether two blocks are cannot-linked; on the diagonal, whether two
        points of the block are
    rules : on clusters of points
    """

    k: int
    block_of: NDArray[np.intp]
    adjacency: NDArray[np.bool_]
    rules: Rules = ()

    @classmethod
    def of(
        cls,
        n: int,
        k: int,
        must_link: NDArray[np.int64],
        cannot_link: NDArray[np.int64],
        rules: Rules = (),
    ) -> Blocks:
        """Return the blocks of n points with must-links and cannot-links (p, 2), and rules."""
        block_of, m = _number_names(_joined(n, must_link))
        rules = with_limits(rules, n, k)
        return cls(k, block_of, np.zeros((m, m), np.bool_), rules).separated(cannot_link)

    @property
    def m(self) -> int:
        return len(self.adjacency)

    @cached_property
    def block_rules(self) -> Rules:
        """Rules on clusters of blocks."""
        return over_blocks(self.rules, self.block_of)

    @cached_property
    def contradiction(self) -> str | None:
        """Plain reason why no such clustering exists, or None."""
        if self.adjacency.diagonal().any():
            return "two points that share a block are cannot-linked"
        if self.k == 1 and self.adjacency.any():
            return "two blocks are cannot-linked, and there is one cluster"
        if self.m < self.k:
            return f"{self.m} blocks, and there are {self.k} clusters"
        if broken_alone(self.block_rules, self.m).any():
            return "points that share a block are more than a cluster may hold"
        if exceeded_by_all(self.block_rules, self.k):
            return f"all points are more than {self.k} clusters may hold"
        for measure in measures(self.block_rules):
            what = "sizes" if measure.counts_points else "weights"
            if measure.limits.is_empty:
                return f"no clusters of the {what} asked for hold all points"
            if self.m == self.k and not measure.limits.keeps(measure.values):
                return f"blocks that are clusters have other {what} than asked for"
        return None

    @cached_property
    def component_of(self) -> NDArray[np.intp] | None:
        """Connected components (m,) of the pairs of blocks that may share a cluster.

        No cluster has blocks of two components. None: there is only one. If m = k, each block is a
        cluster, and so a component.
        """
        if self.m == self.k:
            return np.arange(self.m)
        component_of = np.full(self.m, -1, np.intp)
        count = 0
        for block in range(self.m):
            if component_of[block] >= 0:
                continue
            component_of[block] = count
            waiting = [block]
            while waiting:
                found = np.flatnonzero(~self.adjacency[waiting.pop()] & (component_of < 0))
                component_of[found] = count
                waiting += found.tolist()
            count += 1
        return component_of if count > 1 else None

    def linked(self, pairs: NDArray[np.int64]) -> Blocks:
        """Return the blocks after each of the pairs (p, 2) of points is put into one cluster."""
        return self.changed(pairs, np.empty((0, 2), np.int64))

    def separated(self, pairs: NDArray[np.int64]) -> Blocks:
        """Return the blocks after each of the pairs (p, 2) of points is cannot-linked."""
        return self.changed(np.empty((0, 2), np.int64), pairs)

    def changed(self, together: NDArray[np.int64], apart: NDArray[np.int64]) -> Blocks:
        """Return the blocks after pairs (p, 2) are linked and others (q, 2) cannot-linked."""
        adjacency = self.adjacency
        if len(apart):
            rows, columns = self.block_of[apart].T
            adjacency = adjacency.copy()
            adjacency[rows, columns] = adjacency[columns, rows] = True
        names = _joined(self.m, self.block_of[together])
        return Blocks(self.k, self.block_of, adjacency, self.rules)._merge(names)._closure()

    def merged(self, rows: NDArray[np.int64]) -> Blocks:
        """Return the blocks after merges, rows (t, k + 1) of points, applied one after the other.

        A row has i, j and k - 1 others. The blocks of the others are cannot-linked to each other
        and to the blocks of i and j. So they take k - 1 clusters, and i and j share the last one.

        Raises
        ------
        Rejected
            With the first row that is not two such cliques.
        """
        if self.k < 3:
            raise Rejected("merges; expected none where k < 3")
        names, adjacency = np.arange(self.m), self.adjacency.copy()
        for number, points in enumerate(rows):
            i, j, *others = names[self.block_of[points]].tolist()
            if not (_is_clique(adjacency, [i, *others]) and _is_clique(adjacency, [j, *others])):
                raise Rejected(f"row {number} of the merges is not two cliques")
            names[names == j] = i
            adjacency[i] |= adjacency[j]
            adjacency[:, i] = adjacency[i]
        return self._merge(names)._closure()

    def with_equal_linked(
        self, points: NDArray[np.float64], pairs: NDArray[np.int64], named: list[int]
    ) -> Blocks:
        """Return the blocks after pairs (p, 2) of equal points (n, d) are linked.

        A block is free if it has no cannot-links, its points are equal, and none is `named` by soft
        pairs. The pairs are in free blocks, and k free blocks or more remain.

        The least cost stays the same. To see this, take two free blocks with the same points in
        clusters A and B of a cheapest clustering. Let d_A >= d_B be the distances of the points
        from the means, N_A and N_B the points of the clusters, and v the points of the block in A.
        Then d_A = 0. Otherwise this block would save by moving to B, as
        N_B v / (N_B + v) d_B^2 < N_A v / (N_A - v) d_A^2. So it moves to B at no cost. If A is
        empty then, one of the other k - 1 clusters has two of the k free blocks. One of these moves
        to A, which never costs more.

        Raises
        ------
        Rejected
            If a pair is not in free blocks, or fewer than k of these remain.
        """
        if without_idle(self.rules):
            raise Rejected("equal points; expected none where clusters keep rules")
        place = np.unique(points + 0.0, axis=0, return_inverse=True)[1].reshape(-1)
        first = np.unique(self.block_of, return_index=True)[1]
        fits = np.ones(self.m, np.bool_)
        fits[np.nonzero(self.adjacency)[0]] = False
        fits[self.block_of[named]] = False
        fits[self.block_of[place != place[first[self.block_of]]]] = False
        i, j = pairs.T
        wrong = np.flatnonzero(
            (place[i] != place[j]) | ~fits[self.block_of[i]] | ~fits[self.block_of[j]]
        )
        if len(wrong):
            raise Rejected(
                f"points {i[wrong[0]]} and {j[wrong[0]]} are not equal, or are linked to others"
            )
        linked = self.linked(pairs)
        free = np.asarray(~linked.adjacency.any(axis=1))
        free[linked.block_of[named]] = False
        if free.sum() < self.k:
            raise Rejected(f"equal points leave fewer than {self.k} blocks without cannot-links")
        return linked

    def is_clique(self, points: Iterable[int]) -> bool:
        """Return whether points are of different blocks, all cannot-linked to each other."""
        return _is_clique(self.adjacency, self.block_of[list(points)].tolist())

    def are_undecided(self, i: int, j: int) -> bool:
        """Return whether two points may still share a cluster or not."""
        a, b = self.block_of[[i, j]]
        return bool(a != b and not self.adjacency[a, b])

    def _closure(self) -> Blocks:
        """Return the blocks after the cannot-links and merges that follow from rules and k."""
        blocks = self._separated_by_rules()
        while blocks.k <= 2:
            # Larger blocks may break the rules together.
            larger = blocks._with_forced_merges()
            if larger is blocks:
                break
            blocks = larger._separated_by_rules()
        return blocks

    def _separated_by_rules(self) -> Blocks:
        """Return the blocks with cannot-links between two that break the rules together."""
        if not self.rules:
            return self
        adjacency = self.adjacency | broken_together(self.block_rules, self.m)
        return Blocks(self.k, self.block_of, adjacency, self.rules)

    def _with_forced_merges(self) -> Blocks:
        """Return the blocks after the merges that follow for k = 1 and k = 2.

        Without any, it is this object itself.
        """
        if self.k == 1:
            return self._merge(np.zeros(self.m, np.intp))
        # Two neighbours of a block are two cannot-links apart; chains of such pairs connect all
        # blocks an even number apart.
        block, neighbour = np.nonzero(self.adjacency)
        first = self.adjacency.argmax(axis=1)
        return self._merge(_joined(self.m, np.column_stack([first[block], neighbour])))

    def _merge(self, names: NDArray[np.intp]) -> Blocks:
        """Return the blocks after blocks of the same name (m,) are merged."""
        group_of, count = _number_names(names)
        if count == self.m:
            return self
        adjacency = np.zeros((count, count), np.bool_)
        rows, columns = np.nonzero(self.adjacency)
        adjacency[group_of[rows], group_of[columns]] = True
        return Blocks(self.k, group_of[self.block_of], adjacency, self.rules)


def _joined(size: int, pairs: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return names (size,) of 0..size-1: two have the same if pairs (p, 2) connect them.

    Names decrease until both ends of each pair have the same.
    """
    i, j = pairs.T
    names = np.arange(size)
    while (names[i] != names[j]).any():
        least = np.minimum(names[i], names[j])
        for end in (i, j):
            np.minimum.at(names, names[end], least)
            np.minimum.at(names, end, least)
        names = names[names]
    return names


def _number_names(names: NDArray[np.intp]) -> tuple[NDArray[np.intp], int]:
    """Return names as numbers 0, 1, ... in order of first occurrence, and their count."""
    _, first, which = np.unique(names, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    return number[which], len(first)


def _is_clique(adjacency: NDArray[np.bool_], blocks: list[int]) -> bool:
    """Return whether all blocks are different and cannot-linked to each other."""
    # A block that occurs twice is not adjacent to itself, unless the node is contradictory.
    others = ~np.eye(len(blocks), dtype=np.bool_)
    return bool(adjacency[np.ix_(blocks, blocks)][others].all())
