"""Parts of a run of the hybrid bound: relaxation, enumeration, columns, places; its state."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, ProvenBound
from sdpbb.bounds.hybrid.criteria import is_small
from sdpbb.bounds.places.state import PlaceState, PlaceWarmStart
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.relaxation_run import RelaxationRun, RelaxationState, SdpWarmStart
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.time_left import TimeLeft, no_limit

# Columns and places are imported where they begin: most runs need neither.
if TYPE_CHECKING:
    from sdpbb.bounds.colgen.bounding import ColgenRun, ColgenState
    from sdpbb.bounds.colgen.enumeration import Enumeration, EnumerationState
    from sdpbb.bounds.colgen.generation import GenerationWarmStart
    from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer, PricerState
    from sdpbb.bounds.colgen.stabilisation import DualValues
    from sdpbb.bounds.places.run import PlaceRun

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


@stored
@dataclass(eq=False)
class HybridState:
    """State of a `HybridRun`.

    inherited : of the parent; its columns may be those of column generation that was given up
    known : (m,) labels of a known clustering, for parts to begin with
    skipped : names of the stages that are not to begin
    stage : position in STAGES of the current one, -1 before the first
    relaxation, enumeration, columns, places : of the parts that have begun
    pricer : of the enumeration, None before that has begun
    bound : the best of all parts
    n_dropped : steps of column generation that was given up
    """

    inherited: HybridWarmStart
    known: NDArray[np.intp] | None
    skipped: tuple[str, ...] = ()
    stage: int = -1
    relaxation: RelaxationState | None = None
    pricer: PricerState | None = None
    enumeration: EnumerationState | None = None
    columns: ColgenState | None = None
    places: PlaceState | None = None
    bound: ProvenBound = field(default_factory=lambda: ProvenBound(0.0))
    n_dropped: int = 0


Warm = TypeVar("Warm")
Warm_co = TypeVar("Warm_co", covariant=True)


class HybridPart(Protocol[Warm_co]):
    """Part of a run that bounds the node by itself, with a warm start for that of a child."""

    @property
    def n_iterations(self) -> int:
        """Iterations of this part so far."""

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Work until the next bound, as `BoundRun.advance`."""

    def affinity(self) -> NDArray[np.float64]:
        """Return the affinity Z (m, m) of the blocks, as `BoundRun.affinity`."""

    def warm_start(self) -> Warm_co:
        """Return the warm start of this part of a child."""


class HybridParts:
    """Parts that the stages of a run work on.

    relaxation, enumeration, columns, places : None before they begin
    """

    def __init__(
        self,
        contraction: Contraction,
        sdp: SdpBounding,
        state: HybridState,
        max_pricing_slices: int | None,
    ) -> None:
        """Go on from a state.

        max_pricing_slices : of enumeration (`Enumeration`)
        """
        self.contraction, self._sdp, self.state = contraction, sdp, state
        self._max_pricing_slices = max_pricing_slices
        self.relaxation: RelaxationRun | None = None
        if state.relaxation is not None:
            self.relaxation = sdp.resume(contraction, state.relaxation)
        self.enumeration: Enumeration | None = None
        if state.enumeration is not None:
            from sdpbb.bounds.colgen.enumeration import Enumeration

            self.enumeration = Enumeration(
                contraction, self._pricer, state.enumeration, max_pricing_slices
            )
        self.columns: ColgenRun | None = None
        if state.columns is not None:
            from sdpbb.bounds.colgen.bounding import ColgenRun

            self.columns = ColgenRun(contraction, state.columns)
        self.places: PlaceRun | None = None
        if state.places is not None:
            from sdpbb.bounds.places.run import PlaceRun

            self.places = PlaceRun(contraction, state.places)

    @cached_property
    def is_small(self) -> bool:
        """True if clusters are so small, in so few dimensions, that column generation ends."""
        return is_small(self.contraction)

    @cached_property
    def _pricer(self) -> BranchingPricer:
        """Pricing of the enumeration."""
        from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer

        pricer = BranchingPricer(self.contraction, self.state.pricer)
        self.state.pricer = pricer.state
        return pricer

    @property
    def begun(self) -> list[HybridPart[object]]:
        """Parts that have begun and bound the node by themselves: the latest stage's first."""
        parts = (self.columns, self.relaxation, self.places)
        return [part for part in parts if part is not None]

    @property
    def n_iterations(self) -> int:
        """Iterations of all parts so far."""
        return self.state.n_dropped + sum(part.n_iterations for part in self.begun)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Names of the stages that are not to begin."""
        return self.state.skipped

    def skip(self, stage: str) -> None:
        """Skip a stage from now on, in the children of the node as well."""
        if stage not in self.state.skipped:
            self.state.skipped += (stage,)

    def begin_places(self) -> None:
        """Begin with prices of the parent, or those of a known clustering if there is one."""
        from sdpbb.bounds.places.run import PlaceRun

        state = self.state
        if state.inherited.places is not None:
            self.places = PlaceRun.inherit(self.contraction, state.inherited.places)
        elif state.known is not None:
            self.places = PlaceRun.begin(self.contraction, state.known)
        state.places = None if self.places is None else self.places.state

    def relax(self) -> None:
        """Begin with the relaxation, from what the parent knows, or from a known clustering."""
        inherited = self.state.inherited.relaxation
        known = self.state.known if inherited is None else None
        self.relaxation = self._sdp.start(self.contraction, inherited, known)
        self.state.relaxation = self.relaxation.state

    @property
    def relaxed(self) -> RelaxationRun:
        """Relaxation of the current stage, or one before."""
        assert self.relaxation is not None
        return self.relaxation

    def is_far(self, bound: float) -> bool:
        """Return whether a bound is far below the best one."""
        return bound < (1.0 - FAR_GAP) * self.state.bound.value

    def are_places_far(self, cutoff: float) -> bool:
        """Return whether places have left much where sizes are limited, and the relaxation follows.

        Capacity cuts say more of sets than prices of points do.
        """
        of = self.contraction
        if self.places is None or not of.has_limits or of.n_blocks > MAX_RELAXED_AFTER_PLACES:
            return False
        return self.state.bound.value < (1.0 - MIN_PLACE_GAP) * cutoff

    def are_far(self, duals: DualValues) -> bool:
        """Return whether dual values of the master programme prove far less than the relaxation.

        This is asked where sizes are limited: capacity cuts, which carry its bound there, say
        nothing of single clusters. Columns would take long to come to as much.
        """
        return self.contraction.has_limits and self.is_far(duals.value(self.contraction.k))

    def enumerate(self, cutoff: float, at: DualValues) -> None:
        """Begin to enumerate clusters at dual values, those of the relaxation."""
        from sdpbb.bounds.colgen.enumeration import Enumeration

        self.enumeration = Enumeration.start(
            self.contraction,
            self._pricer,
            at,
            cutoff,
            max_pricing_slices=self._max_pricing_slices,
        )
        self.state.enumeration = self.enumeration.state

    def enumerate_at_places(self, cutoff: float) -> bool:
        """Begin to enumerate clusters at the prices of the places; return whether there are any."""
        from sdpbb.bounds.colgen.enumeration import Enumeration
        from sdpbb.bounds.colgen.stabilisation import DualValues
        from sdpbb.bounds.places.problem import least_of_clusters

        proof = None if self.places is None else self.places.state.proof
        if proof is None:
            return False
        least = least_of_clusters(self.contraction, proof)
        at = DualValues(proof.prices, -least)
        self.enumeration = Enumeration.start(
            self.contraction, self._pricer, at, cutoff, least, MAX_PLACE_SLICES
        )
        self.state.enumeration = self.enumeration.state
        return True

    def semidefinite_duals(self) -> DualValues:
        """Return dual values of the master programme from those of the relaxation."""
        from sdpbb.bounds.colgen.bounding import semidefinite_duals

        return semidefinite_duals(self.contraction, self.relaxed)

    def generate(self, centre: DualValues | None) -> None:
        """Begin to generate columns."""
        from sdpbb.bounds.colgen.bounding import ColgenRun, known_columns

        known, inherited = self.state.known, self.state.inherited.columns
        self.columns = ColgenRun(self.contraction)
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
        state, columns = self.state, self.generated.warm_start()
        state.n_dropped += self.generated.n_iterations
        state.inherited = replace(state.inherited, columns=columns)
        self.columns = state.columns = None

    def warm_start(self) -> HybridWarmStart:
        """Return the warm start of a child, for parts that have not begun that of the parent."""
        inherited = self.state.inherited
        return HybridWarmStart(
            relaxation=_warm_start(self.relaxation, inherited.relaxation),
            columns=_warm_start(self.columns, inherited.columns),
            places=_warm_start(self.places, inherited.places),
            skipped=self.state.skipped,
        )


def _warm_start(part: HybridPart[Warm] | None, inherited: Warm | None) -> Warm | None:
    """Return the warm start that a part gives, or the inherited one if it has not begun."""
    return inherited if part is None else part.warm_start()
