"""Bounding method in stages: prices and places, columns, the semidefinite bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import matrices_mebibytes
from sdpbb.bounds.hybrid.run import Stage, StagedRun, StagedWarmStart
from sdpbb.bounds.hybrid.stages import COLUMN_STAGES, HYBRID_STAGES
from sdpbb.bounds.lagrangian.reach import (
    has_columns_after_places,
    has_easy_columns,
    is_easy_to_price,
    is_enumerated_at_places,
    is_for_places,
    pricing_mebibytes,
)
from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.problem import Contraction

# Matrices over the blocks that branching by places holds.
PLACE_MATRICES = 6


class StagedBounding(BoundingMethod[StagedWarmStart]):
    """Base class of bounding methods in stages.

    A stage begins where the one before ends without having closed the node, or is given up. Where
    HiGHS cannot solve a linear programme, as its numbers differ too much in size, the stage is
    given up if others bound the node. Bounds that were proven stay.
    """

    stages: tuple[Stage, ...]

    def __init__(
        self, sdp: SdpParameters | None = None, max_pricing_slices: int | None = None
    ) -> None:
        """max_pricing_slices : of enumeration; None for `enumeration.MAX_PRICING_SLICES`"""
        self.sdp, self.max_pricing_slices = SdpBounding(sdp), max_pricing_slices
        self.most_blocks_here = self.sdp.most_blocks_here

    def start(
        self,
        contraction: Contraction,
        warm_start: StagedWarmStart | None,
        known: NDArray[np.intp] | None = None,
    ) -> StagedRun:
        """Return a new `StagedRun` on a node."""
        inherited = warm_start or StagedWarmStart()
        run = self.resume(contraction, StagedRun(inherited, known, inherited.skipped))
        run.go_on(math.inf)
        return run

    def resume(self, contraction: Contraction, run: StagedRun) -> StagedRun:
        """Return the run, attached to the contraction that it has started with."""
        return run.attach(contraction, self)


class ColgenBounding(StagedBounding):
    """Bounding method that generates columns, and enumerates clusters where few are left.

    The first prices are the parent's; or those of a few iterations of the semidefinite bound,
    unless pricing is easy.

    Source: Babaki, Guns and Nijssen (2014), with pricing, stabilisation and bounds of this project.
    Must-links and cannot-links are decisions of the tree: Ryan and Foster's branching (1981).
    """

    stages = COLUMN_STAGES

    @staticmethod
    def exercise(contraction: Contraction) -> None:
        from sdpbb.bounds.lagrangian.columns import Columns
        from sdpbb.bounds.lagrangian.masters import interior_method
        from sdpbb.bounds.lagrangian.partitioning import cheapest_partition, exact_cover

        run = ColgenBounding().start(contraction, None)
        while not run.advance(contraction.total).stalled:
            pass
        m = contraction.n_blocks
        members = np.tri(m, dtype=bool) & ~np.tri(m, k=-3, dtype=bool)
        cheapest_partition(contraction, Columns.of(contraction, members), contraction.total)
        exact_cover.exercise()
        interior_method.exercise()

    def mebibytes(self, contraction: Contraction) -> float:
        """Return the memory that bounding a node takes at its peak, in MiB, about.

        It is that of pricing, or that of the semidefinite bound that the first prices are from.
        """
        pricing = pricing_mebibytes(contraction)
        if is_easy_to_price(contraction):
            return pricing
        return max(pricing, self.sdp.mebibytes(contraction))


class HybridBounding(StagedBounding):
    """Bounding method in stages: prices and places, columns, and the semidefinite relaxation.

    The stages, in order:

    1. Places. Prices and places, where blocks are many in few dimensions. The node is branched on
       where they leave a gap, unless clusters are small.
    2. Enumeration at places. Where clusters are small, all that a better clustering can have are
       enumerated at the prices of places, if they are few. The node is branched on where they are
       not, unless clusters are smaller still.
    3. Easy columns. Where pricing looks easy: column generation alone, unless that takes long.
    4. Relaxation. The semidefinite bound, until the node is closed or the bound has stalled.
    5. Enumeration. Its dual values are dual values of the master programme
       (`sdp_dual.master_dual`): all clusters that a better clustering can have are enumerated at
       these, if they are few.
    6. Columns. Column generation continues from these dual values: to its end where clusters are
       small, and for a while elsewhere.

    What counts as few, small and long is in `lagrangian/reach.py` and `stages.py`. Clusters are
    enumerated at the prices of columns, too.
    """

    stages = HYBRID_STAGES

    def is_quick(self, contraction: Contraction) -> bool:
        """Return whether places come first, or columns."""
        return is_for_places(contraction) or has_easy_columns(contraction)

    def lighter(self, contraction: Contraction) -> str | None:
        """Return the bounding by columns alone where pricing is easy."""
        return "colgen" if is_easy_to_price(contraction) else None

    def mebibytes(self, contraction: Contraction) -> float:
        """Return the memory that bounding a node takes at its peak, in MiB, about.

        It is that of places, which look at all pairs of blocks to branch, where the node is left
        with them; else that of the relaxation and of pricing, as it may come to both.
        """
        if is_for_places(contraction) and not has_columns_after_places(contraction):
            enumerates = is_enumerated_at_places(contraction)
            pricing = pricing_mebibytes(contraction) if enumerates else 0.0
            return pricing + matrices_mebibytes(PLACE_MATRICES, contraction.n_blocks)
        return self.sdp.mebibytes(contraction) + pricing_mebibytes(contraction)

    def checkable(self, contraction: Contraction, evidence: Any) -> Iterator[Any]:
        """Yield the forms of the semidefinite bound's evidence; other evidence as it is."""
        return self.sdp.checkable(contraction, evidence)

    def is_quickly_checked(self, evidence: Any) -> bool:
        return self.sdp.is_quickly_checked(evidence)
