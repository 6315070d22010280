"""Pricing problem: the data of a contraction, arranged for a search at any prices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.bounds.bound import EPS, rounding_of
from sdpbb.bounds.lagrangian.columns import Membership
from sdpbb.bounds.lagrangian.reach import effective_dimension
from sdpbb.bounds.lagrangian.sets.nodes import PricingArrays
from sdpbb.problem import Contraction
from sdpbb.problem.quantities import Quantity, UpperLimits
from sdpbb.problem.soft_blocks import SoftBlocks

# From this effective dimension on, numbers of points are bounded instead of boxes halved. In 2 and
# 3 dimensions a search without boxes takes 1.2 times and a quarter of the nodes. Budgets exclude
# boxes, too: then a block cannot be chosen because it gains wherever the mean is.
HIGH_DIMENSION = 2.5
# At most this many blocks are searched without boxes: at most two nodes for each set. Halving boxes
# in many coordinates may take longer: over 2,000,000 nodes for 10 blocks, one of them far away.
FEW_BLOCKS = 16
# From this many blocks on, each region is searched by itself in few dimensions. Arrays of all pairs
# of thousands of blocks would take gigabytes.
MANY_BLOCKS = 256


# Relative tolerance of compared distances, for rounding.
_ROOM = 1e-9
# Minimum of the blocks that fill a region.
_FEWEST = 8


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions of the mean of a cluster: boxes that tile the bounding box of the blocks.

    In few dimensions a cluster has no block that is far from its mean. So each box has a search of
    its own, over the blocks near it.

    low, high : (r, p)
    owner : (m,) a region that each block is in
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    owner: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.low)

    def near(
        self, region: int, points: NDArray[np.float64], reach: NDArray[np.float64]
    ) -> NDArray[np.intp]:
        """Return the blocks that reach into a region, ascending.

        reach : (m,) how far each block may be from the mean of a cluster; below 0: in no cluster
        """
        beyond = np.maximum(self.low[region] - points, points - self.high[region])
        squares = (np.maximum(beyond, 0.0) ** 2).sum(axis=1)
        return np.flatnonzero((squares <= reach**2 * (1.0 + _ROOM)) & (reach >= 0.0))


def tiling(points: NDArray[np.float64], most: float) -> Regions:
    """Return regions with at most `most` blocks each, unless more are in one place.

    Boxes with more blocks are cut at the median block, across their longest side.

    points : (m, p), p >= 1
    """
    owner = np.zeros(len(points), np.intp)
    low: list[NDArray[np.float64]] = []
    high: list[NDArray[np.float64]] = []
    waiting = [(np.arange(len(points)), points.min(axis=0), points.max(axis=0))]
    while waiting:
        inside, bottom, top = waiting.pop()
        side = int(np.argmax(top - bottom))
        along = points[inside, side]
        middle = float(np.median(along))
        lower = along <= middle
        if len(inside) <= most or lower.all():  # many in one place
            owner[inside] = len(low)
            low.append(bottom)
            high.append(top)
            continue
        cut_top, cut_bottom = top.copy(), bottom.copy()
        cut_top[side] = cut_bottom[side] = middle
        waiting.append((inside[~lower], cut_bottom, top))
        waiting.append((inside[lower], bottom, cut_top))
    return Regions(np.array(low), np.array(high), owner)


@dataclass(frozen=True, eq=False)
class PricingProblem:
    """Pricing problem of a contraction, at any prices.

    order : (m,) the block at each position; positions of a clique of cannot-links are neighbours
    data : over positions; with regions, squares and nearest are empty
    scatter : own scatter of all blocks, and half the weights of their soft must-links; of all
        blocks also in a restricted problem
    rounding : bound on the rounding errors in the costs
    reach : largest distance of a mean from the origin
    regions : of the mean, for many blocks in few dimensions
    paid : upper bound on the costs of soft pairs
    """

    order: NDArray[np.intp]
    data: PricingArrays
    scatter: NDArray[np.float64]
    rounding: float
    reach: float
    regions: Regions | None = None
    paid: float = 0.0

    @classmethod
    def of(
        cls,
        contraction: Contraction,
        without_costs: bool = False,
        forbidden: Membership | None = None,
    ) -> PricingProblem:
        """
        Parameters
        ----------
        without_costs : c(X) = 0 for all clusters, while the master programme is infeasible
        forbidden : (q, m) sets of blocks, none of which may be part of a cluster, or None
        """
        m = contraction.n_blocks
        clique = clique_numbers(contraction.adjacency)
        order = np.argsort(clique, kind="stable")
        adjacency = contraction.adjacency[np.ix_(order, order)]
        start, neighbours, _ = _rows(csr_array(adjacency))
        weights, means = contraction.weights[order], contraction.means[order]
        means = means[:, :0] if without_costs else principal_coordinates(means, weights)
        upper, rows = contraction.upper_limits, () if forbidden is None else forbidden
        learned = [Quantity.at_most(int(row.sum()) - 1, row, contraction.k) for row in rows]
        if learned:
            both = (*contraction.quantities, *learned)
            upper = UpperLimits.of(both, m, contraction.cannot_link)
        linear, limits, pairs = upper.linear[:, order], upper.most, upper.pairs
        pairs = pairs[:, order][:, :, order]
        dimension = effective_dimension(means, weights)
        # If parts of a cluster may cost more, it may have blocks far from its mean.
        is_low = dimension < HIGH_DIMENSION and means.shape[1] > 0 and contraction.is_monotone
        soft = SoftBlocks() if without_costs else contraction.soft
        W = csr_array(
            (np.tile(soft.weights, 2), np.hstack([soft.pairs.T, soft.pairs.T[::-1]])), (m, m)
        )
        soft_start, soft_other, soft_weight = _rows(W[order][:, order])
        most = max(_FEWEST, m / contraction.k)
        regions = tiling(means, most) if is_low and m >= MANY_BLOCKS else None
        squares = squared_distances(means) if regions is None else np.zeros((0, 0))
        data = PricingArrays(
            points=np.ascontiguousarray(means),
            weights=np.ascontiguousarray(weights),
            clique=np.ascontiguousarray(clique[order].astype(np.int64)),
            start=start,
            neighbours=neighbours,
            linear=np.ascontiguousarray(linear),
            pairs=np.ascontiguousarray(pairs),
            limits=np.ascontiguousarray(limits),
            ranges=_ranges(contraction.two_sided_quantities),
            unbudgeted=(linear == 0).all(axis=0) & (pairs == 0).all(axis=(0, 1)),
            apart=np.ascontiguousarray(adjacency),
            reach=np.full(m, np.inf),
            squares=squares,
            nearest=np.argsort(squares, axis=1, kind="stable"),
            boxes=m > FEW_BLOCKS and dimension < HIGH_DIMENSION and not len(limits),
            by_size=dimension >= HIGH_DIMENSION and bool((weights == np.rint(weights)).all()),
            soft_start=soft_start,
            soft_other=soft_other,
            soft_weight=soft_weight,
        )
        scatter = np.zeros(m) if without_costs else contraction.scatter + soft.shares(m)
        return cls(
            order=order,
            data=data,
            scatter=scatter,
            rounding=0.0 if without_costs else rounding_of(contraction) + 2.0 * soft.uncertainty,
            paid=float(np.abs(soft.weights).sum()),
            reach=float(np.sqrt((means**2).sum(axis=1)).max(initial=0.0)),
            regions=regions,
        )

    @property
    def m(self) -> int:
        return len(self.order)

    def profits(self, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return prices less own scatter, (m,) by position."""
        return np.ascontiguousarray((prices - self.scatter)[self.order])

    def for_least_value(self, prices: NDArray[np.float64]) -> PricingProblem:
        """Return the problem for clusters of least value c(X) - prices(X), if that is below 0.

        Leaving out block i of X, with mean y, does not lower the value, so e_i ||c_i - y||^2 < a_i
        (or a smaller set has the same value). This is the reach of a block, and the distance of two
        blocks in X is below the sum of their reaches. It implies the published test of
        compatibility (section 4.2). If i has soft must-links, leaving it out may cost their whole
        weight instead of half. With a least size or weight nothing is known.
        """
        if len(self.data.ranges):
            return self
        reach = np.maximum(self.reaches(prices), 0.0)
        far = self.data.squares > (reach[:, None] + reach) ** 2
        apart = self.data.apart | far
        known = replace(self, data=self.data._replace(apart=apart, reach=reach))
        return known._in_cliques(clique_numbers(apart))

    def _in_cliques(self, clique: NDArray[np.intp]) -> PricingProblem:
        """Return the problem with its positions in the order of other cliques."""
        order = np.argsort(clique, kind="stable")
        at = np.empty_like(order)
        at[order] = np.arange(self.m)
        nearest = self.data.nearest
        data = _at(self.data, order)._replace(
            clique=clique[order].astype(np.int64),
            nearest=at[nearest[order]] if len(nearest) else nearest,
        )
        return replace(self, order=self.order[order], data=data)

    def reaches(self, prices: NDArray[np.float64], slack: float = 0.0) -> NDArray[np.float64]:
        """Return how far blocks may be from the mean of a cluster of interest, (m,) by position.

        It is -1 for blocks in no such cluster. A cluster is of interest if leaving out any of its
        blocks lowers its value by at most the slack.
        """
        worth = self.profits(prices) + self._most_by_links() + slack
        far = np.sqrt(np.maximum(worth, 0.0) / self.data.weights) * (1.0 + 1e-12)
        return np.where(worth > 0.0, far, -1.0)

    def _most_by_links(self) -> NDArray[np.float64]:
        """Return the weights of the soft must-links of each block, (m,) by position."""
        data = self.data
        linked, rows = np.maximum(-data.soft_weight, 0.0), np.diff(data.soft_start)
        found = np.bincount(np.repeat(np.arange(len(rows)), rows), linked, len(rows))
        return np.asarray(found, np.float64)

    def restricted(self, positions: NDArray[np.intp]) -> PricingProblem:
        """Return the problem over the blocks at some positions (ascending), without regions."""
        data = _at(self.data, positions)
        data = data._replace(
            squares=squared_distances(data.points),
            nearest=np.zeros((0, 0), np.int64),
            boxes=data.boxes and len(positions) > FEW_BLOCKS,
            by_size=False,
        )
        return replace(self, order=self.order[positions], data=data, regions=None)

    def for_values_below(self, prices: NDArray[np.float64], value: float) -> PricingProblem:
        """Return the problem for clusters of values c(X) - prices(X) below a number.

        Pairs of blocks are excluded if each cluster of both has a larger value. No pair is excluded
        if parts of a cluster may be forbidden, or cost more.
        """
        if len(self.data.ranges) or len(self.data.soft_other) or value == np.inf:
            return self
        a, e = self.profits(prices), self.data.weights
        between = e[:, None] * e / (e[:, None] + e) * self.data.squares
        above = between - a[:, None] - a > value
        np.fill_diagonal(above, False)
        return replace(self, data=self.data._replace(apart=self.data.apart | above))

    def margin(self, prices: NDArray[np.float64]) -> float:
        """Return a bound on the rounding errors of values and bounds.

        The negative terms of a bound add up to at most the sum of |a|: e_j dist^2 counts only while
        it is below a_j. Sums have m terms, squares p. Coordinates are off by a multiple of p eps
        times the reach, which changes e_j dist^2 by at most 2 sqrt(e_j a_j) times that. If blocks
        may be far from the mean, e_j dist^2 is at most e_j (2 reach)^2.
        """
        m, p = self.data.points.shape
        if p == 0 and not self.scatter.any():
            return 0.0  # prices that are whole numbers are summed exactly
        total = float(np.abs(prices).sum() + self.scatter.sum()) + self.paid
        points = float(self.data.weights.sum())
        if len(self.data.ranges) or self.paid > 0.0:
            total += 4.0 * points * self.reach**2
        sums: float = (16 * m + 64 * p + 64) * total
        coordinates: float = 16 * p * self.reach * float(np.sqrt(points * total))
        return EPS * (sums + coordinates) + self.rounding

    def members(self, found: NDArray[np.bool_]) -> Membership:
        """Return marks (t, m) by block, from marks (t, m) by position."""
        members = np.zeros((len(found), len(self.scatter)), bool)
        members[:, self.order] = found
        return members


# For each array of the problem, the axes over positions.
_POSITIONS = {
    "points": (0,),
    "weights": (0,),
    "clique": (0,),
    "linear": (1,),
    "pairs": (1, 2),
    "unbudgeted": (0,),
    "apart": (0, 1),
    "reach": (0,),
    "squares": (0, 1),
}


def _at(data: PricingArrays, positions: NDArray[np.intp]) -> PricingArrays:
    """Return the arrays at some positions, except `nearest`."""
    taken: dict[str, Any] = {}
    for name, axes in _POSITIONS.items():
        array = getattr(data, name)
        for axis in axes:
            array = array.take(positions, axis) if array.shape[axis] else array
        taken[name] = np.ascontiguousarray(array)
    links = data.start, data.neighbours, np.ones(len(data.neighbours))
    taken["start"], taken["neighbours"], _ = _rows_at(*links, positions)
    soft = data.soft_start, data.soft_other, data.soft_weight
    taken["soft_start"], taken["soft_other"], taken["soft_weight"] = _rows_at(*soft, positions)
    return data._replace(**taken)


def principal_coordinates(
    means: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the means (m, p) in their principal axes: an isometric copy whose boxes are small."""
    if means.shape[1] < 2:
        return means
    axes = np.linalg.eigh((means * weights[:, None]).T @ means)[1]
    return np.asarray(means @ axes[:, ::-1])


def _ranges(quantities: tuple[Quantity, ...]) -> NDArray[np.float64]:
    """Return the ranges (g, q, 2) of what sets may hold of quantities, padded with empty ones."""
    each = [quantity.limits.ranges() for quantity in quantities]
    found = np.empty((len(each), max(map(len, each), default=0), 2))
    found[:] = np.inf, -np.inf
    for number, ranges in enumerate(each):
        found[number, : len(ranges)] = ranges
    return found


Rows = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Compressed rows: where each begins, its columns in ascending order, and their values."""


def _rows(of: csr_array) -> Rows:
    """Return the compressed rows of a matrix."""
    of.sort_indices()
    return of.indptr.astype(np.int64), of.indices.astype(np.int64), of.data


def _rows_at(
    start: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    positions: NDArray[np.intp],
) -> Rows:
    """Return the compressed rows of the part of a square matrix at some positions."""
    if not len(columns):
        return np.zeros(len(positions) + 1, np.int64), columns, values
    m = len(start) - 1
    return _rows(csr_array((values, columns, start), (m, m))[positions][:, positions])


def squared_distances(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distances (m, m), from differences of coordinates."""
    squares = np.zeros((len(means), len(means)))
    for coordinate in means.T:
        squares += (coordinate[:, None] - coordinate) ** 2
    return squares


def clique_numbers(adjacency: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the number of a clique for each vertex (m,), greedily.

    By decreasing degree, each vertex joins the first clique whose members are all its neighbours.
    The checker has a separate function on purpose (`sdpbb.checker.pricing.problem`).
    """
    m = len(adjacency)
    number = np.empty(m, dtype=np.intp)
    common = np.ones((max(1, min(m, 64)), m), bool)  # per clique: vertices adjacent to all members
    count = 0
    for vertex in np.argsort(-adjacency.sum(axis=1), kind="stable").tolist():
        first = int(common[:count, vertex].argmax()) if count else 0
        if count and common[first, vertex]:
            number[vertex] = first
            common[first] &= adjacency[vertex]
            continue
        if count == len(common):
            common = np.concatenate([common, np.ones_like(common)])
        number[vertex] = count
        common[count] = adjacency[vertex]
        count += 1
    return number
