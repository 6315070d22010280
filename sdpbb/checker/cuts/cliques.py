"""Clique cuts.

For a list Q of k + 1 blocks, in which blocks may occur more than once,

    sum of Z_ij over i < j in Q >= 1 / (n - k + 1).

With y = 1_Q, this is half of what `stars` shows to be a sum over clusters of y(C) (y(C) - 1) / |C|:
the y(C) of k clusters add up to k + 1, so that one is at least 2 and the sum at least 2 / |C|,
where |C| is at most n - k + 1, or what limits on sizes say. Where weights are no whole numbers, the
other k - 1 clusters weigh as much as the k - 1 lightest blocks at least, and |C| is at most the
weight of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import down, sum_down, sum_up
from ..fields import ArrayKey
from ..rejection import Rejected
from .family import CheckedCuts, ClusterLimits, Marks, Reals, TermSums, require_blocks


@dataclass(frozen=True, eq=False)
class Cliques(CheckedCuts):
    """Clique cuts.

    blocks : (number, k + 1), the blocks of each
    """

    blocks: NDArray[np.int32]

    KEYS: ClassVar = (ArrayKey("cliques", ("<i4",), lambda k: k + 1),)
    IS_OPTIONAL: ClassVar = False

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        if self.blocks.ndim != 2 or self.blocks.shape[1] != k + 1:
            raise Rejected(f"cliques of shape {self.blocks.shape} for {k} clusters")
        require_blocks(self.blocks, len(weights))

    @property
    def n_products(self) -> int:
        return len(self.blocks) * int(self.blocks.shape[1]) ** 2

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        sums.add_products(self.blocks, np.ones(self.blocks.shape[1]), t)

    def sides_within(self, t: Reals, weights: Reals, k: int, limits: ClusterLimits) -> list[float]:
        most = min(float(limits.most), _heaviest_cluster(weights, k))
        return [down(sum_down(t.tolist()) / most)]

    def right_hand_sides(self, t: Reals, weights: Reals, k: int) -> list[float]:
        return [down(sum_down(t.tolist()) / _heaviest_cluster(weights, k))]


def _heaviest_cluster(weights: Reals, k: int) -> float:
    """Return at least the weight of every cluster of blocks, k in all."""
    if (weights == np.rint(weights)).all():
        return int(weights.sum()) - k + 1
    return sum_up(np.sort(weights)[k - 1 :].tolist())
