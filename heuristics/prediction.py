"""Prediction: cheapest clusters of new points for given centres, with constraints among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from heuristics.assignment import AssignmentParameters, PairwiseAssignment
from heuristics.assignment.flow import sized_labels
from heuristics.assignment.potts import blocks_apart
from sdpbb.problem.graph import connected_components, distinct_edges
from sdpbb.problem.packing import assignment_rows, size_rows
from sdpbb.runtime.backends.milp import solve_binary_programme


def cheapest_clusters(
    points: NDArray[np.float64],
    centres: NDArray[np.float64],
    must_link: NDArray[np.intp],
    cannot_link: NDArray[np.intp],
    limits: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None,
) -> NDArray[np.intp] | None:
    """Return labels (n,) of points (n, d) for centres (k, d), None where no labels keep all.

    minimise    sum_i || p_i - c_{l(i)} ||^2
    subject to  l(i) = l(j) for must-links (p, 2), l(i) != l(j) for cannot-links (q, 2),
                least_c <= | { i : l(i) = c } | <= most_c for every c

    Clusters may be empty without a least size. Without limits by the assignment step of
    `heuristics.assignment`, with limits alone by a flow, with both by a binary programme.

    limits : the least (k,) and the most (k,) points of each cluster; None: no limits

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    of_points = cdist(points, centres, "sqeuclidean")
    n, k = of_points.shape
    block_of = connected_components(n, must_link)
    counts = np.bincount(block_of)
    apart, m = distinct_edges(block_of[cannot_link]), len(counts)
    if (apart[:, 0] == apart[:, 1]).any() or (limits and (limits[0] > limits[1]).any()):
        return None
    costs = np.zeros((m, k))
    np.add.at(costs, block_of, of_points)
    labels: NDArray[np.int64] | None
    if limits is None:
        exact = AssignmentParameters(max_rows=np.iinfo(np.int32).max)
        labels = PairwiseAssignment(blocks_apart(m, k, apart), exact)(costs, fill=False).labels
    elif m == n and not len(apart):
        labels = sized_labels(costs, limits[0], np.minimum(limits[1], n), np.zeros(k))
    else:
        rows = assignment_rows(blocks_apart(m, k, apart), [size_rows(counts, *limits)])
        found = solve_binary_programme(replace(rows, objective=costs.reshape(-1))).x
        labels = None if found is None else found.reshape(m, k).argmax(axis=1)
    return None if labels is None else labels[block_of].astype(np.intp)
