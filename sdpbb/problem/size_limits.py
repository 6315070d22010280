"""Size limits and weight limits: what a cluster may have of points, or weigh in whole units."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.weight_units import WeightUnits
from sdpbb.errors import InstanceError
from sdpbb.runtime.archive.stored import stored

OF_ONE_K = (
    "sizes: they are for one number of clusters; expected min_size and max_size in a sweep (lines "
    "MINSIZE and MAXSIZE)"
)
"""Message on listed sizes where there are several numbers of clusters."""


@stored
@dataclass(frozen=True)
class SizeLimits:
    """Limits on the numbers of points of k clusters of n points in all.

    least <= |C| <= most for every cluster C, and where sizes are listed, the clusters have these in
    some order. Limits are as narrow as they can be: there are k sizes within them that add up to n
    with the least one among them, and so for the most; unless there are none at all (`is_empty`).

    Attributes
    ----------
    n, k : numbers of points, of clusters
    least, most : of a cluster
    listed : the k sizes in ascending order, or None
    """

    n: int
    k: int
    least: int
    most: int
    listed: tuple[int, ...] | None = None

    @classmethod
    def of(
        cls,
        n: int,
        k: int,
        min_size: int | None = None,
        max_size: int | None = None,
        sizes: tuple[int, ...] | None = None,
    ) -> SizeLimits | None:
        """Return the limits that follow from what is stated, None for none.

        They are None where every clustering into k clusters is within them.
        """
        least, most = max(1, min_size or 1), min(n, max_size or n)
        if sizes is not None and not (k == 1 and least <= n <= most):
            listed = tuple(sorted(sizes))
            # Where one of these is outside of the other limits, the sums tell of it.
            return cls(n, k, max(least, listed[0]), min(most, listed[-1]), listed)
        if (least <= 1 and most >= n - k + 1) or (k == 1 and least <= n <= most):
            return None
        narrow = max(least, n - (k - 1) * most), min(most, n - (k - 1) * least)
        least, most = narrow if k * least <= n <= k * most else (least, most)
        return cls(n, k, least, most)

    @property
    def is_empty(self) -> bool:
        """True if no k sizes are within the limits."""
        if self.listed is None:
            return not self.k * self.least <= self.n <= self.k * self.most
        fits = self.least <= self.listed[0] and self.listed[-1] <= self.most
        return not (fits and len(self.listed) == self.k and sum(self.listed) == self.n)

    @property
    def is_equal(self) -> bool:
        """True if all clusters have the same size."""
        return self.least == self.most

    @property
    def follow_from_most(self) -> bool:
        """True if k clusters that hold all points are within the limits if each has `most` or less.

        The others leave n - (k - 1) most points or more for each.
        """
        is_range = self.listed is None or self.is_equal
        return is_range and self.least <= max(1, self.n - (self.k - 1) * self.most)

    def allows(self, size: int) -> bool:
        """Return whether a cluster may have so many points."""
        if self.listed is not None:
            return size in self.listed
        return self.least <= size <= self.most

    def ranges(self) -> NDArray[np.int64]:
        """Return the ranges (q, 2) of sizes that a cluster may have, ascending."""
        if self.listed is None:
            return np.array([[self.least, self.most]], np.int64)
        sizes = [size for size in sorted(set(self.listed)) if self.least <= size <= self.most]
        return np.repeat(np.array(sizes, np.int64).reshape(-1, 1), 2, axis=1)

    def keeps(self, sizes: NDArray[np.integer]) -> bool:
        """Return whether clusters of these sizes, (k,), are within the limits."""
        found = np.sort(sizes)
        if len(found) != self.k or self.is_empty:
            return False
        if self.listed is not None:
            return bool(found.tolist() == list(self.listed))
        return bool(found[0] >= self.least and found[-1] <= self.most)


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
