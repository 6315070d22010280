"""Bounds by the place of the mean: in a ball around the mean of the chosen blocks, and in a box."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.lagrangian.sets.nodes import PricingArrays, Scratch, Stack, all_fit, inner
from sdpbb.runtime.arrays import Reals

# Intervals of the distance of the means, maximum narrowings, and the share below which one repeats.
INTERVALS, NARROWINGS, WORTHWHILE = 12, 3, 0.7


@inner
def box_square(point: Reals, low: Reals, high: Reals) -> float:
    """Return the squared distance of a point from a box."""
    square = 0.0
    for c in range(len(point)):
        if point[c] < low[c]:
            square += (low[c] - point[c]) ** 2
        elif point[c] > high[c]:
            square += (point[c] - high[c]) ** 2
    return square


@inner
def corner_square(point: Reals, low: Reals, high: Reals) -> float:
    """Return the squared distance of a point from the farthest corner of a box."""
    square = 0.0
    for c in range(len(point)):
        square += max(point[c] - low[c], high[c] - point[c]) ** 2
    return square


@inner
def measure(
    data: PricingArrays, stack: Stack, d: int, profits: Reals, scratch: Scratch
) -> tuple[float, float]:
    """Fill distance and near; return a bound on the total gain, and the distance of mean and box.

    The bound on the gain of all candidates is not negative.
    """
    size, n = stack.size[d], stack.n_candidates[d]
    dimension = data.points.shape[1]
    total, x = 0.0, 0
    while x < n:
        clique, best = data.clique[stack.candidates[d, x]], 0.0
        while x < n and data.clique[stack.candidates[d, x]] == clique:
            j = stack.candidates[d, x]
            near = box_square(data.points[j], stack.low[d], stack.high[d])
            scratch.near[x] = near
            if size > 0.0:
                square = 0.0
                for c in range(dimension):
                    square += (stack.moment[d, c] / size - data.points[j, c]) ** 2
                scratch.distance[x] = np.sqrt(square)
            best = max(best, profits[j] - data.weights[j] * near)
            x += 1
        total += best
    least = 0.0
    if size > 0.0:
        for c in range(dimension):
            coordinate = stack.moment[d, c] / size
            if coordinate < stack.low[d, c]:
                least += (stack.low[d, c] - coordinate) ** 2
            elif coordinate > stack.high[d, c]:
                least += (coordinate - stack.high[d, c]) ** 2
    return total, np.sqrt(least)


@inner
def fill_gains(
    data: PricingArrays, stack: Stack, d: int, profits: Reals, scratch: Scratch, r: float
) -> float:
    """Fill gain for means within r of the mean of chosen.

    Return the sum, with at most one block of a clique.
    """
    n, has_mean = stack.n_candidates[d], stack.size[d] > 0.0
    total, best, clique = 0.0, 0.0, -1
    for x in range(n):
        j = stack.candidates[d, x]
        square = scratch.near[x]
        if has_mean:
            beyond = scratch.distance[x] - r
            if beyond > 0.0:
                square = max(square, beyond * beyond)
        gain = data.weights[j] * square - profits[j]
        scratch.gain[x] = gain
        if data.clique[j] != clique:
            total += best
            best, clique = 0.0, data.clique[j]
        best = min(best, gain)
    return total + best


@inner
def narrowed(
    data: PricingArrays,
    stack: Stack,
    d: int,
    profits: Reals,
    scratch: Scratch,
    upper: float,
    least: float,
    most: float,
) -> tuple[float, float]:
    """Return the part of the radii [least, most] where the bound is below upper; it may be empty.

    With r = || y(X) - y(chosen) ||, f(X) >= f(chosen) + E(chosen) r^2 + the sum of the negative
    e_j max(0, distance_j - r)^2 - a_j over candidates.
    """
    value = stack.scatter[d] - stack.profit[d]
    for _ in range(NARROWINGS):
        width = (most - least) / INTERVALS
        first, last = -1, -1
        for interval in range(INTERVALS):
            r = least + interval * width
            bound = value + stack.size[d] * r * r
            bound += fill_gains(data, stack, d, profits, scratch, r + width)
            if bound < upper:
                first = interval if first < 0 else first
                last = interval
        if first < 0:
            return 1.0, 0.0
        share = (last + 1 - first) / INTERVALS
        least, most = least + first * width, least + (last + 1) * width
        if share > WORTHWHILE:
            break
    return least, most


@inner
def in_and_out(
    data: PricingArrays,
    stack: Stack,
    d: int,
    profits: Reals,
    scratch: Scratch,
    upper: float,
    least: float,
    most: float,
) -> float:
    """Fill inside and outside; return the bound of the node."""
    n, value = stack.n_candidates[d], stack.scatter[d] - stack.profit[d]
    for x in range(n):
        scratch.inside[x] = scratch.outside[x] = np.inf
    lowest = np.inf
    intervals = INTERVALS if most > least else 1
    width = (most - least) / intervals
    for interval in range(intervals):
        r = least + interval * width
        bound = value + stack.size[d] * r * r
        bound += fill_gains(data, stack, d, profits, scratch, r + width)
        if bound >= upper:
            continue
        lowest = min(lowest, bound)
        x = 0
        while x < n:
            clique, first, best, second = data.clique[stack.candidates[d, x]], x, 0.0, 0.0
            while x < n and data.clique[stack.candidates[d, x]] == clique:
                gain = scratch.gain[x]
                if gain < best:
                    best, second = gain, best
                elif gain < second:
                    second = gain
                x += 1
            for y in range(first, x):
                gain = scratch.gain[y]
                scratch.inside[y] = min(scratch.inside[y], bound - best + gain)
                other = second if gain == best else best
                scratch.outside[y] = min(scratch.outside[y], bound - best + other)
    return lowest


@inner
def _rivals(
    data: PricingArrays, stack: Stack, d: int, profits: Reals, scratch: Scratch, r: float
) -> None:
    """Fill rivals: for each candidate, the total gain of the candidates cannot-linked to it."""
    n, has_mean = stack.n_candidates[d], stack.size[d] > 0.0
    for x in range(n):
        scratch.place[stack.candidates[d, x]] = x
    for x in range(n):
        i = stack.candidates[d, x]
        total, best, clique = 0.0, 0.0, -1
        for at in range(data.start[i], data.start[i + 1]):
            j = data.neighbours[at]
            y = scratch.place[j]
            if y < 0:
                continue
            square = scratch.near[y]
            beyond = scratch.distance[y] - r
            if has_mean and beyond > 0.0:
                square = max(square, beyond * beyond)
            if data.clique[j] != clique:
                total += best
                best, clique = 0.0, data.clique[j]
            best = max(best, profits[j] - data.weights[j] * square)
        scratch.rivals[i] = total + best
    for x in range(n):
        scratch.place[stack.candidates[d, x]] = -1


@inner
def reduced(
    data: PricingArrays,
    stack: Stack,
    d: int,
    scratch: Scratch,
    upper: float,
    most: float,
    optimal_only: bool,
    is_least: bool,
) -> tuple[bool, bool, int]:
    """Drop candidates that no set of interest holds, and find one that all such sets hold.

    With optimal_only, sets of least value are of interest. With is_least, too, parts of sets are
    allowed: a set of least value gains nothing by leaving out a block, or by exchanging rivals for
    a block. As soft pairs change these gains, bounds on them count.

    Returns whether the node is empty, whether a candidate was dropped, and the block to include
    or -1.
    """
    n, has_mean = stack.n_candidates[d], stack.size[d] > 0.0
    free = is_least and all_fit(data, stack, d)
    if optimal_only:
        _rivals(data, stack, d, scratch.max_gain_inside, scratch, most)
    kept, forced = 0, -1
    for x in range(n):
        j = stack.candidates[d, x]
        square = scratch.near[x]
        if has_mean and scratch.distance[x] > most:
            square = max(square, (scratch.distance[x] - most) ** 2)
        drop = scratch.inside[x] >= upper
        if is_least and data.weights[j] * square >= scratch.max_gain_inside[j]:
            drop = True
        if scratch.outside[x] >= upper:
            if drop:
                return True, True, -1
            if forced < 0:
                forced = j
        elif is_least and forced < 0 and not drop and (free or data.unbudgeted[j]):
            square = corner_square(data.points[j], stack.low[d], stack.high[d])
            if has_mean:
                square = min(square, (scratch.distance[x] + most) ** 2)
            if scratch.min_gain_outside[j] - data.weights[j] * square > scratch.rivals[j]:
                forced = j
        if drop:
            continue
        scratch.inside[kept] = scratch.inside[x]
        scratch.outside[kept] = scratch.outside[x]
        scratch.distance[kept] = scratch.distance[x]
        scratch.near[kept] = scratch.near[x]
        stack.candidates[d, kept] = j
        kept += 1
    stack.n_candidates[d] = kept
    return False, kept < n, forced
