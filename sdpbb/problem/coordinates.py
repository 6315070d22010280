"""Coordinates, weights and distances of points and blocks, without loss of digits in components.

Sums of squares do not see translations, and where no cluster is across two components, each of
these may be moved by itself: no sum of squares that counts is another one then. What is given are
numbers, exactly; the difference of two is rounded relative to itself. So differences to a point of
the component come first, and all that is computed of them has errors relative to the distances
inside of it, however far it is from the origin and from other components.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]

# Pairs that a distance may stand for: 0.3 GiB. All pairs of 6,000 points, far beyond what can be
# solved to optimality.
MAX_PAIRS = 20_000_000
# Points of a cell whose distances to those of another cell are computed at once, and the numbers
# that this may take.
LARGEST_CELL, TILE = 256, 4_000_000
# Relative error that is allowed for where boxes or inner products stand for distances.
SLACK = 1e-9


def centred(
    points: Reals, component_of: Indices | None = None, weights: Reals | None = None
) -> Reals:
    """Return the points with each component around its own mean, (n, r).

    It is an isometric copy of each in r = min(n, d) coordinates. Exactly 0 where all points of a
    component coincide.

    component_of : (n,) numbers of components, or None for a single one
    weights : (n,) > 0 of the points, of which means are taken; None for 1 each

    Inner products of centred points lose the fewest digits, and no method pays for more coordinates
    than there are points.
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
    differences -= _mean(differences, weights)  # the second pass takes off what rounding left
    return differences


def central(points: Reals, weights: Reals | None = None) -> Reals:
    """Return one of the points (s, d), about the nearest to their mean, as (d,)."""
    differences = points - points[0]
    around = differences - _mean(differences, weights)
    return np.asarray(points[np.square(around).sum(axis=1).argmin()])


def sum_of_squares(points: Reals, weights: Reals | None = None) -> float:
    """Return the sum of squares of points (s, d) around their mean, weighted by weights (s,).

    It is 0 if, and only if, they coincide, and elsewhere with a relative error of a few units in
    the last place times the logarithm of s d.

    The mean is at most as far from its nearest point as from the others on average, so that the sum
    of the squared differences to that is at most twice this one.
    """
    differences = points - central(points, weights)
    deviations = differences - _mean(differences, weights)
    # The correction term takes off the rounding error of the mean (two-pass formula).
    if weights is None:
        correction = np.square(deviations.sum(axis=0)).sum() / len(points)
        return float(np.square(deviations).sum() - correction)
    of_each = weights[:, None]
    correction = np.square((of_each * deviations).sum(axis=0)).sum() / weights.sum()
    return max(0.0, float((of_each * np.square(deviations)).sum() - correction))


def offsets(points: Reals, block_of: Indices, weights: Reals | None = None) -> tuple[Reals, Reals]:
    """Return the differences (n, d) of points to the first of their block, and their means.

    The means are (m, d), with weights (n,) of the points or 1 each.
    """
    first = np.unique(block_of, return_index=True)[1]
    away = points - points[first[block_of]]
    totals = np.bincount(block_of, weights).astype(np.float64)
    return away, block_means(away, block_of, totals, weights)


def block_means(
    values: Reals, block_of: Indices, totals: Reals, weights: Reals | None = None
) -> Reals:
    """Return the means (m, r) over blocks of values (n, r).

    totals, weights : (m,) of the blocks, and (n,) of what is in them; None for 1 each
    """
    of_each = 1.0 if weights is None else weights[:, None]
    means = np.zeros((len(totals), values.shape[1]))
    np.add.at(means, block_of, of_each * values)
    means /= totals[:, None]
    # A second pass takes off the rounding of sums over large blocks.
    correction = np.zeros_like(means)
    np.add.at(correction, block_of, of_each * (values - means[block_of]))
    means += correction / totals[:, None]
    return means


def block_scatter(points: Reals, block_of: Indices, weights: Reals | None = None) -> Reals:
    """Return the sum of squares inside each block, (m,): 0 only where its points coincide.

    weights : (n,) of the points; None for 1 each
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
    """Return the whole number q for which the mean of 4^-q weights is in [1/2, 2)."""
    mean = math.fsum(weights.tolist()) / len(weights)
    # 2^(e - 1) <= mean < 2^e, and one of e and e - 1 is even.
    return math.frexp(mean)[1] // 2


def in_mean_units(points: Reals, weights: Reals) -> tuple[Reals, Reals]:
    """Return the points times 2^q, and the weights times 4^-q, whose mean is near 1.

    A sum of squares with weights w is the same for the points 2^q x with the weights 4^-q w. Both
    changes are exact, so that no method sees the scale of the weights, and all costs stay in the
    user's units.
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
    """Return block means with one more coordinate, by which components are far apart.

    The means are (m, r), the result (m, r + 1), and components are at least this distance apart in
    it: for methods that look at distances only.
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

    They are the cannot-links that a maximum cluster diameter amounts to. InstanceError, naming the
    constraint, if more than MAX_PAIRS.
    """
    return _pairs_where(points, distance, True, f"{constraint} {distance:g}", "cannot-links")


def pairs_closer_than(points: Reals, distance: float) -> Indices:
    """Return the pairs (i, j), i < j, with ||p_i - p_j|| < distance, sorted.

    They are the must-links that a minimum separation between clusters (DELTA) amounts to.
    InstanceError if more than MAX_PAIRS.
    """
    return _pairs_where(points, distance, False, f"DELTA {distance:g}", "must-links")


def _pairs_where(
    points: Reals, distance: float, are_farther: bool, constraint: str, pairs: str
) -> Indices:
    """Return the pairs that are farther than a distance, or those that are closer.

    Points are put into cells, and cells compared by their boxes: most pairs of cells are wholly on
    one side.
    """
    n, d = points.shape
    cells = _cells(points, max(1, min(LARGEST_CELL, int(math.sqrt(TILE / d)))))
    low = np.array([points[rows].min(axis=0) for rows in cells])
    high = np.array([points[rows].max(axis=0) for rows in cells])
    found, count = [], 0
    for number, rows in enumerate(cells):
        # The farthest and the nearest that points of two boxes may be.
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
    """Return the pairs of a point of one cell and a point of another, or of the same, each once."""
    own, theirs = points[rows] - points[rows[0]], points[others] - points[rows[0]]
    own_squares, their_squares = ((part**2).sum(axis=1) for part in (own, theirs))
    # Inner products are fast, and say which pairs are surely not meant.
    squares = own_squares[:, None] + their_squares - 2.0 * (own @ theirs.T)
    margin = SLACK * (own_squares.max() + their_squares.max())
    limit = distance * distance
    meant = squares > limit - margin if are_farther else squares < limit + margin
    if rows is others:
        meant = np.triu(meant, 1)
    a, b = np.nonzero(meant)
    i, j = rows[a], others[b]
    # Differences, not inner products: the comparison decides constraints, every digit counts.
    distances = np.sqrt(((points[i] - points[j]) ** 2).sum(axis=1))
    meant = distances > distance if are_farther else distances < distance
    return i[meant], j[meant]


def _cells(points: Reals, size: int) -> list[Indices]:
    """Return the rows of points in cells of at most so many near ones: halves of halves."""
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
