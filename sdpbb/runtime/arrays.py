"""Types of arrays, by what they hold, for the signatures of compiled loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
