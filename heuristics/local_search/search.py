"""`LocalSearch`: the descent over exchanges in one contraction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heuristics.cluster_state import BlockData, ClusterState
from heuristics.local_search.chains import exchange_chains
from heuristics.local_search.moves import move_blocks
from heuristics.local_search.swaps import SwapTables, swap_pairs
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import WORK, TimeLeft, no_limit

# An exchange counts if it improves by more than this share of the total sum of squares: far above
# the rounding of its change (about 1e-15 of the total), so that the descent terminates.
MINIMUM_IMPROVEMENT = 1e-13
# Where weights differ by many orders of magnitude, what is left of a cluster without its heavy
# blocks is rounded to more than that, and the descent ends when the sum of squares itself, summed
# anew after so many sweeps over moves, is no less than before.
CHECK_MOVES = 50
# Up to here, the inner products of all pairs take 32 MB and a sweep over the pairs milliseconds.
SWAP_BLOCKS = 2_000


class LocalSearch:
    """Descent over Kempe chains and swaps in one contraction, prepared for many clusterings.

    swap_blocks : with more blocks than this there are no swaps, and blocks without cannot-links are
        moved one by one
    """

    def __init__(self, contraction: Contraction, swap_blocks: int = SWAP_BLOCKS) -> None:
        self._k, self._pairs = contraction.k, contraction.soft
        self._blocks = blocks = BlockData.of(contraction)
        few = contraction.n_blocks <= swap_blocks
        rows = blocks.weights[:, None] * blocks.means
        self._gram = np.ascontiguousarray(rows @ rows.T) if few else None
        # Blocks of which whole chains are looked at, and the others: those without any pairs.
        degrees = np.diff(blocks.apart.starts) + np.diff(blocks.soft.starts)
        linked = np.full(contraction.n_blocks, few) | (degrees > 0)
        self._chained, self._alone = np.flatnonzero(linked), np.flatnonzero(~linked)
        prices = float(np.abs(contraction.soft.weights).sum())
        self._threshold = MINIMUM_IMPROVEMENT * (contraction.total + prices)

    def __call__(
        self, labels: NDArray[np.intp], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) that are a local optimum.

        No exchange of a Kempe chain improves them, and no swap of two blocks where there are
        swap_blocks of them or fewer.

        For each block the best chain through it is exchanged if it improves, until none does; then
        every swap that improves is made, and any sends the search back to the chains. No cluster
        is emptied, and the cost never increases.

        Parameters
        ----------
        labels : (m,) exactly the clusters 0..k-1, the cannot-links kept; not modified
        time_left : asked between pieces of a sweep, which ends when no time is left
        """
        improved = np.array(labels, dtype=np.int64)
        best, cost = improved.copy(), self._cost(improved)
        while True:
            exchanged, is_over = self._exchange_chains(improved, time_left)
            if is_over:
                return improved
            if not exchanged:
                swapped, is_over = self._swap_blocks(improved, time_left)
                if is_over or not swapped:
                    return improved
            if not (now := self._cost(improved)) < cost:
                return best
            best[:], cost = improved, now

    def _cost(self, labels: NDArray[np.int64]) -> float:
        """Return the cost but for what is inside blocks, from differences to means."""
        clusters = ClusterState.of(self._blocks, labels, self._k)
        away = self._blocks.means - (clusters.sums / clusters.weight[:, None])[labels]
        squares = float(self._blocks.weights @ np.einsum("ij,ij->i", away, away))
        return squares + self._pairs.penalty(labels)

    def _exchange_chains(self, labels: NDArray[np.int64], time_left: TimeLeft) -> tuple[bool, bool]:
        """Sweep over the blocks; return whether any chain was exchanged, and the time is over."""
        any_moved = False
        if self._gram is None:
            any_moved, is_over = self._move_alone(labels, time_left)
            if is_over:
                return any_moved, True
        clusters = ClusterState.of(self._blocks, labels, self._k)
        any_exchanged, position = any_moved, 0
        while position < len(self._chained):
            position, exchanged = exchange_chains(
                self._chained, position, WORK, self._blocks, clusters, self._threshold
            )
            any_exchanged |= exchanged
            if time_left() <= 0.0:
                return any_exchanged, True
        return any_exchanged, False

    def _move_alone(self, labels: NDArray[np.int64], time_left: TimeLeft) -> tuple[bool, bool]:
        """Move blocks without pairs, in a sweep over all, and in others until none is moved.

        The others are over those that a move nearly improves. Return whether any was moved, and the
        time is over.
        """
        clusters = ClusterState.of(self._blocks, labels, self._k)
        columns = np.ascontiguousarray((clusters.sums / clusters.weight[:, None]).T)
        numbers, any_moved, n_moved, n_sweeps, cost = self._alone, False, 1, 0, np.inf
        piece = max(1, WORK // columns.size)
        while n_moved and len(numbers):
            n_moved, n_sweeps = 0, n_sweeps + 1
            if n_sweeps % CHECK_MOVES == 0:
                if not (now := self._cost(labels)) < cost:
                    break
                cost = now
            nearly = np.zeros(len(numbers), np.bool_)
            for first in range(0, len(numbers), piece):
                n_moved += move_blocks(
                    numbers[first : first + piece],
                    self._blocks,
                    clusters,
                    columns,
                    self._threshold,
                    nearly[first:],
                )
                if time_left() <= 0.0:
                    return any_moved or n_moved > 0, True
            any_moved |= n_moved > 0
            numbers = numbers[nearly] if numbers is self._alone else numbers
        return any_moved, False

    def _swap_blocks(self, labels: NDArray[np.int64], time_left: TimeLeft) -> tuple[bool, bool]:
        """Sweep over the pairs; return whether any were swapped, and the time is over."""
        if self._gram is None:
            return False, False
        clusters = ClusterState.of(self._blocks, labels, self._k)
        tables = SwapTables.of(self._blocks, clusters, self._gram)
        any_swapped = False
        piece = max(1, WORK // (32 * len(labels)))  # a swap takes as long as a row
        for first in range(0, len(labels), piece):
            any_swapped |= swap_pairs(
                first, first + piece, self._blocks, clusters, tables, self._threshold
            )
            if time_left() <= 0.0:
                return any_swapped, True
        return any_swapped, False
