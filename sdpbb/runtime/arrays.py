"""Types of arrays for the signatures of compiled loops, and a loop that rooms share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.jit import njit

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Compiled loops copy arrays entry by entry: `a[:] = b` checks lengths, and its error message takes
# seconds to compile.

# Integers that compiled loops pass on to each other. A literal has a type of its own for Numba, for
# which a function that takes it is compiled once more.
ZERO: int = np.int64(0)  # type: ignore[assignment]
NONE: int = np.int64(-1)  # type: ignore[assignment]
"""No block, no label."""


@njit(cache=True, nogil=True)
def has_ranges(numbers: Integers, ranges: Integers) -> bool:
    """Return whether numbers (k,) can have ranges (k, 2) of their own.

    The least number takes the range with the least end of those that it is in; any other choice can
    be exchanged for that one. `SizeLimits.places` of the checker is the same, in Python.
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
