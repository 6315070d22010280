"""The most that blocks of one cluster save in another, which bounds what swaps save.

Beside means that stay where they are, block j of cluster c, of weight f, saves
f (D_jc - D_jd) + P_jc - P_jd in cluster d, D its squared distances to the means and P the sums of
the weights of its soft pairs with the blocks of the clusters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit


class Shifts(NamedTuple):
    """Bounds on what the blocks of each cluster are.

    most : (k, k) the most that a block of c saves in d
    reach : (k, k) the greatest weight times distance of a block of c to the mean of d
    lightest, heaviest : (k,) least and greatest weight of a block
    """

    most: NDArray[np.float64]
    reach: NDArray[np.float64]
    lightest: NDArray[np.float64]
    heaviest: NDArray[np.float64]


@njit(cache=True, nogil=True)
def empty_shifts(k: int) -> Shifts:
    """Return the bounds of k clusters without blocks."""
    return Shifts(np.full((k, k), -np.inf), np.zeros((k, k)), np.full(k, np.inf), np.zeros(k))


@njit(cache=True, nogil=True)
def find_all_shifts(
    weights: Reals, labels: Integers, distances: Reals, prices: Reals, shifts: Shifts
) -> None:
    """Write the bounds of clusters without blocks until now.

    Parameters
    ----------
    weights, labels : (m,) of the blocks
    distances : (m, k) squared, to the means of the clusters
    prices : (m, k) sums of the weights of soft pairs with the blocks of the clusters
    """
    k = len(shifts.most)
    for j in range(len(labels)):
        _weigh(weights, labels, shifts, j)
        for d in range(k):
            _raise_to(weights, labels, distances, prices, shifts, j, d)


@njit(cache=True, nogil=True)
def renew_shifts(
    weights: Reals,
    labels: Integers,
    distances: Reals,
    prices: Reals,
    a: int,
    b: int,
    shifts: Shifts,
) -> None:
    """Write the bounds anew after clusters a and b have exchanged blocks; as `find_all_shifts`."""
    k = len(shifts.most)
    for c in (a, b):
        shifts.most[c, :] = shifts.most[:, c] = -np.inf
        shifts.reach[c, :] = shifts.reach[:, c] = 0.0
        shifts.lightest[c], shifts.heaviest[c] = np.inf, 0.0
    for j in range(len(labels)):
        if labels[j] == a or labels[j] == b:
            _weigh(weights, labels, shifts, j)
            for d in range(k):
                _raise_to(weights, labels, distances, prices, shifts, j, d)
        else:
            _raise_to(weights, labels, distances, prices, shifts, j, a)
            _raise_to(weights, labels, distances, prices, shifts, j, b)


@njit(cache=True, nogil=True)
def _weigh(weights: Reals, labels: Integers, shifts: Shifts, j: int) -> None:
    c = labels[j]
    shifts.lightest[c] = min(shifts.lightest[c], weights[j])
    shifts.heaviest[c] = max(shifts.heaviest[c], weights[j])


@njit(cache=True, nogil=True)
def _raise_to(
    weights: Reals,
    labels: Integers,
    distances: Reals,
    prices: Reals,
    shifts: Shifts,
    j: int,
    d: int,
) -> None:
    """Raise the bounds of the cluster of block j beside cluster d to what the block is."""
    c, f = labels[j], weights[j]
    saved = f * (distances[j, c] - distances[j, d]) + prices[j, c] - prices[j, d]
    shifts.most[c, d] = max(shifts.most[c, d], saved)
    shifts.reach[c, d] = max(shifts.reach[c, d], f * np.sqrt(distances[j, d]))
