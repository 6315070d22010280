"""Descent over exchanges of single blocks where sets are judged as a whole."""

from __future__ import annotations

import numpy as np

from sdpbb.arrays import NONE, Booleans, Reals
from sdpbb.bounds.colgen.pricing.search_values import PricingArrays, inner
from sdpbb.bounds.colgen.pricing.whole_kernels import is_allowed

# Exchanges made from one set.
EXCHANGES = 100
# Part of the largest terms that an exchange has to gain, so that rounding makes none.
LEAST_GAIN = 1e-12


@inner
def _soft_between(data: PricingArrays, i: int, j: int) -> float:
    """Return the W of a soft pair, 0 if there is none."""
    for at in range(data.soft_start[i], data.soft_start[i + 1]):
        if data.soft_other[at] == j:
            return float(data.soft_weight[at])
    return 0.0


@inner
def _fits(
    data: PricingArrays, held: Reals, used: Reals, spending: Reals, out: int, into: int, more: Reals
) -> bool:
    """Return whether the set without `out` and with `into`, NONE for no block, is allowed.

    By measures and budgets. held (g,), used (b,) : of the set; spending : (b, m) what a block
    spends beside it; more : (g,) work array
    """
    for g in range(len(held)):
        more[g] = held[g]
        if out >= 0:
            more[g] -= data.measures[g, out]
        if into >= 0:
            more[g] += data.measures[g, into]
    if not is_allowed(data, more):
        return False
    for b in range(len(used)):
        spent = used[b]
        if out >= 0:
            spent -= spending[b, out]
        if into >= 0:
            spent += spending[b, into]
        if out >= 0 and into >= 0 and len(data.pairs):
            spent -= data.pairs[b, out, into]
        if spent > data.limits[b]:
            return False
    return True


@inner
def exchanged(data: PricingArrays, profits: Reals, chosen: Booleans) -> float:
    """Exchange blocks of a set, as long as that lowers its value, and return the value.

    A block leaves, enters, or both, whichever gains most; sets stay allowed. chosen (m,) is
    changed.
    """
    m, dimension = data.points.shape
    moment = np.zeros(dimension)
    held, more = np.zeros(len(data.measures)), np.zeros(len(data.measures))
    used, spending = np.zeros(len(data.limits)), data.linear.copy()
    linked, tied = np.zeros(m, np.int64), np.zeros(m)
    count, size, squares, rest = 0, 0.0, 0.0, 0.0
    for i in range(m):
        if not chosen[i]:
            continue
        count += 1
        size += data.weights[i]
        for c in range(dimension):
            moment[c] += data.weights[i] * data.points[i, c]
            squares += data.weights[i] * data.points[i, c] ** 2
        for g in range(len(held)):
            held[g] += data.measures[g, i]
        for b in range(len(used)):
            used[b] += spending[b, i]
            if len(data.pairs):
                spending[b] += data.pairs[b, i]
        rest += tied[i] - profits[i]
        for at in range(data.start[i], data.start[i + 1]):
            linked[data.neighbours[at]] += 1
        if len(data.soft_other):
            for at in range(data.soft_start[i], data.soft_start[i + 1]):
                tied[data.soft_other[at]] += data.soft_weight[at]
    value = squares + rest
    for c in range(dimension):
        value -= moment[c] ** 2 / size
    for _ in range(EXCHANGES):
        best, best_out, best_in = value - LEAST_GAIN * (squares + abs(rest)), NONE, NONE
        for out in range(-1, m):
            if out >= 0 and (not chosen[out] or count == 1):
                continue
            for into in range(-1, m):
                if (into >= 0 and chosen[into]) or (into < 0 and out < 0):
                    continue
                if into >= 0:
                    beside = linked[into]
                    if beside and out >= 0 and data.apart[out, into]:
                        beside -= 1
                    if beside:
                        continue
                weight = size
                total = squares + rest
                if out >= 0:
                    weight -= data.weights[out]
                    total += profits[out] - tied[out]
                if into >= 0:
                    weight += data.weights[into]
                    total += tied[into] - profits[into]
                if out >= 0 and into >= 0 and len(data.soft_other):
                    total -= _soft_between(data, out, into)
                for c in range(dimension):
                    coordinate = moment[c]
                    if out >= 0:
                        coordinate -= data.weights[out] * data.points[out, c]
                        total -= data.weights[out] * data.points[out, c] ** 2
                    if into >= 0:
                        coordinate += data.weights[into] * data.points[into, c]
                        total += data.weights[into] * data.points[into, c] ** 2
                    total -= coordinate**2 / weight
                if total < best and _fits(data, held, used, spending, out, into, more):
                    best, best_out, best_in = total, out, into
        if best_out < 0 and best_in < 0:
            break
        value = best
        for block, sign in ((best_out, -1.0), (best_in, 1.0)):
            if block < 0:
                continue
            if sign > 0.0:
                rest += tied[block] - profits[block]
                for b in range(len(used)):
                    used[b] += spending[b, block]
            else:
                rest -= tied[block] - profits[block]
                for b in range(len(used)):
                    used[b] -= spending[b, block]
            chosen[block] = sign > 0.0
            count += int(sign)
            size += sign * data.weights[block]
            for c in range(dimension):
                moment[c] += sign * data.weights[block] * data.points[block, c]
                squares += sign * data.weights[block] * data.points[block, c] ** 2
            for g in range(len(held)):
                held[g] += sign * data.measures[g, block]
            if len(data.pairs):
                for b in range(len(used)):
                    spending[b] += sign * data.pairs[b, block]
            for at in range(data.start[block], data.start[block + 1]):
                linked[data.neighbours[at]] += int(sign)
            if len(data.soft_other):
                for at in range(data.soft_start[block], data.soft_start[block + 1]):
                    tied[data.soft_other[at]] += sign * data.soft_weight[at]
    return value
