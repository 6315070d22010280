"""Bounding of a node by the first-order method: iterate, separate, evaluate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, ProvenBound
from sdpbb.bounds.sdp.admm import Admm, AdmmState
from sdpbb.bounds.sdp.clustering_dual import clustering_affinity, clustering_dual
from sdpbb.bounds.sdp.cuts import separate
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation_run import RelaxationRun, RelaxationState, SdpWarmStart
from sdpbb.bounds.sdp.safe_bound import DualFunction, DualPoint
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.cores import LARGE
from sdpbb.runtime.time_left import RUN_CLOCK, TimeLeft, no_limit

# Iterations between cut rounds, and between changes of the penalty.
ROUND_PERIOD = 10
BALANCE_PERIOD = 10
# Iterations between evaluations of the safe bound; their growth factor with 256 blocks or more,
# where its eigenvalues cost as much as many iterations. An estimate that the bound closes the node
# or stalls comes first.
BOUND_PERIOD = 20
BOUND_GROWTH = 1.5
# An iteration and a bound are taken to last this many times as long as the longest before.
LATE = 1.5


@dataclass(frozen=True)
class Patience:
    """Stall test. The bound is not monotone over cut rounds and can stall before it jumps.

    iterations : a node stalls if its bound came too little closer to the cutoff in so many
    progress : share by which the distance between best bound and cutoff has to shrink in them
    """

    iterations: int
    progress: float

    def has_run_out(self, history: list[tuple[int, float]], cutoff: float) -> bool:
        """Return whether a node is given up that the cutoff would close.

        history : (iteration, best bound) after each evaluation of the bound
        """
        now, best = history[-1]
        earlier = [bound for iteration, bound in history if iteration <= now - self.iterations]
        if not earlier or best >= cutoff:
            return False
        if not math.isfinite(cutoff):  # no clustering is known: the bound's own progress counts
            cutoff = best + abs(best)
        return cutoff - best > (1.0 - self.progress) * (cutoff - earlier[-1])


# The root still has to find its cuts, and a closed root needs no tree. With the patience of
# children, two of 18 glass sets branched that close otherwise.
ROOT = Patience(iterations=200, progress=0.2)
# With the patience of the root, trees took 1.7 times as long on the five hardest sets of ecoli and
# accent.
CHILD = Patience(iterations=40, progress=0.4)


@stored
@dataclass(eq=False)
class AdmmRunState(RelaxationState):
    """Resumable state of an `AdmmRun`.

    admm : state of the first-order method
    separated_at : iterations when cuts were last looked for
    """

    admm: AdmmState = field(kw_only=True)
    separated_at: int = 0


class AdmmRun(RelaxationRun):
    """Bounding of one node by the first-order method."""

    state: AdmmRunState

    def __init__(
        self,
        contraction: Contraction,
        parameters: SdpParameters,
        state: AdmmRunState | None = None,
        warm_start: SdpWarmStart | None = None,
        known: NDArray[np.intp] | None = None,
    ) -> None:
        """
        Parameters
        ----------
        state : to resume from
        warm_start : to begin with, of a child
        known : labels (m,) of a clustering of the blocks, to begin a root with
        """
        super().__init__(contraction, parameters)
        self.state = self._first_state(warm_start, known) if state is None else state
        self._admm = Admm(self.relaxation, self.state.admm)
        self._patience = CHILD if self.state.is_child else ROOT
        self._iteration_seconds = self._bound_seconds = 0.0

    def _first_state(
        self, warm_start: SdpWarmStart | None, known: NDArray[np.intp] | None
    ) -> AdmmRunState:
        contraction, relaxation = self._contraction, self.relaxation
        if warm_start is not None:
            dual, Z = warm_start.for_child(contraction, relaxation.scale)
            admm = AdmmState.at(relaxation, dual, Z, warm_start.rho)
        elif known is not None:
            dual = clustering_dual(contraction, relaxation, known)
            Z = clustering_affinity(contraction, known)
            admm = AdmmState.at(relaxation, dual, Z)
        else:
            admm = AdmmState.centre(relaxation)
        is_child, best = warm_start is not None, self._scatter_inside_blocks()
        return AdmmRunState(is_child, best, admm=admm)

    @property
    def n_iterations(self) -> int:
        return self.state.admm.n_iterations

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Iterate until the next evaluation of the safe bound. That of a root begins at once."""
        if self.n_iterations == 0 and not self.state.is_child and not self.state.history:
            return BoundProgress(self._evaluate(cutoff, is_due=True), False, 0, 0)
        self._separate_if_due()
        while True:
            self._iterate()
            is_late = self._is_late(time_left())
            if is_late or self.n_iterations % BOUND_PERIOD == 0:
                break
            self._separate_if_due()
        bound = self._evaluate(cutoff, is_due=not is_late)
        if not is_late:
            self._separate_if_due()
        return BoundProgress(
            bound=bound,
            stalled=not is_late and self._is_stalled(cutoff),
            n_cuts=len(self.state.admm.cuts),
            n_iterations=self.n_iterations,
            is_cut=is_late,
        )

    def _iterate(self) -> None:
        begun = RUN_CLOCK()
        self._admm.iterate()
        if self.n_iterations % BALANCE_PERIOD == 0:
            self._admm.balance()
        self._iteration_seconds = max(self._iteration_seconds, RUN_CLOCK() - begun)

    def _evaluate(self, cutoff: float, is_due: bool) -> ProvenBound:
        """Take the safe bound of the last iterate; return the best, with evidence if that is it.

        is_due : whether the stall test counts it. It is left out where it can change nothing
        """
        begun, state = RUN_CLOCK(), self.state
        dual = self.dual_point()
        function = DualFunction.at(self.relaxation, dual)
        if is_due and not self._is_worth_bounding(function, cutoff):
            return state.best
        bound = function.bound()
        best = state.best if bound <= state.best else ProvenBound(bound.value, dual)
        state.best = best.bare()
        if is_due:
            state.history.append((self.n_iterations, state.best.value))
        self._bound_seconds = max(self._bound_seconds, RUN_CLOCK() - begun)
        return best

    def _is_worth_bounding(self, function: DualFunction, cutoff: float) -> bool:
        """Return whether to compute the eigenvalues of the bound.

        Those of large matrices take as long as many iterations. They are left out where by an upper
        estimate the node neither closes nor stalls, unless it is long since the last ones.
        """
        history, basis = self.state.history, self.state.admm.spectrum.basis
        if self.relaxation.m < LARGE or basis is None or not history:
            return True
        now = self.n_iterations
        if now >= BOUND_GROWTH * history[-1][0] or now >= self.parameters.max_iterations:
            return True
        estimate = max(function.estimate(basis), self.state.best.value)
        return estimate >= cutoff or self._patience.has_run_out([*history, (now, estimate)], cutoff)

    def _is_late(self, seconds_left: float) -> bool:
        """Return whether the bound is to be evaluated now, before the next iteration.

        Both may need a full eigendecomposition, so the time of one estimates that of the other.
        """
        iteration, bound = self._iteration_seconds, self._bound_seconds
        return seconds_left < LATE * (iteration + max(bound, iteration))

    def _is_stalled(self, cutoff: float) -> bool:
        is_last = self.n_iterations >= self.parameters.max_iterations
        return is_last or self._patience.has_run_out(self.state.history, cutoff)

    def _separate_if_due(self) -> None:
        state, now = self.state, self.n_iterations
        if now == state.separated_at or now % ROUND_PERIOD:
            return
        state.separated_at = now
        Y = self._admm.polyhedral_iterate()
        found = separate(self.relaxation, Y, lambda family: state.is_child or now >= family.after)
        self._admm.replace_cuts(found)

    def affinity(self) -> NDArray[np.float64]:
        """Return Z of the polyhedral iterate: nonnegative, zero on cannot-links."""
        return self.relaxation.to_affinity(self._admm.polyhedral_iterate())

    def dual_point(self) -> DualPoint:
        """Return the dual values of the last iterate."""
        return self._admm.dual_point()

    @property
    def _penalty(self) -> float:
        return self.state.admm.rho
