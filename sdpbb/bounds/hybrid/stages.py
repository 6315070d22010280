"""Run of the hybrid bound, and its stages: when each begins, its steps, when it is given up."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, PairFixings, ProvenBound
from sdpbb.bounds.lagrangian.reach import (
    has_columns_after_places,
    has_easy_columns,
    is_enumerated_at_places,
    is_for_places,
    is_small,
)
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.relaxation_run import RelaxationRun, RelaxationState, SdpWarmStart
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import Attached, stored
from sdpbb.runtime.time_left import TimeLeft, no_limit

# Columns and places are imported where they begin: most runs need neither.
if TYPE_CHECKING:
    from sdpbb.bounds.lagrangian.bounding import ColgenRun
    from sdpbb.bounds.lagrangian.duals import DualValues
    from sdpbb.bounds.lagrangian.enumeration import Enumeration
    from sdpbb.bounds.lagrangian.generation_state import GenerationWarmStart
    from sdpbb.bounds.lagrangian.places.run import PlaceRun, PlaceWarmStart
    from sdpbb.bounds.lagrangian.sets.pricer import BranchingPricer

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
# Minimum relative distance from the best bound that counts as far.
FAR_GAP = 0.02
# Minimum relative gap that places leave, where sizes are limited, for the semidefinite bound to
# follow, and maximum blocks of nodes in which it does. Groups in the plane in 5 clusters of equal
# sizes: 200 points 5.3 percent and proven in 7 seconds, 500 4.8 and 0.2 percent, 1,000 6.4 and 2.5.
# Of 2,000 uniform points places leave 0.43 percent with branching, 0.48 with the other bound.
MIN_PLACE_GAP, MAX_RELAXED_AFTER_PLACES = 0.005, 2000
# Maximum slices of enumeration at the prices of places. Successful ones take 11 to 148.
MAX_PLACE_SLICES = 300


@stored
@dataclass(frozen=True, eq=False)
class HybridWarmStart:
    """Warm start of a child in the hybrid bound.

    relaxation, columns, places : of the parent, or of its ancestors; None if none of them began
    skipped : names of the stages that are not worth another try
    """

    relaxation: SdpWarmStart | None = None
    columns: GenerationWarmStart | None = None
    places: PlaceWarmStart | None = None
    skipped: tuple[str, ...] = ()


class HybridPart(Protocol):
    """Part of a run that bounds the node by itself, with a warm start for that of a child."""

    @property
    def n_iterations(self) -> int:
        """Iterations of this part so far."""

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Work until the next bound, as `BoundRun.advance`."""

    def affinity(self) -> NDArray[np.float64]:
        """Return the affinity Z (m, m) of the blocks, as `BoundRun.affinity`."""


@stored
@dataclass(eq=False)
class HybridRun(Attached):
    """Run of the hybrid bound on one node (`sdpbb.bounds.bound.BoundRun`), stage after stage.

    inherited : of the parent; its columns may be those of column generation that was given up
    known : (m,) labels of a known clustering, for parts to begin with
    skipped : names of the stages that are not to begin
    stage : position in STAGES of the current one, -1 before the first
    relaxation : state of the relaxation, None before it begins
    enumeration, columns, places : None before they begin
    pricer : of the enumeration, None before that begins
    bound : the best of all parts
    n_dropped : steps of column generation that was given up
    """

    inherited: HybridWarmStart
    known: NDArray[np.intp] | None
    skipped: tuple[str, ...] = ()
    stage: int = -1
    relaxation: RelaxationState | None = None
    pricer: BranchingPricer | None = None
    enumeration: Enumeration | None = None
    columns: ColgenRun | None = None
    places: PlaceRun | None = None
    bound: ProvenBound = field(default_factory=lambda: ProvenBound(0.0))
    n_dropped: int = 0

    def attach(
        self, contraction: Contraction, sdp: SdpBounding, max_pricing_slices: int | None
    ) -> HybridRun:
        """Resume on the contraction that the run has started with.

        max_pricing_slices : of enumeration; None for its own limit
        """
        self.contraction, self.sdp, self.max_pricing_slices = contraction, sdp, max_pricing_slices
        self.relaxed: RelaxationRun | None = None
        if self.relaxation is not None:
            self.relaxed = sdp.resume(contraction, self.relaxation)
        for part in (self.pricer, self.columns, self.places):
            if part is not None:
                part.attach(contraction)
        if self.enumeration is not None:
            self.enumeration.attach(contraction, self.pricing)
        return self

    @property
    def state(self) -> HybridRun:
        """State to resume from: the run."""
        return self

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Take a step of the current stage."""
        stage = STAGES[self.stage]
        if stage.is_overdue(self):
            return self._give_up(stage, cutoff, time_left)
        try:
            progress = stage.advance(self, cutoff, time_left)
        except BackendFailure:
            if isinstance(stage, RelaxationStage):
                raise
            return self._give_up(stage, cutoff, time_left)
        if (
            progress.stalled
            and progress.bound.value < cutoff
            and not stage.leaves_node(self, cutoff)
        ):
            progress = replace(progress, stalled=not self.go_on(cutoff))
        return self._with_best_bound(progress)

    def _give_up(self, stage: Stage, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        """Give the current stage up, and take a step of the next one if there is any."""
        stage.give_up(self)
        self.skip(stage.name)
        if self.go_on(cutoff):
            return self.advance(cutoff, time_left)
        return self._with_best_bound(BoundProgress(self.bound, True, 0, 0))

    def go_on(self, cutoff: float) -> bool:
        """Begin the next stage that pays off; return whether there is any."""
        for position in range(self.stage + 1, len(STAGES)):
            if STAGES[position].begins(self, cutoff):
                self.stage = position
                return True
        return False

    def _with_best_bound(self, progress: BoundProgress) -> BoundProgress:
        """Return the progress with the best bound of all parts so far."""
        best = max(progress.bound, self.bound)
        self.bound = best.bare()
        return replace(progress, bound=best, n_iterations=self.n_iterations)

    def affinity(self) -> NDArray[np.float64]:
        return self.begun[0].affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        labels = None if self.columns is None else self.columns.clustering()
        if labels is None and self.enumeration is not None:
            return self.enumeration.labels
        return labels

    def fixings(self, cutoff: float) -> PairFixings:
        if self.relaxed is None or not self.relaxed.n_iterations:
            return PairFixings(np.empty((0, 2), np.intp))
        return self.relaxed.fixings(cutoff)

    @cached_property
    def is_small(self) -> bool:
        """True if clusters are so small, in so few dimensions, that column generation ends."""
        return is_small(self.contraction)

    @property
    def pricing(self) -> BranchingPricer:
        """Pricing of the enumeration."""
        if self.pricer is None:
            from sdpbb.bounds.lagrangian.sets.pricer import BranchingPricer

            self.pricer = BranchingPricer.begin(self.contraction)
        return self.pricer

    @property
    def begun(self) -> list[HybridPart]:
        """Parts that have begun and bound the node by themselves: the latest stage's first."""
        parts = (self.columns, self.relaxed, self.places)
        return [part for part in parts if part is not None]

    @property
    def n_iterations(self) -> int:
        """Iterations of all parts so far."""
        return self.n_dropped + sum(part.n_iterations for part in self.begun)

    def skip(self, stage: str) -> None:
        """Skip a stage from now on, in the children of the node as well."""
        if stage not in self.skipped:
            self.skipped += (stage,)

    def is_far(self, bound: float) -> bool:
        """Return whether a bound is far below the best one."""
        return bound < (1.0 - FAR_GAP) * self.bound.value

    def are_places_far(self, cutoff: float) -> bool:
        """Return whether places have left much where sizes are limited, and the relaxation follows.

        Capacity cuts say more of sets than prices of points do.
        """
        of = self.contraction
        if self.places is None or not of.has_limits or of.n_blocks > MAX_RELAXED_AFTER_PLACES:
            return False
        return self.bound.value < (1.0 - MIN_PLACE_GAP) * cutoff

    def are_far(self, duals: DualValues) -> bool:
        """Return whether dual values of the master programme prove far less than the relaxation.

        This counts where sizes are limited: capacity cuts, which carry its bound there, say nothing
        of single clusters. Columns would take long to come to as much.
        """
        return self.contraction.has_limits and self.is_far(duals.value(self.contraction.k))

    def semidefinite_duals(self) -> DualValues:
        """Return dual values of the master programme from those of the relaxation."""
        from sdpbb.bounds.lagrangian.bounding import semidefinite_duals

        assert self.relaxed is not None
        return semidefinite_duals(self.contraction, self.relaxed)

    def enumerate(
        self,
        at: DualValues,
        cutoff: float,
        least: float | None = None,
        max_slices: int | None = None,
    ) -> None:
        """Begin to enumerate clusters at dual values, as `Enumeration.start`."""
        from sdpbb.bounds.lagrangian.enumeration import Enumeration

        self.enumeration = Enumeration.start(
            self.contraction, self.pricing, at, cutoff, least, max_slices, self.max_pricing_slices
        )

    def generate(self, centre: DualValues | None) -> None:
        """Begin to generate columns."""
        from sdpbb.bounds.lagrangian.bounding import ColgenRun, known_columns

        known, inherited = self.known, self.inherited.columns
        self.columns = columns = ColgenRun.begin(self.contraction)
        if inherited is None:
            columns.generate(known_columns(self.contraction, known), centre)
        else:
            columns.inherit(inherited, known, centre)

    def warm_start(self) -> HybridWarmStart:
        """Return the warm start of a child, for parts that have not begun that of the parent."""
        inherited = self.inherited
        return HybridWarmStart(
            inherited.relaxation if self.relaxed is None else self.relaxed.warm_start(),
            inherited.columns if self.columns is None else self.columns.warm_start(),
            inherited.places if self.places is None else self.places.warm_start(),
            self.skipped,
        )


class Stage:
    """Stage of the hybrid bound. It works on a `HybridRun`, and has no state of its own.

    name : for the stages that a run, or its children, skip
    part : name of the part that it takes steps of
    """

    name: str
    part: str

    def begins(self, run: HybridRun, cutoff: float) -> bool:
        """Begin the stage if it pays off; return whether it does."""
        raise NotImplementedError

    def leaves_node(self, run: HybridRun, cutoff: float) -> bool:
        """Return whether bounding the node ends with this stage."""
        return False

    def is_overdue(self, run: HybridRun) -> bool:
        """Return whether the stage has taken so long that it is to be given up."""
        return False

    def give_up(self, run: HybridRun) -> None:
        """Discard the state of this stage, which is skipped from then on."""

    def advance(self, run: HybridRun, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        """Take a step; stalled when the stage has ended."""
        part: HybridPart = getattr(run, self.part)
        return part.advance(cutoff, time_left)


class PlaceStage(Stage):
    """Stage of prices and places."""

    name = part = "places"

    def begins(self, run: HybridRun, cutoff: float) -> bool:
        if self.name not in run.skipped and is_for_places(run.contraction):
            from sdpbb.bounds.lagrangian.places.run import PlaceRun

            if run.inherited.places is not None:
                run.places = PlaceRun.inherit(run.contraction, run.inherited.places)
            elif run.known is not None:
                run.places = PlaceRun.begin(run.contraction, run.known)
        if run.places is None:
            run.skip(self.name)
        return run.places is not None

    def leaves_node(self, run: HybridRun, cutoff: float) -> bool:
        if run.are_places_far(cutoff):
            return False
        of = run.contraction
        return not (is_enumerated_at_places(of) or has_columns_after_places(of))


class EnumerationStage(Stage):
    """Stage that enumerates clusters of a better clustering, at the relaxation's dual values."""

    name = part = "enumeration"

    def begins(self, run: HybridRun, cutoff: float) -> bool:
        # Without a cutoff there is no clustering to be better than.
        if not math.isfinite(cutoff) or self.name in run.skipped:
            return False
        # With soft pairs all clusters of a low value take long to find, and columns are quicker.
        if run.contraction.soft:
            return False
        duals = run.semidefinite_duals()
        if run.are_far(duals):
            return False
        run.enumerate(duals, cutoff)
        return True

    def give_up(self, run: HybridRun) -> None:
        run.enumeration = None

    def advance(self, run: HybridRun, cutoff: float, time_left: TimeLeft) -> BoundProgress:
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

    def begins(self, run: HybridRun, cutoff: float) -> bool:
        if not (math.isfinite(cutoff) and is_enumerated_at_places(run.contraction)):
            return False
        proof = None if run.places is None else run.places.proof
        if proof is None:
            return False
        from sdpbb.bounds.lagrangian.duals import DualValues

        duals = DualValues(proof.prices, -proof.least)
        run.enumerate(duals, cutoff, proof.least, MAX_PLACE_SLICES)
        return True

    def leaves_node(self, run: HybridRun, cutoff: float) -> bool:
        return not has_columns_after_places(run.contraction)


class EasyColumnStage(Stage):
    """Stage of column generation alone."""

    name = "easy columns"
    part = "columns"

    def begins(self, run: HybridRun, cutoff: float) -> bool:
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

    def leaves_node(self, run: HybridRun, cutoff: float) -> bool:
        return True

    def is_overdue(self, run: HybridRun) -> bool:
        columns = run.columns
        assert columns is not None
        # An enumeration has an end of its own.
        return columns.n_iterations >= MAX_EASY_STEPS and not columns.is_enumerating

    def give_up(self, run: HybridRun) -> None:
        """End column generation, and keep its columns for another one."""
        columns = run.columns
        assert columns is not None
        run.n_dropped += columns.n_iterations
        run.inherited = replace(run.inherited, columns=columns.warm_start())
        run.columns = None


class RelaxationStage(Stage):
    """Stage of the semidefinite bound."""

    name, part = "relaxation", "relaxed"

    def begins(self, run: HybridRun, cutoff: float) -> bool:
        """Begin with what the parent knows, or with a known clustering."""
        inherited = run.inherited.relaxation
        known = run.known if inherited is None else None
        run.relaxed = run.sdp.start(run.contraction, inherited, known)
        run.relaxation = run.relaxed.state
        return True


class ColumnStage(EasyColumnStage):
    """Stage of column generation from the dual values of the relaxation."""

    name = "columns"

    def begins(self, run: HybridRun, cutoff: float) -> bool:
        # Where exact pricing has not ended at these prices, it will hardly at others.
        is_tried = not {self.name, EnumerationStage.name} & set(run.skipped)
        if not (run.is_small or is_tried):
            return False
        duals = run.semidefinite_duals()
        if not run.is_small and run.are_far(duals):
            return False
        run.generate(duals)
        return True

    def is_overdue(self, run: HybridRun) -> bool:
        columns = run.columns
        assert columns is not None
        if run.is_small or columns.is_enumerating:
            return False
        if columns.n_iterations >= MAX_TRIED_STEPS:
            return True
        return run.is_far(columns.bound.value) and columns.n_iterations >= MAX_FAR_STEPS


STAGES: tuple[Stage, ...] = (
    PlaceStage(),
    PlaceEnumerationStage(),
    EasyColumnStage(),
    RelaxationStage(),
    EnumerationStage(),
    ColumnStage(),
)
