"""Parameters of the semidefinite bound. Light: nothing is imported that compiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sdpbb.bounds.sdp.cuts import SeparationParameters
from sdpbb.errors import ParameterError
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.declaration import Parameters, parameter


@stored
@dataclass(frozen=True)
class SpectrumParameters(Parameters):
    """Parameters of the projection onto the spectral set, which may be inexact.

    It only steers the method; no bound depends on it.
    """

    cap: float = parameter(
        2.0,
        "Upper bound on the eigenvalues of the projected matrix: R <= cap I. Every value is valid.",
        reason="1 is slower on ordinary data. k or more stalls at an outlier, whose eigenvalue "
        "would take the whole trace.",
        ge=1,
        le=1e9,
    )
    min_order: int = parameter(
        60, "Order below which LAPACK is always used.", reason="LAPACK is as fast there."
    )
    max_fraction: float = parameter(
        0.45, "Maximum share of the m eigenpairs to compute iteratively."
    )
    exact_fraction: float = parameter(
        0.12,
        "Maximum share for LAPACK's tridiagonal bisection; beyond it, divide and conquer.",
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
        reason="So eigenpairs that become positive are detected.",
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
        help="Stop bounding a node if the bound came too little closer to the cutoff in this "
        "many iterations.",
        ge=1,
    )
    progress: float = parameter(
        help="Share by which the distance between best bound and cutoff must shrink in them.",
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
        "Maximum new cuts per block and round; the most violated first.",
        reason="An interior-point method can use more, but most cuts of a round are not needed.",
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
    max_rounds: int = parameter(30, "Maximum rounds of a node.", ge=1)
    largest: int = parameter(
        150,
        "Maximum blocks of an instance; more are refused before the run.",
        reason="Clarabel factorises dense matrices of order m (m + 1) / 2: for 150 blocks an "
        "iteration takes 28 seconds, and 7 GiB. SCS takes 12 seconds for all of its iterations.",
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
        SeparationParameters, "Families of cuts: their number per round, and the choice."
    )
    conic: ConicParameters = parameter(
        ConicParameters,
        "Conic solvers, which solve each relaxation from scratch in rounds of cuts.",
    )
    solver: str = parameter(
        "admm",
        "SDP solver: admm, which is built in, or a conic solver that CVXPY finds (clarabel, scs, "
        "mosek, ...) as a slow cross-check for up to 150 blocks. Bounds are proven in the same "
        "way.",
        unit="admm, or a conic solver that CVXPY finds",
    )
    round_period: int = parameter(10, "Iterations between cut rounds.", ge=1)
    balance_period: int = parameter(10, "Iterations between changes of the penalty.", ge=1)
    bound_period: int = parameter(20, "Iterations between evaluations of the safe bound.", ge=1)
    bound_growth: float = parameter(
        1.5,
        "Growth factor of the iterations between safe bounds, with 256 blocks or more. An "
        "estimate that the bound closes the node or stalls comes first.",
        reason="Its eigenvalues cost as much as many iterations.",
        ge=1,
    )
    root: Patience = parameter(
        lambda: Patience(iterations=200, progress=0.2),
        "Stall test without a warm start.",
        reason="The root still has to find its cuts, and a closed root needs no tree. With the "
        "patience of children, two of 18 glass sets branched that close otherwise.",
    )
    child: Patience = parameter(
        lambda: Patience(iterations=40, progress=0.4),
        "Stall test with a warm start.",
        reason="With the patience of the root, trees took 1.7 times as long on the five hardest "
        "sets of ecoli and accent.",
    )
    max_iterations: int = parameter(
        3000, "Maximum iterations of a node, at least bound_period.", ge=1
    )

    def check_combination(self) -> None:
        if self.solver != "admm":
            from sdpbb.runtime.backends.conic import require

            require(self.solver, "admm")
        if self.max_iterations < self.bound_period:
            expected = f"at least bound_period = {self.bound_period}"
            raise ParameterError(f"max_iterations = {self.max_iterations}: expected {expected}")
