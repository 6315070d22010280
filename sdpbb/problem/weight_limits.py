"""Weight limits: how much a cluster may weigh, in whole units of weight."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.weight_units import WeightUnits
from sdpbb.errors import InstanceError
from sdpbb.problem.size_limits import SizeLimits


@dataclass(frozen=True, eq=False)
class WeightLimits:
    """Limits on the weights of k clusters of points.

    What it means that a cluster keeps them is stated in `sdpbb.checker.weight_units`: weights are
    whole units, whose sums are exact.

    Attributes
    ----------
    weights : of the points, in units
    limits : on the units of a cluster, as narrow as they are
    """

    weights: WeightUnits
    limits: SizeLimits

    @classmethod
    def of(
        cls,
        weights: NDArray[np.float64],
        k: int,
        min_weight: float | None = None,
        max_weight: float | None = None,
    ) -> WeightLimits | None:
        """Return the limits that follow from what is stated, None for none.

        They are None where every clustering into k clusters is within them.

        weights : (n,) of the points
        """
        if min_weight is None and max_weight is None:
            return None
        units = WeightUnits.of(weights, len(weights))
        least = least_units(units, min_weight)
        most = units.total if max_weight is None else units.most(max_weight)
        if most < 1:  # less than any point weighs
            limits: SizeLimits | None = SizeLimits(units.total, k, least, most)
        else:
            limits = SizeLimits.of(units.total, k, least, most)
        return None if limits is None else cls(units, limits)


def least_units(weights: WeightUnits, min_weight: float | None) -> int:
    """Return the least units of a cluster; 1 if every single point weighs enough."""
    least = 1 if min_weight is None else weights.least(min_weight)
    return 1 if least <= weights.units.min() else least


def sizes_of_weights(
    n: int, min_weight: float | None, max_weight: float | None
) -> tuple[int | None, int | None]:
    """Return the least and the most points of a cluster where n points weigh 1 each."""
    ones = WeightUnits.of(None, n)
    return (
        None if min_weight is None else ones.least(min_weight),
        None if max_weight is None else ones.most(max_weight),
    )


def checked_weight(value: Any, argument: str) -> float | None:
    """Return a limit on weights, a positive finite number or None, or raise an InstanceError."""
    if value is None:
        return None
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not is_number or not (math.isfinite(value) and value > 0.0):
        raise InstanceError(f"{argument} = {value!r}; expected a finite number > 0")
    return float(value)
