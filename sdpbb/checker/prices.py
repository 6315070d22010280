"""Evidence by prices of the blocks of a node: the least value of a cluster, and all cheap clusters.

Each block is in exactly one of the k clusters X, which cost c(X) for the points x^ of `Contracted`,
so that a clustering costs

    sum of c(X) = sum of prices + sum of (c(X) - prices(X)) >= sum of prices + k least.

That no cluster is worth less than `least`, but for a margin for rounding, is detected by a search
(`pricing`).

With no cluster X worth less than v = `least` at some prices, a clustering that costs less than
`below` has only clusters with

    c(X) - prices(X) < below - sum of prices - (k - 1) v.

All of these are found, for the points x^ of `Contracted`, and that no k of them are a partition of
the blocks that costs less than `below` is detected by another search (`partitions`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .kernel.archive import NUMBERS, REALS
from .kernel.arithmetic import sum_down, sum_up
from .kernel.blocks import Blocks
from .kernel.evidence import FULL, Effort, Evidence
from .kernel.geometry import Contracted
from .kernel.rejection import Rejected
from .partitions import require_no_partition
from .pricing import MAX_NODES, clusters_below, proven_least

MAX_CLUSTER_NODES, MAX_CLUSTERS, MAX_PARTITION_NODES = 200_000, 20_000, 40_000
"""Of each of the two searches for clusters; clusters; nodes of the search for a partition."""
MAX_TRIPLES = 2_000
"""Sets of three blocks that evidence may have."""

_REALS = REALS[:1]
# Below this costs may underflow.
_LEAST = 1e-200
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
    PROOF: ClassVar = "pricing"
    STATES: ClassVar = ("least",)

    @staticmethod
    def shapes(m: int) -> dict[str, Any]:
        return {"prices": (_REALS, m)}

    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        prices, least = self.prices, self.least
        _require_numbers(prices, least)
        nodes = effort.of(MAX_NODES)
        proven = proven_least(contracted, blocks, prices, least, nodes, effort.at_step)
        squares = sum_down([*prices.tolist(), *[proven] * blocks.k])
        return contracted.for_points(contracted.with_soft(squares, blocks.adjacency))

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


def _require_numbers(prices: NDArray[np.float64], value: float) -> None:
    """Raise `Rejected` if prices, or a value, are no moderate numbers."""
    if not (np.abs([*prices, value]) <= _LARGEST).all():  # false for nan
        raise Rejected(f"a price, or a value, is not a number of at most {_LARGEST:g}")


@dataclass(frozen=True, eq=False)
class Enumerated(Evidence):
    """Prices at which few clusters of low value are left, none of whose partitions is cheap.

    below : no clustering costs less
    prices, least : as of a `Lagrangian`; least at most 0, unless
        sets are looked at as a whole
    share_prices, triples, penalties : (m,), (c, 3), (c,) >= 0: prices and penalties at which few
        of these clusters are left (see `partitions`), in squared units of the data
    """

    below: float
    prices: NDArray[np.float64]
    least: float
    share_prices: NDArray[np.float64]
    triples: NDArray[np.int32]
    penalties: NDArray[np.float64]

    WORD: ClassVar = "clusters"
    PROOF: ClassVar = "partitions into priced clusters"
    STATES: ClassVar = ("below", "least")

    @staticmethod
    def shapes(m: int) -> dict[str, Any]:
        some = range(MAX_TRIPLES + 1)
        return {
            "penalties": (_REALS, some),
            "triples": (NUMBERS, some, 3),
            "prices": (_REALS, m),
            "share_prices": (_REALS, m),
        }

    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        prices, least, below = self.prices, self.least, self.below
        _require_numbers(prices, least)
        _require_numbers(self.share_prices, below)
        self._check_triples(contracted.m)
        if not below >= _LEAST:
            raise Rejected(
                f"clusters are enumerated below a cost of {_LEAST:g} or more, not {below!r}"
            )
        nodes, at_step = effort.of(MAX_CLUSTER_NODES), effort.at_step
        proven = proven_least(contracted, blocks, prices, least, nodes, at_step)
        value = sum_up([below, *(-prices).tolist(), *[-proven] * (blocks.k - 1)])
        most = effort.of(MAX_CLUSTERS)
        members = clusters_below(contracted, blocks, prices, proven, value, nodes, most, at_step)
        require_no_partition(
            contracted,
            blocks,
            members,
            below,
            self.share_prices,
            self.triples,
            self.penalties,
            effort.of(MAX_PARTITION_NODES),
            at_step,
        )
        return contracted.for_points(contracted.with_soft(below, blocks.adjacency))

    def _check_triples(self, m: int) -> None:
        triples, penalties = self.triples, self.penalties
        if (triples < 0).any() or (triples >= m).any() or (np.diff(np.sort(triples)) == 0).any():
            raise Rejected(f"a triple is not of three of the blocks 0..{m - 1}")
        if len(triples) != len(penalties):
            raise Rejected(f"{len(penalties)} penalties of {len(triples)} triples")
        if not ((penalties >= 0.0) & np.isfinite(penalties)).all():
            raise Rejected("a penalty is negative or no number")
