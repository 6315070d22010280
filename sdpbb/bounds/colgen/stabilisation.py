"""Stabilisation of column generation: schemes that damp the oscillation of prices.

Whatever a scheme does, the loop ends at an optimum of the master programme itself: penalties vanish
after finitely many of their programmes are solved, and smoothed prices come down to the master's
own before the loop concludes anything from a pricing without a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.master_programme import MasterSolution, Penalty
from sdpbb.runtime.archive.stored import stored

# Smoothing: the first weight of the best prices, the step by which it rises, as a share of its
# distance to 1, or falls, and the largest. First weights of 0.2 and 0.8, and steps half and twice
# as large, differ by less than a tenth.
ALPHA, ALPHA_STEP, MOST_ALPHA = 0.5, 0.1, 0.99
# Box: the first penalty per unit of price outside of it, in cover of a block; half its width, as a
# share of the mean price; the factor on both when their programme is solved; and the penalty below
# which it is removed. Without any width, 2.5 times as many master programmes are needed; with
# factors of 0.2 and 0.05, from the dual values of a semidefinite bound or of a parent, 1.8 and 2.4
# times as many.
BOX_PENALTY, BOX_WIDTH, BOX_DECREASE, LEAST_PENALTY = 0.5, 0.05, 0.4, 1e-4


@stored
@dataclass(frozen=True, eq=False)
class DualValues:
    """Dual values of the master programme: prices (m,) of the blocks, sigma of a cluster."""

    prices: NDArray[np.float64]
    sigma: float

    @classmethod
    def of(cls, solution: MasterSolution) -> DualValues:
        return cls(solution.prices, solution.sigma)

    def towards(self, other: DualValues, weight: float) -> DualValues:
        """Return (1 - weight) times these plus weight times the others."""
        rest = 1.0 - weight
        prices = rest * self.prices + weight * other.prices
        return DualValues(prices, rest * self.sigma + weight * other.sigma)

    def value(self, k: int) -> float:
        """Return the Lagrangian value sum_i prices_i - k sigma.

        It is a bound if no cluster has a negative reduced cost.
        """
        return float(self.prices.sum()) - k * self.sigma


@dataclass(frozen=True, eq=False)
class Observation:
    """Outcome of pricing at given dual values, from which a scheme updates itself.

    at : the prices, and minus the least c(X) - prices(X) met as sigma
    cluster : (m,) the cluster of that value, None where none was met
    first : whether these are the first of `Stabilisation.points` in this round
    proven : whether exact pricing has shown that there is nothing below it
    """

    at: DualValues
    cluster: NDArray[np.bool_] | None
    first: bool
    proven: bool


@stored
@dataclass(eq=False)
class StabilisationState:
    """State of a scheme.

    scheme : its name
    centre : good dual values, if any are known
    strength : the weight alpha, or the slope of the penalty; 0 when it has ended
    n_solved : penalised programmes solved
    """

    scheme: str
    centre: DualValues | None
    strength: float
    n_solved: int = 0


class Stabilisation(Protocol):
    """Stabilisation scheme. Its methods are called in the order below, over and over."""

    state: StabilisationState

    def penalty(self) -> Penalty | None:
        """Return the penalty that the next master programme is solved with."""

    def points(self, own: DualValues) -> Iterator[DualValues]:
        """Return the points to price at in turn.

        They are tried while pricing finds no column with a negative reduced cost at the master's
        own dual values, which come last.
        """

    def observe(self, own: DualValues, observation: Observation, k: int) -> None:
        """Update the scheme from an outcome of pricing at the master's own dual values."""

    def solved(self, solution: MasterSolution) -> bool:
        """Update the scheme when the programme with the penalty is solved.

        It is solved as far as heuristics can see. Return whether the programme without the penalty
        is solved thereby.
        """


class NoStabilisation:
    """No stabilisation: the master's own dual values."""

    scheme: ClassVar[str] = "none"
    first_strength: ClassVar[float] = 0.0

    def __init__(self, state: StabilisationState) -> None:
        self.state = state

    def penalty(self) -> Penalty | None:
        return None

    def points(self, own: DualValues) -> Iterator[DualValues]:
        yield own

    def observe(self, own: DualValues, observation: Observation, k: int) -> None:
        pass

    def solved(self, solution: MasterSolution) -> bool:
        return True


class Box(NoStabilisation):
    """Box around a centre, outside of which prices cost something.

    O. du Merle, D. Villeneuve, J. Desrosiers, P. Hansen: Stabilized column generation. Discrete
    Mathematics 194 (1999). The centre becomes the dual values of each penalised programme that is
    solved, while the penalty and the width decrease by the same factor.
    """

    scheme = "box"
    first_strength = BOX_PENALTY

    def penalty(self) -> Penalty | None:
        state = self.state
        if state.centre is None or state.strength == 0.0:
            return None
        prices = state.centre.prices
        width = BOX_WIDTH * float(np.abs(prices).mean())
        return Penalty(prices, width * BOX_DECREASE**state.n_solved, state.strength)

    def solved(self, solution: MasterSolution) -> bool:
        state, done = self.state, self.penalty() is None or solution.perturbation == 0.0
        strength = state.strength * BOX_DECREASE
        state.n_solved += 1
        state.strength = strength if strength >= LEAST_PENALTY else 0.0
        state.centre = DualValues.of(solution)
        return done


class Smoothing(NoStabilisation):
    """Prices between the best ones known and the master's own.

    P. Wentges: Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming. ITOR 4
    (1997): prices are alpha times those of the best Lagrangian bound plus 1 - alpha times the
    master's own. A. Pessoa, R. Sadykov, E. Uchoa, F. Vanderbeck: Automation and combination of
    linear-programming based stabilization techniques in column generation. INFORMS Journal on
    Computing 30 (2018), section 3: alpha decreases where the subgradient at the smoothed prices
    shows uphill in the direction of the master's own, and increases otherwise; after mispricing,
    prices come closer to the master's own at once. Where only heuristics have priced, the value of
    the bound is an estimate: it steers.
    """

    scheme = "smoothing"
    first_strength = ALPHA

    def points(self, own: DualValues) -> Iterator[DualValues]:
        centre, alpha = self.state.centre, self.state.strength
        misprices = 1
        while centre is not None:
            weight = 1.0 - misprices * (1.0 - alpha)
            if weight <= 0.0:
                break
            yield own.towards(centre, weight)
            misprices *= 2
        yield own

    def observe(self, own: DualValues, observation: Observation, k: int) -> None:
        state, centre, at = self.state, self.state.centre, observation.at
        if centre is None:
            state.centre = at
            return
        if observation.cluster is not None and observation.first:
            subgradient = 1.0 - k * observation.cluster
            uphill = float(subgradient @ (own.prices - centre.prices)) > 0.0
            alpha = state.strength
            state.strength = self._lowered(alpha) if uphill else self._raised(alpha)
        if np.array_equal(at.prices, centre.prices):
            # Its value was an estimate from above unless it was proven.
            better = observation.proven or at.value(k) < centre.value(k)
        else:
            better = at.value(k) > centre.value(k)
        if better:
            state.centre = at

    def _raised(self, alpha: float) -> float:
        return min(alpha + (1.0 - alpha) * ALPHA_STEP, MOST_ALPHA)

    def _lowered(self, alpha: float) -> float:
        step = ALPHA_STEP
        return alpha / (1.0 + step) if alpha >= 0.5 else max(0.0, alpha - (1.0 - alpha) * step)


_SCHEMES = {made.scheme: made for made in (NoStabilisation, Box, Smoothing)}


def stabilisation(is_needed: bool, centre: DualValues | None = None) -> Stabilisation:
    """Return a scheme to begin with: a box where a centre is known, and smoothing elsewhere.

    is_needed : whether prices jump from one solution of the master programme to the next
    centre : dual values from elsewhere to begin from, such as those of another bound or of the
        parent of a node
    """
    made = NoStabilisation if not is_needed else Smoothing if centre is None else Box
    return made(StabilisationState(made.scheme, centre, made.first_strength))


def resumed_stabilisation(state: StabilisationState) -> Stabilisation:
    """Return the scheme that a state belongs to."""
    return _SCHEMES[state.scheme](state)
