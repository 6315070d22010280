"""Stabilisation of column generation: schemes that damp the oscillation of prices.

Whatever a scheme does, the loop ends at an optimum of the master programme itself: penalties vanish
after finitely many of their programmes are solved, and smoothed prices come down to the master's
own before the loop concludes anything from a pricing without a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.lagrangian.masters.programme import MasterSolution, Penalty
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
class Scheme(Enum):
    """Stabilisation scheme.

    BOX: O. du Merle, D. Villeneuve, J. Desrosiers, P. Hansen: Stabilized column generation.
    Discrete Mathematics 194 (1999). Prices cost something outside of a box around a centre. The
    centre becomes the dual values of each penalised programme that is solved, while the penalty and
    the width decrease by the same factor.

    SMOOTHING: P. Wentges: Weighted Dantzig-Wolfe decomposition for linear mixed-integer
    programming. ITOR 4 (1997): prices are alpha times those of the best Lagrangian bound plus
    1 - alpha times the master's own. A. Pessoa, R. Sadykov, E. Uchoa, F. Vanderbeck: Automation and
    combination of linear-programming based stabilization techniques in column generation. INFORMS
    Journal on Computing 30 (2018), section 3: alpha decreases where the subgradient at the smoothed
    prices shows uphill in the direction of the master's own, and increases otherwise; after
    mispricing, prices come closer to the master's own at once. Where only heuristics have priced,
    the value of the bound is an estimate: it steers.
    """

    NONE = "the master's own prices"
    BOX = "a box around a centre"
    SMOOTHING = "prices between the best ones known and the master's own"


@stored
@dataclass(eq=False)
class Stabilisation:
    """Stabilisation of the column generation of a node. Its methods are called in turn.

    centre : good dual values, if any are known
    strength : the weight alpha, or the slope of the penalty; 0 when it has ended
    n_solved : penalised programmes solved
    """

    scheme: Scheme
    centre: DualValues | None = None
    strength: float = 0.0
    n_solved: int = 0

    @classmethod
    def begin(cls, is_needed: bool, centre: DualValues | None = None) -> Stabilisation:
        """Begin with a box where a centre is known, and with smoothing elsewhere.

        is_needed : whether prices jump from one solution of the master programme to the next
        centre : dual values from elsewhere to begin from, such as those of another bound or of the
            parent of a node
        """
        if not is_needed:
            return cls(Scheme.NONE, centre)
        if centre is None:
            return cls(Scheme.SMOOTHING, None, ALPHA)
        return cls(Scheme.BOX, centre, BOX_PENALTY)

    def penalty(self) -> Penalty | None:
        """Return the penalty that the next master programme is solved with."""
        if self.scheme is not Scheme.BOX or self.centre is None or self.strength == 0.0:
            return None
        prices = self.centre.prices
        width = BOX_WIDTH * float(np.abs(prices).mean())
        return Penalty(prices, width * BOX_DECREASE**self.n_solved, self.strength)

    def points(self, own: DualValues) -> Iterator[DualValues]:
        """Return the points to price at in turn.

        They are tried while pricing finds no column with a negative reduced cost at the master's
        own dual values, which come last.
        """
        # Those of the beginning: outcomes of pricing change them in between.
        centre, alpha, misprices = self.centre, self.strength, 1
        while self.scheme is Scheme.SMOOTHING and centre is not None:
            weight = 1.0 - misprices * (1.0 - alpha)
            if weight <= 0.0:
                break
            yield own.towards(centre, weight)
            misprices *= 2
        yield own

    def observe(self, own: DualValues, observation: Observation, k: int) -> None:
        """Update the scheme from an outcome of pricing at the master's own dual values."""
        centre, at = self.centre, observation.at
        if self.scheme is not Scheme.SMOOTHING:
            return
        if centre is None:
            self.centre = at
            return
        if observation.cluster is not None and observation.first:
            subgradient = 1.0 - k * observation.cluster
            uphill = float(subgradient @ (own.prices - centre.prices)) > 0.0
            self.strength = _lowered(self.strength) if uphill else _raised(self.strength)
        if np.array_equal(at.prices, centre.prices):
            # Its value was an estimate from above unless it was proven.
            better = observation.proven or at.value(k) < centre.value(k)
        else:
            better = at.value(k) > centre.value(k)
        if better:
            self.centre = at

    def solved(self, solution: MasterSolution) -> bool:
        """Update the scheme when the programme with the penalty is solved.

        It is solved as far as heuristics can see. Return whether the programme without the penalty
        is solved thereby.
        """
        if self.scheme is not Scheme.BOX:
            return True
        done = self.penalty() is None or solution.perturbation == 0.0
        strength = self.strength * BOX_DECREASE
        self.n_solved += 1
        self.strength = strength if strength >= LEAST_PENALTY else 0.0
        self.centre = DualValues(solution.prices, solution.sigma)
        return done


def _raised(alpha: float) -> float:
    return min(alpha + (1.0 - alpha) * ALPHA_STEP, MOST_ALPHA)


def _lowered(alpha: float) -> float:
    step = ALPHA_STEP
    return alpha / (1.0 + step) if alpha >= 0.5 else max(0.0, alpha - (1.0 - alpha) * step)
