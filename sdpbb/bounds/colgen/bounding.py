"""The bound of a node by column generation, and by enumeration where that ends it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, Pairs, SafeBound
from sdpbb.bounds.colgen import generation_state
from sdpbb.bounds.colgen.branching_pricer import BranchingPricer, PricerState
from sdpbb.bounds.colgen.columns import Columns, allowed
from sdpbb.bounds.colgen.enumeration import Enumeration, EnumerationState
from sdpbb.bounds.colgen.generation import Generation
from sdpbb.bounds.colgen.generation_state import GenerationState, GenerationWarmStart
from sdpbb.bounds.colgen.parameters import ColgenParameters
from sdpbb.bounds.colgen.pricing import SearchState
from sdpbb.bounds.colgen.stabilisation import DualValues
from sdpbb.problem import Contraction


@dataclass(frozen=True, eq=False)
class ColgenState:
    """Where the bounding of a node was left.

    generation : with that of the pricer
    enumeration : None before it has begun
    """

    generation: GenerationState
    enumeration: EnumerationState | None


# All that states and warm starts consist of, apart from plain values and arrays.
STATE_TYPES = (
    *generation_state.STATE_TYPES,
    SearchState,
    PricerState,
    EnumerationState,
    ColgenState,
)


class ColgenBounding:
    """Bounds nodes by column generation (`sdpbb.bounds.bound.Bounding`).

    Source: Babaki, Guns and Nijssen (2014), with pricing, stabilisation and bounds of this project.
    Must-links and cannot-links are decisions of the tree: Ryan and Foster's branching (1981).
    """

    def __init__(self, parameters: ColgenParameters | None = None) -> None:
        self.parameters = parameters or ColgenParameters()

    def start(
        self,
        contraction: Contraction,
        warm_start: GenerationWarmStart | None,
        known: NDArray[np.intp] | None = None,
        centre: DualValues | None = None,
    ) -> ColgenRun:
        """Begin to bound a node; `centre` are dual values from elsewhere."""
        return ColgenRun.begun(contraction, self.parameters, warm_start, known, centre)

    def resume(self, contraction: Contraction, state: ColgenState) -> ColgenRun:
        """Go on where the bounding of the same contraction was left."""
        return ColgenRun.resumed(contraction, self.parameters, state)


class ColgenRun:
    """The bounding of one node: generate columns until the master programme is solved, then
    enumerate those of a better clustering if they are few."""

    def __init__(
        self,
        contraction: Contraction,
        parameters: ColgenParameters,
        pricer: BranchingPricer,
        generation: Generation,
        enumeration: Enumeration | None,
    ) -> None:
        self._contraction, self._parameters = contraction, parameters
        self._pricer, self._generation, self._enumeration = pricer, generation, enumeration

    @classmethod
    def begun(
        cls,
        contraction: Contraction,
        parameters: ColgenParameters,
        warm_start: GenerationWarmStart | None,
        known: NDArray[np.intp] | None,
        centre: DualValues | None,
    ) -> ColgenRun:
        """See `ColgenBounding.start`."""
        columns = known_columns(contraction, known)
        if warm_start is not None:
            inherited, duals = warm_start.for_child(contraction)
            columns = columns + inherited
            centre = duals if centre is None else centre
        pricer = BranchingPricer(contraction, parameters.pricing)
        # Integer programmes over the columns find little in children that they have not before.
        at_root = warm_start is None
        generation = Generation(contraction, pricer, parameters, columns, centre, integer=at_root)
        return cls(contraction, parameters, pricer, generation, None)

    @classmethod
    def resumed(
        cls, contraction: Contraction, parameters: ColgenParameters, state: ColgenState
    ) -> ColgenRun:
        """See `ColgenBounding.resume`."""
        pricer = BranchingPricer(contraction, parameters.pricing)
        generation = Generation.resumed(contraction, pricer, parameters, state.generation)
        enumeration = None
        if state.enumeration is not None:
            enumeration = Enumeration.resumed(
                contraction, pricer, parameters.enumeration, state.enumeration
            )
        return cls(contraction, parameters, pricer, generation, enumeration)

    @property
    def n_iterations(self) -> int:
        """Steps of the generation."""
        return self._generation.n_steps

    def advance(self, cutoff: float) -> BoundProgress:
        """A master programme with its pricing, or a slice of exact pricing or enumeration."""
        if self._enumeration is not None:
            self._enumeration.advance()
            return self._progress(stalled=self._enumeration.is_finished)
        solved = self._generation.step(cutoff).stalled
        if not solved or self._generation.bound.value >= cutoff or not self._begin(cutoff):
            return self._progress(stalled=solved)
        return self._progress(stalled=False)

    def _begin(self, cutoff: float) -> bool:
        """Begin to enumerate, if that is wanted."""
        at = self._generation.duals
        if not (self._parameters.enumeration.is_wanted and math.isfinite(cutoff)) or at is None:
            return False
        self._enumeration = Enumeration(
            self._contraction, self._pricer, at, cutoff, self._parameters.enumeration
        )
        return True

    def _progress(self, stalled: bool) -> BoundProgress:
        return BoundProgress(
            bound=self._bound,
            stalled=stalled,
            n_cuts=len(self._generation.columns),
            n_iterations=self._generation.n_steps,
        )

    @property
    def _bound(self) -> SafeBound:
        if self._enumeration is None:
            return self._generation.bound
        return max(self._generation.bound, self._enumeration.bound)

    def affinity(self) -> NDArray[np.float64]:
        """From the solution x of the last master programme: sum_X x_X 1_X 1_X' / |X|."""
        return self._generation.affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        """The cheapest one met."""
        if self._enumeration is not None and self._enumeration.labels is not None:
            return self._enumeration.labels
        return self._generation.clustering()

    def fixings(self, cutoff: float) -> tuple[Pairs, Pairs]:
        """None: reduced costs exclude clusters, seldom pairs."""
        none = np.empty((0, 2), np.intp)
        return none, none

    def warm_start(self) -> GenerationWarmStart:
        """The best of the pool, and the dual values."""
        return self._generation.warm_start()

    def state(self) -> ColgenState:
        enumeration = None if self._enumeration is None else self._enumeration.state()
        return ColgenState(self._generation.state(), enumeration)


def known_columns(contraction: Contraction, labels: NDArray[np.intp] | None) -> Columns:
    """The clusters of labels (m,) that are allowed; none for None."""
    m = contraction.n_blocks
    if labels is None:
        return Columns.of(contraction, np.zeros((0, m), bool))
    members = labels == np.unique(labels)[:, None]
    return Columns.of(contraction, members[allowed(contraction, members)])
