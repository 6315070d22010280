"""Prediction: cheapest clusters of new points for given centres, with constraints among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from heuristics.assignment import PairGraph, PairwiseAssignment
from heuristics.sizes.flow_kernels import sized_labels
from sdpbb.problem import Contraction
from sdpbb.problem.graph import connected_components, distinct_edges
from sdpbb.problem.packing import assignment_rows, size_rows
from sdpbb.runtime.backends.milp import solve_binary_programme


def cheapest_clusters(
    points: NDArray[np.float64],
    centres: NDArray[np.float64],
    must_link: NDArray[np.intp],
    cannot_link: NDArray[np.intp],
    min_size: int | None = None,
    max_size: int | None = None,
) -> NDArray[np.intp] | None:
    """Return labels (n,) of points (n, d) for centres (k, d), None where no labels keep all.

    minimise    sum_i || p_i - c_{l(i)} ||^2
    subject to  l(i) = l(j) for must-links (p, 2), l(i) != l(j) for cannot-links (q, 2),
                min_size <= | { i : l(i) = c } | <= max_size for every c

    Clusters may be empty without a least size. Without limits by the assignment step of
    `heuristics.assignment`, with limits alone by a flow, with both by a binary programme.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    n, k = len(points), len(centres)
    block_of = connected_components(n, must_link)
    counts = np.bincount(block_of)
    apart = distinct_edges(block_of[cannot_link])
    if (apart[:, 0] == apart[:, 1]).any():
        return None
    costs = np.zeros((len(counts), k))
    np.add.at(costs, block_of, cdist(points, centres, "sqeuclidean"))
    least, most = min_size or 0, n if max_size is None else max_size
    if least == 0 and most >= n:
        labels = _paired(costs, apart)
    elif len(counts) == n and not len(apart):
        labels = _sized(costs, least, most)
    else:
        labels = _programmed(costs, counts, apart, least, most)
    return None if labels is None else labels[block_of]


def _paired(costs: NDArray[np.float64], apart: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Return the cheapest labels (m,) that keep cannot-links."""
    if not len(apart):
        return np.asarray(costs.argmin(axis=1))
    graph = PairGraph(len(costs), apart, np.full(len(apart), np.inf))
    found = PairwiseAssignment(graph, costs.shape[1])(costs, fill=False)
    if found.is_optimal or found.is_infeasible:
        return found.labels
    # What local search has left open is for the solver.
    m = len(costs)
    return _programmed(costs, np.ones(m, np.intp), apart, 0, m)


def _sized(costs: NDArray[np.float64], least: int, most: int) -> NDArray[np.intp] | None:
    """Return the cheapest labels (n,) of single points within limits on sizes."""
    n, k = costs.shape
    if not k * least <= n <= k * most:
        return None
    labels = np.empty(n, np.int64)
    lowest, highest = np.full(k, least), np.full(k, min(most, n))
    prices = np.zeros(k)
    found = sized_labels(np.ascontiguousarray(costs), lowest, highest, prices, labels)
    return labels.astype(np.intp) if found else None


def _programmed(
    costs: NDArray[np.float64],
    counts: NDArray[np.intp],
    apart: NDArray[np.intp],
    least: int,
    most: int,
) -> NDArray[np.intp] | None:
    """Return the cheapest labels (m,) of blocks within limits, by a binary programme."""
    m, k = costs.shape
    blocks = Contraction(k, np.arange(m), np.ones(m), np.zeros((m, 1)), np.zeros(m), apart)
    sizes = size_rows(counts, np.full(k, least), np.full(k, most))
    programme = replace(assignment_rows(blocks, [sizes]), objective=costs.reshape(-1))
    found = solve_binary_programme(programme).x
    return None if found is None else found.reshape(m, k).argmax(axis=1)
