"""Interface of a family of cuts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.runtime.cores import in_pieces, row_pieces


class CutFamily(ABC):
    """Family of valid inequalities, with their separation."""

    after: ClassVar[int] = 0
    """Iterations of the method that a root does before it looks for these cuts."""

    is_costly: ClassVar[bool] = False
    """Whether separation takes long, so that a round of a conic solver tries the others first."""

    @abstractmethod
    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the most violated cuts at the affinity Z (m, m), if any is violated."""


Found = tuple[NDArray[Any], ...]
"""Arrays of as many entries, or rows, as candidates were found."""


def found_by_centres(step: Callable[[int, int], Found], m: int) -> Found:
    """Return what threads find with each of m blocks as the centre of a cut.

    Looking for the cuts of a centre takes some hundred operations for each other block, at least.

    step : finds those of the centres first to last - 1
    """
    found = in_pieces(step, row_pieces(m, 1000.0 * m**2))
    return tuple(map(np.concatenate, zip(*found, strict=True)))
