"""Initial centres: k-means++, from the affinity of a relaxation, from a clustering; coresets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from heuristics.alternating import cluster_means, kmeans
from sdpbb.problem import Contraction
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import TimeLeft, check_time, chunks, no_limit

# The loops here take 0.1 to 0.2 ms. scikit-learn's k-means++ and KMeans take about 2 and 3.5 ms for
# each call at these sizes, as they check much: longer than the rest of a start.
LLOYD_ITERATIONS = 100
# Least pivot of a projector, whose pivots are between 0 and 1.
NEGLIGIBLE = 1e-3
# Up to this number of blocks LAPACK takes 0.2 s for the leading eigenvectors of an affinity.
DENSE = 1_000
# Seeding is greedy if one distance from each row to each seed takes at most this number of steps,
# about a second; otherwise the first row drawn is taken.
FEW_STEPS = 1_000_000_000


def kmeans_plus_plus(
    contraction: Contraction, rng: np.random.Generator, time_left: TimeLeft = no_limit
) -> NDArray[np.float64]:
    """Return centres (k, r) among the block means, by greedy k-means++ with the weights of blocks.

    Draw a few means with probability proportional to weight times squared distance, and choose the
    one with the least cost (D. Arthur, S. Vassilvitskii, 2007).

    Raises
    ------
    OutOfTime
        If the time is over before the end; so do the other functions with `time_left`.
    """
    k, rows = contraction.k, np.ascontiguousarray(contraction.means)
    trials = 2 + int(np.log(k)) if k * rows.size <= FEW_STEPS else 1
    draws = rng.random((k, trials))
    chosen, nearest = np.empty(k, np.int64), np.full(len(rows), np.inf)
    for first, last in chunks(k, trials * rows.size, time_left):
        _plus_plus(rows, contraction.weights, draws, chosen, nearest, first, last)
    return rows[chosen]


def initial_centres(
    contraction: Contraction,
    n_starts: int,
    rng: np.random.Generator,
    affinity: NDArray[np.float64] | None,
    time_left: TimeLeft = no_limit,
) -> Iterator[NDArray[np.float64]]:
    """Yield sets of centres (k, r), n_starts of them.

    affinity : as for `smoothed_means`. k-means gives the centres: on its truncation, on itself from
        pivot blocks, and on itself from k-means++ seeds. None: k-means++
    """
    if affinity is None:
        for _ in range(n_starts):
            yield kmeans_plus_plus(contraction, rng, time_left)
        return
    rows = truncated_means(contraction, affinity, time_left)
    yield from_affinity(contraction, rows, rng, time_left)
    if n_starts == 1:
        return
    rows = smoothed_means(contraction, affinity)
    yield from_pivots(contraction, rows, affinity, time_left)
    for _ in range(n_starts - 2):
        yield from_affinity(contraction, rows, rng, time_left)


def from_affinity(
    contraction: Contraction,
    rows: NDArray[np.float64],
    rng: np.random.Generator,
    time_left: TimeLeft = no_limit,
) -> NDArray[np.float64]:
    """Return centres (k, r) by k-means, from k-means++ seeds, on block means that Z has smoothed.

    rows : (m, r) of `smoothed_means` or `truncated_means`: means moved towards their clusters
    """
    blocks = replace(contraction, means=rows)
    return _lloyd(blocks, kmeans_plus_plus(blocks, rng, time_left), time_left)


def from_pivots(
    contraction: Contraction,
    rows: NDArray[np.float64],
    affinity: NDArray[np.float64],
    time_left: TimeLeft = no_limit,
) -> NDArray[np.float64]:
    """Return centres (k, r) by k-means on the rows of `smoothed_means`, from k pivot blocks.

    The blocks are the pivots of the Cholesky factorisation of diag(e)^(1/2) Z diag(e)^(1/2). For
    the Z of a clustering these are one block of each cluster, so that k-means returns the
    clustering itself. Seeds drawn at random mostly miss one of many clusters.
    """
    root = np.sqrt(contraction.weights)
    residual = root[:, None] * affinity * root
    ahead = np.diag(residual).copy()
    chosen = []
    for _ in range(contraction.k):
        check_time(time_left)
        pivot = int(np.argmax(ahead))
        chosen.append(pivot)
        row = residual[pivot] / np.sqrt(max(ahead[pivot], NEGLIGIBLE))
        residual -= np.outer(row, row)
        ahead = np.minimum(ahead, np.diag(residual))
        ahead[chosen] = -np.inf
    return _lloyd(replace(contraction, means=rows), rows[chosen], time_left)


def with_one_elsewhere(
    contraction: Contraction, centres: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return centres (k, r), with a random one of them moved to a random block.

    k-means from there merges one cluster into its neighbours and splits another.

    Source: P. Fränti, J. Kivijärvi, Randomised local search algorithm for the clustering problem,
    Pattern Analysis and Applications 3 (2000).
    """
    centres = centres.copy()
    centres[rng.integers(contraction.k)] = contraction.means[rng.integers(contraction.n_blocks)]
    return centres


def smoothed_means(contraction: Contraction, affinity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Z diag(e) C, (m, r): for the Z of a clustering, each row is the mean of its cluster.

    Parameters
    ----------
    affinity : (m, m) Z, symmetric, about 1/N_c for two blocks of a cluster of N_c points and 0
        otherwise, so that Z e = 1
    """
    return affinity @ (contraction.weights[:, None] * contraction.means)


def truncated_means(
    contraction: Contraction, affinity: NDArray[np.float64], time_left: TimeLeft = no_limit
) -> NDArray[np.float64]:
    """Return the rows (m, r) that `smoothed_means` gives for the best rank-k approximation of Z.

    Z is approximated as a matrix over all points, where two points are as affine as their blocks.
    It has the nonzero spectrum of diag(e)^(1/2) Z diag(e)^(1/2).

    Source: PC-SOS-SDP, Algorithm 2.
    """
    m, k = contraction.n_blocks, contraction.k
    root = np.sqrt(contraction.weights)
    symmetric = root[:, None] * affinity * root
    if m <= DENSE or k >= m // 2:
        values, vectors = eigh((symmetric + symmetric.T) / 2, subset_by_index=[m - k, m - 1])
    else:
        values, vectors = _largest_eigenpairs(symmetric, k, time_left)
    coordinates = vectors.T @ (root[:, None] * contraction.means)
    rows: NDArray[np.float64] = (vectors @ (values[:, None] * coordinates)) / root[:, None]
    return rows


def _largest_eigenpairs(
    matrix: NDArray[np.float64], k: int, time_left: TimeLeft
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the k largest eigenvalues (k,) of the symmetric part, with eigenvectors (m, k).

    The Lanczos method of ARPACK computes them to three digits, if it converges.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    def product(x: NDArray[np.float64]) -> NDArray[np.float64]:
        check_time(time_left)
        return 0.5 * (matrix @ x + matrix.T @ x)

    m = len(matrix)
    operator = LinearOperator((m, m), matvec=product, dtype=np.float64)
    try:
        values, vectors = eigsh(operator, k, which="LA", v0=np.ones(m), tol=1e-3, maxiter=20)
    except ArpackNoConvergence as failure:
        values, vectors = failure.eigenvalues, failure.eigenvectors
    return values, vectors


@njit(cache=True, nogil=True)
def _plus_plus(
    rows: Reals,
    weights: Reals,
    draws: Reals,
    chosen: Integers,
    nearest: Reals,
    first: int,
    last: int,
) -> None:
    """Choose the seeds `first` to `last` - 1.

    nearest : (m,) squared distances to the seeds chosen before
    """
    trials = draws.shape[1]
    m, r = rows.shape
    candidate = np.empty(m)
    kept = np.empty(m)
    cumulative = np.empty(m)
    for c in range(first, last):
        running = 0.0
        for i in range(m):
            running += weights[i] if c == 0 else weights[i] * nearest[i]
            cumulative[i] = running
        least = np.inf
        for trial in range(1 if c == 0 else trials):
            # With fewer than k different rows all distances become 0: any row serves.
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
        for i in range(m):
            nearest[i] = kept[i]


def _lloyd(
    contraction: Contraction, centres: NDArray[np.float64], time_left: TimeLeft
) -> NDArray[np.float64]:
    """Return the centres (k, r) at the end of k-means from given ones."""
    found = kmeans(contraction, centres, LLOYD_ITERATIONS, time_left)
    return cluster_means(contraction, found.found)


# From this number of blocks on, descents from k-means++ centres of all blocks take seconds.
LARGE_BLOCKS = 10_000
# Draws of a coreset, and additional ones for each cluster.
CORESET_DRAWS, DRAWS_PER_CLUSTER = 2_000, 100


def is_large(contraction: Contraction) -> bool:
    """Return whether there are many blocks, far more than in a coreset, and no limits.

    Limits have no meaning in a coreset, whose blocks have other sizes.
    """
    if contraction.has_limits:
        return False
    return contraction.n_blocks >= max(LARGE_BLOCKS, 2 * _n_draws(contraction.k))


def _n_draws(k: int) -> int:
    return CORESET_DRAWS + DRAWS_PER_CLUSTER * k


def coreset(contraction: Contraction, rng: np.random.Generator) -> Contraction:
    """Return a few blocks, without their cannot-links, on which centres cost about the same.

    D blocks are drawn with probabilities q_i: half by points and half by the share of the total sum
    of squares, so that small groups far out are not missed. A draw of block i counts as
    e_i / (D q_i) points. Then the expected cost of any centres equals their cost on all blocks,
    without the scatter inside blocks.

    Source: O. Bachem, M. Lucic, A. Krause, Scalable k-means clustering via lightweight coresets,
    KDD (2018).
    """
    weights, n_draws = contraction.weights, _n_draws(contraction.k)
    spread = weights * (contraction.means**2).sum(axis=1)
    likely = weights / weights.sum()
    if spread.any():
        likely = (likely + spread / spread.sum()) / 2.0
    drawn = rng.choice(len(weights), n_draws, p=likely / likely.sum())
    blocks, times = np.unique(drawn, return_counts=True)
    scaled = times * weights[blocks] / (n_draws * likely[blocks])
    return Contraction(
        contraction.k,
        np.arange(len(blocks)),
        scaled,
        contraction.means[blocks],
        np.zeros(len(blocks)),
        np.empty((0, 2), np.intp),
    )
