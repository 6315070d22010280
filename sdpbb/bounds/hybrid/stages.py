"""Stages of the hybrid bound: what each begins with, when it is given up, its steps."""

from __future__ import annotations

import math
from typing import Protocol

from sdpbb.bounds.bound import BoundProgress
from sdpbb.bounds.hybrid.criteria import (
    has_easy_columns,
    has_small_columns,
    is_enumerated_at_places,
    is_for_places,
)
from sdpbb.bounds.hybrid.parts import HybridParts
from sdpbb.runtime.time_left import TimeLeft

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


class Stage(Protocol):
    """Stage of the hybrid bound. It works on the `HybridParts` of a run, and has no state."""

    name: str

    def leaves_node(self, parts: HybridParts, cutoff: float) -> bool:
        """Return whether bounding the node ends with this stage."""

    def begins(self, parts: HybridParts, cutoff: float) -> bool:
        """Begin the stage if it is worth its time; return whether it is."""

    def is_overdue(self, parts: HybridParts) -> bool:
        """Return whether the stage has taken so long that it is to be given up."""

    def give_up(self, parts: HybridParts) -> None:
        """Discard the state of this stage, which is skipped from then on."""

    def advance(self, parts: HybridParts, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        """Take a step; stalled when the stage has ended."""


class PlaceStage:
    """Stage of prices and places."""

    name = "places"

    def leaves_node(self, parts: HybridParts, cutoff: float) -> bool:
        if parts.are_places_far(cutoff):
            return False
        of = parts.contraction
        return not (is_enumerated_at_places(of) or has_small_columns(of))

    def begins(self, parts: HybridParts, cutoff: float) -> bool:
        if self.name not in parts.skipped and is_for_places(parts.contraction):
            parts.begin_places()
        if parts.places is None:
            parts.skip(self.name)
        return parts.places is not None

    def is_overdue(self, parts: HybridParts) -> bool:
        return False

    def give_up(self, parts: HybridParts) -> None:
        pass

    def advance(self, parts: HybridParts, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        assert parts.places is not None
        return parts.places.advance(cutoff, time_left)


class ClusterStage:
    """Stage that enumerates all clusters of a better clustering, at given dual values."""

    name: str

    def is_overdue(self, parts: HybridParts) -> bool:
        return False

    def give_up(self, parts: HybridParts) -> None:
        parts.enumeration = parts.state.enumeration = None

    def advance(self, parts: HybridParts, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        enumeration = parts.enumeration
        assert enumeration is not None
        enumeration.advance()
        if enumeration.is_out_of_reach:
            parts.skip(self.name)
        bound = enumeration.bound
        # At the cutoff it has ended as it was to.
        return BoundProgress(bound, enumeration.is_finished and bound.value < cutoff, 0, 0)


class PlaceEnumerationStage(ClusterStage):
    """Stage that enumerates clusters at the prices of the bound by places."""

    name = "enumeration at places"

    def leaves_node(self, parts: HybridParts, cutoff: float) -> bool:
        return not has_small_columns(parts.contraction)

    def begins(self, parts: HybridParts, cutoff: float) -> bool:
        if not (math.isfinite(cutoff) and is_enumerated_at_places(parts.contraction)):
            return False
        return parts.enumerate_at_places(cutoff)


class EasyColumnStage:
    """Stage of column generation alone."""

    name = "easy columns"

    def leaves_node(self, parts: HybridParts, cutoff: float) -> bool:
        return True

    def begins(self, parts: HybridParts, cutoff: float) -> bool:
        is_easy = has_easy_columns(parts.contraction)
        if parts.are_places_far(cutoff):  # columns would come to the same bound
            parts.skip(PlaceStage.name)
            is_easy = False
        if is_easy and self.name not in parts.skipped:
            parts.generate(None)
            parts.skip(PlaceStage.name)  # children begin with columns
            return True
        parts.skip(self.name)
        return False

    def is_overdue(self, parts: HybridParts) -> bool:
        columns = parts.generated
        # An enumeration has an end of its own.
        return columns.n_iterations >= MAX_EASY_STEPS and not columns.is_enumerating

    def give_up(self, parts: HybridParts) -> None:
        parts.drop_columns()

    def advance(self, parts: HybridParts, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        return parts.generated.advance(cutoff, time_left)


class RelaxationStage:
    """Stage of the semidefinite bound."""

    name = "relaxation"

    def leaves_node(self, parts: HybridParts, cutoff: float) -> bool:
        return False

    def begins(self, parts: HybridParts, cutoff: float) -> bool:
        parts.relax()
        return True

    def is_overdue(self, parts: HybridParts) -> bool:
        return False

    def give_up(self, parts: HybridParts) -> None:
        pass

    def advance(self, parts: HybridParts, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        return parts.relaxed.advance(cutoff, time_left)


class EnumerationStage(ClusterStage):
    """Stage that enumerates clusters at the dual values of the relaxation."""

    name = "enumeration"

    def leaves_node(self, parts: HybridParts, cutoff: float) -> bool:
        return False

    def begins(self, parts: HybridParts, cutoff: float) -> bool:
        # Without a cutoff there is no clustering to be better than.
        if not math.isfinite(cutoff) or self.name in parts.skipped:
            return False
        # With soft pairs all clusters of a low value take long to find, and columns are quicker.
        if parts.contraction.soft:
            return False
        duals = parts.semidefinite_duals()
        if parts.are_far(duals):
            return False
        parts.enumerate(cutoff, duals)
        return True


class ColumnStage(EasyColumnStage):
    """Stage of column generation from the dual values of the relaxation."""

    name = "columns"

    def begins(self, parts: HybridParts, cutoff: float) -> bool:
        # Where exact pricing has not ended at these prices, it will hardly at others.
        is_tried = not {self.name, EnumerationStage.name} & set(parts.skipped)
        if not (parts.is_small or is_tried):
            return False
        duals = parts.semidefinite_duals()
        if not parts.is_small and parts.are_far(duals):
            return False
        parts.generate(duals)
        return True

    def is_overdue(self, parts: HybridParts) -> bool:
        columns = parts.generated
        if parts.is_small or columns.is_enumerating:
            return False
        if columns.n_iterations >= MAX_TRIED_STEPS:
            return True
        return parts.is_far(columns.bound.value) and columns.n_iterations >= MAX_FAR_STEPS


STAGES: tuple[Stage, ...] = (
    PlaceStage(),
    PlaceEnumerationStage(),
    EasyColumnStage(),
    RelaxationStage(),
    EnumerationStage(),
    ColumnStage(),
)
