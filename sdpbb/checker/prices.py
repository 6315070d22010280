"""Evidence: prices of the blocks of a node, and the lower bound that they prove.

Each block is in exactly one of the k clusters X, which cost c(X) for the points x^ of `Contracted`,
so that a clustering costs

    sum of c(X) = sum of prices + sum of (c(X) - prices(X)) >= sum of prices + k least.

That no cluster is worth less than `least`, but for a margin for rounding, is detected by a search
(`pricing`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .kernel.archive import REALS
from .kernel.arithmetic import sum_down
from .kernel.blocks import Blocks
from .kernel.effort import FULL, Effort
from .kernel.evidence import Evidence, Written
from .kernel.geometry import Contracted
from .kernel.log import StepArrays, fields, number
from .kernel.rejection import Rejected
from .pricing import MAX_NODES, proven_least

# Prices beyond this prove nothing that is of use, and their sums may overflow.
_LARGEST = 1e250


@dataclass(frozen=True, eq=False)
class Lagrangian(Evidence):
    """Prices of the m blocks of a node, and a lower bound on the value of every cluster at them.

    prices : (m,) of any sign, in squared units of the data
    least : no cluster X of blocks without a cannot-linked pair has c(X) - prices(X) < least
    """

    prices: NDArray[np.float64]
    least: float

    WORD: ClassVar = "prices"

    @classmethod
    def read(cls, values: list[Any], arrays: StepArrays, m: int, k: int) -> Lagrangian:
        (least,) = fields(values, "least")
        return cls(arrays.take("prices", REALS[:1], m), number(least, "least"))

    def written(self) -> Written:
        return [self.WORD, self.least], {"prices": self.prices}

    @property
    def rules_used(self) -> list[str]:
        return ["pricing"]

    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        prices, least = checked_prices(contracted, blocks, self.prices, self.least)
        adjacency, rules = blocks.adjacency, blocks.block_rules
        nodes, at_step = effort.of(MAX_NODES), effort.at_step
        proven = proven_least(contracted, adjacency, prices, least, nodes, rules, at_step)
        squares = sum_down([*prices.tolist(), *[proven] * blocks.k])
        return contracted.for_points(contracted.with_soft(squares, adjacency))

    def proves_infeasible(
        self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL
    ) -> bool:
        """Return whether the prices prove that there is no clustering at all.

        Where all points are in one place every clustering costs 0, so that there is none if the
        bound of some prices is above 0. No k clusters hold all blocks then, as each holds so much
        of the prices at most (Farkas).

        Parameters, and `Rejected`, as for `bound`.
        """
        m = contracted.m
        one_place = Contracted(contracted.n, contracted.weights, np.zeros((m, 1)), np.zeros(m), 0.0)
        return self.bound(one_place, blocks, effort) > 0.0


def checked_prices(
    contracted: Contracted, blocks: Blocks, prices: NDArray[np.float64], value: float
) -> tuple[NDArray[np.float64], float]:
    """Return prices of the blocks, and a value; `Rejected` if they do not fit or are no numbers."""
    m, k, adjacency = contracted.m, blocks.k, blocks.adjacency
    prices, value = np.asarray(prices), float(value)
    if adjacency.shape != (m, m):
        raise Rejected(f"cannot-links of {adjacency.shape} for {m} blocks")
    if not 1 <= k <= m:
        raise Rejected(f"{k} clusters of {m} blocks")
    if prices.shape != (m,) or prices.dtype != np.float64:
        raise Rejected(f"prices should be {m} float64, not {prices.dtype} of shape {prices.shape}")
    if not (np.abs([*prices, value]) <= _LARGEST).all():  # false for nan
        raise Rejected(f"a price, or a value, is not a number of at most {_LARGEST:g}")
    return prices, value
