"""Cells: groups of near points of one cluster, for the first prices, and those of their points."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sdpbb.runtime.time_left import TimeLeft, check_time

# Points between two looks at the time.
_ROWS = 50_000
# Cells near a point whose prices its own is made of.
_NEAR = 8


def cells_of(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    labels: NDArray[np.intp],
    most: int,
    time_left: TimeLeft,
) -> NDArray[np.intp]:
    """Return the cell (n,) of each point: clusters, cut across where they scatter most.

    The cell with the greatest scatter is cut at its mean, until there are `most`.
    """
    heap: list[tuple[float, int, NDArray[np.intp], NDArray[np.bool_]]] = []
    for label in np.unique(labels):
        heap.append(_cut(points, weights, np.flatnonzero(labels == label), len(heap)))
    heapq.heapify(heap)
    n_made = len(heap)
    while len(heap) < most and heap[0][0] < 0.0:
        check_time(time_left)
        _, _, rows, side = heapq.heappop(heap)
        for part in (rows[side], rows[~side]):
            heapq.heappush(heap, _cut(points, weights, part, n_made))
            n_made += 1
    cell = np.empty(len(points), np.intp)
    for number, (_, _, rows, _) in enumerate(heap):
        cell[rows] = number
    return cell


def _cut(
    points: NDArray[np.float64], weights: NDArray[np.float64], rows: NDArray[np.intp], number: int
) -> tuple[float, int, NDArray[np.intp], NDArray[np.bool_]]:
    """Return the scatter of points, negative, with their rows and the side that each would be on.

    It is 0 where they cannot be cut.
    """
    w = weights[rows]
    centred = points[rows] - w @ points[rows] / w.sum()
    scatter = (centred * w[:, None]).T @ centred
    side = centred @ np.linalg.eigh(scatter)[1][:, -1] > 0.0
    is_cut = side.any() and not side.all()
    return -float(np.trace(scatter)) if is_cut else 0.0, number, rows, side


def means_of(
    points: NDArray[np.float64], weights: NDArray[np.float64], group: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means (g, 3) and weights (g,) of groups of points."""
    total = np.bincount(group, weights).astype(np.float64)
    sums = np.column_stack([np.bincount(group, weights * column) for column in points.T])
    return sums / total[:, None], total


def spread(
    surplus: NDArray[np.float64],
    means: NDArray[np.float64],
    cluster: NDArray[np.intp],
    points: NDArray[np.float64],
    labels: NDArray[np.intp],
    time_left: TimeLeft,
) -> NDArray[np.float64]:
    """Return a surplus (n,) of each point from those of near cells of its cluster.

    surplus, means, cluster : of the cells
    """
    found = np.empty(len(points))
    for label in np.unique(labels):
        among, rows = np.flatnonzero(cluster == label), np.flatnonzero(labels == label)
        near, tree = min(_NEAR, len(among)), cKDTree(means[among])
        for first in range(0, len(rows), _ROWS):
            check_time(time_left)
            of = rows[first : first + _ROWS]
            distance, index = tree.query(points[of], near)
            distance, index = distance.reshape(-1, near), index.reshape(-1, near)
            floor = 1e-3 * float(np.median(distance)) ** 2 + np.finfo(np.float64).tiny
            squares = distance**2 + floor
            share = squares.min(axis=1)[:, None] / squares
            found[of] = (share * surplus[among][index]).sum(axis=1) / share.sum(axis=1)
    return found
