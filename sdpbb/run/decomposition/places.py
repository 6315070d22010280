"""Bound of a root by prices and places, before its subsets are bounded."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.lagrangian.reach import has_places, place_mebibytes
from sdpbb.runtime.time_left import TimeLeft, at_most
from sdpbb.search.root import Root

# Minimum blocks for computing this bound before the bounds of subsets: the other bounds prove
# smaller instances in seconds.
MIN_BLOCKS = 1000
# Share of the remaining time for it.
TIME_SHARE = 0.5


def raise_by_places(root: Root, free_mebibytes: float) -> None:
    """Raise the bound of a root by prices and places, where it has few dimensions and many blocks.

    free_mebibytes : memory that there is for it; with less than it takes, nothing is done
    """
    contraction, tree = root.contraction, root.search.tree
    if tree.labels is None or not _is_worth_it(root):
        return
    if place_mebibytes(contraction.n_blocks) > free_mebibytes:
        return
    # Few runs come here, and the compiler is slow to import.
    from sdpbb.bounds.lagrangian.places.run import PlaceRun

    labels = tree.labels[contraction.representatives].astype(np.intp)
    time_left = _time_left(root)
    run = PlaceRun.begin(contraction, labels)
    while run is not None and root.is_open:
        progress = run.advance(tree.tolerances.cutoff(tree.upper), time_left)
        root.raise_to(progress.bound.value)
        if progress.stalled or progress.is_cut:
            return


def _is_worth_it(root: Root) -> bool:
    """Return whether the root is one that prices and places bound well, and are wanted for."""
    # The bound comes without the evidence of a node, which certified runs keep.
    if not root.is_open or root.context.keeps_evidence:
        return False
    is_large = root.contraction.n_blocks >= MIN_BLOCKS
    return is_large and has_places(root.contraction)


def _time_left(root: Root) -> TimeLeft:
    """Return the share of the time left to the run, which is none once it is cancelled."""

    def until_end() -> float:
        return 0.0 if root.is_cancelled() else root.seconds_left

    return at_most(until_end, TIME_SHARE * root.seconds_left)
