"""Size limits and weight limits: what a cluster may have of points, or weigh in whole units."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.sizes import SizeLimits
from sdpbb.checker.weight_units import WeightUnits
from sdpbb.errors import InstanceError

OF_ONE_K = (
    "sizes: they are for one number of clusters; expected min_size and max_size in a sweep (lines "
    "MINSIZE and MAXSIZE)"
)
"""Message on listed sizes where there are several numbers of clusters."""


def within(least: float | None, most: float | None, text: str) -> str:
    """Return limits in words, "" for none; text has {} in their place."""
    if least is None and most is None:
        return ""
    low, high = (None if limit is None else f"{limit:.10g}" for limit in (least, most))
    if low is None or high is None:
        return text.format(f"at most {high}" if low is None else f"at least {low}")
    return text.format(low if low == high else f"{low} to {high}")


def checked_size(value: Any, argument: str) -> int | None:
    """Return a limit on sizes, an integer >= 1 or None, or raise an InstanceError."""
    if value is None:
        return None
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or value < 1:
        raise InstanceError(f"{argument} = {value!r}; expected an integer >= 1")
    return int(value)


def checked_sizes(values: Any, n: int, k: int) -> tuple[int, ...] | None:
    """Return listed sizes in ascending order, or None, or raise an InstanceError."""
    if values is None:
        return None
    expected = f"expected k = {k} integers >= 1 that add up to n = {n}"
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InstanceError(f"sizes = {values!r}; {expected}")
    given = list(values)
    sizes = [checked_size(value, f"sizes[{at}]") for at, value in enumerate(given)]
    if None in sizes:
        raise InstanceError(f"sizes[{sizes.index(None)}] = None; {expected}")
    found = sorted(size for size in sizes if size is not None)
    if len(found) != k:
        raise InstanceError(f"sizes: {len(found)} of them; {expected}")
    if sum(found) != n:
        raise InstanceError(f"sizes: they add up to {sum(found)}; {expected}")
    return tuple(found)


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
        most = None if max_weight is None else units.most(max_weight)
        limits = SizeLimits.of(units.total, k, least_units(units, min_weight), most)
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
