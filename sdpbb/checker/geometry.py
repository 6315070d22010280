"""Points and blocks of points, with bounds on what rounding does to their sum of squares.

The sum of squares of a clustering is ||(I - Pi) X||_F^2, with Pi the projector that replaces each
point by the mean of its cluster: its root is a seminorm of X, so

    | sqrt(cost of x) - sqrt(cost of x^) | <= ||x - x^||_F      for every clustering.

Bounds are proven for points x^ whose block means are floating-point numbers exactly, and carried
over to the points x by this.

Where no cluster holds blocks of different components, each component may be moved as a whole: no
sum of squares is another one then. So each has an origin of its own, near its mean, and coordinates
are rounded relative to the distances inside of components, however far apart these are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .arithmetic import TINY, difference_and_error, down, gamma, norm_up, sum_down, sum_up, up
from .rejection import Rejected

_LARGEST = 1e110


@dataclass(frozen=True, eq=False)
class Contracted:
    """Blocks of points that every clustering looked at keeps together.

    There are points x^ (n, d) with ||x^ - (x - o)||_F <= error for the points x and a vector o for
    each component, whose block means are exactly `means` and whose sum of squares inside block b is
    at least scatter[b]. Blocks are numbered by their first point.

    Attributes
    ----------
    n : number of points
    weights : (m,) whole numbers, points per block
    means : (m, d)
    scatter : (m,) >= 0, 0 for blocks of one point
    error : >= 0
    component_of : (m,) none of the clusterings has a cluster with blocks of different components;
        None for a single one
    """

    n: int
    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    scatter: NDArray[np.float64]
    error: float
    component_of: NDArray[np.intp] | None = None

    @property
    def m(self) -> int:
        """Number of blocks."""
        return len(self.weights)

    @cached_property
    def components(self) -> list[NDArray[np.intp]]:
        """Blocks of each component."""
        if self.component_of is None:
            return [np.arange(self.m)]
        return _members(self.component_of, self.m)

    @cached_property
    def across(self) -> NDArray[np.bool_]:
        """Pairs of blocks of different components, (m, m)."""
        if self.component_of is None:
            return np.zeros((self.m, self.m), np.bool_)
        return np.asarray(self.component_of[:, None] != self.component_of)

    def for_points(self, bound: float) -> float:
        """Return a bound for the points from a lower bound for x^.

        It is max(0, sqrt(bound) - error)^2, rounded down.
        """
        if bound <= 0.0 or math.isnan(bound):
            return 0.0
        if self.error == 0.0 or math.isinf(bound):
            return bound
        root = down(down(math.sqrt(bound)) - self.error)
        return max(0.0, down(root * root)) if root > 0.0 else 0.0

    def cutoff(self, below: float) -> float:
        """Return (sqrt(below) + error)^2, rounded up.

        What costs less than `below` for the points costs less than that for x^.
        """
        if self.error == 0.0:
            return below
        root = up(up(math.sqrt(max(below, 0.0))) + self.error)
        return up(root * root)


@dataclass(frozen=True, eq=False)
class Geometry:
    """Points of an instance.

    points : (n, d) finite, no coordinate beyond 1e110
    """

    points: NDArray[np.float64]

    @classmethod
    def of(cls, points: NDArray[np.float64]) -> Geometry:
        """Return the geometry of points (n, d), n, d >= 1; `Rejected` if they are no such array."""
        points = np.asarray(points)
        if points.ndim != 2 or 0 in points.shape or points.dtype != np.float64:
            raise Rejected(
                f"points should be float64 (n, d), not {points.dtype} of shape {points.shape}"
            )
        if not (np.abs(points) <= _LARGEST).all():  # false for nan
            raise Rejected(f"a coordinate of a point is not a number of at most {_LARGEST:g}")
        return cls(points)

    def centred(
        self, component_of: NDArray[np.intp] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return points less a vector near the mean of their component, and what rounding took off.

        Both are (n, d): their sum is exactly the difference.

        component_of : (n,), or None for a single one

        Differences to one of its points tell where the mean of a component is, relative to the
        distances inside of it. Where all of its points coincide, it is there exactly.
        """
        n = len(self.points)
        components = [np.arange(n)] if component_of is None else _members(component_of, n)
        origin = np.empty_like(self.points)
        for members in components:
            x = self.points[members]
            differences = x - x[0]
            around = differences - differences.mean(axis=0)
            near = x[np.square(around).sum(axis=1).argmin()]
            origin[members] = near + (x - near).mean(axis=0)
        return difference_and_error(self.points, origin)

    def contracted(
        self, block_of: NDArray[np.intp], component_of: NDArray[np.intp] | None = None
    ) -> Contracted:
        """Return the blocks {i : block_of[i] = b}, numbered by their first points; block_of (n,).

        component_of : (m,) of blocks in this order: see `Contracted`

        x^ is `centred`, with every block moved as a whole by the rounding of its mean. That mean
        is a correctly rounded sum, divided by the size: off by less than 2.01 u of its value.
        """
        n, d = self.points.shape
        members = _members(block_of, n)
        of_points = None
        if component_of is not None:
            of_points = np.empty(n, np.intp)
            for component, block in zip(component_of.tolist(), members, strict=True):
                of_points[block] = component
        centred, residual = self.centred(of_points)
        weights = np.array([len(block) for block in members], dtype=np.float64)
        means = np.empty((len(members), d))
        scatter = np.zeros(len(members))
        single = weights == 1.0
        means[single] = centred[[members[b][0] for b in np.flatnonzero(single)]]
        moved = [norm_up(residual)]
        for b in np.flatnonzero(~single):
            y, size = centred[members[b]], float(weights[b])
            if (y == y[0]).all():
                means[b] = y[0]
                continue
            means[b] = [math.fsum(column) / size for column in y.T.tolist()]
            off = up(norm_up(means[b]) * gamma(2.5) + TINY)
            moved.append(up(off * up(math.sqrt(size))))
            # Around its mean a block has the squares around means[b] less size * off^2.
            squares = np.square(y - means[b]).sum(axis=1)
            around = sum_down(squares.tolist()) * (1.0 - gamma(d + 8))
            scatter[b] = max(0.0, down(down(around - up(up(off * off) * size)) - TINY))
        error = norm_up(np.array(moved[1:]))
        error = up(moved[0] + error) if moved[0] else error
        return Contracted(n, weights, means, scatter, error, component_of)

    def cost_at_most(self, labels: NDArray[np.intp]) -> float:
        """Return an upper bound on the sum of squares of labels (n,), nearly equal to it.

        It is exactly 0 where the points of each cluster coincide.
        """
        members = _members(labels, len(self.points))
        return sum_up(_squares_at_most(self.points[cluster]) for cluster in members)

    def total(self) -> float:
        """Return about the sum of squares of all points around their mean."""
        centred = self.centred()[0]
        return float(np.square(centred - centred.mean(axis=0)).sum())


def _members(labels: NDArray[np.intp], n: int) -> list[NDArray[np.intp]]:
    """Return the points of each label, in the order of their first points."""
    labels = np.asarray(labels)
    if labels.shape != (n,) or labels.dtype.kind not in "iu":
        raise Rejected(f"labels should be {n} integers, not {labels.dtype} of {labels.shape}")
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(inverse.reshape(-1)))[:-1])
    return [groups[g] for g in np.argsort(first)]


def _squares_at_most(x: NDArray[np.float64]) -> float:
    """Return an upper bound on the sum of squares of points x (s, d) around their mean.

    With x_i - x_0 = y_i + r_i exactly, y_i the rounded difference, its root is at most that of y
    plus ||r||_F, and around the mean no sum of squares of y is larger than around another vector.
    """
    y, r = difference_and_error(x, np.ascontiguousarray(np.broadcast_to(x[0], x.shape)))
    if not y.any() and not r.any():
        return 0.0
    centre = np.array([math.fsum(column) for column in y.T.tolist()]) / len(y)
    # Differences, squares: three roundings of each term; the sum is correctly rounded.
    squares = up(math.fsum(np.square(y - centre).ravel().tolist()) * (1.0 + gamma(8)) + TINY)
    error = norm_up(r)
    if error == 0.0:
        return squares
    root = up(up(math.sqrt(squares)) + error)
    return up(root * root)
