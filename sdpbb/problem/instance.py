"""The instance: points, a number of clusters, must-link and cannot-link pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.errors import InstanceError


@dataclass(frozen=True, eq=False)
class Instance:
    """A constrained minimum sum-of-squares clustering instance.

    minimise    sum_{i=1}^n || p_i - m_{l(i)} ||^2,   m_c the mean of { p_i : l(i) = c }
    subject to  l : {0..n-1} -> {0..k-1} onto (no empty cluster),
                l(i) = l(j) for must-link pairs, l(i) != l(j) for cannot-link pairs.

    Parameters
    ----------
    points : array (n, d), finite, n >= 1, d >= 1
    k : number of clusters, 1 <= k <= n
    must_link, cannot_link : pairs (i, j) of different row numbers, from 0
    name : what reports call the instance

    Raises
    ------
    InstanceError
        Naming the argument and index at fault.

    Validated once, here; the arrays are read-only copies afterwards. Constraints that contradict
    each other are a valid (infeasible) instance: `sdpbb.problem.contract` says so.
    """

    points: NDArray[np.float64]
    k: int
    must_link: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), np.intp))
    cannot_link: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), np.intp))
    name: str = ""

    def __post_init__(self) -> None:
        points = _points(self.points)
        n = len(points)
        _set(self, "points", points)
        _set(self, "k", _number_of_clusters(self.k, n))
        _set(self, "must_link", _pairs(self.must_link, n, "must_link"))
        _set(self, "cannot_link", _pairs(self.cannot_link, n, "cannot_link"))

    @property
    def n_points(self) -> int:
        return self.points.shape[0]

    @property
    def n_features(self) -> int:
        return self.points.shape[1]

    @cached_property
    def centred(self) -> NDArray[np.float64]:
        """The points minus their mean, (n, r): an isometric copy in r = min(n, d) coordinates.

        Sums of squares do not see translations and rotations; inner products of centred points
        lose the fewest digits, and no method pays for more coordinates than there are points.
        """
        centred = self.points - self.points.mean(axis=0)
        centred -= centred.mean(axis=0)  # the second pass takes off what rounding left
        if self.n_features > self.n_points:
            centred = np.asarray(np.linalg.qr(centred.T, mode="r")).T
        return _frozen(np.ascontiguousarray(centred))

    def __repr__(self) -> str:
        return (
            f"Instance({self.name or 'unnamed'}: n={self.n_points}, d={self.n_features}, "
            f"k={self.k}, {len(self.must_link)} must-links, {len(self.cannot_link)} cannot-links)"
        )


def pairs_farther_than(points: NDArray[np.float64], distance: float) -> NDArray[np.intp]:
    """The pairs (i, j), i < j, with ||p_i - p_j|| > distance: the cannot-links that a maximum
    cluster diameter amounts to."""
    return _pairs_where(points, lambda d: d > distance)


def pairs_closer_than(points: NDArray[np.float64], distance: float) -> NDArray[np.intp]:
    """The pairs (i, j), i < j, with ||p_i - p_j|| < distance: the must-links that a minimum
    separation between clusters amounts to."""
    return _pairs_where(points, lambda d: d < distance)


def _pairs_where(
    points: NDArray[np.float64], condition: Callable[[NDArray[np.float64]], NDArray[np.bool_]]
) -> NDArray[np.intp]:
    found = []
    for i in range(len(points) - 1):
        # Differences, not inner products: the comparison decides constraints, every digit counts.
        distances = np.sqrt(((points[i + 1 :] - points[i]) ** 2).sum(axis=1))
        js = np.flatnonzero(condition(distances)) + i + 1
        found.append(np.column_stack([np.full(len(js), i, np.intp), js]))
    return np.concatenate(found) if found else np.empty((0, 2), np.intp)


def _set(instance: Instance, attribute: str, value: object) -> None:
    object.__setattr__(instance, attribute, value)


def _frozen(array: NDArray) -> NDArray:
    array.flags.writeable = False
    return array


def _points(values: ArrayLike) -> NDArray[np.float64]:
    try:
        points = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InstanceError(f"points: not a rectangular table of numbers ({error})") from None
    if points.ndim != 2 or 0 in points.shape:
        raise InstanceError(
            f"points: an array of shape {points.shape}; expected (n, d) with n >= 1 and d >= 1"
        )
    bad = np.argwhere(~np.isfinite(points))
    if len(bad):
        i, j = bad[0]
        raise InstanceError(f"points[{i}, {j}] is {points[i, j]}; every coordinate must be finite")
    with np.errstate(over="ignore", invalid="ignore"):
        spread = ((points - points.mean(axis=0)) ** 2).sum()
    if not np.isfinite(spread):
        raise InstanceError("points: squared distances overflow; rescale the data")
    return _frozen(points)


def _number_of_clusters(k: object, n: int) -> int:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise InstanceError(f"k = {k!r}: the number of clusters must be an integer")
    if not 1 <= k <= n:
        raise InstanceError(f"k = {k}: expected 1 <= k <= n = {n}, as no cluster may be empty")
    return int(k)


def _pairs(values: ArrayLike, n: int, argument: str) -> NDArray[np.intp]:
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise InstanceError(f"{argument}: expected pairs of row numbers ({error})") from None
    if given.shape in ((0,), (0, 2)):  # an empty list, or an empty array of whatever type
        given = np.empty((0, 2), np.intp)
    if given.ndim != 2 or given.shape[1] != 2:
        raise InstanceError(f"{argument}: expected pairs of row numbers, got shape {given.shape}")
    if not np.issubdtype(given.dtype, np.integer):
        raise InstanceError(f"{argument}: row numbers must be integers, got {given.dtype}")
    outside = ((given < 0) | (given >= n)).any(axis=1)
    for wrong, reason in (
        (outside, f"rows are 0 to {n - 1}"),
        (given[:, 0] == given[:, 1], "a point paired with itself"),
    ):
        if wrong.any():
            position = int(np.argmax(wrong))
            i, j = given[position]
            raise InstanceError(f"{argument}[{position}] = ({i}, {j}): {reason}")
    return _frozen(np.sort(given.astype(np.intp), axis=1))
