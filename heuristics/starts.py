"""Initial centres for IPC-k-means."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import eigh

from sdpbb.problem import Contraction

# scikit-learn's k-means++ and KMeans take about 2 and 3.5 ms for each call at these sizes, for the
# checks around them: more than the rest of a start together. The kernels below take 0.1 ms.
LLOYD_ITERATIONS = 100
# Of the pivots of a projector, which are between 0 and 1.
NEGLIGIBLE = 1e-3


def kmeans_plus_plus(contraction: Contraction, rng: np.random.Generator) -> NDArray[np.float64]:
    """Centres (k, r) among the block means, by k-means++ with the block sizes as weights."""
    return _seed(contraction.means, contraction.sizes, contraction.k, rng)


def from_affinity(
    contraction: Contraction,
    rows: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Centres (k, r) by k-means, from k-means++ seeds, on block means that an affinity has moved
    towards their clusters: the rows (m, r) of `smoothed_means` or `truncated_means`."""
    centres = _seed(rows, contraction.sizes, contraction.k, rng)
    _lloyd(np.ascontiguousarray(rows), contraction.sizes, centres, LLOYD_ITERATIONS)
    return centres


def from_pivots(
    contraction: Contraction, rows: NDArray[np.float64], affinity: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Centres (k, r) by k-means on the rows (m, r) of `smoothed_means`, from those of k blocks that
    the affinity sets apart: the pivots of the Cholesky factorisation of diag(e)^(1/2) Z
    diag(e)^(1/2). For the Z of a clustering these are one block of each cluster, so that the
    clustering itself is what comes of it: drawn seeds miss one of many clusters most of the time.
    """
    root = np.sqrt(contraction.sizes)
    residual = root[:, None] * affinity * root
    left = np.diag(residual).copy()
    chosen = []
    for _ in range(contraction.k):
        pivot = int(np.argmax(left))
        chosen.append(pivot)
        row = residual[pivot] / np.sqrt(max(left[pivot], NEGLIGIBLE))
        residual -= np.outer(row, row)
        left = np.minimum(left, np.diag(residual))
        left[chosen] = -np.inf
    centres = rows[chosen]
    _lloyd(np.ascontiguousarray(rows), contraction.sizes, centres, LLOYD_ITERATIONS)
    return centres


def smoothed_means(contraction: Contraction, affinity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Z diag(e) C, (m, r): for the Z of a clustering, each row is the mean of its cluster.

    Parameters
    ----------
    affinity : (m, m) Z, symmetric, about 1/N_c for two blocks of a cluster of N_c points and 0
        otherwise, so that Z e = 1
    """
    return affinity @ (contraction.sizes[:, None] * contraction.means)


def truncated_means(contraction: Contraction, affinity: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows (m, r) that `smoothed_means` gives for the best rank-k approximation of Z.

    Z is approximated as the matrix of all points (two points are as affine as their blocks): its
    nonzero spectrum is that of diag(e)^(1/2) Z diag(e)^(1/2).

    Source: PC-SOS-SDP, Algorithm 2.
    """
    m, k = contraction.n_blocks, contraction.k
    root = np.sqrt(contraction.sizes)
    symmetric = root[:, None] * affinity * root
    values, vectors = eigh((symmetric + symmetric.T) / 2, subset_by_index=[m - k, m - 1])
    coordinates = vectors.T @ (root[:, None] * contraction.means)
    return (vectors @ (values[:, None] * coordinates)) / root[:, None]


def _seed(
    rows: NDArray[np.float64], weights: NDArray[np.float64], k: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    trials = 2 + int(np.log(k))
    chosen = _plus_plus(np.ascontiguousarray(rows), weights, rng.random((k, trials)))
    return rows[chosen]


@njit(cache=True)
def _plus_plus(rows, weights, draws):
    """Greedy k-means++ (D. Arthur, S. Vassilvitskii, 2007): of a few rows drawn with probability
    proportional to weight times squared distance, take the one that leaves the least cost."""
    k, trials = draws.shape
    m, r = rows.shape
    chosen = np.empty(k, np.int64)
    nearest = np.full(m, np.inf)
    candidate = np.empty(m)
    kept = np.empty(m)
    cumulative = np.empty(m)
    for c in range(k):
        running = 0.0
        for i in range(m):
            running += weights[i] if c == 0 else weights[i] * nearest[i]
            cumulative[i] = running
        least = np.inf
        for trial in range(1 if c == 0 else trials):
            # With fewer than k different rows nothing is left to draw from: any row serves.
            drawn = 0
            while drawn < m - 1 and cumulative[drawn] <= draws[c, trial] * running:
                drawn += 1
            cost = 0.0
            for i in range(m):
                distance = 0.0
                for t in range(r):
                    distance += (rows[i, t] - rows[drawn, t]) ** 2
                candidate[i] = min(nearest[i], distance)
                cost += weights[i] * candidate[i]
            if cost < least:
                least = cost
                chosen[c] = drawn
                kept, candidate = candidate, kept
        nearest, kept = kept, nearest
    return chosen


@njit(cache=True)
def _lloyd(rows, weights, centres, max_iterations):
    """Weighted k-means in place; an empty cluster keeps its centre."""
    m, r = rows.shape
    k = len(centres)
    labels = np.full(m, -1, np.int64)
    for _ in range(max_iterations):
        changed = False
        for i in range(m):
            nearest, least = 0, np.inf
            for c in range(k):
                distance = 0.0
                for t in range(r):
                    distance += (rows[i, t] - centres[c, t]) ** 2
                if distance < least:
                    nearest, least = c, distance
            if labels[i] != nearest:
                labels[i] = nearest
                changed = True
        if not changed:
            return
        weight = np.zeros(k)
        total = np.zeros((k, r))
        for i in range(m):
            weight[labels[i]] += weights[i]
            for t in range(r):
                total[labels[i], t] += weights[i] * rows[i, t]
        for c in range(k):
            if weight[c] > 0:
                for t in range(r):
                    centres[c, t] = total[c, t] / weight[c]
