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


def _never() -> bool:
    return False


def components_apart(
    contraction: Contraction,
    points: NDArray[np.float64],
    cutoff: float,
    stop: Callable[[], bool] = _never,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.intp]:
    """Return components (m,) of blocks that distances alone keep apart, by their first blocks.

    They are numbered 0, 1, ... No clustering that costs less than cutoff has a cluster with blocks
    of two of them.

    They are the connected components of the pairs that are not cannot-linked, and not too far apart
    for such a clustering: a cluster that holds i and j costs at least as much as the two of them,
    and so a clustering at least e_i e_j / (e_i + e_j) |c_i - c_j|^2 and the scatter inside all
    blocks.

    points, weights : of the instance, as `Instance.scaled` has them. Distances are computed from
        differences of points, with errors relative to themselves, wherever the points are
    stop : asked after each block; when true, all blocks are one component, which says nothing

    Takes time in proportion to m d where the first blocks are near all others, to m^2 d at worst,
    and no memory to speak of.
    """
    m = contraction.n_blocks
    component_of = np.full(m, -1, np.intp)
    if not math.isfinite(cutoff):
        return np.zeros(m, np.intp)
    distance = _Distances(contraction, points, weights)
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
            near = distance.least_cost(i, left) <= cutoff
            near &= ~np.isin(left, neighbours(graph, i))
            found = left[near]
            component_of[found] = count
            waiting += found.tolist()
            left = left[~near]
        count += 1
    return component_of


class _Distances:
    """Block means, each as one of the points and the offset from it."""

    def __init__(
        self,
        contraction: Contraction,
        points: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
    ) -> None:
        self._points = points[contraction.representatives]
        self._weights, self._counts = contraction.weights, contraction.counts
        self._away, self._spread = None, np.zeros(contraction.n_blocks)
        if contraction.n_blocks < contraction.n_points:
            away, self._away = offsets(points, contraction.block_of, weights)
            lengths = np.linalg.norm(away, axis=1)
            np.maximum.at(self._spread, contraction.block_of, lengths)
        # Sums inside of blocks have as many terms as the block has points.
        terms = float(contraction.counts.max()) + 4.0 * (points.shape[1] + 16)
        self._inside = math.fsum(contraction.scatter) * (1.0 - terms * _EPS)

    def least_cost(self, i: int, others: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return lower bounds on the cost of a clustering with i and each other block together."""
        e, size = self._weights[others], self._weights[i]
        difference = self._points[others] - self._points[i]
        if self._away is not None:
            difference += self._away[others] - self._away[i]
        # Means are known to a few units in the last place of the differences inside of their
        # blocks, and sums inside of large blocks lose more.
        terms = 4.0 * (difference.shape[1] + 16)
        count = self._counts[others] + self._counts[i]
        lost = (terms + count) * (self._spread[others] + self._spread[i])
        lengths = np.linalg.norm(difference, axis=1) * (1.0 - terms * _EPS)
        lengths = np.maximum(lengths - _EPS * lost, 0.0)
        between = e * size / (e + size) * np.square(lengths)
        return np.asarray((self._inside + between) * (1.0 - terms * _EPS))
