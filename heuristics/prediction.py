"""Prediction: cheapest clusters of new points for given centres, with constraints among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from heuristics.assignment import AssignmentParameters, PairwiseAssignment
from heuristics.assignment.potts import blocks_apart
from heuristics.sizes.kernels import sized_labels
from sdpbb.problem.graph import connected_components, distinct_edges
from sdpbb.problem.programme import assignment_rows
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
    costs = cdist(points, centres, "sqeuclidean")
    n, k = costs.shape
    block_of = connected_components(n, must_link)
    of_blocks = np.bincount(block_of)
    apart = distinct_edges(block_of[cannot_link])
    if (apart[:, 0] == apart[:, 1]).any():
        return None
    summed = np.zeros((len(of_blocks), k))
    np.add.at(summed, block_of, costs)
    if limits is None:
        labels = _paired(summed, apart)
    elif len(of_blocks) == n and not len(apart):
        labels = _sized(summed, *limits)
    else:
        labels = _programmed(summed, of_blocks, apart, *limits)
    return None if labels is None else labels[block_of]


def _paired(costs: NDArray[np.float64], apart: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Return the cheapest labels (m,) that keep cannot-links."""
    if not len(apart):
        return np.asarray(costs.argmin(axis=1))
    m, k = costs.shape
    exact = AssignmentParameters(max_rows=np.iinfo(np.int32).max)
    return PairwiseAssignment(blocks_apart(m, k, apart), exact)(costs, fill=False).labels


def _sized(
    costs: NDArray[np.float64], least: NDArray[np.intp], most: NDArray[np.intp]
) -> NDArray[np.intp] | None:
    """Return the cheapest labels (n,) of single points within limits on sizes."""
    n, k = costs.shape
    labels, prices = np.empty(n, np.int64), np.zeros(k)
    found = sized_labels(np.ascontiguousarray(costs), least, np.minimum(most, n), prices, labels)
    return labels.astype(np.intp) if found else None


def _programmed(
    costs: NDArray[np.float64],
    counts: NDArray[np.intp],
    apart: NDArray[np.intp],
    least: NDArray[np.intp],
    most: NDArray[np.intp],
) -> NDArray[np.intp] | None:
    """Return the cheapest labels (m,) of blocks within limits, by a binary programme."""
    if (least > most).any():
        return None
    m, k = costs.shape
    rows = assignment_rows(m, k, apart, [(counts, least, most)])
    programme = replace(rows, objective=costs.reshape(-1))
    found = solve_binary_programme(programme).x
    return None if found is None else found.reshape(m, k).argmax(axis=1)
