"""Rules and soft pairs in verified pricing: what holds for parts of sets, and for whole sets.

*Limits.* In a node whose sets X hold the chosen blocks and some of the open ones, let R be what is
left of a limit beside the chosen ones, and w_j >= 0 what an open block j adds to what they spend;
what pairs of open blocks add is not counted. The w_j of a set that keeps the limit add up to R at
most. So for any number u >= 0, the value of X is at least what it is with the profits a_j - u w_j
of the open blocks, less u R: a bound for all X with these profits is one for those that keep the
limit.

That X without some of its blocks is not worth less holds as before, as it keeps the rules, too.

*Whole sets.* Where clusters have least sizes or weights, or listed sizes, or there are soft pairs,
parts of sets may be no sets, or may be worth less, so that nothing follows from leaving blocks out
or putting them in. What remains are bounds for all sets of a node.

*Soft pairs.* Of a cluster X are the price of each soft cannot-link inside it, and half of that of
each soft must-link with one end in X. So with a_i less half the prices of the soft must-links of i,
and W_ij the price of a soft cannot-link, or minus that of a soft must-link, X pays the sum of the
W_ij of all pairs inside X besides. Where X holds the blocks S that are chosen, and some open ones,

    sum of W over pairs in X >= sum of W over pairs in S
        + sum over j in X - S of (sum of W_ij over i in S - half the sum of |W_ij| over i that are
          open, W_ij < 0),

as a pair of open blocks counts half for each of the two, and not at all if W > 0.

*Sizes.* Where X has t points or more, for any u >= 0 its value is at least what it is with profits
of u more for each point of an open block, and u (t - points of S) added. So it is for units of
weight, and for both at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernel.rules import Rules, limits, measures
from ..kernel.sizes import Measure

Reals = NDArray[np.float64]
Marks = NDArray[np.bool_]


def reduced_profits(
    rules: Rules, profits: Reals, chosen: Marks, still: Marks, values: Reals
) -> tuple[Reals, Reals]:
    """Return the profits (s, c) of open blocks less what limits take off, and the sums (s,) of u R.

    Any u will do; they are chosen by the limits in turn.

    profits : (c,)
    chosen, still : (s, c) blocks chosen and open
    values : (s, c) about what open blocks add, below 0 for those that are worth it
    """
    left = np.broadcast_to(profits, chosen.shape)
    paid = np.zeros(len(chosen))
    for limit in limits(rules):
        room = limit.most - limit.spent(chosen)
        weight = np.where(still, limit.added(chosen), 0.0)
        # Of blocks that are worth it, the first that does not fit in.
        gains = np.where(values < 0.0, weight, 0.0)
        found, is_over = _where_filled(values, gains, room + 1.0)
        rate = np.where(is_over, np.maximum(-found, 0.0), 0.0)
        if rate.any():
            taken = rate[:, None] * weight
            left, values = left - taken, values + taken
            paid = paid + rate * room
    return left, paid


def _where_filled(values: Reals, amounts: Reals, wanted: Reals) -> tuple[Reals, Marks]:
    """Return a ratio (s,) of value to amount, and whether all blocks have the amount wanted.

    It is the ratio of the block with which those of the least ratios have that amount.

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
class Whole:
    """Prices of soft pairs, sizes and weights, for which sets of m blocks are looked at as a whole.

    tied : (m, m) W, symmetric, zero diagonal
    measures : of which sets may not have any sum
    """

    tied: Reals
    measures: tuple[Measure, ...]

    @classmethod
    def of(cls, tied: Reals, rules: Rules) -> Whole | None:
        """Return what there is to look at; None if parts of sets are sets, and worth no less."""
        measures = tuple(measures_of_whole(rules))
        return cls(tied, measures) if measures or tied.any() else None

    def select(self, blocks: NDArray[np.intp]) -> Whole:
        """Return the same of some blocks only, in their order."""
        measures = tuple(replace(each, values=each.values[blocks]) for each in self.measures)
        return Whole(self.tied[np.ix_(blocks, blocks)], measures)

    def allow(self, chosen: Marks, still: Marks) -> Marks:
        """Return whether nodes hold sets that have what they may by each measure alone, (s,)."""
        kept = np.ones(len(chosen), np.bool_)
        for measure in self.measures:
            least, most = sums_of_sets(measure, chosen, still)
            kept &= least <= most
        return kept

    def worths(self, profits: Reals, chosen: Marks, still: Marks) -> tuple[Reals, Reals]:
        """Return the most that open blocks are worth (s, c), and the W of pairs chosen (s,)."""
        of_chosen = chosen @ self.tied
        linked = still @ np.maximum(-self.tied, 0.0)
        return profits - of_chosen + 0.5 * linked, 0.5 * (of_chosen * chosen).sum(axis=1)

    def raised(
        self, profits: Reals, chosen: Marks, still: Marks, values: Reals
    ) -> tuple[Reals, Reals, Reals]:
        """Return profits (s, c) with u for each point or unit, (s,) what is added, and its errors.

        For one measure after the other: u (t - points), and what errors are in proportion to.

        values : (s, c) about what open blocks add
        """
        added = further = np.zeros(len(chosen))
        for measure in self.measures:
            # Of blocks that are worth it, the one with which they have what is lacking.
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
    """Return the measures for which sets are looked at as a whole."""
    return [each for each in measures(rules) if not each.limits.follow_from_most]


def sums_of_sets(measure: Measure, chosen: Marks, still: Marks) -> tuple[Reals, Reals]:
    """Return the least and the most (s,) of a measure that sets of nodes may have.

    The least are more than the most where there is no such set.
    """
    held = (chosen @ measure.reals)[:, None]
    room = held + (still @ measure.reals)[:, None]
    low, high = np.maximum(held, measure.ranges[:, 0]), np.minimum(room, measure.ranges[:, 1])
    least = np.where(low <= high, low, np.inf).min(axis=1, initial=np.inf)
    return least, np.where(low <= high, high, -np.inf).max(axis=1, initial=-np.inf)
