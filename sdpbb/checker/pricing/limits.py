"""Rules and soft pairs in verified pricing: bounds for parts of sets, and for whole sets.

*Limits.* Let the sets X of a node hold the chosen blocks and some of the open ones. Let R be the
limit less the sum of the chosen blocks, and w_j >= 0 what an open block j adds to the sum; pairs of
open blocks do not count. The w_j of a set within the limit add up to at most R. So for any number
u >= 0, the value of X is at least its value with profits a_j - u w_j of open blocks, less u R. A
bound for all X with these profits is a bound for the X within the limit.

(in) stays right: X without some of its blocks satisfies the rules, too.

*Whole sets.* Clusters may have least sizes or weights, or listed sizes, and there may be soft
pairs. Then parts of a set may break the rules or have a lower value, and (in) does not follow. Only
bounds for all sets of a node remain.

*Soft pairs.* A cluster X pays the price of each soft cannot-link inside it, and half the price of
each soft must-link with one end in X. Let W_ij be the price of a soft cannot-link, or minus the
price of a soft must-link, and reduce a_i by half the prices of the soft must-links of i. Then X
also pays the sum of the W_ij of all pairs inside X. If X holds the chosen blocks S and some open
ones,

    sum of W over pairs in X >= sum of W over pairs in S
        + sum over j in X - S of (sum of W_ij over i in S - half the sum of |W_ij| over i that are
          open, W_ij < 0),

as a pair of open blocks counts half for each of the two, and not at all if W > 0.

*Sizes.* Let X have t points or more. For any u >= 0, raise the profits by u for each point of an
open block. The value of X is at least its value with these profits, plus u (t - points of S). The
same holds for units of weight, and for both at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernel.rules import Measure, Rules, limits, measures

Reals = NDArray[np.float64]
Marks = NDArray[np.bool_]


def reduced_profits(
    rules: Rules, profits: Reals, chosen: Marks, still: Marks, values: Reals
) -> tuple[Reals, Reals]:
    """Return profits (s, c), lower by u w for each limit, and sums (s,) of u R.

    Any u is right; each limit in turn chooses one.

    profits : (c,)
    chosen, still : (s, c) chosen and open blocks
    values : (s, c) estimates of what open blocks add to f; those below 0 reduce it
    """
    left = np.broadcast_to(profits, chosen.shape)
    paid = np.zeros(len(chosen))
    for limit in limits(rules):
        room = limit.most - limit.spent(chosen)
        weight = np.where(still, limit.added(chosen), 0.0)
        # The first block that reduces f, but exceeds the limit with the blocks before it.
        gains = np.where(values < 0.0, weight, 0.0)
        found, is_over = _where_filled(values, gains, room + 1.0)
        rate = np.where(is_over, np.maximum(-found, 0.0), 0.0)
        if rate.any():
            taken = rate[:, None] * weight
            left, values = left - taken, values + taken
            paid = paid + rate * room
    return left, paid


def _where_filled(values: Reals, amounts: Reals, wanted: Reals) -> tuple[Reals, Marks]:
    """Return a ratio (s,) of value to amount, and whether all blocks together have `wanted`.

    Blocks are added in the order of their ratios until they have it; the last ratio is returned.

    values, amounts : (s, c); blocks of the amount 0 do not count
    wanted : (s,)
    """
    ratio = np.full_like(values, np.inf)
    np.divide(values, amounts, out=ratio, where=amounts > 0.0)
    order = np.argsort(ratio, axis=1)
    enough = np.cumsum(np.take_along_axis(amounts, order, axis=1), axis=1) >= wanted[:, None]
    last = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)
    return np.take_along_axis(ratio, last, axis=1)[:, 0], np.asarray(enough.any(axis=1))


@dataclass(frozen=True, eq=False)
class WholeSets:
    """Prices of soft pairs, sizes and weights, for which sets of m blocks count as a whole.

    tied : (m, m) W, symmetric, zero diagonal
    measures : with limits that parts of clusters need not satisfy
    """

    tied: Reals
    measures: tuple[Measure, ...]

    @classmethod
    def of(cls, tied: Reals, rules: Rules) -> WholeSets | None:
        """Return them; None: nothing to count, as parts of sets are sets, and (in) is right."""
        measures = tuple(measures_of_whole(rules))
        return cls(tied, measures) if measures or tied.any() else None

    def select(self, blocks: NDArray[np.intp]) -> WholeSets:
        """Return the same for some blocks, in the given order."""
        measures = tuple(replace(each, values=each.values[blocks]) for each in self.measures)
        return WholeSets(self.tied[np.ix_(blocks, blocks)], measures)

    def allow(self, chosen: Marks, still: Marks) -> Marks:
        """Return whether each measure alone allows a set of each node, (s,)."""
        kept = np.ones(len(chosen), np.bool_)
        for measure in self.measures:
            least, most = sums_of_sets(measure, chosen, still)
            kept &= least <= most
        return kept

    def open_profits(self, profits: Reals, chosen: Marks, still: Marks) -> tuple[Reals, Reals]:
        """Return upper bounds on profits less prices (s, c), and sums of W over S (s,)."""
        of_chosen = chosen @ self.tied
        linked = still @ np.maximum(-self.tied, 0.0)
        return profits - of_chosen + 0.5 * linked, 0.5 * (of_chosen * chosen).sum(axis=1)

    def raised(
        self, profits: Reals, chosen: Marks, still: Marks, values: Reals
    ) -> tuple[Reals, Reals, Reals]:
        """Return profits (s, c), higher by u for each point or unit, and sums u (t - points), (s,).

        The third result, (s,), is what rounding errors of the sums are in proportion to. Each
        measure in turn chooses a u.

        values : (s, c) estimates of what open blocks add to f
        """
        added = further = np.zeros(len(chosen))
        for measure in self.measures:
            # The last block that is needed for the least sum.
            lacking = sums_of_sets(measure, chosen, still)[0] - chosen @ measure.reals
            found, is_enough = _where_filled(values, still * measure.reals, lacking)
            is_enough &= (lacking > 0.0) & np.isfinite(found)
            rate = np.where(is_enough, np.maximum(found, 0.0), 0.0)
            lacking = np.where(np.isfinite(lacking), lacking, 0.0)
            more = rate[:, None] * measure.reals
            profits, values = profits + more, np.where(still, values - more, values)
            added = added + rate * lacking
            further = further + rate * (lacking + still @ measure.reals)
        return profits, added, further


def measures_of_whole(rules: Rules) -> list[Measure]:
    """Return the measures with limits that parts of clusters need not satisfy."""
    return [each for each in measures(rules) if not each.limits.follow_from_most]


def sums_of_sets(measure: Measure, chosen: Marks, still: Marks) -> tuple[Reals, Reals]:
    """Return the least and the greatest sum (s,) of a measure that sets of each node may have.

    The least sum is above the greatest one if the measure allows no set.
    """
    held = (chosen @ measure.reals)[:, None]
    room = held + (still @ measure.reals)[:, None]
    low, high = np.maximum(held, measure.ranges[:, 0]), np.minimum(room, measure.ranges[:, 1])
    least = np.where(low <= high, low, np.inf).min(axis=1, initial=np.inf)
    return least, np.where(low <= high, high, -np.inf).max(axis=1, initial=-np.inf)
