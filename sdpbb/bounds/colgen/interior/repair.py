"""Repair of prices: they are lowered until no known cluster has a reduced cost below 0.

Where prices are too high for some clusters, those far away need not pay for it: the bound that is
proven at lower prices loses the violations one by one, and not k times the largest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Columns


def repaired(
    prices: NDArray[np.float64],
    sigma: float,
    scatter: NDArray[np.float64],
    columns: Columns,
    reduced: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return prices (m,), none higher, at which these columns cost their prices less sigma or more.

    Blocks of a cluster pay in proportion to their prices less own scatter. The clusters that are
    violated most come first, as others are violated less thereby.

    reduced : (t,) reduced costs at these prices, if they are known
    """
    lowered = prices.copy()
    if reduced is None:
        reduced = columns.costs - columns.collected(prices) + sigma
    order = np.argsort(reduced, kind="stable")
    violated = order[reduced[order] < 0.0]
    if not len(violated):
        return lowered
    row, block = np.nonzero(columns.members[violated])
    ends = np.cumsum(np.bincount(row, minlength=len(violated)))
    for column, blocks in zip(violated, np.split(block, ends[:-1]), strict=True):
        violation = lowered[blocks].sum() - sigma - columns.costs[column]
        worth = np.maximum(lowered[blocks] - scatter[blocks], 0.0)
        total = worth.sum()
        if violation > 0.0 and total > 0.0:
            lowered[blocks] -= violation * worth / total
    return lowered
