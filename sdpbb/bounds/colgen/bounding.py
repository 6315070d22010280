"""Bounding method: column generation, and enumeration where few clusters are left."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, PairFixings, ProvenBound
from sdpbb.bounds.colgen.columns import Columns, allowed
from sdpbb.bounds.colgen.effort import is_easy_to_price, pricing_mebibytes
from sdpbb.bounds.colgen.enumeration import Enumeration, EnumerationState
from sdpbb.bounds.colgen.generation import Generation, GenerationState, GenerationWarmStart
from sdpbb.bounds.colgen.partitioning import cheapest_partition
from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer, PricerState
from sdpbb.bounds.colgen.sdp_dual import master_dual
from sdpbb.bounds.colgen.stabilisation import DualValues
from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation_run import RelaxationRun, RelaxationState
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.time_left import TimeLeft, no_limit

# Maximum iterations of the semidefinite bound that the first prices are taken from.
CENTRE_ITERATIONS = 100


@stored
@dataclass(eq=False)
class ColgenState:
    """State of a `ColgenRun`: that of the parts that have begun.

    pricer : of generation and enumeration
    centre : of the semidefinite bound that the first prices are taken from
    known : (m,) labels of a known clustering, for columns to begin with
    """

    pricer: PricerState
    centre: RelaxationState | None = None
    known: NDArray[np.intp] | None = None
    generation: GenerationState | None = None
    enumeration: EnumerationState | None = None


class ColgenBounding(BoundingMethod[GenerationWarmStart]):
    """Bounding method that generates columns.

    Source: Babaki, Guns and Nijssen (2014), with pricing, stabilisation and bounds of this project.
    Must-links and cannot-links are decisions of the tree: Ryan and Foster's branching (1981).
    """

    def __init__(self, sdp: SdpParameters | None = None) -> None:
        """sdp : of the semidefinite bound that the first prices are taken from"""
        self.sdp = SdpBounding(sdp)
        self.most_blocks_here = self.sdp.most_blocks_here

    @staticmethod
    def exercise(contraction: Contraction) -> None:
        run = ColgenBounding().start(contraction, None)
        while not run.advance(contraction.total).stalled:
            pass
        m = contraction.n_blocks
        members = np.tri(m, dtype=bool) & ~np.tri(m, k=-3, dtype=bool)
        cheapest_partition(contraction, Columns.of(contraction, members), contraction.total)

    def mebibytes(self, contraction: Contraction) -> float:
        """Return the memory that bounding a node takes at its peak, in MiB, about.

        It is that of pricing, or that of the semidefinite bound that the first prices are from.
        """
        pricing = pricing_mebibytes(contraction)
        if is_easy_to_price(contraction):
            return pricing
        return max(pricing, self.sdp.mebibytes(contraction))

    def start(
        self,
        contraction: Contraction,
        warm_start: GenerationWarmStart | None,
        known: NDArray[np.intp] | None = None,
    ) -> ColgenRun:
        """Return a new `ColgenRun` on a node.

        The first prices are the parent's if it has any; or those of a few iterations of the
        semidefinite bound, unless pricing is easy.
        """
        run = ColgenRun(contraction)
        if warm_start is not None:
            run.inherit(warm_start, known)
        elif not is_easy_to_price(contraction):
            run.begin_with(self.sdp.start(contraction, None), known)
        else:
            run.generate(known_columns(contraction, known), None)
        return run

    def resume(self, contraction: Contraction, state: ColgenState) -> ColgenRun:
        """Return a `ColgenRun` that goes on from its state on the same contraction."""
        centre = None if state.centre is None else self.sdp.resume(contraction, state.centre)
        return ColgenRun(contraction, state, centre)


class ColgenRun:
    """Bounding of one node by column generation.

    It generates columns until the master programme is solved, then enumerates those of a better
    clustering if they are few.

    Without a state it is begun by one of `generate`, `inherit` and `begin_with`.
    """

    def __init__(
        self,
        contraction: Contraction,
        state: ColgenState | None = None,
        centre: RelaxationRun | None = None,
    ) -> None:
        """state, centre : of a run on the same contraction, to go on from; None to begin"""
        self._contraction, self._centre = contraction, centre
        self._pricer = pricer = BranchingPricer(contraction, state.pricer if state else None)
        self.state = state or ColgenState(pricer.state)
        self._generation: Generation | None = None
        if self.state.generation is not None:
            self._generation = Generation(contraction, pricer, state=self.state.generation)
        self._enumeration: Enumeration | None = None
        if self.state.enumeration is not None:
            self._enumeration = Enumeration(contraction, pricer, self.state.enumeration)

    def generate(self, columns: Columns, centre: DualValues | None, at_root: bool = True) -> None:
        """Begin to generate columns, with a pool and dual values to begin with."""
        # Integer programmes over the columns find little in children that they have not before.
        self._generation = Generation(
            self._contraction, self._pricer, columns, centre, integer=at_root
        )
        self.state.generation = self._generation.state

    def inherit(
        self,
        warm_start: GenerationWarmStart,
        known: NDArray[np.intp] | None,
        centre: DualValues | None = None,
    ) -> None:
        """Begin with the columns of the parent, and its prices unless others are given."""
        inherited, duals = warm_start.for_child(self._contraction)
        columns = known_columns(self._contraction, known) + inherited
        self.generate(columns, duals if centre is None else centre, at_root=False)

    def begin_with(self, centre: RelaxationRun, known: NDArray[np.intp] | None) -> None:
        """Begin with the semidefinite bound, for its dual values: its bound does not count."""
        self._centre, self.state.centre, self.state.known = centre, centre.state, known

    @property
    def n_iterations(self) -> int:
        """Steps of the generation."""
        return 0 if self._generation is None else self._generation.n_steps

    @property
    def is_enumerating(self) -> bool:
        """True once generation has ended, and all clusters are being enumerated."""
        return self._enumeration is not None

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Take a step of generation, or a slice of the first prices or the enumeration.

        A step of generation solves a master programme and prices.
        """
        if self._generation is None:
            self._find_centre(cutoff)
            return self._progress(stalled=False)
        if self._enumeration is not None:
            self._enumeration.advance()
            return self._progress(stalled=self._enumeration.is_finished)
        solved = self._generation.step(cutoff).stalled
        if not solved or self._generation.bound.value >= cutoff:
            return self._progress(stalled=solved)
        return self._progress(stalled=not self._enumerate(cutoff))

    def _find_centre(self, cutoff: float) -> None:
        """Iterate the semidefinite bound, and begin to generate from its dual values."""
        assert self._centre is not None
        progress = self._centre.advance(cutoff)
        is_over = progress.stalled or progress.n_iterations >= CENTRE_ITERATIONS
        if is_over or progress.bound.value >= cutoff:
            columns = known_columns(self._contraction, self.state.known)
            self.generate(columns, semidefinite_duals(self._contraction, self._centre))
            self._centre = self.state.centre = None

    def _enumerate(self, cutoff: float) -> bool:
        """Begin to enumerate where a cutoff and prices are known; return whether they are."""
        assert self._generation is not None
        at = self._generation.duals
        if not math.isfinite(cutoff) or at is None:
            return False
        self._enumeration = Enumeration.start(
            self._contraction, self._pricer, at, cutoff, self._generation.least
        )
        self.state.enumeration = self._enumeration.state
        return True

    def _progress(self, stalled: bool) -> BoundProgress:
        n_columns = 0 if self._generation is None else len(self._generation.columns)
        return BoundProgress(self._bound, stalled, n_columns, self.n_iterations)

    @property
    def _bound(self) -> ProvenBound:
        bound = ProvenBound(0.0) if self._generation is None else self._generation.bound
        return bound if self._enumeration is None else max(bound, self._enumeration.bound)

    def affinity(self) -> NDArray[np.float64]:
        """Return sum_X x_X 1_X 1_X' / |X| for the solution x of the last master programme."""
        if self._generation is None:
            assert self._centre is not None
            return self._centre.affinity()
        return self._generation.affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        """Return the cheapest clustering found."""
        if self._enumeration is not None and self._enumeration.labels is not None:
            return self._enumeration.labels
        return None if self._generation is None else self._generation.clustering()

    def fixings(self, cutoff: float) -> PairFixings:
        """Return None: reduced costs exclude clusters, seldom pairs."""
        return PairFixings(np.empty((0, 2), np.intp))

    def warm_start(self) -> GenerationWarmStart:
        """Return the best columns of the pool, and the dual values."""
        assert self._generation is not None
        return self._generation.warm_start()

    @property
    def bound(self) -> ProvenBound:
        """The best bound so far."""
        return self._bound


def semidefinite_duals(contraction: Contraction, run: RelaxationRun) -> DualValues:
    """Return dual values of the master programme from those of a semidefinite bound."""
    dual = master_dual(contraction, run.relaxation, run.dual_point())
    return DualValues(dual.prices, dual.sigma)


def known_columns(contraction: Contraction, labels: NDArray[np.intp] | None) -> Columns:
    """Return columns of the allowed clusters of labels (m,); no columns for None."""
    m = contraction.n_blocks
    if labels is None:
        return Columns.of(contraction, np.zeros((0, m), bool))
    members = labels == np.unique(labels)[:, None]
    return Columns.of(contraction, members[allowed(contraction, members)])
