"""Evidence: all clusters that a cheaper clustering can have, and the lower bound that they prove.

With no cluster X worth less than v = `least` at some prices, which is proven first, a clustering
that costs less than `below` has only clusters with

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
from .kernel.arithmetic import sum_up
from .kernel.blocks import Blocks
from .kernel.effort import FULL, Effort
from .kernel.evidence import Evidence, Written
from .kernel.geometry import Contracted
from .kernel.log import StepArrays, fields, number
from .kernel.rejection import Rejected
from .partitions import require_no_partition
from .prices import checked_prices
from .pricing import clusters_below, looks_at_whole, proven_least

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

    WORD: ClassVar = "clusters"

    @classmethod
    def read(cls, values: list[Any], arrays: StepArrays, m: int, k: int) -> Enumerated:
        below, least = fields(values, "below", "least")
        doubles, some = REALS[:1], range(MAX_TRIPLES + 1)
        penalties = arrays.take("penalties", doubles, some)
        return cls(
            below=number(below, "below"),
            prices=arrays.take("prices", doubles, m),
            least=number(least, "least"),
            share_prices=arrays.take("share_prices", doubles, m),
            triples=arrays.take("triples", NUMBERS, len(penalties), 3),
            penalties=penalties,
        )

    def written(self) -> Written:
        names = ("prices", "share_prices", "triples", "penalties")
        return [self.WORD, self.below, self.least], {name: getattr(self, name) for name in names}

    @property
    def rules_used(self) -> list[str]:
        return ["partitions into priced clusters"]

    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        k, adjacency, rules = blocks.k, blocks.adjacency, blocks.block_rules
        prices, least = checked_prices(contracted, blocks, self.prices, self.least)
        shares, below = checked_prices(contracted, blocks, self.share_prices, self.below)
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
