"""Regions of the mean of a cluster: boxes, and the blocks that a cluster with its mean there holds.

In few dimensions a cluster has no block that is far from its mean. So the search for clusters over
thousands of blocks is one for each box of a tiling, over the blocks that are near it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Of distances that are compared, beside the rounding of coordinates.
_ROOM = 1e-9
# Blocks in a region at least, and as a share of those of a cluster.
_FEWEST = 8
_SHARE = 1.0


@dataclass(frozen=True, eq=False)
class Regions:
    """Boxes that tile the bounding box of the blocks.

    low, high : (r, p)
    owner : (m,) a region that each block is in
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    owner: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.low)

    def near(
        self, region: int, points: NDArray[np.float64], reach: NDArray[np.float64]
    ) -> NDArray[np.intp]:
        """Return the blocks that reach into a region, ascending.

        reach : (m,) how far each block may be from the mean of a cluster; below 0 for nowhere
        """
        beyond = np.maximum(self.low[region] - points, points - self.high[region])
        squares = (np.maximum(beyond, 0.0) ** 2).sum(axis=1)
        return np.flatnonzero((squares <= reach**2 * (1.0 + _ROOM)) & (reach >= 0.0))


def tiling(points: NDArray[np.float64], per_cluster: float) -> Regions:
    """Return regions of about as many blocks as a cluster has.

    Boxes with more are halved at the median block, along their longest side.

    points : (m, p), p >= 1
    """
    most = max(_FEWEST, _SHARE * per_cluster)
    owner = np.zeros(len(points), np.intp)
    low: list[NDArray[np.float64]] = []
    high: list[NDArray[np.float64]] = []
    waiting = [(np.arange(len(points)), points.min(axis=0), points.max(axis=0))]
    while waiting:
        inside, bottom, top = waiting.pop()
        side = int(np.argmax(top - bottom))
        along = points[inside, side]
        middle = float(np.median(along))
        lower = along <= middle
        if len(inside) <= most or lower.all():  # many in one place are not told apart
            owner[inside] = len(low)
            low.append(bottom)
            high.append(top)
            continue
        cut_top, cut_bottom = top.copy(), bottom.copy()
        cut_top[side] = cut_bottom[side] = middle
        waiting.append((inside[~lower], cut_bottom, top))
        waiting.append((inside[lower], bottom, cut_top))
    return Regions(np.array(low), np.array(high), owner)
