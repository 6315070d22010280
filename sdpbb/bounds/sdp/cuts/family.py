"""Interface of a family of cuts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.runtime.cores import Range, row_pieces
from sdpbb.runtime.declaration import Parameters, parameter

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


class CutFamily(Parameters, ABC):
    """Family of valid inequalities, with the parameters of its separation as fields.

    A subclass is a frozen dataclass, and a field of `SeparationParameters`. Compiled loops are
    imported inside `separate`: parameters are read by programs that compile nothing.
    """

    is_costly: ClassVar[bool] = False
    """Whether separation takes long, so that a round of a conic solver tries the others first."""

    @abstractmethod
    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the most violated cuts at the affinity Z (m, m), if any is violated."""

    def is_due(self, n_iterations: float) -> bool:
        """Return whether a root looks for these cuts after so many iterations of the method."""
        return True


@dataclass(frozen=True)
class SampledCuts(CutFamily):
    """Family whose separation looks at some candidates of large matrices, spread over all."""

    exact_order: int = parameter(
        255, "Maximum blocks for examining all candidates in every round.", ge=0
    )

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the most violated cuts: among some candidates if these hold any, else among all.

        Of small matrices all candidates are looked at.
        """
        if relaxation.m > self.exact_order:
            cuts = self._most_violated(Z, relaxation, is_exact=False)
            if len(cuts):
                return cuts
        return self._most_violated(Z, relaxation, is_exact=True)

    @abstractmethod
    def _most_violated(
        self, Z: NDArray[np.float64], relaxation: Relaxation, is_exact: bool
    ) -> CutSet:
        """Return the most violated cuts among all candidates or some of them."""


def ranges_of_centres(m: int) -> tuple[Range, ...]:
    """Return ranges of the m blocks, whose cuts threads look for.

    Looking for those of a centre takes some hundred operations for each other block, at least.
    """
    return row_pieces(m, 1000.0 * m**2)
