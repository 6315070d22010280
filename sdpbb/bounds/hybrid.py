"""Both bounds of a node: the semidefinite one first, and clusters where its dual values say that
few are left."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.bounds.bound import (
    BoundProgress,
    PairFixings,
    ProvenBound,
    SecondsLeft,
    endless,
    matrices_mebibytes,
)
from sdpbb.bounds.colgen.bounding import (
    PRICING_MATRICES,
    ColgenRun,
    ColgenState,
    is_easy_to_price,
    known_columns,
    semidefinite_duals,
)
from sdpbb.bounds.colgen.enumeration import Enumeration, EnumerationState
from sdpbb.bounds.colgen.generation import GenerationWarmStart
from sdpbb.bounds.colgen.parameters import ColgenParameters
from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer, PricerState
from sdpbb.bounds.colgen.pricing.dimension import effective_dimension, neighbour_dimension
from sdpbb.bounds.colgen.stabilisation import DualValues
from sdpbb.bounds.hybrid_parameters import HybridParameters
from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation_run import RelaxationRun, RelaxationState, SdpWarmStart
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction


@stored
@dataclass(frozen=True, eq=False)
class HybridWarmStart:
    """What a child starts from.

    columns : of the parent, or of those before it; None if none of them generated any
    enumerates : whether that is worth another try
    is_easy : whether column generation alone is
    generates : whether column generation is where clusters are large
    """

    sdp: SdpWarmStart
    columns: GenerationWarmStart | None
    enumerates: bool
    is_easy: bool
    generates: bool


@stored
@dataclass(frozen=True, eq=False)
class HybridState:
    """Where the bounding of a node was left: the parts that have begun, and the best bound.

    n_dropped : steps of column generation that was given up
    """

    sdp: RelaxationState
    pricer: PricerState
    enumeration: EnumerationState | None
    columns: ColgenState | None
    inherited: GenerationWarmStart | None
    known: NDArray[np.intp] | None
    bound: ProvenBound
    enumerates: bool
    is_easy: bool
    generates: bool
    n_dropped: int


class HybridBounding(BoundingMethod[HybridWarmStart]):
    """Bounds nodes by the semidefinite relaxation, and by clusters.

    1. Where pricing looks easy (`CentreParameters`): column generation only, unless that takes
       long (`HybridParameters.easy_steps`).
    2. Elsewhere the semidefinite bound, until the node is closed or the bound has stalled.
    3. Its dual values are dual values of the master programme (`sdp_dual.master_dual`): all
       clusters that a better clustering can have are enumerated at these, if they are few.
    4. Column generation goes on from these dual values: to its end where clusters are small, and
       for a while (`HybridParameters.tried_steps`) elsewhere.

    A linear programme that its solver cannot solve, as numbers differ too much in size, ends what
    needs it, and the rest goes on: bounds that were proven stay.
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

    def lighter(self, contraction: Contraction) -> str | None:
        """Return the bounding by columns alone where pricing is easy."""
        return "colgen" if is_easy_to_price(contraction, self.colgen.centre) else None

    def mebibytes(self, contraction: Contraction) -> float:
        """Memory that bounding a node takes at its peak, in MiB, about: that of both kinds."""
        return self.sdp.mebibytes(contraction) + matrices_mebibytes(
            PRICING_MATRICES + len(contraction.budgets.pairs), contraction.n_blocks
        )

    def checkable(self, contraction: Contraction, evidence: Any) -> Iterator[Any]:
        """As of the semidefinite bound; other evidence as it is."""
        return self.sdp.checkable(contraction, evidence)

    def is_quickly_checked(self, evidence: Any) -> bool:
        return self.sdp.is_quickly_checked(evidence)

    def start(
        self,
        contraction: Contraction,
        warm_start: HybridWarmStart | None,
        known: NDArray[np.intp] | None = None,
    ) -> HybridRun:
        """Begin to bound a node."""
        sdp = self.sdp.start(contraction, None if warm_start is None else warm_start.sdp)
        inherited = None if warm_start is None else warm_start.columns
        run = HybridRun(contraction, self, sdp, inherited, known)
        run.enumerates = warm_start is None or warm_start.enumerates
        run.generates = warm_start is None or warm_start.generates
        if warm_start is None or warm_start.is_easy:
            run.begin_with_columns_if_easy()
        return run

    def resume(self, contraction: Contraction, state: HybridState) -> HybridRun:
        """Go on where the bounding of the same contraction was left."""
        sdp = self.sdp.resume(contraction, state.sdp)
        run = HybridRun(contraction, self, sdp, state.inherited, state.known)
        run.restore(state)
        return run


def is_small(contraction: Contraction, parameters: HybridParameters) -> bool:
    """Whether clusters are so small, in so few dimensions, that column generation ends."""
    means, sizes = contraction.means, contraction.sizes
    per_cluster = contraction.n_blocks / contraction.k
    return (
        per_cluster <= parameters.small
        and effective_dimension(means, sizes) <= parameters.high
        and neighbour_dimension(means, sizes, max(1, round(per_cluster))) <= parameters.high
    )


class HybridRun:
    """The bounding of one node."""

    def __init__(
        self,
        contraction: Contraction,
        bounding: HybridBounding,
        sdp: RelaxationRun,
        inherited: GenerationWarmStart | None,
        known: NDArray[np.intp] | None,
    ) -> None:
        self._contraction, self._bounding = contraction, bounding
        self._sdp, self._inherited, self._known = sdp, inherited, known
        self._pricer = BranchingPricer(contraction, bounding.colgen.pricing)
        self._enumeration: Enumeration | None = None
        self._columns: ColgenRun | None = None
        self._bound = ProvenBound(0.0)
        self.enumerates = True
        self.generates = True
        self._is_easy = False
        self._n_dropped = 0
        self._is_small = is_small(contraction, bounding.hybrid)

    def begin_with_columns_if_easy(self) -> None:
        """Generate columns without the semidefinite bound, where pricing looks easy."""
        easy = is_easy_to_price(self._contraction, self._bounding.colgen.centre)
        self._is_easy = easy and self._is_small
        if self._is_easy:
            self._generate(None)

    @property
    def n_iterations(self) -> int:
        generated = 0 if self._columns is None else self._columns.n_iterations
        return self._sdp.n_iterations + self._n_dropped + generated

    def advance(self, cutoff: float, seconds_left: SecondsLeft = endless) -> BoundProgress:
        """A step of the part that is under way."""
        if self._columns is not None:
            if not self._turned_out_hard(self._columns):
                with suppress(BackendFailure):
                    return self._with_best_bound(self._columns.advance(cutoff, seconds_left))
            self._n_dropped += self._columns.n_iterations
            self._inherited, self._columns = self._columns.warm_start(), None
            if not self._is_easy:
                self.generates = False
                return self._with_best_bound(self._step(self._bound, stalled=True))
            self._is_easy = False
        if self._enumeration is not None:
            try:
                self._enumeration.advance()
            except BackendFailure:
                self._enumeration, self.enumerates = None, False
                return self._with_best_bound(self._step(self._bound, stalled=not self._goes_on()))
            bound = self._enumeration.bound
            self.enumerates = not self._enumeration.is_out_of_reach
            if not self._enumeration.is_finished or bound.value >= cutoff:
                return self._with_best_bound(self._step(bound, stalled=False))
            return self._with_best_bound(self._step(bound, stalled=not self._goes_on()))
        progress = self._sdp.advance(cutoff, seconds_left)
        if not progress.stalled or progress.bound.value >= cutoff:
            return self._with_best_bound(progress)
        more = self._enumerate(cutoff) or self._goes_on()
        return self._with_best_bound(self._step(progress.bound, stalled=not more))

    def _turned_out_hard(self, columns: ColgenRun) -> bool:
        if columns.is_enumerating:  # which has an end of its own
            return False
        if self._is_easy:
            return columns.n_iterations >= self._bounding.hybrid.easy_steps
        return not self._is_small and columns.n_iterations >= self._bounding.hybrid.tried_steps

    def _goes_on(self) -> bool:
        """Begin to generate columns from the dual values of the semidefinite bound, if that is
        worth it."""
        # Where exact pricing has not ended at these prices, it will hardly at others.
        tried = self.generates and self.enumerates and self._bounding.hybrid.tried_steps > 0
        worth = self._is_small or tried
        if worth:
            self._generate(self._duals())
        return worth

    def _enumerate(self, cutoff: float) -> bool:
        """Begin to, unless there is no clustering to be better than."""
        parameters = self._bounding.colgen.enumeration
        if not (parameters.is_wanted and self.enumerates and math.isfinite(cutoff)):
            return False
        self._enumeration = Enumeration.start(
            self._contraction, self._pricer, parameters, self._duals(), cutoff
        )
        return True

    def _duals(self) -> DualValues:
        return semidefinite_duals(self._contraction, self._sdp)

    def _generate(self, centre: DualValues | None) -> None:
        """Begin to generate columns."""
        run = ColgenRun(self._contraction, self._bounding.colgen)
        if self._inherited is None:
            run.generate(known_columns(self._contraction, self._known), centre)
        else:
            run.inherit(self._inherited, self._known, centre)
        self._columns = run

    def _step(self, bound: ProvenBound, stalled: bool) -> BoundProgress:
        return BoundProgress(bound, stalled, 0, self.n_iterations)

    def _with_best_bound(self, progress: BoundProgress) -> BoundProgress:
        """The progress with the best bound of all parts so far."""
        best = max(progress.bound, self._bound)
        self._bound = best.bare()
        return replace(progress, bound=best, n_iterations=self.n_iterations)

    def affinity(self) -> NDArray[np.float64]:
        return self._sdp.affinity() if self._columns is None else self._columns.affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        if self._columns is not None and self._columns.clustering() is not None:
            return self._columns.clustering()
        return None if self._enumeration is None else self._enumeration.labels

    def fixings(self, cutoff: float) -> PairFixings:
        if not self._sdp.n_iterations:
            return PairFixings(np.empty((0, 2), np.intp))
        return self._sdp.fixings(cutoff)

    def warm_start(self) -> HybridWarmStart:
        columns = self._inherited if self._columns is None else self._columns.warm_start()
        return HybridWarmStart(
            self._sdp.warm_start(), columns, self.enumerates, self._is_easy, self.generates
        )

    @property
    def state(self) -> HybridState:
        return HybridState(
            self._sdp.state,
            self._pricer.state,
            None if self._enumeration is None else self._enumeration.state,
            None if self._columns is None else self._columns.state,
            self._inherited,
            self._known,
            self._bound,
            self.enumerates,
            self._is_easy,
            self.generates,
            self._n_dropped,
        )

    def restore(self, state: HybridState) -> None:
        """Go on from the state of a run on the same contraction."""
        colgen = self._bounding.colgen
        self._bound, self.enumerates = state.bound, state.enumerates
        self._is_easy, self.generates = state.is_easy, state.generates
        self._n_dropped = state.n_dropped
        self._pricer = BranchingPricer(self._contraction, colgen.pricing, state.pricer)
        if state.enumeration is not None:
            self._enumeration = Enumeration(
                self._contraction, self._pricer, colgen.enumeration, state.enumeration
            )
        if state.columns is not None:
            self._columns = ColgenRun(self._contraction, colgen, state.columns)
