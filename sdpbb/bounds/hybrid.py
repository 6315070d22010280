"""Hybrid bound of a node: the semidefinite bound and column generation, in stages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.bounds.bound import BoundProgress, PairFixings, ProvenBound
from sdpbb.bounds.colgen.effort import is_easy_to_price, pricing_mebibytes
from sdpbb.bounds.colgen.parameters import ColgenParameters
from sdpbb.bounds.colgen.pricing.dimension import effective_dimension, neighbour_dimension
from sdpbb.bounds.hybrid_parameters import HybridParameters
from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation_run import RelaxationRun, RelaxationState, SdpWarmStart
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction
from sdpbb.time_left import TimeLeft, no_limit

# Column generation is imported by the stages that use it: most runs end before.
if TYPE_CHECKING:
    from sdpbb.bounds.colgen.bounding import ColgenRun, ColgenState
    from sdpbb.bounds.colgen.enumeration import Enumeration, EnumerationState
    from sdpbb.bounds.colgen.generation import GenerationWarmStart
    from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer, PricerState
    from sdpbb.bounds.colgen.stabilisation import DualValues


@stored
@dataclass(frozen=True, eq=False)
class HybridWarmStart:
    """Warm start of a child in the hybrid bound.

    columns : of the parent, or of its ancestors; None if none of them generated any
    skipped : names of the stages that are not worth another try
    """

    relaxation: SdpWarmStart
    columns: GenerationWarmStart | None
    skipped: tuple[str, ...]


@stored
@dataclass(eq=False)
class HybridState:
    """State of a `HybridRun`.

    relaxation, enumeration, columns : of the parts that have begun
    inherited : columns of the parent, or of column generation that was given up
    known : (m,) labels of a known clustering, for columns to begin with
    skipped : names of the stages that are not to begin
    stage : position in STAGES of the current one, -1 before the first
    pricer : of the enumeration, None before that has begun
    bound : the best of all parts
    n_dropped : steps of column generation that was given up
    """

    relaxation: RelaxationState
    inherited: GenerationWarmStart | None
    known: NDArray[np.intp] | None
    skipped: tuple[str, ...] = ()
    stage: int = -1
    pricer: PricerState | None = None
    enumeration: EnumerationState | None = None
    columns: ColgenState | None = None
    bound: ProvenBound = field(default_factory=lambda: ProvenBound(0.0))
    n_dropped: int = 0


class HybridBounding(BoundingMethod[HybridWarmStart]):
    """Bounding method in stages: the semidefinite relaxation and column generation.

    The stages, in order. One begins where the one before ends without having closed the node, or is
    given up:

    1. Easy columns. Where pricing looks easy (`CentreParameters`): column generation alone, unless
       that takes long (`HybridParameters.easy_steps`).
    2. Relaxation. The semidefinite bound, until the node is closed or the bound has stalled.
    3. Enumeration. Its dual values are dual values of the master programme
       (`sdp_dual.master_dual`): all clusters that a better clustering can have are enumerated at
       these, if they are few.
    4. Columns. Column generation goes on from these dual values: to its end where clusters are
       small, and for a while (`HybridParameters.tried_steps`) elsewhere.

    Where HiGHS cannot solve a linear programme, as its numbers differ too much in size, the stage
    is given up. Bounds that were proven stay.
    """

    def __init__(
        self,
        sdp: SdpParameters | None = None,
        colgen: ColgenParameters | None = None,
        hybrid: HybridParameters | None = None,
    ) -> None:
        self.sdp = SdpBounding(sdp)
        self.colgen = colgen or ColgenParameters()
        self.hybrid = hybrid or HybridParameters()
        self.most_blocks_here = self.sdp.most_blocks_here

    def is_quick(self, contraction: Contraction) -> bool:
        """Return whether pricing looks easy, so that column generation comes first."""
        is_easy = is_easy_to_price(contraction, self.colgen.centre)
        return is_easy and is_low(contraction, self.hybrid)

    def lighter(self, contraction: Contraction) -> str | None:
        """Return the bounding by columns alone where pricing is easy."""
        return "colgen" if is_easy_to_price(contraction, self.colgen.centre) else None

    def mebibytes(self, contraction: Contraction) -> float:
        """Return the memory that bounding a node takes at its peak, in MiB, about.

        It is that of both kinds of bounds.
        """
        return self.sdp.mebibytes(contraction) + pricing_mebibytes(contraction)

    def checkable(self, contraction: Contraction, evidence: Any) -> Iterator[Any]:
        """Yield the forms of the semidefinite bound's evidence; other evidence as it is."""
        return self.sdp.checkable(contraction, evidence)

    def is_quickly_checked(self, evidence: Any) -> bool:
        return self.sdp.is_quickly_checked(evidence)

    def start(
        self,
        contraction: Contraction,
        warm_start: HybridWarmStart | None,
        known: NDArray[np.intp] | None = None,
    ) -> HybridRun:
        """Return a new `HybridRun` on a node."""
        if warm_start is None:
            relaxation = self.sdp.start(contraction, None, known)
            state = HybridState(relaxation.state, None, known)
        else:
            relaxation = self.sdp.start(contraction, warm_start.relaxation)
            state = HybridState(relaxation.state, warm_start.columns, known, warm_start.skipped)
        run = HybridRun(contraction, self, relaxation, state)
        run.go_on(math.inf)
        return run

    def resume(self, contraction: Contraction, state: HybridState) -> HybridRun:
        """Return a `HybridRun` that goes on from its state on the same contraction."""
        relaxation = self.sdp.resume(contraction, state.relaxation)
        return HybridRun(contraction, self, relaxation, state)


def is_low(contraction: Contraction, parameters: HybridParameters) -> bool:
    """Return whether all blocks, and neighbours, have few effective dimensions."""
    means, sizes = contraction.means, contraction.sizes
    n_neighbours = max(1, round(contraction.n_blocks / contraction.k))
    return (
        effective_dimension(means, sizes) <= parameters.high
        and neighbour_dimension(means, sizes, n_neighbours) <= parameters.high
    )


def is_small(contraction: Contraction, parameters: HybridParameters) -> bool:
    """Return whether clusters are so small, in so few dimensions, that column generation ends."""
    return _has_small_clusters(contraction, parameters) and is_low(contraction, parameters)


def _has_small_clusters(contraction: Contraction, parameters: HybridParameters) -> bool:
    return contraction.n_blocks / contraction.k <= parameters.small


class Stage(Protocol):
    """Stage of the hybrid bound. It works on the parts of a `HybridRun`, and has no state."""

    name: str
    leaves_node: bool  # whether its end is that of the bounding of the node

    def begins(self, run: HybridRun, cutoff: float) -> bool:
        """Begin the stage if it is worth its time; return whether it is."""

    def is_overdue(self, run: HybridRun) -> bool:
        """Return whether the stage has taken so long that it is to be given up."""

    def give_up(self, run: HybridRun) -> None:
        """Drop its part of the run. The stage is skipped from then on."""

    def advance(self, run: HybridRun, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        """Take a step; stalled when the stage has ended."""


class EasyColumnStage:
    """Stage of column generation alone."""

    name = "easy columns"
    leaves_node = True

    def begins(self, run: HybridRun, cutoff: float) -> bool:
        is_easy = is_easy_to_price(run.contraction, run.bounding.colgen.centre)
        if is_easy and self.name not in run.skipped and run.is_low:
            run.generate(None)
            return True
        run.skip(self.name)
        return False

    def is_overdue(self, run: HybridRun) -> bool:
        columns = run.generated
        # An enumeration has an end of its own.
        return columns.n_iterations >= run.bounding.hybrid.easy_steps and not columns.is_enumerating

    def give_up(self, run: HybridRun) -> None:
        run.drop_columns()

    def advance(self, run: HybridRun, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        return run.generated.advance(cutoff, time_left)


class RelaxationStage:
    """Stage of the semidefinite bound."""

    name = "relaxation"
    leaves_node = False

    def begins(self, run: HybridRun, cutoff: float) -> bool:
        return True

    def is_overdue(self, run: HybridRun) -> bool:
        return False

    def give_up(self, run: HybridRun) -> None:
        pass

    def advance(self, run: HybridRun, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        return run.relaxation.advance(cutoff, time_left)


class EnumerationStage:
    """Stage that enumerates all clusters of a better clustering, at given dual values.

    The dual values are those of the relaxation.
    """

    name = "enumeration"
    leaves_node = False

    def begins(self, run: HybridRun, cutoff: float) -> bool:
        parameters = run.bounding.colgen.enumeration
        # Without a cutoff there is no clustering to be better than.
        if not (parameters.is_wanted and math.isfinite(cutoff)) or self.name in run.skipped:
            return False
        run.enumerate(cutoff)
        return True

    def is_overdue(self, run: HybridRun) -> bool:
        return False

    def give_up(self, run: HybridRun) -> None:
        run.enumeration = run.state.enumeration = None

    def advance(self, run: HybridRun, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        enumeration = run.enumeration
        assert enumeration is not None
        enumeration.advance()
        if enumeration.is_out_of_reach:
            run.skip(self.name)
        bound = enumeration.bound
        # At the cutoff it has ended as it was to.
        return BoundProgress(bound, enumeration.is_finished and bound.value < cutoff, 0, 0)


class ColumnStage(EasyColumnStage):
    """Stage of column generation from the dual values of the relaxation."""

    name = "columns"

    def begins(self, run: HybridRun, cutoff: float) -> bool:
        # Where exact pricing has not ended at these prices, it will hardly at others.
        is_tried = not {self.name, EnumerationStage.name} & set(run.skipped)
        if not run.is_small and not (is_tried and run.bounding.hybrid.tried_steps > 0):
            return False
        run.generate(run.semidefinite_duals())
        return True

    def is_overdue(self, run: HybridRun) -> bool:
        columns, tried_steps = run.generated, run.bounding.hybrid.tried_steps
        is_long = not run.is_small and columns.n_iterations >= tried_steps
        return is_long and not columns.is_enumerating


STAGES: tuple[Stage, ...] = (
    EasyColumnStage(),
    RelaxationStage(),
    EnumerationStage(),
    ColumnStage(),
)


class HybridRun:
    """Run of the hybrid bound on one node.

    relaxation, enumeration, columns : the parts that the stages work on, None before they begin
    """

    def __init__(
        self,
        contraction: Contraction,
        bounding: HybridBounding,
        relaxation: RelaxationRun,
        state: HybridState,
    ) -> None:
        self.contraction, self.bounding, self.relaxation = contraction, bounding, relaxation
        self.state = state
        self.enumeration: Enumeration | None = None
        if state.enumeration is not None:
            from sdpbb.bounds.colgen.enumeration import Enumeration

            self.enumeration = Enumeration(
                contraction, self._pricer, bounding.colgen.enumeration, state.enumeration
            )
        self.columns: ColgenRun | None = None
        if state.columns is not None:
            from sdpbb.bounds.colgen.bounding import ColgenRun

            self.columns = ColgenRun(contraction, bounding.colgen, state.columns)

    @cached_property
    def is_low(self) -> bool:
        """True if all blocks, and neighbours, have few effective dimensions."""
        return is_low(self.contraction, self.bounding.hybrid)

    @property
    def is_small(self) -> bool:
        """True if clusters are so small, in so few dimensions, that column generation ends."""
        return _has_small_clusters(self.contraction, self.bounding.hybrid) and self.is_low

    @cached_property
    def _pricer(self) -> BranchingPricer:
        """Pricing of the enumeration."""
        from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer

        pricer = BranchingPricer(self.contraction, self.bounding.colgen.pricing, self.state.pricer)
        self.state.pricer = pricer.state
        return pricer

    @property
    def n_iterations(self) -> int:
        generated = 0 if self.columns is None else self.columns.n_iterations
        return self.relaxation.n_iterations + self.state.n_dropped + generated

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Take a step of the current stage."""
        stage = STAGES[self.state.stage]
        if stage.is_overdue(self):
            return self._give_up(stage, cutoff, time_left)
        try:
            progress = stage.advance(self, cutoff, time_left)
        except BackendFailure:
            if isinstance(stage, RelaxationStage):
                raise
            return self._give_up(stage, cutoff, time_left)
        if progress.stalled and progress.bound.value < cutoff and not stage.leaves_node:
            progress = replace(progress, stalled=not self.go_on(cutoff))
        return self._with_best_bound(progress)

    def _give_up(self, stage: Stage, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        """Give the current stage up, and take a step of the next one if there is any."""
        stage.give_up(self)
        self.skip(stage.name)
        if self.go_on(cutoff):
            return self.advance(cutoff, time_left)
        return self._with_best_bound(BoundProgress(self.state.bound, True, 0, 0))

    def go_on(self, cutoff: float) -> bool:
        """Begin the next stage that is worth its time; return whether there is any."""
        for position in range(self.state.stage + 1, len(STAGES)):
            if STAGES[position].begins(self, cutoff):
                self.state.stage = position
                return True
        return False

    @property
    def skipped(self) -> tuple[str, ...]:
        """Names of the stages that are not to begin."""
        return self.state.skipped

    def skip(self, stage: str) -> None:
        """Skip a stage from now on, in the children of the node as well."""
        if stage not in self.state.skipped:
            self.state.skipped += (stage,)

    def enumerate(self, cutoff: float) -> None:
        """Begin to enumerate clusters at the dual values of the relaxation."""
        from sdpbb.bounds.colgen.enumeration import Enumeration

        parameters, at = self.bounding.colgen.enumeration, self.semidefinite_duals()
        self.enumeration = Enumeration.start(self.contraction, self._pricer, parameters, at, cutoff)
        self.state.enumeration = self.enumeration.state

    def semidefinite_duals(self) -> DualValues:
        """Return dual values of the master programme from those of the relaxation."""
        from sdpbb.bounds.colgen.bounding import semidefinite_duals

        return semidefinite_duals(self.contraction, self.relaxation)

    def generate(self, centre: DualValues | None) -> None:
        """Begin to generate columns."""
        from sdpbb.bounds.colgen.bounding import ColgenRun, known_columns

        known, inherited = self.state.known, self.state.inherited
        self.columns = ColgenRun(self.contraction, self.bounding.colgen)
        self.state.columns = self.columns.state
        if inherited is None:
            self.columns.generate(known_columns(self.contraction, known), centre)
        else:
            self.columns.inherit(inherited, known, centre)

    @property
    def generated(self) -> ColgenRun:
        """Column generation of the current stage."""
        assert self.columns is not None
        return self.columns

    def drop_columns(self) -> None:
        """End column generation, and keep its columns for another one."""
        self.state.n_dropped += self.generated.n_iterations
        self.state.inherited = self.generated.warm_start()
        self.columns = self.state.columns = None

    def _with_best_bound(self, progress: BoundProgress) -> BoundProgress:
        """Return the progress with the best bound of all parts so far."""
        best = max(progress.bound, self.state.bound)
        self.state.bound = best.bare()
        return replace(progress, bound=best, n_iterations=self.n_iterations)

    def affinity(self) -> NDArray[np.float64]:
        return self.relaxation.affinity() if self.columns is None else self.columns.affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        if self.columns is not None and self.columns.clustering() is not None:
            return self.columns.clustering()
        return None if self.enumeration is None else self.enumeration.labels

    def fixings(self, cutoff: float) -> PairFixings:
        if not self.relaxation.n_iterations:
            return PairFixings(np.empty((0, 2), np.intp))
        return self.relaxation.fixings(cutoff)

    def warm_start(self) -> HybridWarmStart:
        columns = self.state.inherited if self.columns is None else self.columns.warm_start()
        return HybridWarmStart(self.relaxation.warm_start(), columns, self.state.skipped)
