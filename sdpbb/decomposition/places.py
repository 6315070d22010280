"""Bound of a root by prices and places, before its subsets are bounded."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.places.parameters import PlaceParameters
from sdpbb.bounds.places.reach import is_within_reach, place_mebibytes
from sdpbb.search.root import Root
from sdpbb.time_left import at_most


def raise_by_places(root: Root, parameters: PlaceParameters, free_mebibytes: float) -> None:
    """Raise the bound of a root by prices and places, where it has few dimensions and many blocks.

    Certified runs have no such bound: it comes without the evidence of a node.
    """
    if not root.is_open or root.context.keeps_evidence:
        return
    if root.contraction.n_blocks < parameters.least_blocks or parameters.time_share == 0.0:
        return
    contraction, tree = root.contraction, root.search.tree
    if tree.labels is None or not is_within_reach(contraction):
        return
    if place_mebibytes(contraction.n_blocks) > free_mebibytes:
        return
    from sdpbb.bounds.places.run import PlaceRun  # seldom needed
    from sdpbb.kernels import PLACES, compile_part

    compile_part(PLACES)
    labels = tree.labels[contraction.representatives].astype(np.intp)

    def seconds_left() -> float:
        return 0.0 if root.is_cancelled() else root.seconds_left

    time_left = at_most(seconds_left, parameters.time_share * root.seconds_left)
    run = PlaceRun.begin(contraction, parameters, labels)
    while run is not None and root.is_open:
        progress = run.advance(tree.tolerances.cutoff(tree.upper), time_left)
        root.raise_to(progress.bound.value)
        if progress.stalled or progress.is_cut:
            return
