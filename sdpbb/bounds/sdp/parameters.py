"""Parameters of the semidefinite bound. Light: nothing is imported that compiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sdpbb.archive.stored import stored
from sdpbb.bounds.sdp.cuts import SeparationParameters
from sdpbb.declaration import Parameters, parameter
from sdpbb.errors import ParameterError

SdpSolver = Literal["admm", "clarabel", "scs"]


@stored
@dataclass(frozen=True)
class SpectrumParameters(Parameters):
    """Parameters of the projection onto the spectral set, which may be inexact.

    It only steers the method; no bound depends on it.
    """

    cap: float = parameter(
        2.0,
        "Upper bound on the eigenvalues of the projected matrix: R <= cap I. Any is valid.",
        reason="1 is slower on ordinary data; none at all (k and above) never gets past an "
        "outlier, whose eigenvalue would take all of the trace.",
        ge=1,
        le=1e9,
    )
    min_order: int = parameter(
        60, "Order below which LAPACK is always used.", reason="It is as fast there."
    )
    max_fraction: float = parameter(
        0.45, "Largest share of the m eigenpairs worth computing iteratively."
    )
    exact_fraction: float = parameter(
        0.12,
        "Largest share for which LAPACK's tridiagonal bisection beats divide and conquer.",
    )
    degree: int = parameter(
        3,
        "Degree of the Chebyshev filter between two Rayleigh-Ritz steps.",
        reason="20 can overflow.",
        ge=1,
        le=8,
    )
    buffer: int = parameter(
        8,
        "Eigenpairs carried beyond those with positive weight.",
        reason="Newcomers are seen.",
        ge=1,
    )
    accuracy: float = parameter(
        0.5,
        "Accepted residual, as a fraction of the method's own last residual.",
        reason="0.02 to 0.5 need the same number of iterations of the method.",
        gt=0,
        lt=1,
    )


@stored
@dataclass(frozen=True)
class AdmmParameters(Parameters):
    """Parameters of the first-order method; the data are scaled so that ||K||_F = 1."""

    penalty: float = parameter(0.5, "First penalty rho.", ge=1e-6, le=1e6)
    over_relaxation: float = parameter(1.6, "Over-relaxation.", ge=1, lt=2)
    sweeps: int = parameter(
        4, "Passes of dual coordinate ascent over the cuts per iteration.", ge=1
    )
    balance: float = parameter(
        1.5, "The penalty changes when the residuals differ by more than this factor.", gt=1
    )
    penalty_step: float = parameter(
        1.5,
        "Factor by which the penalty changes.",
        reason="1.3 and 2 for this and balance need 6 and 12 % more iterations.",
        gt=1,
        le=10,
    )


@stored
@dataclass(frozen=True)
class Patience(Parameters):
    """Stall test. The bound is not monotone over cut rounds and can stand still before it jumps."""

    iterations: int = parameter(
        help="A node is given up when in this many iterations the bound came too little nearer to "
        "the cutoff.",
        ge=1,
    )
    progress: float = parameter(
        help="Share by which the distance between best bound and cutoff has to shrink in them.",
        gt=0,
        lt=1,
    )

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


@stored
@dataclass(frozen=True)
class ConicParameters(Parameters):
    """Parameters of conic solvers, which solve each relaxation anew in rounds of cuts."""

    cuts_per_block: int = parameter(
        2,
        "New cuts per block and round, at most: the most violated ones.",
        reason="An interior-point method does not mind more of them, but most of a round's cuts "
        "are not needed.",
        ge=1,
    )
    root: Patience = parameter(
        lambda: Patience(iterations=3, progress=0.2),
        "Stall test without a warm start, an iteration being a round.",
    )
    child: Patience = parameter(
        lambda: Patience(iterations=2, progress=0.4),
        "Stall test with a warm start, an iteration being a round.",
    )
    max_rounds: int = parameter(30, "A node is given up after this many rounds.", ge=1)
    largest: int = parameter(
        150,
        "Blocks, at most.",
        reason="Clarabel factorises dense matrices of order m (m + 1) / 2, of 1 GiB each for 150 "
        "blocks.",
        ge=1,
    )


@stored
@dataclass(frozen=True)
class SdpParameters(Parameters):
    """Parameters of bounding by the semidefinite relaxation."""

    admm: AdmmParameters = parameter(
        AdmmParameters, "The first-order method; the data are scaled so that ||K||_F = 1."
    )
    spectrum: SpectrumParameters = parameter(
        SpectrumParameters, "The projection onto the spectral set, and when it may be inexact."
    )
    separation: SeparationParameters = parameter(
        SeparationParameters, "The families of cuts: how many a round adds, and which."
    )
    conic: ConicParameters = parameter(
        ConicParameters, "Conic solvers, which solve each relaxation anew in rounds of cuts."
    )
    solver: SdpSolver = parameter(
        "admm",
        "Who solves the semidefinite relaxations: the method of this program, or an established "
        "conic solver, for a second opinion on up to 150 blocks, which takes far longer. What "
        "counts is proven in the same way.",
    )
    round_period: int = parameter(10, "Iterations between cut rounds.", ge=1)
    balance_period: int = parameter(10, "Iterations between changes of the penalty.", ge=1)
    bound_period: int = parameter(20, "Iterations between evaluations of the safe bound.", ge=1)
    bound_growth: float = parameter(
        1.5,
        "Factor by which iterations grow between evaluations of the safe bound of 256 blocks and "
        "more, unless an estimate says that it closes the node or stands still.",
        reason="Its eigenvalues take as long as many iterations.",
        ge=1,
    )
    root: Patience = parameter(
        lambda: Patience(iterations=200, progress=0.2),
        "Stall test without a warm start.",
        reason="The root has its cuts still to find, and is worth more: where it closes there is "
        "no tree. With the children's patience two of 18 glass sets branched that close.",
    )
    child: Patience = parameter(
        lambda: Patience(iterations=40, progress=0.4),
        "Stall test with a warm start.",
        reason="With the root's, trees took 1.7 times as long on the five hardest sets of ecoli "
        "and accent.",
    )
    max_iterations: int = parameter(
        3000, "A node is given up after this many iterations, at least bound_period.", ge=1
    )

    def check_combination(self) -> None:
        if self.max_iterations < self.bound_period:
            expected = f"at least bound_period = {self.bound_period}"
            raise ParameterError(f"max_iterations = {self.max_iterations}: expected {expected}")
