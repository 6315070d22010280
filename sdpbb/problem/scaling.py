"""Standardized columns, and the way back to the units of the user."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.runtime.archive.stored import stored

DOMINANT, LEAST_ROWS = 0.99, 5
"""Share of the variance from which on a column dominates, and rows from which on that is told."""


@stored
@dataclass(frozen=True, eq=False)
class Scaling:
    """Linear map of each column: what is clustered is (x - mean) / scale of the user's x.

    means, scales : (d,) in the units of the user; scales are positive

    Raises
    ------
    InstanceError
        If these are not finite arrays of one shape (d,), or a scale is not positive.
    """

    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    def __post_init__(self) -> None:
        is_pair = self.means.ndim == 1 and self.means.shape == self.scales.shape
        if not is_pair or not (np.isfinite(self.means) & (self.scales > 0)).all():
            raise InstanceError("scaling: expected finite means (d,) and positive scales (d,)")

    def applied(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points (n, d) in the user's units as they are clustered."""
        return (points - self.means) / self.scales

    def undone(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points (m, d), centres say, that are scaled in the user's units."""
        return points * self.scales + self.means


def standardization(
    points: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> Scaling:
    """Return the scaling of columns to mean zero and variance one.

    points (n, d) are finite; of weighted points mean and variance are weighted. The variance is the
    sum of squares over n, as scikit-learn's StandardScaler has it. A column of one value keeps its
    unit. Sums are rounded once (`math.fsum`): certificates are about points that are the same, to
    the last bit, on every machine.
    """
    masses = np.ones(len(points)) if weights is None else np.asarray(weights, np.float64)
    total = math.fsum(masses.tolist())
    means, scales = np.empty(points.shape[1]), np.ones(points.shape[1])
    for j, column in enumerate(np.ascontiguousarray(points.T)):
        if column.min() == column.max():
            means[j] = column[0]
            continue
        # In powers of two, which round nothing, so that neither sums nor squares overflow.
        inner, exponent = _about_one(column)
        mean = math.fsum((masses * inner).tolist()) / total
        deviations, more = _about_one(inner - mean)
        variance = math.fsum((masses * np.square(deviations)).tolist()) / total
        try:
            means[j] = math.ldexp(mean, exponent)
            scales[j] = math.ldexp(math.sqrt(variance), exponent + more) or 1.0
            math.ldexp(2.0 * np.abs(inner).max(), exponent)
        except OverflowError:
            raise InstanceError(
                f"points: column {j + 1} has values up to {np.abs(column).max():.1e}, whose "
                "differences may overflow; rescale the data"
            ) from None
    return Scaling(means, scales)


def dominant_column(
    points: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> tuple[int, float] | None:
    """Return the column that has nearly all of the variance of finite points (n, d), and its share.

    None if there is no such column, or no other one that varies, or rows are few.
    """
    with np.errstate(over="ignore"):
        apart = points - points[0]  # exact for columns of one value
        largest = np.abs(apart).max(initial=0.0)
    if len(points) < LEAST_ROWS or not 0.0 < largest < math.inf:
        return None
    apart /= largest
    means = np.average(apart, axis=0, weights=weights)
    variances = np.average(np.square(apart - means), axis=0, weights=weights)
    column = int(variances.argmax())
    share = float(variances[column] / variances.sum())
    varies = np.count_nonzero(np.abs(apart).max(axis=0))
    return (column, share) if share >= DOMINANT and varies > 1 else None


def _about_one(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return values over a power of two, the largest of them 1/2 to 1, and its exponent."""
    exponent = math.frexp(float(np.abs(values).max()))[1]
    return np.ldexp(values, -exponent), exponent
