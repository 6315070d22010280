"""Interface of a family of cuts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.runtime.cores import Range, row_pieces

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


class CutFamily(ABC):
    """Family of valid inequalities, with their separation."""

    after: ClassVar[int] = 0
    """Iterations of the method that a root does before it looks for these cuts."""

    is_costly: ClassVar[bool] = False
    """Whether separation takes long, so that a round of a conic solver tries the others first."""

    @abstractmethod
    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the most violated cuts at the affinity Z (m, m), if any is violated."""


# Maximum blocks for examining all candidates in every round.
EXACT_ORDER = 255


class SampledCuts(CutFamily):
    """Family whose separation looks at some candidates of large matrices, spread over all."""

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the most violated cuts: among some candidates if these hold any, else among all.

        Of small matrices all candidates are looked at.
        """
        if relaxation.m > EXACT_ORDER:
            cuts = self.most_violated(Z, relaxation, is_exact=False)
            if len(cuts):
                return cuts
        return self.most_violated(Z, relaxation, is_exact=True)

    @abstractmethod
    def most_violated(
        self, Z: NDArray[np.float64], relaxation: Relaxation, is_exact: bool
    ) -> CutSet:
        """Return the most violated cuts among all candidates or some of them."""


def ranges_of_centres(m: int) -> tuple[Range, ...]:
    """Return ranges of the m blocks, whose cuts threads look for.

    Looking for those of a centre takes some hundred operations for each other block, at least.
    """
    return row_pieces(m, 1000.0 * m**2)
