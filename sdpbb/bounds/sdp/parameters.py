"""The numbers of the semidefinite bound, with the reason for each. Light: nothing is imported that
compiles."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sdpbb.archive.stored import stored
from sdpbb.bounds.sdp.cuts import SeparationParameters
from sdpbb.domains import check_fields, wrong
from sdpbb.errors import ParameterError


@stored
@dataclass(frozen=True)
class SpectrumParameters:
    """When the projection onto the spectral set may be inexact. It only steers the method; no
    bound depends on it.

    cap : R <= cap I. Any cap >= 1 is valid, up to 1e9. 1 is slower on ordinary data, none at all
        (k and above) never gets past an outlier, whose eigenvalue would take all of the trace
    min_order : below it LAPACK is as fast and always used
    max_fraction : largest share of the m eigenpairs worth computing iteratively
    exact_fraction : largest share for which LAPACK's tridiagonal bisection beats divide and conquer
    degree : of the Chebyshev filter between two Rayleigh-Ritz steps, at most 8: 20 can overflow
    buffer : eigenpairs carried beyond those with positive weight, so that newcomers are seen
    accuracy : accepted residual, as a fraction of the method's own last residual; 0.02 to 0.5
        need the same number of iterations of the method
    """

    cap: float = 2.0
    min_order: int = 60
    max_fraction: float = 0.45
    exact_fraction: float = 0.12
    degree: int = 3
    buffer: int = 8
    accuracy: float = 0.5

    def __post_init__(self) -> None:
        check_fields(self, most={"cap": 1e9, "degree": 8})
        if self.cap < 1 or self.degree < 1 or self.buffer < 1 or not 0 < self.accuracy < 1:
            raise ParameterError(f"spectrum parameters out of their domain: {self}")


@stored
@dataclass(frozen=True)
class AdmmParameters:
    """The first-order method's numbers; the data are scaled so that ||K||_F = 1.

    penalty : the first rho, 1e-6 to 1e6
    relaxation : over-relaxation in [1, 2)
    sweeps : dual coordinate ascent passes over the cuts per iteration
    balance : rho changes when the residuals differ by more than this factor ...
    penalty_step : ... by this factor, at most 10. 1.3 and 2 for both need 6 and 12 % more
        iterations
    """

    penalty: float = 0.5
    relaxation: float = 1.6
    sweeps: int = 4
    balance: float = 1.5
    penalty_step: float = 1.5

    def __post_init__(self) -> None:
        check_fields(self, most={"penalty_step": 10.0})
        if not 1e-6 <= self.penalty <= 1e6:
            raise wrong("penalty", self.penalty, "a number from 1e-6 to 1e6")
        if self.sweeps < 1 or not (
            1 <= self.relaxation < 2 and min(self.balance, self.penalty_step) > 1
        ):
            raise ParameterError(f"ADMM parameters out of their domain: {self}")


@stored
@dataclass(frozen=True)
class Patience:
    """A node is given up when in `iterations` iterations the distance between its best bound and
    the cutoff shrank by less than the share `progress`. The bound is not monotone over cut rounds
    and can stand still before it jumps."""

    iterations: int
    progress: float

    def __post_init__(self) -> None:
        check_fields(self)
        if self.iterations < 1 or not 0 < self.progress < 1:
            raise ParameterError(f"patience out of its domain: {self}")

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
class ConicParameters:
    """Parameters of conic solvers, which solve each relaxation anew in rounds of cuts.

    cuts_per_block : at most that many new cuts per block and round, the most violated ones. An
        interior-point method does not mind more of them, but most of a round's cuts are not needed
    root, child : as in `SdpParameters`, an iteration being a round
    max_rounds : the node is given up
    largest : blocks. Clarabel factorises dense matrices of order m (m + 1) / 2, of 1 GiB each for
        150 blocks
    """

    cuts_per_block: int = 2
    root: Patience = field(default_factory=lambda: Patience(iterations=3, progress=0.2))
    child: Patience = field(default_factory=lambda: Patience(iterations=2, progress=0.4))
    max_rounds: int = 30
    largest: int = 150

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.cuts_per_block, self.max_rounds, self.largest) < 1:
            raise ParameterError(f"conic parameters out of their domain: {self}")


SOLVERS = ("admm", "clarabel", "scs")


@stored
@dataclass(frozen=True)
class SdpParameters:
    """The bounding of a node.

    solver : "admm", the method of this project; or "clarabel" or "scs", which solve each relaxation
        anew, as conic says. Their dual values prove bounds in the same way, so this is a second
        opinion on the method, not on the proof; and slower
    round_period, balance_period, bound_period : iterations between cut rounds, changes of rho,
        and evaluations of the safe bound
    root, child : when a node is given up, without and with a warm start. The root has its cuts
        still to find, and is worth more: where it closes there is no tree. With the children's
        patience two of 18 glass sets branched that close; with the root's, trees took 1.7 times as
        long on the five hardest sets of ecoli and accent
    max_iterations : the node is given up
    together_candidates : pairs that are tried to be proven to share a cluster where a node is left.
        0 because proving 20 of them takes longer than most trees do, see docs/relaxation.md
    """

    admm: AdmmParameters = field(default_factory=AdmmParameters)
    spectrum: SpectrumParameters = field(default_factory=SpectrumParameters)
    separation: SeparationParameters = field(default_factory=SeparationParameters)
    conic: ConicParameters = field(default_factory=ConicParameters)
    solver: str = "admm"
    round_period: int = 10
    balance_period: int = 10
    bound_period: int = 20
    root: Patience = field(default_factory=lambda: Patience(iterations=200, progress=0.2))
    child: Patience = field(default_factory=lambda: Patience(iterations=40, progress=0.4))
    max_iterations: int = 3000
    together_candidates: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.solver not in SOLVERS:
            expected = f"expected one of {', '.join(SOLVERS)}"
            raise ParameterError(f"solver = {self.solver!r}: {expected}")
        periods = (
            self.round_period,
            self.balance_period,
            self.bound_period,
        )
        if min(periods) < 1 or self.max_iterations < self.bound_period:
            raise ParameterError(f"periods and max_iterations must be positive: {self}")
