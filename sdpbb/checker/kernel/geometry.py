"""Points and blocks of points, with bounds on what rounding does to their sum of squares.

The sum of squares of a clustering is ||(I - Pi) X||_F^2, with Pi the projector that replaces each
point by the mean of its cluster: its root is a seminorm of X, so

    | sqrt(cost of x) - sqrt(cost of x^) | <= ||x - x^||_F      for every clustering.

Bounds are proven for points x^ whose block means are exactly floating-point numbers. The inequality
carries them over to the points x. The price p >= 0 that a clustering pays for soft pairs does not
depend on coordinates. As sqrt(s^2 + p) changes by no more than s, the inequality holds for the
whole cost.

Points may have weights w. The sum of squares is weighted then, and norms are of W^1/2 x. It is the
same for the points 2^q x with the weights 4^-q w; both are exact, and q makes the mean weight about
1. The weight of a block is a floating-point number e, at most the sum s of its weights. With
w^ = w e / s <= w in each block, block means stay the same and no clustering costs more. So a bound
for w^ holds for w.

If no cluster holds blocks of different components, moving a component as a whole changes no sum of
squares. So each component has its own origin near its mean. Coordinates are rounded relative to the
distances inside of components, however far apart these are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .arithmetic import TINY, difference_and_error, down, gamma, norm_up, sum_down, sum_up, up
from .rejection import Rejected
from .soft import CheckedSoftPairs, SoftOverBlocks, require_moderate

_LARGEST = 1e110
# Weights in units of about their mean.
_LIGHTEST = 1e-100


@dataclass(frozen=True, eq=False)
class Contracted:
    """Geometry of the blocks of a node.

    For the points x and a vector o for each component there are points x^ (n, d) with
    ||x^ - (x - o)||_F <= error. Their block means are exactly `means`. Their sum of squares inside
    block b is at least scatter[b]. All of this is weighted if points have weights. Blocks are
    numbered by their first points.

    Attributes
    ----------
    n : number of points
    weights : (m,) e: points per block; or the weight of a block, rounded down, if points have
        weights
    means : (m, d)
    scatter : (m,) >= 0, 0 for blocks of one point
    error : >= 0
    component_of : (m,) no cluster has blocks of different components; None: there is only one
    counts_points : whether weights are the numbers of points per block
    soft : the soft pairs over the blocks, or None
    """

    n: int
    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    scatter: NDArray[np.float64]
    error: float
    component_of: NDArray[np.intp] | None = None
    counts_points: bool = False
    soft: SoftOverBlocks | None = None

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

    def with_soft(self, squares: float, adjacency: NDArray[np.bool_]) -> float:
        """Return a lower bound on costs from one on sums of squares, by the constant of soft pairs.

        adjacency : (m, m) pairs of blocks that are cannot-linked
        """
        if self.soft is None:
            return squares
        constant = self.soft.constant(adjacency | self.across)
        return sum_down([squares, constant]) if constant else squares

    def for_points(self, bound: float) -> float:
        """Return a lower bound for the points from one for x^.

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

        A clustering that costs less than `below` for the points costs less than this for x^.
        """
        if self.error == 0.0:
            return below
        root = up(up(math.sqrt(max(below, 0.0))) + self.error)
        return up(root * root)


@dataclass(frozen=True, eq=False)
class Geometry:
    """Points of an instance.

    points : (n, d) finite, no coordinate beyond 1e110; 2^q times the given ones
    weights : (n,) 4^-q times the given ones; None: 1 each
    soft : pairs whose weights are costs if they are violated
    """

    points: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None
    soft: CheckedSoftPairs = field(default_factory=CheckedSoftPairs)

    @classmethod
    def of(
        cls,
        points: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
        soft: CheckedSoftPairs | None = None,
    ) -> Geometry:
        """Return the geometry of points (n, d), n, d >= 1, with weights (n,) > 0, or 1 each.

        `Rejected` if the arrays are not of this kind, or numbers are too large.
        """
        points = np.asarray(points)
        if points.ndim != 2 or 0 in points.shape or points.dtype != np.float64:
            raise Rejected(
                f"points should be float64 (n, d), not {points.dtype} of shape {points.shape}"
            )
        if not (np.abs(points) <= _LARGEST).all():  # false for nan
            raise Rejected(f"a coordinate of a point is not a number of at most {_LARGEST:g}")
        soft = CheckedSoftPairs() if soft is None else soft
        require_moderate(soft)
        if weights is None:
            return cls(points, None, soft)
        return cls(*_in_mean_units(points, weights), soft)

    def centred(
        self, component_of: NDArray[np.intp] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return points less a vector near the mean of their component, and rounding errors.

        Both are (n, d), and their sum is exactly the difference. The mean is computed from
        differences of points, so that its error is relative to the distances inside of the
        component. If all points of a component coincide, the vector is this point.

        component_of : (n,); None: there is only one
        """
        n = len(self.points)
        components = [np.arange(n)] if component_of is None else _members(component_of, n)
        origin = np.empty_like(self.points)
        for members in components:
            x, w = self.points[members], self._weights_of(members)
            differences = x - x[0]
            around = differences - np.average(differences, axis=0, weights=w)
            near = x[np.square(around).sum(axis=1).argmin()]
            origin[members] = near + np.average(x - near, axis=0, weights=w)
        return difference_and_error(self.points, origin)

    def contracted(
        self, block_of: NDArray[np.intp], component_of: NDArray[np.intp] | None = None
    ) -> Contracted:
        """Return the blocks {i : block_of[i] = b}, numbered by their first points; block_of (n,).

        component_of : (m,) of blocks in this order: see `Contracted`

        x^ is `centred`, with every block moved as a whole by the rounding error of its mean. The
        mean is a correctly rounded sum divided by the size: off by less than 2.01 u of its value.
        With weights, its terms and the weight of the block are rounded once more: off by less than
        4.01 u of the mean of the absolute values.
        """
        n, d = self.points.shape
        members = _members(block_of, n)
        of_points = None
        if component_of is not None:
            of_points = np.empty(n, np.intp)
            for component, block in zip(component_of.tolist(), members, strict=True):
                of_points[block] = component
        centred, residual = self.centred(of_points)
        count = np.array([len(block) for block in members])
        weights = self._block_weights(members, count)
        means = np.empty((len(members), d))
        scatter = np.zeros(len(members))
        single = count == 1
        means[single] = centred[[members[b][0] for b in np.flatnonzero(single)]]
        moved = [_norm_up(residual, self.weights)]
        for b in np.flatnonzero(~single):
            y, w, size = centred[members[b]], self._weights_of(members[b]), float(weights[b])
            if (y == y[0]).all():
                means[b] = y[0]
                continue
            if w is None:
                means[b] = [math.fsum(column) / size for column in y.T.tolist()]
                off = up(norm_up(means[b]) * gamma(2.5) + TINY)
            else:
                terms, whole = w[:, None] * y, math.fsum(w.tolist())
                means[b] = [math.fsum(column) / whole for column in terms.T.tolist()]
                around_0 = [math.fsum(column) / whole for column in np.abs(terms).T.tolist()]
                off = up(norm_up(np.array(around_0)) * gamma(8) + TINY)
            moved.append(up(off * up(math.sqrt(size))))
            # Around its mean a block has the squares around means[b] less size * off^2. The weights
            # w^ are less than w by three roundings at most, and a product is one more.
            squares = np.square(y - means[b]).sum(axis=1)
            if w is not None:
                squares = w * squares
            around = sum_down(squares.tolist()) * (1.0 - gamma(d + 8 if w is None else d + 16))
            scatter[b] = max(0.0, down(down(around - up(up(off * off) * size)) - TINY))
        error = norm_up(np.array(moved[1:]))
        error = up(moved[0] + error) if moved[0] else error
        counts_points = self.weights is None
        soft = None
        if self.soft:
            number = np.empty(n, np.intp)
            for position, block in enumerate(members):
                number[block] = position
            soft = self.soft.over(number, len(members))
        return Contracted(n, weights, means, scatter, error, component_of, counts_points, soft)

    def cost_at_most(self, labels: NDArray[np.intp]) -> float:
        """Return an upper bound on the cost of labels (n,), nearly equal to it.

        The cost is their sum of squares and the weights of violated soft pairs. The bound is
        exactly 0 if the points of each cluster coincide and no soft pair is violated.
        """
        members = _members(labels, len(self.points))
        squares = [_squares_at_most(self.points[c], self._weights_of(c)) for c in members]
        return sum_up([*squares, *self.soft.violated(labels)])

    def _weights_of(self, members: NDArray[np.intp]) -> NDArray[np.float64] | None:
        return None if self.weights is None else self.weights[members]

    def _block_weights(
        self, members: list[NDArray[np.intp]], count: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the number of points of each block, or its weight rounded down to a float."""
        if self.weights is None:
            return count.astype(np.float64)
        weights = self.weights[[block[0] for block in members]]
        for b in np.flatnonzero(count > 1):
            terms = self.weights[members[b]].tolist()
            total = math.fsum(terms)  # correctly rounded, as is its error below
            weights[b] = total if math.fsum([*terms, -total]) >= 0.0 else down(total)
        return weights


def _in_mean_units(
    points: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return 2^q points and 4^-q weights, exactly, for the q with a mean weight in [1/2, 2).

    Raises
    ------
    Rejected
        If the weights are not positive numbers, one for each point, or cannot be scaled so.
    """
    weights = np.asarray(weights)
    if weights.shape != (len(points),) or weights.dtype != np.float64:
        raise Rejected(f"weights should be {len(points)} float64, one for each point")
    if not ((weights > 0.0) & (weights <= _LARGEST)).all():  # false for nan
        raise Rejected(f"a weight is not a positive number of at most {_LARGEST:g}")
    q = math.frexp(math.fsum(weights.tolist()) / len(weights))[1] // 2
    scaled, light = np.ldexp(points, q), np.ldexp(weights, -2 * q)
    fits = np.array_equal(np.ldexp(scaled, -q), points)
    fits &= np.array_equal(np.ldexp(light, 2 * q), weights)
    if not (fits and (np.abs(scaled) <= _LARGEST).all() and (light >= _LIGHTEST).all()):
        raise Rejected("the points, or their weights, are too large or too small for each other")
    return scaled, light


def _norm_up(values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    """Return an upper bound on the norm of W^1/2 values (n, d)."""
    if weights is None or not values.any():
        return norm_up(values)
    # A root and a product, rounded once each; what underflows is below TINY.
    norm = norm_up(np.sqrt(weights)[:, None] * values)
    return up(up(norm * (1.0 + gamma(4))) + TINY)


def _members(labels: NDArray[np.intp], n: int) -> list[NDArray[np.intp]]:
    """Return the points of each label, in the order of their first points."""
    labels = np.asarray(labels)
    if labels.shape != (n,) or labels.dtype.kind not in "iu":
        raise Rejected(f"labels should be {n} integers, not {labels.dtype} of {labels.shape}")
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(inverse.reshape(-1)))[:-1])
    return [groups[g] for g in np.argsort(first)]


def _squares_at_most(x: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> float:
    """Return an upper bound on the sum of squares of points x (s, d) around their mean.

    weights : (s,) of the points; None: 1 each

    Let x_i - x_0 = y_i + r_i exactly, y_i being the rounded difference. The root of the sum for x
    is at most the root for y plus ||r||_F. The sum for y around its mean is at most the sum around
    any other vector.
    """
    y, r = difference_and_error(x, np.ascontiguousarray(np.broadcast_to(x[0], x.shape)))
    if not y.any() and not r.any():
        return 0.0
    of_each = 1.0 if weights is None else weights[:, None]
    whole = len(y) if weights is None else math.fsum(weights.tolist())
    centre = np.array([math.fsum(column) for column in (of_each * y).T.tolist()]) / whole
    # Differences, squares, products: four roundings of each term; the sum is correctly rounded.
    terms = (of_each * np.square(y - centre)).ravel().tolist()
    squares = up(math.fsum(terms) * (1.0 + gamma(8)) + TINY)
    error = _norm_up(r, weights)
    if error == 0.0:
        return squares
    root = up(up(math.sqrt(squares)) + error)
    return up(root * root)
