"""Measures of a clustering against a known one, or the points, as in the literature.

They are scikit-learn's, behind this package's checks; scikit-learn is imported when they are used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Partition
from sdpbb.problem.checks import checked_points

# The distances between all pairs of so many points take scikit-learn seconds.
SILHOUETTE_SAMPLE = 20_000


def adjusted_rand_index(truth: ArrayLike, labels: ArrayLike) -> float:
    """Return the share of pairs of points that two clusterings treat alike, adjusted for chance.

    It is 1 if they are the same up to names, about 0 if they are independent; it may be negative.

    Source: L. Hubert, P. Arabie, Comparing partitions, Journal of Classification 2 (1985).

    Parameters
    ----------
    truth, labels : (n,) integers, any numbering, n >= 1

    Raises
    ------
    InstanceError
        If they are no such arrays, or of different lengths.
    """
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*_checked(truth, labels)))


def normalised_mutual_information(truth: ArrayLike, labels: ArrayLike) -> float:
    """Return the mutual information of two clusterings over the mean of their entropies.

    The mean is the arithmetic one. The value is 1 if they are the same up to names, 0 if they are
    independent.

    Source: N. X. Vinh, J. Epps, J. Bailey, Information theoretic measures for clusterings
    comparison, Journal of Machine Learning Research 11 (2010).

    Parameters and errors are those of `adjusted_rand_index`.
    """
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(*_checked(truth, labels)))


def silhouette(
    points: ArrayLike, labels: ArrayLike, sample: int = SILHOUETTE_SAMPLE, seed: int = 0
) -> float | None:
    """Return the mean over the points of (b - a) / max(a, b).

    a is the mean distance to the other points of its cluster, b that to the points of the nearest
    other cluster; the value is between -1 and 1.

    Source: P. J. Rousseeuw, Silhouettes, Journal of Computational and Applied Mathematics 20
    (1987).

    Parameters
    ----------
    points : (n, d)
    labels : (n,) integers
    sample : with more points than this, >= 2, the mean is that of so many drawn at random
    seed : of the draw

    Returns
    -------
    None where it is not defined: (the sample has) a single cluster, or no cluster of two points.

    Raises
    ------
    InstanceError
        If points or labels are no such arrays, or there are not as many of them.
    ParameterError
        If sample is less than 2.
    """
    if sample < 2:
        raise ParameterError(f"sample = {sample!r}: expected an integer of at least 2")
    coordinates, clusters = checked_points(points), _labels(labels, "labels")
    if len(coordinates) != len(clusters):
        raise InstanceError(f"{len(clusters)} labels for {len(coordinates)} points")
    if len(clusters) > sample:
        drawn = np.random.default_rng(seed).choice(len(clusters), size=sample, replace=False)
        coordinates, clusters = coordinates[drawn], clusters[drawn]
    values = silhouettes(coordinates, clusters)
    return None if values is None else float(values.mean())


def silhouettes(points: ArrayLike, labels: ArrayLike) -> NDArray[np.float64] | None:
    """Return (b - a) / max(a, b) of each point, (n,); see `silhouette`.

    None where it is not defined. It takes all distances: for some thousand points.
    """
    from sklearn.metrics import silhouette_samples

    coordinates, clusters = checked_points(points), _labels(labels, "labels")
    if not 1 < len(np.unique(clusters)) < len(clusters):
        return None
    return np.asarray(silhouette_samples(coordinates, clusters))


def _checked(truth: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    first, second = _labels(truth, "truth"), _labels(labels, "labels")
    if len(first) != len(second):
        raise InstanceError(f"{len(second)} labels, but {len(first)} true ones")
    return first, second


def _labels(given: ArrayLike, argument: str) -> NDArray[np.intp]:
    try:
        labels = Partition(np.asarray(given)).labels
    except InstanceError as error:
        raise InstanceError(str(error).replace("labels", argument, 1)) from None
    if not len(labels):
        raise InstanceError(f"{argument}: expected at least one label")
    return labels


def costs_of_moves(
    points: NDArray[np.float64], labels: NDArray[np.intp], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return by how much the sum of squares rises, (n, k), if a point alone moves to a cluster.

    A point of weight w at a distance d from the mean of its cluster of weight W saves
    W w / (W - w) d^2, and costs V w / (V + w) e^2 at a distance e from that of another one of V.
    It is 0 for its own cluster, and inf for a point that is all of its cluster.

    points : (n, d)
    labels : (n,) clusters 0..k-1, none of them empty
    weights : (n,) > 0 of the points; None for 1 each
    """
    w = np.ones(len(points)) if weights is None else weights
    totals, everything = np.bincount(labels, w), np.arange(len(points))
    sums = np.zeros((len(totals), points.shape[1]))
    np.add.at(sums, labels, w[:, None] * points)
    squares = np.stack([((points - c) ** 2).sum(axis=1) for c in sums / totals[:, None]], axis=1)
    here, is_alone = totals[labels], np.bincount(labels)[labels] == 1
    with np.errstate(divide="ignore", invalid="ignore"):
        saved = here * w / (here - w) * squares[everything, labels]
    costs = totals * w[:, None] / (totals + w[:, None]) * squares - saved[:, None]
    costs[is_alone] = np.inf
    costs[everything, labels] = 0.0
    return np.asarray(costs)
