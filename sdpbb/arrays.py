"""Types of arrays, by what they hold, for the signatures of compiled loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
