"""Sets that are looked at as a whole: least and listed sizes, soft pairs.

Parts of such sets may be no sets, or may be worth less, so that nothing follows from leaving blocks
out or putting them in. What is left are bounds for all sets of a node.

*Soft pairs.* Of a cluster X are the price of each soft cannot-link inside it, and half of that of
each soft must-link with one end in X. So with a_i less half the prices of the soft must-links of i,
and W_ij the price of a soft cannot-link, or minus that of a soft must-link, X pays the sum of the
W_ij of all pairs inside X besides. Where X holds the blocks S that are chosen, and some open ones,

    sum of W over pairs in X >= sum of W over pairs in S
        + sum over j in X - S of (sum of W_ij over i in S - half the sum of |W_ij| over i that are
          open, W_ij < 0),

as a pair of open blocks counts half for each of the two, and not at all if W > 0.

*Sizes.* Where X has t points or more, for any u >= 0 its value is at least what it is with profits
of u more for each point of an open block, and u (t - points of S) added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..rules import BlockRules, SizesOfBlocks

Reals = NDArray[np.float64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Whole:
    """Prices of soft pairs and sizes, for which sets of m blocks are looked at as a whole.

    tied : (m, m) W, symmetric, zero diagonal
    counts : (m,) numbers of points; zeros where sizes are not limited
    sizes : (n + 1,) whether a set may have 0..n points
    """

    tied: Reals
    counts: Reals
    sizes: Marks

    @classmethod
    def of(cls, tied: Reals | None, rules: BlockRules, m: int) -> Whole | None:
        """Return what there is to look at; None if parts of sets are sets, and worth no less."""
        found = sizes_of(rules)
        if tied is not None and not tied.any():
            tied = None
        if found is None and tied is None:
            return None
        matrix = np.zeros((m, m)) if tied is None else tied
        if found is None:
            return cls(matrix, np.zeros(m), np.ones(1, np.bool_))
        return cls(matrix, found.counts, found.limits.marks())

    def select(self, blocks: NDArray[np.intp]) -> Whole:
        """Return the same of some blocks only, in their order."""
        return Whole(self.tied[np.ix_(blocks, blocks)], self.counts[blocks], self.sizes)

    def range_of_sizes(self, chosen: Marks, still: Marks) -> tuple[Reals, Reals]:
        """Return the fewest and the most points (s,) that sets of nodes may have.

        The fewest are more than the most where there is no such set.
        """
        n = len(self.sizes) - 1
        points = (chosen @ self.counts).astype(np.intp)
        room = points + (still @ self.counts).astype(np.intp)
        steps = np.arange(n + 1)
        following = np.minimum.accumulate(np.where(self.sizes, steps, n + 1)[::-1])[::-1]
        before = np.maximum.accumulate(np.where(self.sizes, steps, -1))
        return following[points].astype(np.float64), before[np.minimum(room, n)].astype(np.float64)

    def worths(self, profits: Reals, chosen: Marks, still: Marks) -> tuple[Reals, Reals]:
        """Return the most that open blocks are worth (s, c), and the W of pairs chosen (s,)."""
        of_chosen = chosen @ self.tied
        linked = still @ np.maximum(-self.tied, 0.0)
        return profits - of_chosen + 0.5 * linked, 0.5 * (of_chosen * chosen).sum(axis=1)

    def raised(
        self, profits: Reals, chosen: Marks, still: Marks, values: Reals
    ) -> tuple[Reals, Reals, Reals]:
        """Return profits (s, c) with u for each point, (s,) u (t - points), and what errors are of.

        The u are those at which the blocks that are worth it have about t points.

        values : (s, c) about what open blocks add
        """
        if not self.counts.any():
            none = np.zeros(len(chosen))
            return profits, none, none
        fewest, _ = self.range_of_sizes(chosen, still)
        lacking = fewest - chosen @ self.counts
        ratio = np.where(still, values / self.counts, np.inf)
        order = np.argsort(ratio, axis=1)
        counted = np.where(still, self.counts, 0.0)
        filled = np.cumsum(np.take_along_axis(counted, order, axis=1), axis=1)
        enough = filled >= lacking[:, None]
        last = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)
        rate = np.take_along_axis(ratio, last, axis=1)[:, 0]
        rate = np.where((lacking > 0.0) & enough.any(axis=1) & np.isfinite(rate), rate, 0.0)
        rate = np.maximum(rate, 0.0)
        raised = rate * lacking
        return profits + rate[:, None] * self.counts, raised, raised + rate * (still @ self.counts)


def sizes_of(rules: BlockRules) -> SizesOfBlocks | None:
    """Return the limits on sizes that sets are looked at for as a whole, if there are any."""
    for rule in rules:
        if isinstance(rule, SizesOfBlocks) and not rule.limits.follow_from_most:
            return rule
    return None
