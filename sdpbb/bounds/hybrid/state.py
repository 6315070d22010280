"""State of a run of the hybrid bound, and the warm start of a child."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.places.state import PlaceState, PlaceWarmStart
from sdpbb.bounds.sdp.relaxation_run import RelaxationState, SdpWarmStart
from sdpbb.runtime.archive.stored import stored

# Columns are imported by the stages that use them: most runs need none.
if TYPE_CHECKING:
    from sdpbb.bounds.colgen.bounding import ColgenState
    from sdpbb.bounds.colgen.enumeration import EnumerationState
    from sdpbb.bounds.colgen.generation import GenerationWarmStart
    from sdpbb.bounds.colgen.pricing.branching_pricer import PricerState


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
