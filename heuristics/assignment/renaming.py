"""Labels under other names of the clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Of the assignment problem: rows squared times columns, about 0.1 s.
LARGEST = 100_000_000


def renamed(labels: NDArray[np.intp], costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """The labels under the injection of their clusters into all of them that makes them cheapest;
    as they are, where finding that would take long."""
    from scipy.optimize import linear_sum_assignment  # a fifth of a second, and seldom needed

    used, numbers = np.unique(labels, return_inverse=True)
    if len(used) ** 2 * costs.shape[1] > LARGEST:
        return labels
    sums = np.zeros((len(used), costs.shape[1]))
    np.add.at(sums, numbers, costs)
    return linear_sum_assignment(sums)[1][numbers]
