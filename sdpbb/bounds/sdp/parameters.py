"""The numbers of the semidefinite bound, with the reason for each. Light: nothing is imported that
compiles."""

from __future__ import annotations

from dataclasses import dataclass, field

from sdpbb.errors import ParameterError


@dataclass(frozen=True)
class SpectrumParameters:
    """When the projection onto the spectral set may be inexact. It only steers the method; no
    bound depends on it.

    cap : R <= cap I. Any cap >= 1 is valid. 1 is slower on ordinary data, none at all never gets
        past an outlier, whose eigenvalue would take all of the trace
    min_order : below it LAPACK is as fast and always used
    max_fraction : largest share of the m eigenpairs worth computing iteratively
    exact_fraction : largest share for which LAPACK's tridiagonal bisection beats divide and conquer
    degree : of the Chebyshev filter between two Rayleigh-Ritz steps
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
        if self.cap < 1 or self.degree < 1 or self.buffer < 1 or not 0 < self.accuracy < 1:
            raise ParameterError(f"spectrum parameters out of their domain: {self}")


@dataclass(frozen=True)
class AdmmParameters:
    """The first-order method's numbers; the data are scaled so that ||K||_F = 1.

    penalty : the first rho
    relaxation : over-relaxation in [1, 2)
    sweeps : dual coordinate ascent passes over the cuts per iteration
    balance : rho changes when the residuals differ by more than this factor ...
    penalty_step : ... by this factor: tight and small beats loose and large
    """

    penalty: float = 0.5
    relaxation: float = 1.6
    sweeps: int = 4
    balance: float = 1.1
    penalty_step: float = 1.25

    def __post_init__(self) -> None:
        positive = self.penalty > 0 and self.sweeps >= 1
        if not (positive and 1 <= self.relaxation < 2 and min(self.balance, self.penalty_step) > 1):
            raise ParameterError(f"ADMM parameters out of their domain: {self}")


@dataclass(frozen=True)
class SeparationParameters:
    """How many cuts a round adds, and which.

    triangles_per_block : at most that many triangle cuts per block and round
    triangles_per_pair : at most that many of a round's triangle cuts hold the same pair of blocks;
        many cuts through one entry say the same
    triangles_per_arm : at most that many per centre i and arm (i, j) are candidates
    stars_per_block : at most that many star cuts per block and round. Separating them in every
        round, not only when triangles run out, halves the time on the hard instances
    star_neighbours, star_leaves : stars grow from so many nearest blocks, to so many leaves
    tolerance : a cut counts as violated beyond tolerance * Z_ii
    """

    triangles_per_block: int = 8
    triangles_per_pair: int = 6
    triangles_per_arm: int = 2
    stars_per_block: int = 3
    star_neighbours: int = 40
    star_leaves: int = 14
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        counts = (self.triangles_per_block, self.triangles_per_pair, self.triangles_per_arm)
        if min(counts) < 1 or self.stars_per_block < 0 or not 0 <= self.tolerance < 1:
            raise ParameterError(f"separation parameters out of their domain: {self}")
        if self.star_leaves < 3 or self.star_neighbours < 1:
            raise ParameterError("stars need at least 3 leaves and 1 neighbour to grow from")


@dataclass(frozen=True)
class Patience:
    """A node is given up when in `iterations` iterations the distance between its best bound and
    the cutoff shrank by less than the share `progress`. The bound is not monotone over cut rounds
    and can stand still before it jumps."""

    iterations: int
    progress: float

    def __post_init__(self) -> None:
        if self.iterations < 1 or not 0 < self.progress < 1:
            raise ParameterError(f"patience out of its domain: {self}")


@dataclass(frozen=True)
class SdpParameters:
    """The bounding of a node.

    round_period, balance_period, bound_period : iterations between cut rounds, changes of rho,
        and evaluations of the safe bound
    root, child : when a node is given up, without and with a warm start. The root has its cuts
        still to find, and is worth more: where it closes there is no tree. With the children's
        patience two of 18 glass sets branched that close; with the root's, trees took 1.7 times as
        long on the five hardest sets of ecoli and accent
    max_iterations : the node is given up
    """

    admm: AdmmParameters = field(default_factory=AdmmParameters)
    spectrum: SpectrumParameters = field(default_factory=SpectrumParameters)
    separation: SeparationParameters = field(default_factory=SeparationParameters)
    round_period: int = 10
    balance_period: int = 10
    bound_period: int = 20
    root: Patience = field(default_factory=lambda: Patience(iterations=200, progress=0.2))
    child: Patience = field(default_factory=lambda: Patience(iterations=100, progress=0.4))
    max_iterations: int = 3000

    def __post_init__(self) -> None:
        periods = (self.round_period, self.balance_period, self.bound_period)
        if min(periods) < 1 or self.max_iterations < self.bound_period:
            raise ParameterError(f"periods and max_iterations must be positive: {self}")
