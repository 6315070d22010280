"""Bounding of a node by the first-order method: iterate, separate, evaluate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, PairFixings, ProvenBound, scatter_bound
from sdpbb.bounds.sdp.admm import Admm
from sdpbb.bounds.sdp.cuts import separate
from sdpbb.bounds.sdp.first_duals import SdpWarmStart, clustering_affinity, clustering_dual
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualFunction, DualPoint, pairs_apart, safe_bound
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import Attached, stored
from sdpbb.runtime.cores import LARGE
from sdpbb.runtime.time_left import RUN_CLOCK, TimeLeft, no_limit

# Iterations between cut rounds, and between changes of the penalty.
ROUND_PERIOD = 10
BALANCE_PERIOD = 10
# Iterations between evaluations of the safe bound, and their growth factor with 256 blocks or more:
# eigenvalues then take as long as many iterations. A bound is evaluated earlier if an estimate of
# it closes the node or stalls.
BOUND_PERIOD = 20
BOUND_GROWTH = 1.5
# The next iteration and bound are assumed to take this many times as long as the longest before.
LATE = 1.5


@dataclass(frozen=True)
class Patience:
    """Stall test. The bound is not monotone over cut rounds and can stall before it jumps.

    iterations : number of iterations in which the bound must progress
    progress : share by which the distance from the best bound to the cutoff must shrink in them
    """

    iterations: int
    progress: float

    def has_run_out(self, history: list[tuple[int, float]], cutoff: float) -> bool:
        """Return whether a node with this cutoff is given up.

        history : (iteration, best bound) after each evaluation of the bound
        """
        now, best = history[-1]
        earlier = [bound for iteration, bound in history if iteration <= now - self.iterations]
        if not earlier or best >= cutoff:
            return False
        if not math.isfinite(cutoff):  # no clustering is known: relative to the bound
            cutoff = best + abs(best)
        return cutoff - best > (1.0 - self.progress) * (cutoff - earlier[-1])


@stored
@dataclass(eq=False)
class AdmmRun(Attached):
    """Bounding of one node by the first-order method (`sdpbb.bounds.bound.BoundRun`).

    is_child : whether it began from a warm start
    best : the best bound so far
    admm : the first-order method
    history : (iteration, best bound) after each due evaluation of the bound
    separated_at : iterations at the last separation of cuts
    """

    # The root still has to find its cuts, and a closed root needs no tree. With the patience of
    # children, two of 18 glass sets branch instead.
    ROOT = Patience(iterations=200, progress=0.2)
    # With the patience of the root, trees took 1.7 times as long on the five hardest sets of ecoli
    # and accent.
    CHILD = Patience(iterations=40, progress=0.4)

    is_child: bool
    best: ProvenBound
    admm: Admm
    history: list[tuple[int, float]] = field(default_factory=list)
    separated_at: int = 0

    @classmethod
    def begin(
        cls,
        contraction: Contraction,
        parameters: SdpParameters,
        warm_start: SdpWarmStart | None = None,
        known: NDArray[np.intp] | None = None,
    ) -> Self:
        """Return a new run.

        warm_start : of the parent, or None
        known : labels (m,) of a clustering of the blocks, for the first dual values of a root
        """
        relaxation = Relaxation.of(contraction)
        if warm_start is not None:
            dual, Z = warm_start.for_child(contraction, relaxation.scale)
            admm = Admm.at(relaxation, dual, Z, warm_start.rho)
        elif known is not None:
            dual = clustering_dual(contraction, relaxation, known)
            admm = Admm.at(relaxation, dual, clustering_affinity(contraction, known))
        else:
            admm = Admm.centre(relaxation)
        run = cls(warm_start is not None, scatter_bound(contraction), admm)
        return run._attach(contraction, relaxation, parameters)

    def attach(self, contraction: Contraction, method: Any) -> Self:
        """Resume on the contraction and the `SdpBounding` that the run started with."""
        relaxation = Relaxation.of(contraction)
        self.admm.attach(relaxation)
        return self._attach(contraction, relaxation, method.parameters)

    def _attach(
        self, contraction: Contraction, relaxation: Relaxation, parameters: SdpParameters
    ) -> Self:
        self.contraction, self.relaxation, self.parameters = contraction, relaxation, parameters
        self._iteration_seconds = self._bound_seconds = 0.0
        return self

    @property
    def _patience(self) -> Patience:
        return self.CHILD if self.is_child else self.ROOT

    @property
    def _max_iterations(self) -> int:
        return self.parameters.max_iterations

    @property
    def n_iterations(self) -> int:
        return self.admm.n_iterations

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Iterate until the next evaluation of the safe bound; a root starts with one."""
        if self.n_iterations == 0 and not self.is_child and not self.history:
            return BoundProgress(self._best_bound(cutoff, is_due=True), False, 0)
        return self.evaluate(cutoff, self.iterate(time_left))

    def iterate(self, time_left: TimeLeft = no_limit) -> bool:
        """Iterate until the safe bound is due; return whether the time ends before."""
        self._separate_if_due()
        while True:
            self._take_iteration()
            if self._is_late(time_left()):
                return True
            if self.n_iterations % BOUND_PERIOD == 0:
                return False
            self._separate_if_due()

    def evaluate(self, cutoff: float, is_late: bool = False) -> BoundProgress:
        """Evaluate the safe bound; separate cuts unless the time has ended the iterations early."""
        bound = self._best_bound(cutoff, is_due=not is_late)
        if not is_late:
            self._separate_if_due()
        return BoundProgress(
            bound=bound,
            stalled=not is_late and self._is_stalled(cutoff),
            n_cuts=len(self.admm.cuts),
            is_cut=is_late,
        )

    def _take_iteration(self) -> None:
        begun = RUN_CLOCK()
        self.admm.iterate()
        if self.n_iterations % BALANCE_PERIOD == 0:
            self.admm.balance()
        self._iteration_seconds = max(self._iteration_seconds, RUN_CLOCK() - begun)

    def _best_bound(self, cutoff: float, is_due: bool) -> ProvenBound:
        """Evaluate the safe bound of the last iterate; return the best, with evidence if it is new.

        is_due : whether the stall test counts it. A due bound without effect is not evaluated
        """
        begun = RUN_CLOCK()
        dual = self.dual_point()
        function = DualFunction.at(self.relaxation, dual)
        if is_due and not self._is_worth_bounding(function, cutoff):
            return self.best
        bound = function.bound()
        best = self.best if bound <= self.best else ProvenBound(bound.value, dual)
        self.best = best.bare()
        if is_due:
            self.history.append((self.n_iterations, self.best.value))
        self._bound_seconds = max(self._bound_seconds, RUN_CLOCK() - begun)
        return best

    def _is_worth_bounding(self, function: DualFunction, cutoff: float) -> bool:
        """Return whether to compute the eigenvalues of the bound.

        In large matrices they take as long as many iterations. They are left out if by an upper
        estimate the node neither closes nor stalls, unless the last evaluation was long ago.
        """
        history, basis = self.history, self.admm.spectrum.basis
        if self.relaxation.m < LARGE or basis is None or not history:
            return True
        now = self.n_iterations
        if now >= BOUND_GROWTH * history[-1][0] or now >= self._max_iterations:
            return True
        estimate = max(function.estimate(basis), self.best.value)
        return estimate >= cutoff or self._patience.has_run_out([*history, (now, estimate)], cutoff)

    def _is_late(self, seconds_left: float) -> bool:
        """Return whether the bound is to be evaluated now, before the next iteration.

        Both may need a full eigendecomposition, so each estimates the time of the other.
        """
        iteration, bound = self._iteration_seconds, self._bound_seconds
        return seconds_left < LATE * (iteration + max(bound, iteration))

    def _is_stalled(self, cutoff: float) -> bool:
        is_last = self.n_iterations >= self._max_iterations
        return is_last or self._patience.has_run_out(self.history, cutoff)

    def _separate_if_due(self) -> None:
        now = self.n_iterations
        if now == self.separated_at or now % ROUND_PERIOD:
            return
        self.separated_at = now
        Y = self.admm.polyhedral_iterate()
        self.admm.replace_cuts(separate(self.relaxation, Y, np.inf if self.is_child else now))

    def affinity(self) -> NDArray[np.float64]:
        """Return Z (m, m) of the polyhedral iterate: nonnegative, zero on cannot-links."""
        return self.relaxation.to_affinity(self.admm.polyhedral_iterate())

    def dual_point(self) -> DualPoint:
        """Return the dual values of the last iterate, for bounds, fixings and warm starts."""
        return self.admm.dual_point()

    def clustering(self) -> NDArray[np.intp] | None:
        """Return None: the relaxation meets no clusterings."""
        return None

    def fixings(self, cutoff: float) -> PairFixings:
        """Return pairs of blocks that share a cluster in no clustering below the cutoff."""
        dual = self.dual_point()
        # The best bound so far may belong to other dual values.
        bound = safe_bound(self.relaxation, dual)
        return PairFixings(pairs_apart(self.relaxation, dual, bound, cutoff))

    def warm_start(self) -> SdpWarmStart:
        """Return the warm start of a child of the node."""
        dual = self.dual_point()
        return SdpWarmStart(
            block_of=self.contraction.block_of,
            scale=self.relaxation.scale,
            dual=DualPoint(dual.N.astype(np.float32), dual.cuts, dual.multipliers),
            Z=self.affinity().astype(np.float32),
            rho=self.admm.rho,
            weights=self.contraction.weights,
        )
