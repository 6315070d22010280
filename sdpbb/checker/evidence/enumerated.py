"""Evidence: all clusters that a cheaper clustering can have, and the lower bound that they prove.

With no cluster X worth less than v = `least` at some prices, which is proven first, a clustering
that costs less than `below` has only clusters with

    c(X) - prices(X) < below - sum of prices - (k - 1) v.

All of these are found, for the points x^ of `Contracted`, and that no k of them are a partition of
the blocks that costs less than `below` is detected by another search (`partitions`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import sum_up
from ..effort import FULL, Effort
from ..fields import ArrayKey, NumberKey
from ..geometry import Contracted
from ..partitions import require_no_partition
from ..pricing import clusters_below, looks_at_whole, proven_least
from ..rejection import Rejected
from ..rules import BlockRules
from .kind import Evidence, Shapes
from .lagrangian import checked_prices

MAX_NODES, MAX_CLUSTERS, MAX_PARTITION_NODES = 200_000, 20_000, 40_000
"""Of each of the two searches for clusters; clusters; nodes of the search for a partition."""
MAX_TRIPLES = 2_000
"""Sets of three blocks that evidence may have."""

# Below this costs may underflow.
_LEAST = 1e-200


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

    KIND: ClassVar = "enumerated"
    KEYS: ClassVar = (
        NumberKey("below"),
        ArrayKey("prices", ("<f8",)),
        NumberKey("least"),
        ArrayKey("share_prices", ("<f8",)),
        ArrayKey("triples", ("<i4",), 3),
        ArrayKey("penalties", ("<f8",)),
    )

    @classmethod
    def check_shapes(cls, shapes: Shapes, m: int) -> None:
        prices, shares = shapes["prices"], shapes["share_prices"]
        if not prices == shares == (m,):
            raise Rejected(
                f"prices of {prices[0]} and {shares[0]}; expected one for each of {m} blocks"
            )
        triples, penalties = shapes["triples"][0], shapes["penalties"][0]
        if triples > MAX_TRIPLES or triples != penalties:
            numbers = f"{triples} triples, {penalties} penalties"
            raise Rejected(f"{numbers}; expected as many, at most {MAX_TRIPLES}")

    @classmethod
    def rules_used(cls, shapes: Shapes) -> list[str]:
        return ["partitions into priced clusters"]

    def bound(
        self,
        contracted: Contracted,
        k: int,
        adjacency: NDArray[np.bool_],
        rules: BlockRules = (),
        effort: Effort = FULL,
    ) -> float:
        prices, least = checked_prices(contracted, k, adjacency, self.prices, self.least)
        shares, below = checked_prices(contracted, k, adjacency, self.share_prices, self.below)
        self._check_triples(contracted.m)
        if not below >= _LEAST:
            raise Rejected(
                f"clusters are enumerated below a cost of {_LEAST:g} or more, not {below!r}"
            )
        nodes, at_step = effort.of(MAX_NODES), effort.at_step
        least = least if looks_at_whole(contracted, adjacency, rules) else min(least, 0.0)
        proven = proven_least(contracted, adjacency, prices, least, nodes, rules, at_step)
        value = sum_up([below, *(-prices).tolist(), *[-proven] * (k - 1)])
        members = clusters_below(
            contracted,
            adjacency,
            prices,
            proven,
            value,
            nodes,
            effort.of(MAX_CLUSTERS),
            rules,
            at_step,
        )
        require_no_partition(
            contracted,
            k,
            members,
            below,
            shares,
            self.triples,
            self.penalties,
            effort.of(MAX_PARTITION_NODES),
            adjacency,
            rules,
            at_step,
        )
        return contracted.for_points(contracted.with_soft(below, adjacency))

    def _check_triples(self, m: int) -> None:
        triples, penalties = self.triples, self.penalties
        if triples.ndim != 2 or triples.shape[1] != 3 or triples.dtype.kind != "i":
            raise Rejected(f"triples of shape {triples.shape}, not rows of 3")
        if (triples < 0).any() or (triples >= m).any() or (np.diff(np.sort(triples)) == 0).any():
            raise Rejected(f"a triple is not of three of the blocks 0..{m - 1}")
        if penalties.shape != (len(triples),) or penalties.dtype != np.float64:
            raise Rejected(f"{len(triples)} triples, but penalties of shape {penalties.shape}")
        if not ((penalties >= 0.0) & np.isfinite(penalties)).all():
            raise Rejected("a penalty is negative or no number")
