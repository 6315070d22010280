"""Measures of a clustering against a known one, or the points, as in the literature.

scikit-learn computes them, after checks of the arguments. It is imported on first use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Partition
from sdpbb.problem.checks import checked_points

# For this number of points scikit-learn computes all distances in seconds.
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
        If an argument is not such an array, or the lengths differ.
    """
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*_checked(truth, labels)))


def normalised_mutual_information(truth: ArrayLike, labels: ArrayLike) -> float:
    """Return the mutual information of two clusterings over the mean of their entropies.

    The arithmetic mean is used. The value is 1 if the clusterings are the same up to names, 0 if
    they are independent.

    Source: N. X. Vinh, J. Epps, J. Bailey, Information theoretic measures for clusterings
    comparison, Journal of Machine Learning Research 11 (2010).

    Parameters and errors are as for `adjusted_rand_index`.
    """
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(*_checked(truth, labels)))


def silhouette(
    points: ArrayLike, labels: ArrayLike, sample: int = SILHOUETTE_SAMPLE, seed: int = 0
) -> float | None:
    """Return the mean over the points of (b - a) / max(a, b).

    a is the mean distance to the other points of its cluster, b the mean distance to the points of
    the nearest other cluster. The value is between -1 and 1.

    Source: P. J. Rousseeuw, Silhouettes, Journal of Computational and Applied Mathematics 20
    (1987).

    Parameters
    ----------
    points : (n, d)
    labels : (n,) integers
    sample : maximum number of points, >= 2; of more points, this number is drawn at random
    seed : of the draw

    Returns
    -------
    None if it is not defined: (the sample has) a single cluster, or no cluster of two points.

    Raises
    ------
    InstanceError
        If points or labels are not such arrays, or their numbers differ.
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

    None if it is not defined. All distances are computed: for at most some thousand points.
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
