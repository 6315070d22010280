"""Initial centres, and the two steps of k-means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sdpbb.arrays import Integers, Reals
from sdpbb.jit import njit
from sdpbb.problem import Contraction
from sdpbb.problem.graph import by_first_occurrence
from sdpbb.time_left import OutOfTime, TimeLeft, check_time, chunks, no_limit

# scikit-learn's k-means++ and KMeans take about 2 and 3.5 ms for each call at these sizes, for the
# checks around them: more than the rest of a start together. The loops here take 0.1 to 0.2 ms.
LLOYD_ITERATIONS = 100
# Of the pivots of a projector, which are between 0 and 1.
NEGLIGIBLE = 1e-3
# Up to so many blocks LAPACK takes 0.2 s for the leading eigenvectors of an affinity.
DENSE = 1_000
# From here on, descents from k-means++ centres of all blocks take seconds.
LARGE_BLOCKS = 10_000
# Draws of a coreset: so many, and so many for each cluster.
DRAWS, DRAWS_PER_CLUSTER = 2_000, 100
# Seeding is greedy where one distance from each row to each seed takes no more steps than this,
# about a second; elsewhere the first row drawn is taken.
FEW_STEPS = 1_000_000_000


def kmeans_plus_plus(
    contraction: Contraction, rng: np.random.Generator, time_left: TimeLeft = no_limit
) -> NDArray[np.float64]:
    """Return centres (k, r) among the block means, by k-means++ with the block sizes as weights.

    Raises
    ------
    OutOfTime
        If no time is left on the way. The same holds for the others that are told the time.
    """
    return _seed(contraction.means, contraction.sizes, contraction.k, rng, time_left)


def is_large(contraction: Contraction) -> bool:
    """Return whether there are many blocks, far more than those of a coreset."""
    return contraction.n_blocks >= max(LARGE_BLOCKS, 2 * _n_draws(contraction.k))


def _n_draws(k: int) -> int:
    return DRAWS + DRAWS_PER_CLUSTER * k


def coreset(contraction: Contraction, rng: np.random.Generator) -> Contraction:
    """Return a few blocks, without their cannot-links, on which centres cost about the same.

    D times a block is drawn, with probabilities q_i: half by its points and half by its part of the
    total sum of squares, so that small groups far out are not missed. Each time it counts as
    e_i / (D q_i) points, so that the expected cost of any centres is that on all blocks, less their
    scatter.

    Source: O. Bachem, M. Lucic, A. Krause, Scalable k-means clustering via lightweight coresets,
    KDD (2018).
    """
    sizes, n_draws = contraction.sizes, _n_draws(contraction.k)
    spread = sizes * (contraction.means**2).sum(axis=1)
    likely = sizes / sizes.sum()
    if spread.any():
        likely = (likely + spread / spread.sum()) / 2.0
    drawn = rng.choice(len(sizes), n_draws, p=likely / likely.sum())
    blocks, times = np.unique(drawn, return_counts=True)
    weights = times * sizes[blocks] / (n_draws * likely[blocks])
    return Contraction(
        contraction.k,
        np.arange(len(blocks)),
        weights,
        contraction.means[blocks],
        np.zeros(len(blocks)),
        np.empty((0, 2), np.intp),
    )


def from_affinity(
    contraction: Contraction,
    rows: NDArray[np.float64],
    rng: np.random.Generator,
    time_left: TimeLeft = no_limit,
) -> NDArray[np.float64]:
    """Return centres (k, r) by k-means on block means that an affinity has smoothed.

    It begins with k-means++ seeds. An affinity has moved the means towards their clusters: they are
    the rows (m, r) of `smoothed_means` or `truncated_means`.
    """
    centres = _seed(rows, contraction.sizes, contraction.k, rng, time_left)
    _lloyd(rows, contraction.sizes, centres, time_left)
    return centres


def from_pivots(
    contraction: Contraction,
    rows: NDArray[np.float64],
    affinity: NDArray[np.float64],
    time_left: TimeLeft = no_limit,
) -> NDArray[np.float64]:
    """Return centres (k, r) by k-means from k blocks that the affinity sets apart.

    k-means is run on the rows (m, r) of `smoothed_means`. The blocks are the pivots of the Cholesky
    factorisation of diag(e)^(1/2) Z diag(e)^(1/2). For the Z of a clustering these are one block of
    each cluster, so that the clustering itself is what comes of it: drawn seeds miss one of many
    clusters most of the time.
    """
    root = np.sqrt(contraction.sizes)
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
    centres = rows[chosen]
    _lloyd(rows, contraction.sizes, centres, time_left)
    return centres


def nearest_labels(
    rows: NDArray[np.float64], centres: NDArray[np.float64], time_left: TimeLeft = no_limit
) -> NDArray[np.int64]:
    """Return the centre nearest to each of the rows (m, r), the first of those equally near.

    Raises
    ------
    OutOfTime
        If no time is left on the way.
    """
    rows, columns = np.ascontiguousarray(rows), np.ascontiguousarray(centres.T)
    labels = np.empty(len(rows), np.int64)
    for first, last in chunks(len(rows), centres.size, time_left):
        _nearest(rows[first:last], columns, labels[first:last])
    return labels


def cluster_sums(
    labels: NDArray[np.integer], weights: NDArray[np.float64], rows: NDArray[np.float64], k: int
) -> NDArray[np.float64]:
    """Return the sum of weight times row (m, r) over each cluster of labels (m,), (k, r)."""
    sums = np.zeros((k, rows.shape[1]))
    _add(labels, weights, rows, sums)
    return sums


def cluster_means(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the mean of each cluster, (k, r); none may be empty."""
    sums = cluster_sums(labels, contraction.sizes, contraction.means, contraction.k)
    weights = np.bincount(labels, weights=contraction.sizes, minlength=contraction.k)
    return sums / weights[:, None]


@dataclass(frozen=True, eq=False)
class KMeansLabels:
    """Labels (m,) that k-means ends with.

    has_converged : whether the last assignment gave a clustering that had been met before
    n_iterations : assignment steps
    """

    labels: NDArray[np.intp]
    has_converged: bool
    n_iterations: int


def alternate_kmeans(
    contraction: Contraction,
    assign: Callable[[NDArray[np.float64]], NDArray[np.intp]],
    centres: NDArray[np.float64],
    max_iterations: int,
    labels: NDArray[np.intp] | None = None,
    time_left: TimeLeft = no_limit,
    is_enough: Callable[[NDArray[np.intp]], bool] | None = None,
) -> KMeansLabels:
    """Alternate assignments and means until a clustering comes back.

    Return the last one, or, where several assignments are equally cheap, an earlier one.

    Parameters
    ----------
    assign : labels (m,) for centres, none of the k clusters empty
    centres : (k, r)
    max_iterations : assignment steps, >= 1
    labels : those that the centres are the means of, if there are any; the result where no time is
        left for others
    is_enough : asked with the labels of each step, if given: true for the last ones

    Raises
    ------
    OutOfTime
        If no time is left before there are labels.
    """
    has_converged, n_iterations = False, 0
    met = set() if labels is None else {digest(by_first_occurrence(labels))}
    while n_iterations < max_iterations:
        try:
            updated = assign(centres)
        except OutOfTime:
            if labels is None:
                raise
            break
        labels = updated
        n_iterations += 1
        clustering = digest(by_first_occurrence(labels))
        has_converged = clustering in met
        met.add(clustering)
        is_last = has_converged or (is_enough is not None and is_enough(labels))
        if is_last or time_left() <= 0.0:
            break
        centres = cluster_means(contraction, labels)
    assert labels is not None  # max_iterations >= 1
    return KMeansLabels(labels, has_converged, n_iterations)


def digest(labels: NDArray[np.intp]) -> bytes:
    """Return 16 bytes that stand for labels (m,): those of many steps are remembered."""
    return blake2b(np.ascontiguousarray(labels).data, digest_size=16).digest()


def smoothed_means(contraction: Contraction, affinity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Z diag(e) C, (m, r): for the Z of a clustering, each row is the mean of its cluster.

    Parameters
    ----------
    affinity : (m, m) Z, symmetric, about 1/N_c for two blocks of a cluster of N_c points and 0
        otherwise, so that Z e = 1
    """
    return affinity @ (contraction.sizes[:, None] * contraction.means)


def truncated_means(
    contraction: Contraction, affinity: NDArray[np.float64], time_left: TimeLeft = no_limit
) -> NDArray[np.float64]:
    """Return the rows (m, r) that `smoothed_means` gives for the best rank-k approximation of Z.

    Z is approximated as the matrix of all points (two points are as affine as their blocks): its
    nonzero spectrum is that of diag(e)^(1/2) Z diag(e)^(1/2).

    Source: PC-SOS-SDP, Algorithm 2.
    """
    m, k = contraction.n_blocks, contraction.k
    root = np.sqrt(contraction.sizes)
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

    They are from the Lanczos method of ARPACK: to three digits, as far as it comes.
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


def _seed(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64],
    k: int,
    rng: np.random.Generator,
    time_left: TimeLeft,
) -> NDArray[np.float64]:
    """Return seeds of greedy k-means++ (D. Arthur, S. Vassilvitskii, 2007).

    Of a few rows drawn with probability proportional to weight times squared distance, the one is
    taken that leaves the least cost.
    """
    trials = 2 + int(np.log(k)) if k * rows.size <= FEW_STEPS else 1
    draws = rng.random((k, trials))
    rows = np.ascontiguousarray(rows)
    chosen, nearest = np.empty(k, np.int64), np.full(len(rows), np.inf)
    for first, last in chunks(k, trials * rows.size, time_left):
        _plus_plus(rows, weights, draws, chosen, nearest, first, last)
    return rows[chosen]


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
    """Choose the rows from number `first` to before number `last`.

    nearest (m,) are the squared distances to those chosen before.
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
        for i in range(m):
            nearest[i] = kept[i]


def _lloyd(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64],
    centres: NDArray[np.float64],
    time_left: TimeLeft,
) -> None:
    """Run weighted k-means in place; an empty cluster keeps its centre."""
    k = len(centres)
    labels = np.full(len(rows), -1, np.int64)
    for _ in range(LLOYD_ITERATIONS):
        updated = nearest_labels(rows, centres, time_left)
        if np.array_equal(updated, labels):
            return
        labels = updated
        weight = np.bincount(labels, weights=weights, minlength=k)
        sums = cluster_sums(labels, weights, rows, k)
        filled = weight > 0
        centres[filled] = sums[filled] / weight[filled, None]
        check_time(time_left)


@njit(cache=True, nogil=True)
def _nearest(rows: Reals, columns: Reals, labels: Integers) -> None:
    """Write the nearest of the centres, whose coordinates are columns (r, k), for each row.

    The distances of a row to all centres are summed side by side, in vectors.
    """
    m, r = rows.shape
    k = columns.shape[1]
    distances = np.empty(k)
    for i in range(m):
        distances[:] = 0.0
        for t in range(r):
            for c in range(k):
                distances[c] += (rows[i, t] - columns[t, c]) ** 2
        nearest = 0
        for c in range(1, k):
            if distances[c] < distances[nearest]:
                nearest = c
        labels[i] = nearest


@njit(cache=True, nogil=True)
def _add(labels: NDArray[np.integer], weights: Reals, rows: Reals, sums: Reals) -> None:
    for i in range(len(labels)):
        for t in range(rows.shape[1]):
            sums[labels[i], t] += weights[i] * rows[i, t]
