"""Bounding method: column generation, and enumeration where few clusters are left."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, PairFixings, ProvenBound
from sdpbb.bounds.lagrangian.columns import Columns, allowed
from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.lagrangian.enumeration import Enumeration
from sdpbb.bounds.lagrangian.generation import Generation
from sdpbb.bounds.lagrangian.generation_state import GenerationWarmStart
from sdpbb.bounds.lagrangian.masters.interior_method import exercise as exercise_interior_method
from sdpbb.bounds.lagrangian.partitioning import cheapest_partition
from sdpbb.bounds.lagrangian.partitioning.exact_cover import exercise as exercise_exact_cover
from sdpbb.bounds.lagrangian.reach import is_easy_to_price, pricing_mebibytes
from sdpbb.bounds.lagrangian.sdp_dual import master_dual
from sdpbb.bounds.lagrangian.sets.pricer import BranchingPricer
from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation_run import RelaxationRun, RelaxationState
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import Attached, stored
from sdpbb.runtime.time_left import TimeLeft, no_limit

# Maximum iterations of the semidefinite bound that the first prices are taken from.
CENTRE_ITERATIONS = 100


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
        exercise_exact_cover()
        exercise_interior_method()

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
        run = ColgenRun.begin(contraction)
        if warm_start is not None:
            run.inherit(warm_start, known)
        elif not is_easy_to_price(contraction):
            run.begin_with(self.sdp.start(contraction, None), known)
        else:
            run.generate(known_columns(contraction, known), None)
        return run

    def resume(self, contraction: Contraction, state: ColgenRun) -> ColgenRun:
        """Return a run that resumes on the same contraction."""
        return state.attach(contraction, self.sdp)


@stored
@dataclass(eq=False)
class ColgenRun(Attached):
    """Bounding of one node by column generation (`sdpbb.bounds.bound.BoundRun`).

    It generates columns until the master programme is solved, then enumerates those of a better
    clustering if they are few.

    pricer : of generation and enumeration
    centre : state of the semidefinite bound that the first prices are taken from
    known : (m,) labels of a known clustering, for columns to begin with
    generation, enumeration : None before they begin
    """

    pricer: BranchingPricer
    centre: RelaxationState | None = None
    known: NDArray[np.intp] | None = None
    generation: Generation | None = None
    enumeration: Enumeration | None = None

    @classmethod
    def begin(cls, contraction: Contraction) -> ColgenRun:
        """Begin, which one of `generate`, `inherit` and `begin_with` ends."""
        run = cls(BranchingPricer.begin(contraction))
        run._contraction, run._centre = contraction, None
        return run

    def attach(self, contraction: Contraction, sdp: SdpBounding | None = None) -> ColgenRun:
        """Resume on the contraction that the run has started with.

        sdp : for runs that may still take their first prices from the semidefinite bound
        """
        self._contraction = contraction
        self._centre: RelaxationRun | None = None
        if self.centre is not None and sdp is not None:
            self._centre = sdp.resume(contraction, self.centre)
        self.pricer.attach(contraction)
        for part in (self.generation, self.enumeration):
            if part is not None:
                part.attach(contraction, self.pricer)
        return self

    @property
    def state(self) -> ColgenRun:
        """State to resume from: the run."""
        return self

    def generate(self, columns: Columns, centre: DualValues | None, at_root: bool = True) -> None:
        """Begin to generate columns, with a pool and dual values to begin with."""
        # Integer programmes over the columns find little in children that they have not before.
        self.generation = Generation.begin(
            self._contraction, self.pricer, columns, centre, integer=at_root
        )

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
        self._centre, self.centre, self.known = centre, centre.state, known

    @property
    def n_iterations(self) -> int:
        """Steps of the generation."""
        return 0 if self.generation is None else self.generation.n_steps

    @property
    def is_enumerating(self) -> bool:
        """True once generation has ended, and all clusters are being enumerated."""
        return self.enumeration is not None

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Take a step of generation, or a slice of the first prices or the enumeration.

        A step of generation solves a master programme and prices.
        """
        if self.generation is None:
            self._find_centre(cutoff)
            return self._progress(stalled=False)
        if self.enumeration is not None:
            self.enumeration.advance()
            return self._progress(stalled=self.enumeration.is_finished)
        solved = self.generation.step(cutoff).stalled
        if not solved or self.generation.bound.value >= cutoff:
            return self._progress(stalled=solved)
        return self._progress(stalled=not self._enumerate(cutoff))

    def _find_centre(self, cutoff: float) -> None:
        """Iterate the semidefinite bound, and begin to generate from its dual values."""
        assert self._centre is not None
        progress = self._centre.advance(cutoff)
        is_over = progress.stalled or progress.n_iterations >= CENTRE_ITERATIONS
        if is_over or progress.bound.value >= cutoff:
            columns = known_columns(self._contraction, self.known)
            self.generate(columns, semidefinite_duals(self._contraction, self._centre))
            self._centre = self.centre = None

    def _enumerate(self, cutoff: float) -> bool:
        """Begin to enumerate where a cutoff and prices are known; return whether they are."""
        assert self.generation is not None
        at = self.generation.duals
        if not math.isfinite(cutoff) or at is None:
            return False
        self.enumeration = Enumeration.start(
            self._contraction, self.pricer, at, cutoff, self.generation.least
        )
        return True

    def _progress(self, stalled: bool) -> BoundProgress:
        n_columns = 0 if self.generation is None else len(self.generation.columns)
        return BoundProgress(self.bound, stalled, n_columns, self.n_iterations)

    @property
    def bound(self) -> ProvenBound:
        """The best bound so far."""
        bound = ProvenBound(0.0) if self.generation is None else self.generation.bound
        return bound if self.enumeration is None else max(bound, self.enumeration.bound)

    def affinity(self) -> NDArray[np.float64]:
        """Return sum_X x_X 1_X 1_X' / |X| for the solution x of the last master programme."""
        if self.generation is None:
            assert self._centre is not None
            return self._centre.affinity()
        return self.generation.affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        """Return the cheapest clustering found."""
        if self.enumeration is not None and self.enumeration.labels is not None:
            return self.enumeration.labels
        return None if self.generation is None else self.generation.clustering()

    def fixings(self, cutoff: float) -> PairFixings:
        """Return None: reduced costs exclude clusters, seldom pairs."""
        return PairFixings(np.empty((0, 2), np.intp))

    def warm_start(self) -> GenerationWarmStart:
        """Return the best columns of the pool, and the dual values."""
        assert self.generation is not None
        return self.generation.warm_start()


def semidefinite_duals(contraction: Contraction, run: RelaxationRun) -> DualValues:
    """Return dual values of the master programme from those of a semidefinite bound."""
    return master_dual(contraction, run.relaxation, run.dual_point())


def known_columns(contraction: Contraction, labels: NDArray[np.intp] | None) -> Columns:
    """Return columns of the allowed clusters of labels (m,); no columns for None."""
    m = contraction.n_blocks
    if labels is None:
        return Columns.of(contraction, np.zeros((0, m), bool))
    members = labels == np.unique(labels)[:, None]
    return Columns.of(contraction, members[allowed(contraction, members)])
