"""Descent over exchanges of single blocks where sets are judged as a whole."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sdpbb.bounds.lagrangian.sets.search_values import PricingArrays, inner
from sdpbb.bounds.lagrangian.sets.whole_kernels import is_allowed
from sdpbb.runtime.arrays import NONE, Booleans, Integers, Reals

# Exchanges made from one set; pairs of a block inside and one outside beyond which none are looked
# at: they take a second for all sets of 50 of 150 blocks.
EXCHANGES, MOST_PAIRS = 100, 3_000
# Part of the largest terms that an exchange has to gain, so that rounding makes none.
LEAST_GAIN = 1e-12


class Exchanged(NamedTuple):
    """Set of blocks X that is changed block by block, and what others bring to it.

    chosen : (m,) marks
    sums : (4,) number of blocks, weight, sum of e_i ||c_i||^2, sum of W inside less profits
    moment : (p,) sum of e_i c_i
    held, used : (g,), (b,) of measures, of budgets
    spending : (b, m) what each block spends beside X, or did when it came in
    linked, tied : (m,) cannot-links of each block with X, and the sum of its W
    trial : (g,) work array
    """

    chosen: Booleans
    sums: Reals
    moment: Reals
    held: Reals
    used: Reals
    spending: Reals
    linked: Integers
    tied: Reals
    trial: Reals


@inner
def _put(data: PricingArrays, profits: Reals, to: Exchanged, block: int, sign: float) -> None:
    """Put a block into the set, with the sign 1, or take it out, with -1."""
    e = data.weights[block]
    to.chosen[block] = sign > 0.0
    to.sums[0] += sign
    to.sums[1] += sign * e
    to.sums[3] += sign * (to.tied[block] - profits[block])
    for c in range(len(to.moment)):
        to.moment[c] += sign * e * data.points[block, c]
        to.sums[2] += sign * e * data.points[block, c] ** 2
    for g in range(len(to.held)):
        to.held[g] += sign * data.measures[g, block]
    for b in range(len(to.used)):
        to.used[b] += sign * to.spending[b, block]
        if len(data.pairs):
            to.spending[b] += sign * data.pairs[b, block]
    for at in range(data.start[block], data.start[block + 1]):
        to.linked[data.neighbours[at]] += int(sign)
    if len(data.soft_other):
        for at in range(data.soft_start[block], data.soft_start[block + 1]):
            to.tied[data.soft_other[at]] += sign * data.soft_weight[at]


@inner
def _value(data: PricingArrays, profits: Reals, of: Exchanged, out: int, into: int) -> float:
    """Return the value of the set without `out` and with `into`, NONE for no block."""
    weight, total = of.sums[1], of.sums[2] + of.sums[3]
    if out >= 0:
        weight -= data.weights[out]
        total -= of.tied[out] - profits[out]
    if into >= 0:
        weight += data.weights[into]
        total += of.tied[into] - profits[into]
    if out >= 0 and into >= 0 and len(data.soft_other):
        for at in range(data.soft_start[out], data.soft_start[out + 1]):
            if data.soft_other[at] == into:
                total -= data.soft_weight[at]
    for c in range(len(of.moment)):
        moment = of.moment[c]
        if out >= 0:
            moment -= data.weights[out] * data.points[out, c]
            total -= data.weights[out] * data.points[out, c] ** 2
        if into >= 0:
            moment += data.weights[into] * data.points[into, c]
            total += data.weights[into] * data.points[into, c] ** 2
        total -= moment**2 / weight
    return float(total)


@inner
def _fits(data: PricingArrays, of: Exchanged, out: int, into: int) -> bool:
    """Return whether the set without `out` and with `into`, NONE for no block, is allowed."""
    if into >= 0:
        beside = of.linked[into]
        if beside and out >= 0 and data.apart[out, into]:
            beside -= 1
        if beside:
            return False
    for g in range(len(of.held)):
        of.trial[g] = of.held[g]
        if out >= 0:
            of.trial[g] -= data.measures[g, out]
        if into >= 0:
            of.trial[g] += data.measures[g, into]
    for b in range(len(of.used)):
        spent = of.used[b]
        if out >= 0:
            spent -= of.spending[b, out]
        if into >= 0:
            spent += of.spending[b, into]
        if out >= 0 and into >= 0 and len(data.pairs):
            spent -= data.pairs[b, out, into]
        if spent > data.limits[b]:
            return False
    return is_allowed(data, of.trial)


@inner
def exchanged(data: PricingArrays, profits: Reals, chosen: Booleans) -> float:
    """Exchange blocks of a set as long as that lowers its value, and return the value.

    A block leaves, another enters, or both, whichever gains most; sets stay allowed.

    chosen : (m,) of the set, which is changed
    """
    m = len(profits)
    current = Exchanged(
        np.zeros(m, np.bool_),
        np.zeros(4),
        np.zeros(data.points.shape[1]),
        np.zeros(len(data.measures)),
        np.zeros(len(data.limits)),
        data.linear.copy(),
        np.zeros(m, np.int64),
        np.zeros(m),
        np.zeros(len(data.measures)),
    )
    for i in range(m):
        if chosen[i]:
            _put(data, profits, current, i, 1.0)
    value = _value(data, profits, current, NONE, NONE)
    if current.sums[0] * (m - current.sums[0]) > MOST_PAIRS:
        return value
    for _ in range(EXCHANGES):
        least = value - LEAST_GAIN * (current.sums[2] + abs(current.sums[3]))
        best_out, best_into = NONE, NONE
        for out in range(NONE, m):
            if out >= 0 and not current.chosen[out]:
                continue
            # What is left is not empty.
            for into in range(NONE if out < 0 or current.sums[0] > 1.0 else 0, m):
                if into >= 0 and current.chosen[into]:
                    continue
                met = _value(data, profits, current, out, into)
                if met < least and _fits(data, current, out, into):
                    least, best_out, best_into = met, out, into
        if best_out < 0 and best_into < 0:
            break
        value = least
        if best_out >= 0:
            _put(data, profits, current, best_out, -1.0)
        if best_into >= 0:
            _put(data, profits, current, best_into, 1.0)
    chosen[:] = current.chosen
    return value
