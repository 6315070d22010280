"""Geometries: conversion of rows to points whose squared Euclidean distances are minimised.

A sum of squares needs inner products only. For angles, rows are divided by their length. A matrix
of inner products (a kernel) or of squared distances is replaced by points with these distances. So
all methods work on points.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError

MATRICES = ("kernel", "squared-distances")
"""Metrics whose data are a matrix (n, n) of the rows with each other."""

# Error of coordinates as a share of the largest squared distance: far below any gap.
NEGLIGIBLE = 1e-12
# Errors allowed in a given matrix, as such a share: it may have been rounded.
TOLERANCE = 1e-9
# Maximum number of columns per row for which a sparse matrix becomes an array of the same shape.
MOST_COLUMNS = 2


def on_the_sphere(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points (n, d), of coordinates up to 1e100, divided by their lengths.

    Then || x - y ||^2 = 2 - 2 cos(x, y). Sums of squares are rounded once (`math.fsum`), so that
    points are the same, to the last bit, on every machine.

    Raises
    ------
    InstanceError
        For a row without a direction.
    """
    squares = np.square(points).tolist()
    lengths = np.sqrt([math.fsum(row) for row in squares])
    if not lengths.all():
        raise InstanceError(
            f"points: row {int(lengths.argmin())} is zero, and has no direction; expected rows "
            "that are not zero with metric = 'cosine'"
        )
    return np.asarray(points / lengths[:, None])


def points_of_matrix(matrix: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    """Return points (n, r) with the distances given by a matrix (n, n).

    Parameters
    ----------
    matrix : inner products <x_i, x_j>, or squared distances || x_i - x_j ||^2
    metric : "kernel" or "squared-distances"

    Raises
    ------
    InstanceError
        If the matrix is not square and symmetric, or no points have such distances. In the second
        case the message has the least eigenvalue of the centred inner products, which is negative.
    """
    squares = _squared_distances(matrix, metric)
    points, error = _coordinates(squares)
    if error > TOLERANCE * squares.max():
        least = _least_eigenvalue(squares)
        raise InstanceError(
            f"points: no points have these {_NAMES[metric]}: the least eigenvalue of the centred "
            f"matrix is {least:.3g}, and the largest squared distance {squares.max():.3g}; "
            "expected a positive semidefinite matrix (a larger diagonal makes it one)"
        )
    return points


_NAMES = {"kernel": "inner products", "squared-distances": "distances"}


def _squared_distances(matrix: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    """Return squared distances (n, n), exactly symmetric, as a new array."""
    n, d = matrix.shape
    expected = f"metric = {metric!r}: expected a symmetric matrix (n, n)"
    if n != d:
        raise InstanceError(f"{expected}, not a table ({n}, {d})")
    largest = float(np.abs(matrix).max())
    different = np.argwhere(np.abs(matrix - matrix.T) > TOLERANCE * largest)
    if len(different):
        i, j = different[0].tolist()
        raise InstanceError(
            f"{expected}; [{i}, {j}] is {matrix[i, j]:g}, and [{j}, {i}] is {matrix[j, i]:g}"
        )
    matrix = 0.5 * (matrix + matrix.T)
    if metric == "kernel":
        diagonal = matrix.diagonal()
        matrix = (diagonal[:, None] + diagonal) - 2.0 * matrix
    elif (wrong := np.flatnonzero(np.abs(matrix.diagonal()) > TOLERANCE * largest)).size:
        i = int(wrong[0])
        raise InstanceError(
            f"metric = {metric!r}: [{i}, {i}] is {matrix[i, i]:g}; expected a diagonal of zeros"
        )
    elif (matrix < -TOLERANCE * largest).any():
        i, j = np.argwhere(matrix < -TOLERANCE * largest)[0].tolist()
        raise InstanceError(
            f"metric = {metric!r}: [{i}, {j}] is {matrix[i, j]:g}; expected no negative entry"
        )
    np.fill_diagonal(matrix, 0.0)
    return np.asarray(matrix)


def _coordinates(squares: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return points (n, r), and the largest error of their inner products.

    Cholesky's method with the largest pivot first factorises the inner products around the first
    point, (D_i0 + D_0j - D_ij) / 2 for squared distances D. Each operation is rounded by itself, so
    that points are the same, to the last bit, on every machine.
    """
    left = 0.5 * ((squares[:, :1] + squares[:1]) - squares)
    n, smallest = len(left), NEGLIGIBLE * float(squares.max())
    order, factor, rank = np.arange(n), np.zeros((n, n)), 0
    product = np.empty((n, n))
    while rank < n:
        pivot = rank + int(left.diagonal()[rank:].argmax())
        if not left[pivot, pivot] > smallest:
            break
        for array in (left, left.T, factor, order):
            array[[rank, pivot]] = array[[pivot, rank]]
        column = left[rank:, rank] / math.sqrt(left[rank, rank])
        factor[rank:, rank] = column
        rank += 1
        size = n - rank
        np.multiply.outer(column[1:], column[1:], out=product[:size, :size])
        left[rank:, rank:] -= product[:size, :size]
    points = np.empty((n, max(rank, 1)))
    points[order] = factor[:, : max(rank, 1)]
    return points, float(np.abs(left[rank:, rank:]).max(initial=0.0))


def _least_eigenvalue(squares: NDArray[np.float64]) -> float:
    """Return the least eigenvalue of the inner products around the mean of the points."""
    means = squares.mean(axis=0)
    products = -0.5 * (squares - means - means[:, None] + means.mean())
    return float(np.linalg.eigvalsh(products)[0])


def is_sparse(values: Any) -> bool:
    """Return whether values are a sparse matrix of SciPy, without importing SciPy."""
    return hasattr(values, "toarray") and hasattr(values, "nnz")


def dense(points: Any) -> Any:
    """Return points of a sparse matrix (n, d) as an array, and anything else unchanged.

    A matrix with many more columns than rows becomes points in the space of its rows, with the same
    inner products.
    """
    if not is_sparse(points):
        return points
    n, d = points.shape
    if d <= MOST_COLUMNS * n:
        return points.toarray()
    rows = points.tocsr().astype(np.float64)
    products = (rows @ rows.T).toarray()
    # The origin, as one more row of zeros, preserves angles and lengths, not only distances.
    products = np.pad(products, (1, 0))
    return _coordinates(_squared_distances(products, "kernel"))[0][1:]
