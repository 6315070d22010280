"""Bounding methods in stages: when each stage begins, its steps, when it is given up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from sdpbb.bounds.bound import BoundProgress, ProvenBound, matrices_mebibytes
from sdpbb.bounds.lagrangian.reach import (
    has_columns_after_places,
    has_easy_columns,
    is_easy_to_price,
    is_enumerated_at_places,
    is_for_places,
    pricing_mebibytes,
)
from sdpbb.bounds.staged.run import Stage, StagedBounding, StagedRun
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import TimeLeft, no_limit

# Maximum steps of easy columns; then the semidefinite bound continues. Instances in 2 and 4
# dimensions take 27 to 206.
MAX_EASY_STEPS = 250
# Maximum steps of columns elsewhere, after the semidefinite bound has stalled. If they or exact
# pricing do not end by then, the rest of the tree does without columns. Wine with k = 5 and 340
# constraints (68 blocks) ends after 100, and takes 8 seconds instead of 23.
MAX_TRIED_STEPS = 120
# Maximum of these steps while the bound of the columns is far below the best bound. Exact pricing
# that takes longer does not end. With soft constraints on iris and glass, and size limits on wine,
# 90 more steps did not help. Wine with k = 5 is within 0.3 percent after 20.
MAX_FAR_STEPS = 30
# Maximum slices of enumeration at the prices of places. Successful ones take 11 to 148.
MAX_PLACE_SLICES = 300
# Maximum iterations of the semidefinite bound that the first prices of columns are taken from.
CENTRE_ITERATIONS = 100


class PlaceStage(Stage):
    """Stage of prices and places."""

    name = part = "places"

    def begins(self, run: StagedRun, cutoff: float) -> bool:
        if self.name not in run.skipped and is_for_places(run.contraction):
            from sdpbb.bounds.lagrangian.places.run import PlaceRun

            if run.inherited.places is not None:
                run.places = PlaceRun.inherit(run.contraction, run.inherited.places)
            elif run.known is not None:
                run.places = PlaceRun.begin(run.contraction, run.known)
        if run.places is None:
            run.skip(self.name)
        return run.places is not None

    def leaves_node(self, run: StagedRun, cutoff: float) -> bool:
        if run.are_places_far(cutoff):
            return False
        of = run.contraction
        return not (is_enumerated_at_places(of) or has_columns_after_places(of))


class EnumerationStage(Stage):
    """Stage that enumerates clusters of a better clustering, at the relaxation's dual values."""

    name = part = "enumeration"

    def begins(self, run: StagedRun, cutoff: float) -> bool:
        # Without a cutoff there is no clustering to be better than.
        if not math.isfinite(cutoff) or self.name in run.skipped:
            return False
        # With soft pairs all clusters of a low value take long to find, and columns are quicker.
        if run.contraction.soft:
            return False
        duals = run.semidefinite_duals()
        if run.are_far(duals):
            return False
        run.enumerate(duals, cutoff, None, None, run.method.max_pricing_slices)
        return True

    def give_up(self, run: StagedRun) -> None:
        run.enumeration = None

    def advance(self, run: StagedRun, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        enumeration = run.enumeration
        assert enumeration is not None
        enumeration.advance()
        if enumeration.is_out_of_reach:
            run.skip(self.name)
        bound = enumeration.bound
        # At the cutoff it has ended as it was to.
        return BoundProgress(bound, enumeration.is_finished and bound.value < cutoff, 0, 0)


class PlaceEnumerationStage(EnumerationStage):
    """Stage that enumerates clusters at the prices of the bound by places."""

    name = "enumeration at places"

    def begins(self, run: StagedRun, cutoff: float) -> bool:
        if not (math.isfinite(cutoff) and is_enumerated_at_places(run.contraction)):
            return False
        proof = None if run.places is None else run.places.proof
        if proof is None:
            return False
        from sdpbb.bounds.lagrangian.duals import DualValues

        duals = DualValues(proof.prices, -proof.least)
        run.enumerate(duals, cutoff, proof.least, MAX_PLACE_SLICES, run.method.max_pricing_slices)
        return True

    def leaves_node(self, run: StagedRun, cutoff: float) -> bool:
        return not has_columns_after_places(run.contraction)


class ColumnStage(Stage):
    """Stage of column generation, from prices of the stage before if that is a prelude."""

    name = part = "columns"
    can_fail = False

    def begins(self, run: StagedRun, cutoff: float) -> bool:
        centre = None if run.relaxed is None else run.semidefinite_duals()
        run.relaxed = None
        run.generate(centre)
        return True

    def leaves_node(self, run: StagedRun, cutoff: float) -> bool:
        """Return whether there are no prices to enumerate clusters at, or no cutoff."""
        return not math.isfinite(cutoff) or run.columns is None or run.columns.duals is None

    def give_up(self, run: StagedRun) -> None:
        run.drop_columns()


class EasyColumnStage(ColumnStage):
    """Stage of column generation alone, where pricing looks easy in few dimensions."""

    name = "easy columns"
    can_fail = True

    def begins(self, run: StagedRun, cutoff: float) -> bool:
        is_easy = has_easy_columns(run.contraction)
        if run.are_places_far(cutoff):  # columns would come to the same bound
            run.skip(PlaceStage.name)
            is_easy = False
        if is_easy and self.name not in run.skipped:
            run.generate(None)
            run.skip(PlaceStage.name)  # children begin with columns
            return True
        run.skip(self.name)
        return False

    def is_overdue(self, run: StagedRun) -> bool:
        assert run.columns is not None
        return run.columns.n_iterations >= MAX_EASY_STEPS


class RelaxationStage(Stage):
    """Stage of the semidefinite bound."""

    name, part = "relaxation", "relaxed"
    can_fail = False

    def begins(self, run: StagedRun, cutoff: float) -> bool:
        """Begin with what the parent knows, or with a known clustering."""
        inherited = run.inherited.relaxation
        run.relax(inherited, run.known if inherited is None else None)
        return True


class CentreStage(RelaxationStage):
    """Stage of a few iterations of the semidefinite bound, for the first prices of columns."""

    name = "centre"
    is_prelude = True

    def begins(self, run: StagedRun, cutoff: float) -> bool:
        if run.inherited.columns is not None or is_easy_to_price(run.contraction):
            return False
        run.relax(None, None)
        return True

    def advance(self, run: StagedRun, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        progress = super().advance(run, cutoff, no_limit)
        is_over = progress.stalled or progress.n_iterations >= CENTRE_ITERATIONS
        return BoundProgress(ProvenBound(0.0), is_over or progress.bound.value >= cutoff, 0, 0)


class LateColumnStage(ColumnStage):
    """Stage of column generation from the dual values of the relaxation."""

    can_fail = True

    def begins(self, run: StagedRun, cutoff: float) -> bool:
        # Where exact pricing has not ended at these prices, it will hardly at others.
        is_tried = not {self.name, EnumerationStage.name} & set(run.skipped)
        if not (run.is_small or is_tried):
            return False
        duals = run.semidefinite_duals()
        if not run.is_small and run.are_far(duals):
            return False
        run.generate(duals)
        return True

    def is_overdue(self, run: StagedRun) -> bool:
        columns = run.columns
        assert columns is not None
        if run.is_small:
            return False
        if columns.n_iterations >= MAX_TRIED_STEPS:
            return True
        return run.is_far(columns.bound.value) and columns.n_iterations >= MAX_FAR_STEPS


class ColumnEnumerationStage(EnumerationStage):
    """Stage that enumerates clusters at the prices of columns; it ends with their stage."""

    def __init__(self, after: ColumnStage) -> None:
        self._after, self.name, self.can_fail = after, after.name, after.can_fail

    def begins(self, run: StagedRun, cutoff: float) -> bool:
        columns = run.columns
        if columns is None or columns.duals is None:
            return False
        run.enumerate(columns.duals, cutoff, columns.least)
        return True

    def leaves_node(self, run: StagedRun, cutoff: float) -> bool:
        return True

    def give_up(self, run: StagedRun) -> None:
        super().give_up(run)
        self._after.give_up(run)


def with_enumeration(stage: ColumnStage) -> tuple[Stage, ...]:
    """Return a stage of columns, and that of the enumeration at their prices."""
    return stage, ColumnEnumerationStage(stage)


HYBRID_STAGES: tuple[Stage, ...] = (
    PlaceStage(),
    PlaceEnumerationStage(),
    *with_enumeration(EasyColumnStage()),
    RelaxationStage(),
    EnumerationStage(),
    *with_enumeration(LateColumnStage()),
)
COLUMN_STAGES: tuple[Stage, ...] = (CentreStage(), *with_enumeration(ColumnStage()))


# Matrices over the blocks that branching by places holds.
PLACE_MATRICES = 6


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
