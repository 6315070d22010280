"""Effective dimension of the blocks, which decides whether pricing is worth its time.

Both numbers are (sum of s)^2 / sum of s^2 for the standard deviations s along principal axes: as
many as there are if they are all the same, and fewer if some hardly count. Far rows are pulled in:
one block at a hundred times the distance of the others would be the only deviation that counts,
though all other clusters have as many dimensions as without it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Rows are pulled in to this many times the median length. Of a normal cloud in two dimensions one
# of 500 is longer, in more dimensions hardly any. Ten blocks, which are nine dimensions, one of
# them a hundred times as far away as the others, count as 6.8 dimensions: as 5.8 with 4, as 3.0
# with 10, and as 1.1 if nothing is pulled in.
FAR = 3.0


def effective_dimension(means: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the dimension of all blocks about their mean, outliers pulled in towards the median.

    Parameters
    ----------
    means, weights : (m, d), (m,); rows are sqrt(e_i) (c_i - median)
    """
    if not len(means):
        return 0.0
    roots = np.sqrt(weights)
    rows = _pulled_in(roots[:, None] * (means - np.median(means, axis=0)))
    return _dimension(rows - roots[:, None] * (roots @ rows / weights.sum()))


def neighbour_dimension(
    means: NDArray[np.float64], weights: NDArray[np.float64], n_neighbours: int
) -> float:
    """Return the dimension of the differences between each block and its nearest ones.

    The nearest ones make up a cluster. Groups of clusters that are far apart do not change the
    dimension.

    Parameters
    ----------
    means, weights : (m, d), (m,); rows are (e_i e_j / (e_i + e_j))^1/2 (c_j - c_i), whose square is
        what it costs to have both in one cluster
    n_neighbours : of each block, >= 1
    """
    m = len(means)
    if m < 2 or means.shape[1] == 0:
        return 0.0
    from scipy.spatial import KDTree  # a tenth of a second, and not needed by every run

    nearest = KDTree(means).query(means, min(n_neighbours + 1, m))[1]
    i, j = np.repeat(np.arange(m), nearest.shape[1]), nearest.ravel()
    roots = np.sqrt(weights[i] * weights[j] / (weights[i] + weights[j]))
    return _dimension(_pulled_in(roots[:, None] * (means[j] - means[i])))


def _pulled_in(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows, none longer than FAR times the median length of those that are not 0."""
    longest = float(np.abs(rows).max(initial=0.0))
    if longest == 0.0:
        return rows
    rows = rows / longest
    lengths = np.sqrt((rows**2).sum(axis=1))
    cap = FAR * float(np.median(lengths[lengths > 0.0]))
    return np.asarray(rows * np.minimum(1.0, cap / np.maximum(lengths, cap))[:, None])


def _dimension(rows: NDArray[np.float64]) -> float:
    if rows.shape[1] > rows.shape[0]:
        rows = rows.T
    deviations = np.sqrt(np.maximum(np.linalg.eigvalsh(rows.T @ rows), 0.0))
    squares = float(deviations @ deviations)
    return float(deviations.sum() ** 2 / squares) if squares > 0.0 else 0.0
