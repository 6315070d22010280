"""Types of arrays for compiled loops, and a shared compiled loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.jit import njit

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Compiled loops copy arrays entry by entry: `a[:] = b` takes seconds to compile.

# Integers as arguments between compiled loops. Numba gives each literal its own type, and would
# compile the called function once more.
ZERO: int = np.int64(0)  # type: ignore[assignment]
NONE: int = np.int64(-1)  # type: ignore[assignment]
"""No block, no label."""


@njit(cache=True, nogil=True)
def has_ranges(numbers: Integers, ranges: Integers) -> bool:
    """Return whether numbers (k,) can be assigned to different ranges (k, 2) that contain them.

    The least number gets the range with the least end among the ranges that contain it; any other
    assignment can be changed to this one. The checker does the same in Python (`SizeLimits`).
    """
    is_taken = np.zeros(len(ranges), np.bool_)
    for number in np.sort(numbers):
        best = -1
        for place in range(len(ranges)):
            is_free = not is_taken[place] and ranges[place, 0] <= number <= ranges[place, 1]
            if is_free and (best < 0 or ranges[place, 1] < ranges[best, 1]):
                best = place
        if best < 0:
            return False
        is_taken[best] = True
    return True
