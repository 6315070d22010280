"""Local search by moves and swaps of blocks that keep cannot-links and limits.

What they save is of the whole cost: of squares, and of the weights of soft pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heuristics.neighbours import neighbour_lists
from heuristics.sizes.exchange_kernels import LimitedBlocks, exchange
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import WORK

# Blocks up to which pairs of them are swapped, and their coordinates times their squared number.
SWAP_BLOCKS, SWAP_WORK = 2_000, 2_000_000_000
# Sweeps at a time; fewer where one may take long, as they do not look at the time.
SWEEPS = 20
# Exchanges that save less than this part of the total and all weights of soft pairs are not made.
LEAST_SAVING = 1e-12


class Exchanges:
    """Moves and swaps of one contraction whose sizes, or weights, are limited."""

    def __init__(self, contraction: Contraction) -> None:
        amounts, (m, r) = contraction.limited_amounts, contraction.means.shape
        limits = [quantity.limits for quantity in amounts]
        self._is_listed = limits[0].listed is not None
        self._blocks = LimitedBlocks(
            contraction.means,
            contraction.weights,
            np.column_stack([quantity.linear for quantity in amounts]),
            neighbour_lists(m, contraction.cannot_link),
            np.array([[each.least, each.most] for each in limits], np.int64),
            neighbour_lists(m, contraction.soft.pairs, contraction.soft.weights),
        )
        self._swaps = m <= SWAP_BLOCKS and m * m * r <= SWAP_WORK
        self._sweeps = max(1, min(SWEEPS, WORK // (m * m))) if self._swaps else SWEEPS
        self._tolerance = least_saving(contraction)

    def __call__(self, labels: NDArray[np.intp]) -> tuple[NDArray[np.intp], float]:
        """Return labels (m,) within the limits after exchanges, and what they save.

        Sizes of listed clusters may change places.
        """
        exchanged = labels.astype(np.int64)
        saved = exchange(
            self._blocks, self._is_listed, self._swaps, exchanged, self._tolerance, self._sweeps
        )
        return exchanged, saved


def least_saving(contraction: Contraction) -> float:
    """Return what changes of labels save at least that are made: what is no rounding."""
    return LEAST_SAVING * (contraction.total + float(np.abs(contraction.soft.weights).sum()))
