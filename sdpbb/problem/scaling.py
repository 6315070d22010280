"""Standardized columns, and the way back to the units of the user."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.errors import InstanceError, ParameterError

SCALES = ("standardize",)
"""Names of the ways to scale columns."""


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


def check_scale(scale: object) -> None:
    """Raise the ParameterError if there is no such way to scale columns; None is none."""
    if scale is not None and scale not in SCALES:
        expected = " or ".join(repr(name) for name in SCALES)
        raise ParameterError(f"scale = {scale!r}: expected {expected}, or None")


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


def _about_one(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return values over a power of two, the largest of them 1/2 to 1, and its exponent."""
    exponent = math.frexp(float(np.abs(values).max()))[1]
    return np.ldexp(values, -exponent), exponent
