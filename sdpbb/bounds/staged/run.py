"""Run in stages on one node, what a stage is, and the base class of methods in stages."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundingMethod, BoundProgress, PairFixings, ProvenBound
from sdpbb.bounds.lagrangian.reach import is_small
from sdpbb.bounds.sdp.admm_run import AdmmRun
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.first_duals import SdpWarmStart
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import Attached, stored
from sdpbb.runtime.time_left import TimeLeft, no_limit

if TYPE_CHECKING:
    from sdpbb.bounds.lagrangian.duals import DualValues
    from sdpbb.bounds.lagrangian.enumeration import Enumeration
    from sdpbb.bounds.lagrangian.generation import Generation, GenerationWarmStart
    from sdpbb.bounds.lagrangian.places.run import PlaceRun, PlaceWarmStart
    from sdpbb.bounds.lagrangian.sets.pricer import BranchingPricer

    Part = AdmmRun | Generation | PlaceRun

# Minimum relative distance from the best bound that counts as far.
FAR_GAP = 0.02
# With limited sizes, the semidefinite bound follows places if they leave at least this relative gap
# and nodes have at most this many blocks. Groups in the plane in 5 clusters of equal sizes: for 200
# points places leave 5.3 percent, and the other bound proves the optimum in 7 seconds; for 500 they
# leave 4.8 and 0.2 percent, for 1,000 6.4 and 2.5. For 2,000 uniform points places leave 0.43
# percent with branching, and 0.48 with the other bound.
MIN_PLACE_GAP, MAX_RELAXED_AFTER_PLACES = 0.005, 2000


@stored
@dataclass(frozen=True, eq=False)
class StagedWarmStart:
    """Warm start of a child.

    relaxation, columns, places : of the nearest ancestor that began them, or None
    skipped : names of stages to skip
    """

    relaxation: SdpWarmStart | None = None
    columns: GenerationWarmStart | None = None
    places: PlaceWarmStart | None = None
    skipped: tuple[str, ...] = ()


@stored
@dataclass(eq=False)
class StagedRun(Attached):
    """Run of a bound in stages on one node (`sdpbb.bounds.bound.BoundRun`).

    inherited : warm start of the parent, or with columns of a stage that was given up
    known : (m,) labels of a known clustering, or None
    skipped : names of stages to skip
    stage : position of the current stage, -1 before the first
    relaxed : run of the relaxation; None before it begins, and after it has given first prices
    pricer : for columns and enumerations, None before these begin
    enumeration, columns, places : None before they begin
    bound : the best bound of all parts
    n_dropped : iterations of parts that were given up
    """

    inherited: StagedWarmStart
    known: NDArray[np.intp] | None
    skipped: tuple[str, ...] = ()
    stage: int = -1
    relaxed: AdmmRun | None = None
    pricer: BranchingPricer | None = None
    enumeration: Enumeration | None = None
    columns: Generation | None = None
    places: PlaceRun | None = None
    bound: ProvenBound = field(default_factory=lambda: ProvenBound(0.0))
    n_dropped: int = 0

    def attach(self, contraction: Contraction, method: StagedBounding) -> StagedRun:
        """Resume on the contraction and the method that the run started with."""
        self.contraction, self.method = contraction, method
        if self.relaxed is not None:
            self.relaxed.attach(contraction, method.sdp)
        for part in (self.pricer, self.places):
            if part is not None:
                part.attach(contraction)
        for on_sets in (self.columns, self.enumeration):
            if on_sets is not None:
                on_sets.attach(contraction, self.pricing)
        return self

    @property
    def current(self) -> Stage:
        """The current stage."""
        return self.method.stages[self.stage]

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Take a step of the current stage; begin the next stage when it ends.

        Raises
        ------
        BackendFailure
            If a solver ends without a result, and no other stage bounds the node.
        """
        stage, part = self.current, self._part
        try:
            progress = None if self._is_overdue else part.advance(cutoff, time_left)
        except BackendFailure:
            if not stage.can_fail:
                raise
            progress = None
        if progress is None:
            return self._give_up(cutoff, time_left)
        if stage.part == "enumeration" and part.is_out_of_reach:
            self.skip(stage.name)
        if progress.stalled and progress.bound.value < cutoff and not stage.is_last(self, cutoff):
            progress = replace(progress, stalled=not self.begin_next(cutoff))
        return self._with_best_bound(progress)

    @property
    def _is_overdue(self) -> bool:
        """True if the stage has not ended within its maximum number of steps."""
        if self.columns is not None and self.columns.is_finished:
            return False
        most = self.current.max_steps(self)
        return most < math.inf and self._part.n_iterations >= most

    @property
    def _part(self) -> Any:
        """Part of the current stage."""
        return getattr(self, self.current.part)

    def _give_up(self, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        """Give up the current stage, and take a step of the next one if there is one."""
        self.skip(self.current.name)
        self.enumeration = None
        if self.columns is not None:  # another stage may start from its columns
            self.n_dropped += self.columns.n_iterations
            self.inherited = replace(self.inherited, columns=self.columns.warm_start())
            self.columns = None
        if self.begin_next(cutoff):
            return self.advance(cutoff, time_left)
        return self._with_best_bound(BoundProgress(self.bound, True, 0))

    def begin_next(self, cutoff: float) -> bool:
        """Begin the next stage that pays off; return whether there is one."""
        for position in range(self.stage + 1, len(self.method.stages)):
            if self.method.stages[position].begin(self, cutoff):
                self.stage = position
                return True
        return False

    def _with_best_bound(self, progress: BoundProgress) -> BoundProgress:
        """Return the progress with the best bound of all parts so far."""
        best = max(progress.bound, self.bound)
        self.bound = best.bare()
        return replace(progress, bound=best)

    def affinity(self) -> NDArray[np.float64]:
        return self._begun[0].affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        labels = None if self.enumeration is None else self.enumeration.labels
        other = None if self.columns is None else self.columns.clustering()
        found = [each for each in (labels, other) if each is not None]
        return min(found, key=self.contraction.cost, default=None)

    def fixings(self, cutoff: float) -> PairFixings:
        if self.relaxed is None or not self.relaxed.n_iterations:
            return PairFixings(np.empty((0, 2), np.intp))
        return self.relaxed.fixings(cutoff)

    @property
    def _begun(self) -> list[Part]:
        """Parts that have begun and bound the node by themselves, the latest one first."""
        parts = (self.columns, self.relaxed, self.places)
        return [part for part in parts if part is not None]

    @property
    def n_iterations(self) -> int:
        """Iterations of all parts so far."""
        return self.n_dropped + sum(part.n_iterations for part in self._begun)

    def warm_start(self) -> StagedWarmStart:
        """Return the warm start of a child; parts that have not begun pass on the parent's."""
        inherited = self.inherited
        return StagedWarmStart(
            inherited.relaxation if self.relaxed is None else self.relaxed.warm_start(),
            inherited.columns if self.columns is None else self.columns.warm_start(),
            inherited.places if self.places is None else self.places.warm_start(),
            self.skipped,
        )

    # -- for stages -------------------------------------------------------------------------

    @cached_property
    def is_small(self) -> bool:
        """True if clusters are so small, in so few dimensions, that column generation ends."""
        return is_small(self.contraction)

    @property
    def pricing(self) -> BranchingPricer:
        """Pricing of columns and enumerations."""
        if self.pricer is None:
            from sdpbb.bounds.lagrangian.sets.pricer import BranchingPricer

            self.pricer = BranchingPricer.begin(self.contraction)
        return self.pricer

    def skip(self, stage: str) -> None:
        """Skip a stage from now on, in the children of the node as well."""
        if stage not in self.skipped:
            self.skipped += (stage,)

    def is_far(self, bound: float) -> bool:
        """Return whether a bound is far below the best one."""
        return bound < (1.0 - FAR_GAP) * self.bound.value

    def are_places_far(self, cutoff: float) -> bool:
        """Return whether the relaxation follows places: sizes are limited, and a gap remains.

        Then capacity cuts of the relaxation are stronger than prices of points.
        """
        node = self.contraction
        if self.places is None or not node.has_limits or node.n_blocks > MAX_RELAXED_AFTER_PLACES:
            return False
        return self.bound.value < (1.0 - MIN_PLACE_GAP) * cutoff

    def are_far(self, duals: DualValues) -> bool:
        """Return whether dual values of the master programme prove far less than the relaxation.

        With limited sizes they may: capacity cuts do not hold for single clusters. Columns would
        take long to prove as much.
        """
        return self.contraction.has_limits and self.is_far(duals.value(self.contraction.k))

    def semidefinite_duals(self) -> DualValues:
        """Return dual values of the master programme from dual values of the relaxation."""
        from sdpbb.bounds.lagrangian.sdp_dual import master_dual

        assert self.relaxed is not None
        return master_dual(self.contraction, self.relaxed.relaxation, self.relaxed.dual_point())

    def begin_enumeration(
        self,
        at: DualValues,
        cutoff: float,
        least: float | None = None,
        max_slices: int | None = None,
    ) -> bool:
        """Begin to enumerate clusters at dual values, as `Enumeration.start`; return True."""
        from sdpbb.bounds.lagrangian.enumeration import Enumeration

        most = max_slices, self.method.max_pricing_slices
        self.enumeration = Enumeration.start(
            self.contraction, self.pricing, at, cutoff, least, *most
        )
        return True

    def begin_columns(self, centre: DualValues | None) -> bool:
        """Begin to generate columns, from a known clustering and the parent's columns; return True.

        centre : good dual values; None: the parent's, or of the known clustering
        """
        from sdpbb.bounds.lagrangian.generation import Generation

        of_parent = None
        if self.inherited.columns is not None:
            of_parent, duals = self.inherited.columns.for_child(self.contraction)
            centre = centre or duals
        self.columns = Generation.begin(
            self.contraction, self.pricing, self.known, of_parent, centre
        )
        return True


@dataclass(frozen=True)
class Stage:
    """Stage of a run: when it begins and ends. It has no state.

    name : by which a run and its children skip the stage; stages may share a name
    part : attribute of the run that takes the steps
    begin : begins the stage at a cutoff if it pays off; returns whether it does
    is_last : whether no stage follows if this one leaves a gap to the cutoff
    max_steps : iterations of the part after which the stage is given up
    can_fail : whether other stages bound the node if a solver ends without a result
    """

    name: str
    part: str
    begin: Callable[[StagedRun, float], bool]
    is_last: Callable[[StagedRun, float], bool] = lambda run, cutoff: False
    max_steps: Callable[[StagedRun], float] = lambda run: math.inf
    can_fail: bool = True


class StagedBounding(BoundingMethod[StagedWarmStart]):
    """Base class of bounding methods in stages.

    A stage begins after the stage before was given up, or ended without closing the node. If HiGHS
    cannot solve a linear programme, as its numbers differ too much in size, the stage is given up
    if others bound the node. Proven bounds remain.
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
        run = StagedRun(inherited, known, inherited.skipped).attach(contraction, self)
        run.begin_next(math.inf)
        return run
