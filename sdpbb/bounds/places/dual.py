"""Prices of points: ascent of a smoothed dual function, the values of places as its constraints.

For prices y and clusters of any places, with V(c) = sum_i w_i max(0, y_i - ||x_i - c||^2),

    cost >= sum_i w_i y_i - k max_c max(0, V(c)).

Over a finite set of places, max V(c) is replaced by log(sum exp(beta V(c))) / beta, and the whole,
which is concave, raised by L-BFGS.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sdpbb.bounds.places.value_kernels import add_served, add_values
from sdpbb.time_left import TimeLeft, check_time

# Pairs of a point and a place between two looks at the time.
_PAIRS = 100_000_000
# Part of k below which the mass of a place is none.
_NO_MASS = 1e-7
_MEMORY = 10


class PlaceDual:
    """Dual function of points, over a finite set of places.

    Attributes
    ----------
    weights : (n,)
    k : number of clusters
    places : (M, 3), may be replaced
    """

    def __init__(
        self,
        points: NDArray[np.float64],
        weights: NDArray[np.float64],
        k: int,
        places: NDArray[np.float64],
        scale: float,
    ) -> None:
        """points : (n, 3); scale : of the cost"""
        self.weights, self.k, self.places = weights, k, places
        self._scale = scale
        self._points = np.ascontiguousarray(points.T, dtype=np.float32)
        self._singles = weights.astype(np.float32)
        self._squares = (points**2).sum(axis=1)

    def values(self, prices: NDArray[np.float64], time_left: TimeLeft) -> NDArray[np.float64]:
        """Return the values (M,) of the places at prices (n,), about."""
        heights = (prices - self._squares).astype(np.float32)
        values = np.zeros(len(self.places))
        for at in self._pieces(len(values), time_left):
            add_values(self._points, self._singles, heights, self.places[at], values[at])
        return values

    def _served(
        self, prices: NDArray[np.float64], masses: NDArray[np.float64], time_left: TimeLeft
    ) -> NDArray[np.float32]:
        heights = (prices - self._squares).astype(np.float32)
        served = np.zeros(len(prices), np.float32)
        on = np.flatnonzero(masses > _NO_MASS * self.k)
        for at in self._pieces(len(on), time_left):
            places = on[at]
            add_served(self._points, heights, self.places[places], masses[places], served)
        return served

    def _pieces(self, n: int, time_left: TimeLeft) -> list[slice]:
        check_time(time_left)
        length = max(1, _PAIRS // max(1, len(self.weights)))
        return [slice(first, min(n, first + length)) for first in range(0, n, length)]

    def ascend(
        self, prices: NDArray[np.float64], sharpness: float, steps: int, time_left: TimeLeft
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Raise the smoothed dual function.

        Parameters
        ----------
        sharpness : beta, times the cost of a cluster

        Returns
        -------
        best, last : prices of the greatest dual value over the places, and the last ones

        Raises
        ------
        OutOfTime
        """
        beta = sharpness * self.k / self._scale
        roots = np.sqrt(self.weights)
        best, highest = prices, -np.inf

        def descent(scaled: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            nonlocal best, highest
            y = scaled / roots
            values = self.values(y, time_left)
            top = float(values.max())
            terms = np.exp(beta * (values - top))
            total = float(terms.sum())
            served = self._served(y, self.k / total * terms, time_left)
            worth = float(self.weights @ y)
            dual = worth - self.k * max(top, 0.0)
            if dual > highest:
                best, highest = y, dual
            smoothed = worth - self.k * (top + np.log(total) / beta)
            # Scaled to the size that L-BFGS expects of its first step.
            return -percent * smoothed, percent * roots * (served - 1.0)

        percent = 100.0 / self._scale
        options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": _MEMORY, "ftol": 0, "gtol": 0}
        found = minimize(descent, prices * roots, jac=True, method="L-BFGS-B", options=options)
        return best, np.asarray(found.x / roots)
