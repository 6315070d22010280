"""Components of blocks that are too far apart to share a cluster of a cheap clustering."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction
from sdpbb.problem.colouring import neighbours, sparse_graph
from sdpbb.problem.coordinates import offsets

_EPS = float(np.finfo(np.float64).eps)


def components_apart(
    contraction: Contraction,
    points: NDArray[np.float64],
    cutoff: float,
    stop: Callable[[], bool],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.intp]:
    """Return components (m,) of blocks that distances alone keep apart.

    They are numbered 0, 1, ... by their first blocks. No clustering that costs less than cutoff has
    a cluster with blocks of two components.

    They are the connected components of the pairs that are not cannot-linked, and not too far apart
    for such a clustering. A cluster with blocks i and j costs at least as much as these two. So its
    clustering costs at least e_i e_j / (e_i + e_j) |c_i - c_j|^2 plus the scatter inside all
    blocks.

    points, weights : as in `Instance.scaled`. Distances are computed from differences of points, so
        that their relative errors are small for points far from the origin, too
    stop : called after each block; once true, all blocks are one component

    Takes time in proportion to m d if the first blocks are near all others, to m^2 d at worst, and
    little memory.
    """
    m = contraction.n_blocks
    component_of = np.full(m, -1, np.intp)
    if not math.isfinite(cutoff):
        return np.zeros(m, np.intp)
    least_cost = _cost_together(contraction, points, weights)
    graph = sparse_graph(m, contraction.cannot_link)
    left = np.arange(m)
    count = 0
    while len(left):
        waiting = [int(left[0])]
        component_of[waiting] = count
        left = left[1:]
        while waiting and len(left):
            if stop():
                return np.zeros(m, np.intp)
            i = waiting.pop()
            near = least_cost(i, left) <= cutoff
            near &= ~np.isin(left, neighbours(graph, i))
            found = left[near]
            component_of[found] = count
            waiting += found.tolist()
            left = left[~near]
        count += 1
    return component_of


def _cost_together(
    contraction: Contraction, points: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> Callable[[int, NDArray[np.intp]], NDArray[np.float64]]:
    """Return a function of a block and others (t,): a lower bound on the cost of a clustering.

    It is for clusterings with the block and each of the others in one cluster. A block mean is
    given by one of its points and the offset from it.
    """
    first, e, counts = contraction.representatives, contraction.weights, contraction.counts
    own, spread = points[first], np.zeros(contraction.n_blocks)
    away = np.zeros_like(own)
    if contraction.n_blocks < contraction.n_points:
        offset, away = offsets(points, contraction.block_of, weights)
        np.maximum.at(spread, contraction.block_of, np.linalg.norm(offset, axis=1))
    terms = 4.0 * (points.shape[1] + 16)
    # Sums inside of blocks have as many terms as the block has points.
    inside = math.fsum(contraction.scatter) * (1.0 - (float(counts.max()) + terms) * _EPS)

    def least_cost(i: int, others: NDArray[np.intp]) -> NDArray[np.float64]:
        difference = own[others] - own[i]
        difference += away[others] - away[i]
        # Errors of means are a few units in the last place of the differences inside the block, and
        # more in large blocks.
        lost = (terms + counts[others] + counts[i]) * (spread[others] + spread[i])
        lengths = np.linalg.norm(difference, axis=1) * (1.0 - terms * _EPS)
        lengths = np.maximum(lengths - _EPS * lost, 0.0)
        between = e[others] * e[i] / (e[others] + e[i]) * np.square(lengths)
        return np.asarray((inside + between) * (1.0 - terms * _EPS))

    return least_cost
