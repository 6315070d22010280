"""Stabilisation of column generation: schemes that damp the oscillation of prices.

Whatever a scheme does, the loop ends at an optimum of the master programme itself: penalties vanish
after finitely many of their programmes are solved, and smoothed prices come down to the master's
own before the loop concludes anything from a pricing without a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.bounds.colgen.master_programme import MasterSolution, Penalty
from sdpbb.bounds.colgen.parameters import Scheme, StabilisationParameters


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
    strength : mu, the weight alpha, or the slope of the penalty; 0 when it has ended
    n_solved : penalised programmes solved
    """

    scheme: Scheme
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

    scheme: Scheme = "none"

    def __init__(self, parameters: StabilisationParameters, state: StabilisationState) -> None:
        self._parameters, self.state = parameters, state

    @staticmethod
    def first_strength(parameters: StabilisationParameters) -> float:
        """Return the strength to begin with."""
        return 0.0

    def penalty(self) -> Penalty | None:
        return None

    def points(self, own: DualValues) -> Iterator[DualValues]:
        yield own

    def observe(self, own: DualValues, observation: Observation, k: int) -> None:
        pass

    def solved(self, solution: MasterSolution) -> bool:
        return True


class Perturbation(NoStabilisation):
    """Perturbations of the cover, -mu <= y_i <= mu, at costs theta_i.

    Babaki, Guns and Nijssen (2014), Table 4 and section 5.3: theta begins with equal values, here
    the mean of the prices of the first unperturbed programme unless a centre is given, and mu with
    0.99. Each time the programme is solved, theta becomes its dual values and mu is divided by 2^l
    the l-th time. In the dual it costs mu sum_i |lambda_i - theta_i|.
    """

    scheme: Scheme = "perturbation"

    @staticmethod
    def first_strength(parameters: StabilisationParameters) -> float:
        return parameters.mu

    def penalty(self) -> Penalty | None:
        state = self.state
        if state.centre is None or state.strength == 0.0:
            return None
        return Penalty(state.centre.prices, 0.0, state.strength)

    def observe(self, own: DualValues, observation: Observation, k: int) -> None:
        if self.state.centre is None:
            equal = np.full(len(own.prices), own.prices.mean())
            self.state.centre = DualValues(equal, own.sigma)

    def solved(self, solution: MasterSolution) -> bool:
        done = self.penalty() is None or solution.perturbation == 0.0
        self.state.n_solved += 1
        self.state.strength = self._next_strength()
        self.state.centre = DualValues.of(solution)
        return done

    def _next_strength(self) -> float:
        strength = self.state.strength / 2.0**self.state.n_solved
        return strength if strength >= self._parameters.least_mu else 0.0


class Box(Perturbation):
    """Box around a centre, outside of which prices cost something.

    O. du Merle, D. Villeneuve, J. Desrosiers, P. Hansen: Stabilized column generation. Discrete
    Mathematics 194 (1999). The centre is given, or the prices of the first programme without a
    box; it becomes the dual values of each penalised programme that is solved, while the penalty
    and the width decrease by the same factor.
    """

    scheme: Scheme = "box"

    @staticmethod
    def first_strength(parameters: StabilisationParameters) -> float:
        return parameters.box_penalty

    def penalty(self) -> Penalty | None:
        state, parameters = self.state, self._parameters
        if state.centre is None or state.strength == 0.0:
            return None
        prices = state.centre.prices
        width = parameters.box_width * float(np.abs(prices).mean())
        return Penalty(prices, width * parameters.box_decrease**state.n_solved, state.strength)

    def observe(self, own: DualValues, observation: Observation, k: int) -> None:
        if self.state.centre is None:
            self.state.centre = own

    def _next_strength(self) -> float:
        strength = self.state.strength * self._parameters.box_decrease
        return strength if strength >= self._parameters.least_penalty else 0.0


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

    scheme: Scheme = "smoothing"

    @staticmethod
    def first_strength(parameters: StabilisationParameters) -> float:
        return parameters.alpha

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
        step = self._parameters.alpha_step
        return min(alpha + (1.0 - alpha) * step, self._parameters.max_alpha)

    def _lowered(self, alpha: float) -> float:
        step = self._parameters.alpha_step
        return alpha / (1.0 + step) if alpha >= 0.5 else max(0.0, alpha - (1.0 - alpha) * step)


_SCHEMES = {made.scheme: made for made in (NoStabilisation, Perturbation, Box, Smoothing)}


def stabilisation(
    parameters: StabilisationParameters,
    centre: DualValues | None = None,
    state: StabilisationState | None = None,
) -> Stabilisation:
    """Return the scheme that the parameters name, or that a state belongs to.

    centre : dual values from elsewhere to begin from, such as those of another bound or of the
        parent of a node
    state : to go on from, None to begin
    """
    if state is None:
        scheme = parameters.scheme
        if scheme == "auto":
            scheme = "smoothing" if centre is None else "box"
        strength = _SCHEMES[scheme].first_strength(parameters)
        state = StabilisationState(scheme, centre, strength)
    return _SCHEMES[state.scheme](parameters, state)
