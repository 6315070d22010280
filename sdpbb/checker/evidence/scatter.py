"""Evidence: the bound of the scatter inside blocks, which needs no values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import sum_down
from ..effort import FULL, Effort
from ..geometry import Contracted
from ..rules import BlockRules
from .kind import Evidence, Shapes


@dataclass(frozen=True)
class Scatter(Evidence):
    """Sum of squares inside the blocks, which every clustering that keeps them costs."""

    KIND: ClassVar = "scatter"

    @classmethod
    def check_shapes(cls, shapes: Shapes, m: int) -> None:
        """Accept it: there are no arrays."""

    @classmethod
    def rules_used(cls, shapes: Shapes) -> list[str]:
        return ["scatter of blocks"]

    def bound(
        self,
        contracted: Contracted,
        k: int,
        adjacency: NDArray[np.bool_],
        rules: BlockRules = (),
        effort: Effort = FULL,
    ) -> float:
        return scatter_bound(contracted, adjacency)


def scatter_bound(contracted: Contracted, adjacency: NDArray[np.bool_] | None = None) -> float:
    """Return at most what every clustering costs that keeps blocks together, adjacent ones apart.

    It is the scatter inside the blocks, and what soft pairs cost in any case.
    """
    scatter = sum_down(contracted.scatter.tolist())
    return contracted.for_points(contracted.with_soft(scatter, adjacency))
