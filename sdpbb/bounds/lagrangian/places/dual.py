"""Prices of points, by the ascent of a smoothed dual function over known places.

For prices y and clusters of any places, with V(c) = sum_i w_i max(0, y_i - ||x_i - c||^2),

    cost >= sum_i w_i y_i - k max_c max(0, V(c)).

With limits, V(c) is the greatest gain of a cluster within them (`value_kernels.py`).

Over a finite set of places, log(sum exp(beta V(c))) / beta replaces max V(c), and L-BFGS raises the
sum, which is concave without chains of cannot-links. Cannot-linked pairs are charged to the values
(`conflict_kernels.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial import cKDTree

from sdpbb.bounds.lagrangian.places.conflict_kernels import subtract_lost, subtract_unserved
from sdpbb.bounds.lagrangian.places.search import PlaceProblem
from sdpbb.bounds.lagrangian.places.value_kernels import (
    PIECE,
    Floats,
    Pieces,
    Rates,
    add_served,
    add_served_within,
    add_shared,
    add_values,
    fill_prices,
    fill_values,
)
from sdpbb.runtime.time_left import TimeLeft, check_time

# Maximum pairs of a point and a place between two checks of the time.
_PAIRS = 100_000_000
# Masses below this part of k count as 0.
_NO_MASS = 1e-7
_MEMORY = 10
# First step of L-BFGS, of length 1 in its variables, as a part of the scale of the cost over the
# root of all weights, so that the unit of the data does not matter; 1e-7 to 0.2 do as well.
_FIRST_STEP = 1e-5
# Maximum points for sums in double precision, which take twice the time.
_FEW = 20_000


class PlaceDual:
    """Dual function of a clustering problem, over a finite set of places.

    places : (M, 3), may be replaced
    """

    def __init__(self, of: PlaceProblem, places: NDArray[np.float64], scale: float) -> None:
        """scale : of the cost"""
        self.places = places
        self._of, self._scale = of, scale
        # A sharp maximum, and rates, need more digits than single precision has.
        self._is_precise = len(of.points) <= _FEW or of.is_limited
        # Neighbours are close in the new order, which pairs refer to.
        self._order = cKDTree(of.points, leafsize=PIECE).indices
        position = np.empty(len(self._order), np.int64)
        position[self._order] = np.arange(len(position))
        self._pairs = position[of.pairs]
        # In single precision squares overflow from 1e19 on. Powers of two are exact.
        self._unit = float(np.exp2(np.frexp(np.abs(of.points).max())[1]))
        sorted_points = of.points[self._order] / self._unit
        starts = np.arange(0, len(sorted_points), PIECE)
        self._pieces = Pieces(
            self._cast(np.ascontiguousarray(sorted_points.T)),
            self._cast(of.weights[self._order]),
            self._cast(of.rates[self._order]),
            np.minimum.reduceat(sorted_points, starts),
            np.maximum.reduceat(sorted_points, starts),
            self._cast(np.zeros(len(position))),
            np.zeros(len(starts)),
        )
        self._rates = _no_rates(0)  # of the places, at the last prices

    def _cast(self, values: NDArray[np.float64]) -> Floats:
        return values.astype(np.float64) if self._is_precise else values.astype(np.float32)

    def values(self, prices: NDArray[np.float64], time_left: TimeLeft) -> NDArray[np.float64]:
        """Return approximate values (M,) of the places at prices (m,)."""
        square, pieces, limits = self._unit**2, self._pieces, self._of.limits
        fill_prices(pieces, prices[self._order] / square)
        values, rates = np.zeros(len(self.places)), _no_rates(len(self.places))
        for at in self._parts(len(values), time_left):
            places, part = self.places[at] / self._unit, _part(rates, at)
            if self._of.is_limited:
                fill_values(pieces, places, limits, part, values[at])
            else:
                add_values(pieces, places, values[at])
            if len(self._pairs):
                subtract_lost(pieces, places, part, self._pairs, values[at])
        self._rates = rates
        return values * square

    def masses(
        self, prices: NDArray[np.float64], sharpness: float, time_left: TimeLeft
    ) -> NDArray[np.float64]:
        """Return the mass of each place (M,), which adds up to k, by the smoothed maximum."""
        return self._smoothed(self.values(prices, time_left), self._beta(sharpness))[1]

    def _beta(self, sharpness: float) -> float:
        return sharpness * self._of.k / self._scale

    def _smoothed(
        self, values: NDArray[np.float64], beta: float
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the smoothed maximum of values (M,), and k times its derivatives."""
        top = float(values.max())
        terms = np.exp(beta * (values - top))
        total = float(terms.sum())
        return top + float(np.log(total)) / beta, self._of.k / total * terms

    def _served(self, masses: NDArray[np.float64], time_left: TimeLeft) -> Floats:
        """Return the mass (m,) that serves each point, at the last prices."""
        sorted_served = self._cast(np.zeros(len(self._order)))
        on = np.flatnonzero(masses > _NO_MASS * self._of.k)
        for at in self._parts(len(on), time_left):
            places, mass = self.places[on[at]] / self._unit, masses[on[at]]
            pieces, rates = self._pieces, _part(self._rates, on[at])
            if self._of.is_limited:
                add_served_within(pieces, places, mass, rates, sorted_served)
            else:
                add_served(pieces, places, mass, sorted_served)
            if len(self._pairs):
                subtract_unserved(pieces, places, mass, rates, self._pairs, sorted_served)
            add_shared(pieces, mass, rates, sorted_served)
        served = np.empty_like(sorted_served)
        served[self._order] = sorted_served
        return served

    def _parts(self, n: int, time_left: TimeLeft) -> list[slice]:
        """Return parts of n places, each of which takes little time."""
        check_time(time_left)
        length = max(1, _PAIRS // max(1, len(self._order) + len(self._pairs)))
        return [slice(first, min(n, first + length)) for first in range(0, n, length)]

    def ascend(
        self, prices: NDArray[np.float64], sharpness: float, steps: int, time_left: TimeLeft
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Raise the smoothed dual function.

        Parameters
        ----------
        sharpness : beta, times the cost of a cluster

        Returns
        -------
        Prices (m,) of the greatest dual value over the places, the last prices, and that value.

        Raises
        ------
        OutOfTime
        """
        beta, of = self._beta(sharpness), self._of
        step = _FIRST_STEP * self._scale / float(np.sqrt(of.weights.sum()))
        roots = np.sqrt(of.weights) / step
        best, highest = prices, -np.inf

        def descent(scaled: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            nonlocal best, highest
            y = scaled / roots
            values = self.values(y, time_left)
            top, masses = self._smoothed(values, beta)
            worth = float(of.weights @ y)
            dual = worth - of.k * max(float(values.max()), 0.0)
            if dual > highest:
                best, highest = y, dual
            served = self._served(masses, time_left)
            return -percent * (worth - of.k * top), percent * slopes * (served - 1.0)

        percent, slopes = 100.0 / self._scale, of.weights / roots
        options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": _MEMORY, "ftol": 0, "gtol": 0}
        found = minimize(descent, prices * roots, jac=True, method="L-BFGS-B", options=options)
        return best, np.asarray(found.x / roots), highest


def _no_rates(n: int) -> Rates:
    """Return rates of n places without limits."""
    return Rates(np.zeros(n), np.full(n, -1), np.zeros(n))


def _part(rates: Rates, at: slice | NDArray[np.intp]) -> Rates:
    """Return the rates of some of the places: views of them for a slice."""
    return Rates(rates.rates[at], rates.shared[at], rates.missing[at])
