"""Cluster rules in verified pricing.

Sets that the rules exclude, and a Lagrangian reduction of profits by a limit.

In a node whose sets X hold the chosen blocks and some of the open ones, let R be what is left of a
limit beside the chosen ones, and w_j >= 0 what an open block j adds to what they spend; what pairs
of open blocks add is not counted. The w_j of a set that keeps the limit add up to R at most. So for
any number u >= 0, the value of X is at least what it is with the profits a_j - u w_j of the open
blocks, less u R: a bound for all X with these profits is one for those that keep the limit.

That X without some of its blocks is not worth less holds as before, as it keeps the rules, too.
That X with a block more is not (the rules (out) and (swap) of `pricing`) is known only where it
surely keeps them.
"""

from __future__ import annotations

import numpy as np

from ..kernel.rules import Limit, Rules, broken, limits
from .problem import Marks, Reals


def surely_kept(rules: Rules, sets: Marks, linked: Reals) -> Marks:
    """Return whether sets keep the rules together with a block, whatever is left out, (s, c).

    That is so if each subset of a set (s, c), less the blocks that are linked (c, c) to a block,
    and that block keep the rules together.
    """

    def may_exceed(limit: Limit) -> Marks:
        spent = limit.spent(sets)[:, None] + limit.added(sets) - (sets * limit.reals) @ linked
        return np.asarray(spent > limit.most)

    return ~broken(rules, may_exceed, sets.shape)


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
        rate = _rates(values, weight, room)
        if rate.any():
            taken = rate[:, None] * weight
            left, values = left - taken, values + taken
            paid = paid + rate * room
    return left, paid


def _rates(values: Reals, weight: Reals, room: Reals) -> Reals:
    """Return u >= 0 (s,) at which the blocks of values + u weight < 0 about fill the room.

    It is the ratio of the first block that does not fit in, the best ones first.
    """
    gains = (weight > 0.0) & (values < 0.0)
    ratio = np.zeros_like(values)
    np.divide(-values, weight, out=ratio, where=gains)
    order = np.argsort(-ratio, axis=1)
    filled = np.cumsum(np.take_along_axis(weight * gains, order, axis=1), axis=1)
    over = filled > room[:, None]
    first = np.take_along_axis(order, over.argmax(axis=1)[:, None], axis=1)
    return np.where(over.any(axis=1), np.take_along_axis(ratio, first, axis=1)[:, 0], 0.0)
