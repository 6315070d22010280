"""Coordinates, weights and distances of points and blocks, without loss of digits in components.

Sums of squares are invariant under translations. If no cluster has points of two components, each
component may be translated on its own, and all costs stay the same. The given coordinates are
exact, and the difference of two is rounded relative to itself. So the first step subtracts a point
of the component. All later errors are relative to distances inside the component, no matter how
far it is from the origin and from other components.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]

# Maximum number of pairs that a distance may imply: 0.3 GiB. All pairs of 6,000 points, far beyond
# what can be solved to optimality.
MAX_PAIRS = 20_000_000
# Maximum number of points in a cell, and of numbers in the distances between two cells.
LARGEST_CELL, TILE = 256, 4_000_000
# Relative error allowed for distances that are estimated by boxes or inner products.
SLACK = 1e-9


def centred(
    points: Reals, component_of: Indices | None = None, weights: Reals | None = None
) -> Reals:
    """Return the points with each component around its own mean, (n, r).

    The result is an isometric copy of each component in r = min(n, d) coordinates. It is exactly 0
    if all points of a component coincide.

    component_of : (n,) numbers of components; None: a single component
    weights : (n,) > 0 weights of the points in means; None: 1 each

    Inner products of centred points lose the fewest digits, and methods need not handle more
    coordinates than points.
    """
    n, d = points.shape
    moved = np.empty_like(points)
    for members in members_of(np.zeros(n, np.intp) if component_of is None else component_of):
        moved[members] = _around_mean(points[members], _of(weights, members))
    if d > n:
        moved = np.asarray(np.linalg.qr(moved.T, mode="r")).T
    return np.ascontiguousarray(moved)


def _of(weights: Reals | None, members: Indices) -> Reals | None:
    return None if weights is None else weights[members]


def _mean(values: Reals, weights: Reals | None) -> Reals:
    """Return the mean (d,) of values (s, d), with weights (s,) or 1 each."""
    if weights is None:
        return np.asarray(values.mean(axis=0))
    return np.asarray((values * (weights / weights.sum())[:, None]).sum(axis=0))


def _around_mean(points: Reals, weights: Reals | None) -> Reals:
    differences = points - central(points, weights)
    differences -= _mean(differences, weights)
    differences -= _mean(differences, weights)  # the second pass corrects rounding errors
    return differences


def central(points: Reals, weights: Reals | None = None) -> Reals:
    """Return one of the points (s, d), approximately the nearest to their mean, as (d,)."""
    differences = points - points[0]
    around = differences - _mean(differences, weights)
    return np.asarray(points[np.square(around).sum(axis=1).argmin()])


def sum_of_squares(points: Reals, weights: Reals | None = None) -> float:
    """Return the sum of squares of points (s, d) around their mean, weighted by weights (s,).

    It is 0 if, and only if, they coincide. Otherwise the relative error is a few units in the last
    place times the logarithm of s d.

    Reason: the distance of the mean to its nearest point is at most the average distance. So the
    sum of squared differences to that point is at most twice the result.
    """
    differences = points - central(points, weights)
    deviations = differences - _mean(differences, weights)
    # The correction term removes the rounding error of the mean (two-pass formula).
    if weights is None:
        correction = np.square(deviations.sum(axis=0)).sum() / len(points)
        return float(np.square(deviations).sum() - correction)
    of_each = weights[:, None]
    correction = np.square((of_each * deviations).sum(axis=0)).sum() / weights.sum()
    return max(0.0, float((of_each * np.square(deviations)).sum() - correction))


def offsets(points: Reals, block_of: Indices, weights: Reals | None = None) -> tuple[Reals, Reals]:
    """Return the differences (n, d) of points to the first point of their block, and their means.

    The means are (m, d). They are weighted by weights (n,), or by 1 each.
    """
    first = np.unique(block_of, return_index=True)[1]
    away = points - points[first[block_of]]
    totals = np.bincount(block_of, weights).astype(np.float64)
    return away, block_means(away, block_of, totals, weights)


def block_means(
    values: Reals, block_of: Indices, totals: Reals, weights: Reals | None = None
) -> Reals:
    """Return the means (m, r) over blocks of values (n, r).

    totals, weights : (m,) weights of the blocks, and (n,) of their points; None: 1 each
    """
    of_each = 1.0 if weights is None else weights[:, None]
    means = np.zeros((len(totals), values.shape[1]))
    np.add.at(means, block_of, of_each * values)
    means /= totals[:, None]
    # A second pass corrects rounding errors of sums over large blocks.
    correction = np.zeros_like(means)
    np.add.at(correction, block_of, of_each * (values - means[block_of]))
    means += correction / totals[:, None]
    return means


def block_scatter(points: Reals, block_of: Indices, weights: Reals | None = None) -> Reals:
    """Return the sum of squares inside each block, (m,): 0 only if its points coincide.

    weights : (n,) weights of the points; None: 1 each
    """
    shared = np.flatnonzero(np.bincount(block_of)[block_of] > 1)
    scatter = np.zeros(int(block_of.max()) + 1)
    if len(shared):
        blocks, inside = np.unique(block_of[shared], return_inverse=True)
        own = _of(weights, shared)
        away, means = offsets(points[shared], inside, own)
        squares = np.square(away - means[inside]).sum(axis=1)
        if own is not None:
            squares *= own
        scatter[blocks] = np.bincount(inside, weights=squares)
    return scatter


def weight_exponent(weights: Reals) -> int:
    """Return the integer q for which the mean of 4^-q weights is in [1/2, 2)."""
    mean = math.fsum(weights.tolist()) / len(weights)
    # 2^(e - 1) <= mean < 2^e, and one of e and e - 1 is even.
    return math.frexp(mean)[1] // 2


def in_mean_units(points: Reals, weights: Reals) -> tuple[Reals, Reals]:
    """Return the points times 2^q, and the weights times 4^-q, whose mean is near 1.

    Sums of squares are the same for points x with weights w and for points 2^q x with weights
    4^-q w. Both changes are exact. So methods need not consider the scale of weights, and all costs
    stay in the user's units.
    """
    q = weight_exponent(weights)
    return np.ldexp(points, q), np.ldexp(weights, -2 * q)


def block_weights(weights: Reals, block_of: Indices) -> Reals:
    """Return the weight (m,) of each block, a sum of weights (n,) that is rounded once."""
    _, first, count = np.unique(block_of, return_index=True, return_counts=True)
    total = weights[first]
    shared = np.flatnonzero(count > 1)
    if len(shared):
        order = np.argsort(block_of, kind="stable")
        end = np.cumsum(count)
        for block in shared.tolist():
            members = order[end[block] - count[block] : end[block]]
            total[block] = math.fsum(weights[members].tolist())
    return total


def held_apart(means: Reals, component_of: Indices, distance: float) -> Reals:
    """Return block means with one more coordinate that separates components, (m, r + 1).

    Components are at least this distance apart then, for methods that use distances only.

    means : (m, r)
    """
    position = component_of - 0.5 * component_of.max()
    return np.column_stack([means, distance * position])


def members_of(component_of: Indices) -> list[Indices]:
    """Return the members of each component, in the order of their numbers."""
    order = np.argsort(component_of, kind="stable")
    counts = np.unique(component_of, return_counts=True)[1]
    return np.split(order, np.cumsum(counts)[:-1])


def pairs_farther_than(points: Reals, distance: float, constraint: str = "GAMMA") -> Indices:
    """Return the pairs (i, j), i < j, with ||p_i - p_j|| > distance, sorted.

    These are the cannot-links that a maximum cluster diameter implies. An InstanceError that names
    the constraint is raised for more than MAX_PAIRS.
    """
    return _pairs_where(points, distance, True, f"{constraint} {distance:g}", "cannot-links")


def pairs_closer_than(points: Reals, distance: float) -> Indices:
    """Return the pairs (i, j), i < j, with ||p_i - p_j|| < distance, sorted.

    These are the must-links that a minimum separation between clusters (DELTA) implies. An
    InstanceError is raised for more than MAX_PAIRS.
    """
    return _pairs_where(points, distance, False, f"DELTA {distance:g}", "must-links")


def _pairs_where(
    points: Reals, distance: float, are_farther: bool, constraint: str, pairs: str
) -> Indices:
    """Return the pairs that are farther apart than a distance, or the pairs that are closer.

    Points are divided into cells, and the bounding boxes of cells are compared first. They decide
    most pairs of cells as a whole.
    """
    n, d = points.shape
    cells = _cells(points, max(1, min(LARGEST_CELL, int(math.sqrt(TILE / d)))))
    low = np.array([points[rows].min(axis=0) for rows in cells])
    high = np.array([points[rows].max(axis=0) for rows in cells])
    found, count = [], 0
    for number, rows in enumerate(cells):
        # Offsets of the farthest and of the nearest points of two boxes.
        away = np.maximum(high[number] - low[number:], high[number:] - low[number])
        between = np.maximum(
            np.maximum(low[number] - high[number:], low[number:] - high[number]), 0
        )
        most, least = (np.sqrt((offset**2).sum(axis=1)) for offset in (away, between))
        reach = most * (1 + SLACK) > distance if are_farther else least * (1 - SLACK) < distance
        for other in np.flatnonzero(reach) + number:
            i, j = _pairs_between(points, rows, cells[other], distance, are_farther)
            found.append(np.minimum(i, j) * n + np.maximum(i, j))
            count += len(i)
            if count > MAX_PAIRS:
                raise InstanceError(
                    f"{constraint} stands for more than {MAX_PAIRS:,} {pairs} of {n:,} points; "
                    "expected a distance that stands for fewer"
                )
    keys = np.concatenate([np.empty(0, np.intp), *found])
    keys.sort()
    return np.column_stack(np.divmod(keys, n))


def _pairs_between(
    points: Reals, rows: Indices, others: Indices, distance: float, are_farther: bool
) -> tuple[Indices, Indices]:
    """Return the pairs of points of two cells, or of one cell with itself, each once."""
    own, theirs = points[rows] - points[rows[0]], points[others] - points[rows[0]]
    own_squares, their_squares = ((part**2).sum(axis=1) for part in (own, theirs))
    # Inner products are fast, and exclude most pairs.
    squares = own_squares[:, None] + their_squares - 2.0 * (own @ theirs.T)
    margin = SLACK * (own_squares.max() + their_squares.max())
    limit = distance * distance
    found = squares > limit - margin if are_farther else squares < limit + margin
    if rows is others:
        found = np.triu(found, 1)
    a, b = np.nonzero(found)
    i, j = rows[a], others[b]
    # Differences, not inner products: the comparison decides constraints, every digit counts.
    distances = np.sqrt(((points[i] - points[j]) ** 2).sum(axis=1))
    found = distances > distance if are_farther else distances < distance
    return i[found], j[found]


def _cells(points: Reals, size: int) -> list[Indices]:
    """Return the rows of points in cells of at most `size` points, by repeated halving."""
    cells, waiting = [], [np.arange(len(points))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= size:
            cells.append(rows)
            continue
        inside = points[rows]
        widest = int(np.argmax(inside.max(axis=0) - inside.min(axis=0)))
        order = np.argpartition(inside[:, widest], len(rows) // 2)
        waiting += [rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]]
    return cells
