"""Branch and bound over boxes of places: the greatest value of a place.

With u = x_i - m for the middle m of a box with half-widths r, a place m + e of it, a = y_i - |u|^2,
p = 2 u.e and R = 2 |u|.r, point i has the gain max(0, a + p - |e|^2) there, |p| <= R. It is

    out   if the gain is 0 in all of the box,
    in    if it is a + p - |e|^2 in all of the box: only sums of these points are stored,
    open  otherwise: the gain is at most max(0, a + p). So it is at most the secant of that over
          [-R, R], and at most (a + p + t)^2 / (4 t), the parabola that touches it at p = -a - t and
          -a + t, where t = max(|a|, R).

Sums of secants, or of parabolas, and of the points inside are quadratics in e. Their products of
coordinates are bounded by squares; the rest is maximised coordinate by coordinate. Points in or out
of a box are in or out of its parts. The charges of cannot-links at every place of the box
(`conflict_kernels.py`) are deducted.

With limits on clusters, each box has the rate t of its middle: y_i - t q_i / w_i replaces y_i, and
t U is added (`value_kernels.py`). The rate of a place grows with each gain there, so the least and
the greatest gains in the box limit the rates of all its places. A point is out or in if it is out
or in at all of these rates; then it is so in parts of the box, too.
"""

from __future__ import annotations

from typing import NamedTuple

from sdpbb.bounds.lagrangian.places.conflict_kernels import lost_in_box
from sdpbb.bounds.lagrangian.places.value_kernels import AmountLimits, limit_at, rate_of
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit

# Maximum boxes that wait. Each step halves one, so that none is wider than 2^-90 of the first.
DEPTH = 300

# Work of a box, in points, in addition to its points.
_OF_A_BOX = 30

FINISHED, PAUSED, FULL = 0, 1, 2
"""Why `search_boxes` ended: no boxes remain, the work is done, or the candidates need room."""


class BoxProblem(NamedTuple):
    """Points, for a search for the place of the greatest value.

    data : (n, 6) points (3), prices, weights, and limited amounts by weight
    limits : on these amounts
    pairs, ends : (p, 2) cannot-links, and the points in them
    left, place, half, ratios, amounts : scratch (n,), (3,), (3,), (n,), (n,)
    rounding : relative error of a sum of as many terms
    """

    data: Reals
    limits: AmountLimits
    pairs: Integers
    ends: Integers
    left: Reals
    place: Reals
    half: Reals
    ratios: Reals
    amounts: Reals
    rounding: float


class BoxStack(NamedTuple):
    """Boxes that wait, and their sums.

    order : (DEPTH,) the row of the box at each position of the stack; the other arrays but `end`
        are by row
    end : (DEPTH,) by position: end of the candidates of this box and all boxes below it
    low, high : (DEPTH, 3)
    bound : (DEPTH,) on the values in the box
    first, n_open : (DEPTH,) its open points, in `candidates`
    inside : (DEPTH, 7) sums over the points inside: weight, a, u (3), absolute values, amount
    rate : (DEPTH, 3) t, and its minimum and maximum over all places of the box
    major : (DEPTH, 2, 7) the two quadratics: constant with a margin for rounding, half the slopes
        (3), curvatures (3)
    """

    order: Integers
    end: Integers
    low: Reals
    high: Reals
    bound: Reals
    first: Integers
    n_open: Integers
    inside: Reals
    rate: Reals
    major: Reals


@njit(cache=True, nogil=True)
def _greatest(half_slope: float, curvature: float, low: float, high: float) -> float:
    """Return the greatest 2 b e + h e^2 for e in [low, high]."""
    value = max(
        2.0 * half_slope * low + curvature * low * low,
        2.0 * half_slope * high + curvature * high * high,
    )
    if curvature < 0.0 and low < -half_slope / curvature < high:
        value = max(value, -half_slope * half_slope / curvature)
    return value


@njit(cache=True, nogil=True)
def _over(stack: BoxStack, at: int, low: Reals, high: Reals) -> float:
    """Return the bound for a part of a box by the quadratics of the box."""
    least: float = stack.bound[at]
    for q in range(2):
        value = stack.major[at, q, 0]
        for j in range(3):
            middle = 0.5 * (stack.low[at, j] + stack.high[at, j])
            value += _greatest(
                stack.major[at, q, 1 + j],
                stack.major[at, q, 4 + j],
                low[j] - middle,
                high[j] - middle,
            )
        least = min(least, value)
    return least


@njit(cache=True, nogil=True)
def _rate_of_gains(
    problem: BoxProblem, candidates: Integers, stack: BoxStack, parent: int, at: int, side: float
) -> float:
    """Return the rate for gains in box `at` of the points that are open in `parent`, which has it.

    side : below 0: the least gains in the box; 0: gains in its middle; above 0: the greatest gains
    """
    data, limits = problem.data, problem.limits
    first, n = stack.first[parent], stack.n_open[parent]
    square = 0.0
    for j in range(3):
        problem.place[j] = 0.5 * (stack.low[at, j] + stack.high[at, j])
        problem.half[j] = 0.5 * (stack.high[at, j] - stack.low[at, j]) * (1.0 + 1e-12)
        square += problem.half[j] * problem.half[j]
    for c in range(n):
        i = candidates[first + c]
        gain, reach, near = data[i, 3], 0.0, 0.0
        for j in range(3):
            u = abs(data[i, j] - problem.place[j])
            gain -= u * u
            reach += 2.0 * u * problem.half[j]
            near += max(0.0, u - problem.half[j]) ** 2
        if side < 0.0:
            gain -= reach + square
        elif side > 0.0:
            gain = min(gain + reach, data[i, 3] - near)
        problem.ratios[c] = gain / data[i, 5]
        problem.amounts[c] = data[i, 4] * data[i, 5]
    held = stack.inside[parent, 6]
    # If the points inside have more than the limit, the rates of the parent limit the result.
    left = AmountLimits(max(0.0, limits.least - held), max(0.0, limits.most - held))
    return rate_of(problem.ratios, problem.amounts, n, left)


@njit(cache=True, nogil=True)
def _fill_rates(
    problem: BoxProblem, candidates: Integers, stack: BoxStack, parent: int, at: int
) -> None:
    """Fill in the rates of box `at`, within the limits of box `parent`."""
    rates, low, high = stack.rate[at], stack.rate[parent, 1], stack.rate[parent, 2]
    rates[0] = min(max(_rate_of_gains(problem, candidates, stack, parent, at, 0.0), low), high)
    rates[1] = min(max(_rate_of_gains(problem, candidates, stack, parent, at, -1.0), low), rates[0])
    rates[2] = max(min(_rate_of_gains(problem, candidates, stack, parent, at, 1.0), high), rates[0])


@njit(cache=True, nogil=True)
def _fill(
    problem: BoxProblem, candidates: Integers, stack: BoxStack, parent: int, at: int
) -> float:
    """Fill the rows of box `at`, a part of box `parent`; return the value of its middle.

    Its candidates start at stack.first[at]. `at` differs from `parent`.
    """
    data = problem.data
    m0 = 0.5 * (stack.low[at, 0] + stack.high[at, 0])
    m1 = 0.5 * (stack.low[at, 1] + stack.high[at, 1])
    m2 = 0.5 * (stack.low[at, 2] + stack.high[at, 2])
    r0 = 0.5 * (stack.high[at, 0] - stack.low[at, 0]) * (1.0 + 1e-12)
    r1 = 0.5 * (stack.high[at, 1] - stack.low[at, 1]) * (1.0 + 1e-12)
    r2 = 0.5 * (stack.high[at, 2] - stack.low[at, 2]) * (1.0 + 1e-12)
    square = r0 * r0 + r1 * r1 + r2 * r2
    e0 = m0 - 0.5 * (stack.low[parent, 0] + stack.high[parent, 0])
    e1 = m1 - 0.5 * (stack.low[parent, 1] + stack.high[parent, 1])
    e2 = m2 - 0.5 * (stack.low[parent, 2] + stack.high[parent, 2])
    rate, least_rate, most_rate = 0.0, 0.0, 0.0
    if problem.limits.most >= 0.0:
        _fill_rates(problem, candidates, stack, parent, at)
        rate, least_rate, most_rate = stack.rate[at, 0], stack.rate[at, 1], stack.rate[at, 2]
    of = stack.inside[parent]
    weight, amount, opened_amount = of[0], of[6], 0.0
    worth = of[1] + 2.0 * (of[2] * e0 + of[3] * e1 + of[4] * e2)
    worth -= weight * (e0 * e0 + e1 * e1 + e2 * e2)
    s0, s1, s2 = of[2] - weight * e0, of[3] - weight * e1, of[4] - weight * e2
    absolute, around, opened, secants, parabolas = of[5], 0.0, 0.0, 0.0, 0.0
    a0, a1, a2, b0, b1, b2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    q00, q11, q22, q01, q02, q12 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    first, room, count = stack.first[parent], stack.first[at], 0
    for c in range(first, first + stack.n_open[parent]):
        i = candidates[c]
        u0, u1, u2 = data[i, 0] - m0, data[i, 1] - m1, data[i, 2] - m2
        f0, f1, f2 = abs(u0), abs(u1), abs(u2)
        reach = 2.0 * (f0 * r0 + f1 * r1 + f2 * r2)
        a = data[i, 3] - (u0 * u0 + u1 * u1 + u2 * u2)
        q = data[i, 5]
        if a + reach <= q * least_rate:
            continue
        w = data[i, 4]
        if a - q * most_rate >= reach + square:
            amount += w * q
            absolute += w * (abs(a) + reach)
            weight += w
            worth += w * a
            s0 += w * u0
            s1 += w * u1
            s2 += w * u2
            continue
        g0, g1, g2 = max(0.0, f0 - r0), max(0.0, f1 - r1), max(0.0, f2 - r2)
        if data[i, 3] - q * least_rate <= g0 * g0 + g1 * g1 + g2 * g2:
            continue
        a -= q * rate
        around += w * (abs(a) + reach)
        opened_amount += w * q
        candidates[room + count] = i
        count += 1
        if a + reach <= 0.0:  # it may have a gain at a lower rate
            continue
        if a > 0.0:
            opened += w * a
        low = max(0.0, a - reach)
        secants += w * 0.5 * (low + a + reach)
        g = w * (a + reach - low) / (2.0 * reach) if reach > 0.0 else 0.0
        a0 += g * u0
        a1 += g * u1
        a2 += g * u2
        t = max(abs(a), reach, 1e-300)
        g = (a + t) / (2.0 * t)
        parabolas += w * g * 0.5 * (a + t)
        g *= w
        b0 += g * u0
        b1 += g * u1
        b2 += g * u2
        g = w / t
        q00 += g * u0 * u0
        q11 += g * u1 * u1
        q22 += g * u2 * u2
        q01 += g * u0 * u1
        q02 += g * u0 * u2
        q12 += g * u1 * u2
    stack.n_open[at] = count
    inside, major = stack.inside[at], stack.major[at]
    inside[0], inside[1], inside[2], inside[3], inside[4] = weight, worth, s0, s1, s2
    inside[5], inside[6] = absolute, amount
    limit = limit_at(problem.limits, rate)
    worth += (limit - amount) * rate
    around += (limit + amount + opened_amount) * abs(rate)
    margin, lost = problem.rounding * (absolute + around), 0.0
    if len(problem.pairs) > 0:
        problem.place[0], problem.place[1], problem.place[2] = m0, m1, m2
        problem.half[0], problem.half[1], problem.half[2] = r0, r1, r2
        least_lost, lost = lost_in_box(
            data, problem.pairs, problem.ends, problem.place, problem.half, rate, problem.left
        )
        margin -= least_lost
    secants, parabolas = secants + margin, parabolas + margin
    major[0, 0], major[0, 1], major[0, 2], major[0, 3] = secants + worth, a0 + s0, a1 + s1, a2 + s2
    major[0, 4], major[0, 5], major[0, 6] = -weight, -weight, -weight
    major[1, 0], major[1, 1], major[1, 2], major[1, 3] = (
        parabolas + worth,
        b0 + s0,
        b1 + s1,
        b2 + s2,
    )
    q01, q02, q12 = abs(q01), abs(q02), abs(q12)
    # 2 e_0 e_1 <= e_0^2 r_1 / r_0 + e_1^2 r_0 / r_1
    major[1, 4] = q00 - weight + (q01 * r1 + q02 * r2) / r0 if r0 > 0.0 else 0.0
    major[1, 5] = q11 - weight + (q01 * r0 + q12 * r2) / r1 if r1 > 0.0 else 0.0
    major[1, 6] = q22 - weight + (q02 * r0 + q12 * r1) / r2 if r2 > 0.0 else 0.0
    value: float = worth + opened - lost
    return value


@njit(cache=True, nogil=True)
def search_boxes(
    problem: BoxProblem,
    candidates: Integers,
    stack: BoxStack,
    values: Reals,
    counts: Integers,
    met: Reals,
    tolerance: float,
    share: float,
    work: int,
) -> int:
    """Halve boxes until no value in them exceeds the greatest one met by more than a tolerance.

    Parameters
    ----------
    candidates : numbers of points; the caller extends it
    values : the greatest value met; upper bound on the values in all dropped boxes; six work
    numbers
    counts : boxes that wait, boxes examined, places stored so far
    met : (p, 4) ring of places and their values of at least `share` times the greatest met before
    work : number of points to examine before a pause
    """
    low, high, order, end = values[2:5], values[5:8], stack.order, stack.end
    done = 0
    while counts[0] > 0:
        position = counts[0] - 1
        at = order[position]
        if stack.bound[at] <= values[0] + tolerance or position + 3 >= DEPTH:
            values[1] = max(values[1], stack.bound[at])
            counts[0] = position
            continue
        if done > work:
            return PAUSED
        room = stack.first[at] + stack.n_open[at]
        if position > 0:
            room = max(room, end[position - 1])
        if room + 2 * stack.n_open[at] > len(candidates):
            return FULL
        axis = 0
        for j in range(1, 3):
            if stack.high[at, j] - stack.low[at, j] > stack.high[at, axis] - stack.low[at, axis]:
                axis = j
        middle = 0.5 * (stack.low[at, axis] + stack.high[at, axis])
        # The halves are made above their parent on the stack, and moved down when it is dropped.
        last = position
        for side in range(2):
            top = order[last + 1]
            for j in range(3):
                low[j], high[j] = stack.low[at, j], stack.high[at, j]
            if side == 0:
                high[axis] = middle
            else:
                low[axis] = middle
            bound = _over(stack, at, low, high)
            if bound <= values[0] + tolerance:
                values[1] = max(values[1], bound)
                continue
            for j in range(3):
                stack.low[top, j], stack.high[top, j] = low[j], high[j]
            stack.first[top] = room
            value = _fill(problem, candidates, stack, at, top)
            done += stack.n_open[at] + len(problem.ends) + len(problem.pairs) + _OF_A_BOX
            counts[1] += 1
            values[0] = max(values[0], value)
            if value >= share * values[0]:
                place = counts[2] % len(met)
                for j in range(3):
                    met[place, j] = 0.5 * (low[j] + high[j])
                met[place, 3] = value
                counts[2] += 1
            stack.bound[top] = bound
            bound = _over(stack, top, low, high)
            if bound <= values[0] + tolerance:
                values[1] = max(values[1], bound)
                continue
            stack.bound[top] = bound
            room += stack.n_open[top]
            last += 1
            end[last] = room
        for lower in range(position, last):  # move the parent up, and drop it
            order[lower], order[lower + 1] = order[lower + 1], order[lower]
            end[lower] = end[lower + 1]
        counts[0] = last
        # The half with the greater bound comes first.
        if last == position + 2 and stack.bound[order[position]] > stack.bound[order[position + 1]]:
            order[position], order[position + 1] = order[position + 1], order[position]
            end[position] = end[position + 1]
    return FINISHED
