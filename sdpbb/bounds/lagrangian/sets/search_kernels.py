"""Branch and bound over sets of blocks and places of their mean."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.lagrangian.sets.amount_kernels import (
    empty_by_size,
    fill_worths,
    has_range_of_sizes,
    is_allowed,
    lift,
)
from sdpbb.bounds.lagrangian.sets.nodes import (
    NOTHING,
    UPPER,
    PricingArrays,
    Scratch,
    Stack,
    copy_to_child,
    include,
    inner,
)
from sdpbb.bounds.lagrangian.sets.place_kernels import (
    fill_gains,
    in_and_out,
    measure,
    narrowed,
    reduced,
)
from sdpbb.runtime.arrays import NONE, Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

# Entries of the counters.
DEPTH, FRESH, NODES, FOUND = 0, 1, 2, 3
# Results of a search.
FINISHED, UNFINISHED, FULL = 0, 1, 2
# Intervals of radii for a half box, whose bound is only compared.
HALF_INTERVALS = 4
# The score of a branching. Names that end in ALL are for searches of all sets.
# Least gain that counts, as a share of the distance from the bound to upper.
LEAST_GAIN, LEAST_GAIN_ALL = 1e-2, 0.03
# A gain of halving the box counts this many times as much as a gain of deciding a block.
BOX_WEIGHT = 5.0
# A box of less than this share of the first one is not halved.
LEAST_BOX, LEAST_BOX_ALL = 1e-4, 0.01


@inner
def _box_bound(
    data: PricingArrays,
    stack: Stack,
    d: int,
    profits: Reals,
    scratch: Scratch,
    least: float,
    most: float,
) -> float:
    """Return a bound for the present box of a node; overwrites near and distance."""
    size, lowest = stack.size[d], np.inf
    _, nearest = measure(data, stack, d, profits, scratch)
    least = max(least, nearest)
    if size > 0.0 and least > most:
        return lowest
    intervals = HALF_INTERVALS if size > 0.0 else 1
    width, value = (most - least) / intervals, stack.scatter[d] - stack.profit[d]
    for interval in range(intervals):
        r = least + interval * width
        bound = value + size * r * r
        bound += fill_gains(data, stack, d, profits, scratch, r + width)
        lowest = min(lowest, bound)
    return lowest


@inner
def _score(first: float, second: float, lowest: float, upper: float) -> float:
    """Return the product of the gains of two children."""
    missing = upper - lowest
    a = min(max(first - lowest, 0.0), missing) + LEAST_GAIN * missing
    b = min(max(second - lowest, 0.0), missing) + LEAST_GAIN * missing
    return a * b


@inner
def _branching(
    data: PricingArrays,
    stack: Stack,
    d: int,
    profits: Reals,
    scratch: Scratch,
    upper: float,
    lowest: float,
    least: float,
    most: float,
    optimal_only: bool,
) -> tuple[int, int]:
    """Return how to branch: a coordinate to halve the box along, or -1 and a candidate.

    profits, upper and lowest are without the shift.
    """
    best, block = -np.inf, NONE
    for x in range(stack.n_candidates[d]):
        j = stack.candidates[d, x]
        score = _score(scratch.inside[x], scratch.outside[x], lowest, upper)
        if data.points.shape[1] == 0:  # weights of a graph: first the one that excludes most
            score = scratch.rivals[j] + profits[j]
        elif not data.boxes and stack.size[d] == 0.0:  # outer blocks first: few clusters suit them
            score = 0.0
            for c in range(data.points.shape[1]):
                score += data.points[j, c] ** 2
        if score > best:
            best, block = score, j
    widest, width = data.points.shape[1] - 1, 0.0
    for c in range(data.points.shape[1]):
        if stack.high[d, c] - stack.low[d, c] > width:
            widest, width = c, stack.high[d, c] - stack.low[d, c]
    room = d + 2 + stack.n_candidates[d] < len(stack.size)
    first = 0.0
    for c in range(data.points.shape[1]):
        first = max(first, stack.high[0, c] - stack.low[0, c])
    smallest = first * (LEAST_BOX if optimal_only else LEAST_BOX_ALL)
    if not (data.boxes and width > 0.0 and room and width >= smallest):
        return -1, block
    low, high = stack.low[d, widest], stack.high[d, widest]
    middle = 0.5 * (low + high)
    stack.high[d, widest] = middle
    lower = _box_bound(data, stack, d, profits, scratch, least, most)
    stack.low[d, widest], stack.high[d, widest] = middle, high
    higher = _box_bound(data, stack, d, profits, scratch, least, most)
    stack.low[d, widest] = low
    # If no half gains, blocks must be branched on sooner or later.
    gain = max(lower, higher) if optimal_only else min(lower, higher)
    share = LEAST_GAIN if optimal_only else LEAST_GAIN_ALL
    pays_off = gain - lowest > share * (upper - lowest)
    if optimal_only:
        pays_off = pays_off or stack.size[d] == 0.0
    else:  # no half is empty as long as the chosen set, or the empty set, is itself of interest
        pays_off = pays_off and stack.scatter[d] - stack.profit[d] >= upper + scratch.shift[0]
    if pays_off and BOX_WEIGHT * _score(lower, higher, lowest, upper) > best:
        stack.cut[d] = middle
        return widest, block
    return -1, block


@inner
def _process_node(
    data: PricingArrays,
    stack: Stack,
    d: int,
    profits: Reals,
    scratch: Scratch,
    upper: float,
    optimal_only: bool,
) -> tuple[int, int, float]:
    """Bound node d and reduce it until nothing changes.

    Returns the coordinate to halve the box along, or -1; the block to branch on, or -1 if the node
    holds nothing more of interest; and upper or, with optimal_only, what it has fallen to.
    """
    has_parts = len(data.ranges) == 0
    while True:
        value = stack.scatter[d] - stack.profit[d]
        is_better = optimal_only and stack.size[d] > 0.0 and value < upper
        if is_better and is_allowed(data, stack.used[d]):
            upper = value
            for j in range(len(scratch.met)):
                scratch.met[j] = stack.chosen[d, j]
        if stack.n_candidates[d] == 0:
            return -1, -1, upper
        if not has_range_of_sizes(data, stack, d, scratch):
            stack.n_candidates[d] = 0
            return -1, -1, upper
        fill_worths(data, stack, d, profits, scratch)
        total, least = measure(data, stack, d, scratch.worth, scratch)
        most = 0.0
        if stack.size[d] > 0.0:
            room = upper - value + total
            if room <= stack.size[d] * least * least:
                return -1, -1, upper
            most = min(stack.radius[d], np.sqrt(room / stack.size[d]))
            if most < least:
                return -1, -1, upper
        elif upper - value + total <= 0.0:
            return -1, -1, upper
        if not has_parts:
            lift(data, stack, d, scratch, most, upper)
        worths, shift = scratch.lifted, scratch.shift[0]
        if stack.size[d] > 0.0:
            least, most = narrowed(data, stack, d, worths, scratch, upper - shift, least, most)
            if least > most:
                return -1, -1, upper
            stack.radius[d] = most
            for c in range(data.points.shape[1]):
                coordinate = stack.moment[d, c] / stack.size[d]
                stack.low[d, c] = max(stack.low[d, c], coordinate - most)
                stack.high[d, c] = min(stack.high[d, c], coordinate + most)
        lowest = in_and_out(data, stack, d, worths, scratch, upper - shift, least, most)
        if lowest == np.inf:
            return -1, -1, upper
        # Rules of the least value do not hold if the empty set may be below upper.
        is_least = optimal_only and upper <= 0.0
        empty, dropped, forced = reduced(
            data, stack, d, scratch, upper - shift, most, optimal_only, is_least and has_parts
        )
        if empty:
            return -1, -1, upper
        if forced >= 0:
            include(data, stack, d, forced, profits)
        elif not dropped:
            if data.by_size and empty_by_size(data, stack, d, scratch.worth, scratch, upper):
                stack.n_candidates[d] = 0  # the chosen set may itself be of interest
                return -1, -1, upper
            c, block = _branching(
                data, stack, d, worths, scratch, upper - shift, lowest, least, most, optimal_only
            )
            return c, block, upper


@inner
def _next(stack: Stack, depth: int) -> int:
    """Go to the second child of the deepest node that has one; return the depth, or -1."""
    d = depth
    while d >= 0 and stack.pending[d] == NOTHING:
        d -= 1
    if d < 0:
        return d
    pending = stack.pending[d]
    stack.pending[d] = NOTHING
    if pending <= UPPER:
        stack.low[d, UPPER - pending] = stack.cut[d]
        return d
    kept = 0
    for x in range(stack.n_candidates[d]):
        if stack.candidates[d, x] != pending:
            stack.candidates[d, kept] = stack.candidates[d, x]
            kept += 1
    stack.n_candidates[d] = kept
    return d


@inner
def _has_its_mean(stack: Stack, d: int) -> bool:
    """Return whether the mean of the chosen blocks is in the box, or close to it.

    Otherwise it is in another box.
    """
    extent = 0.0
    for c in range(stack.low.shape[1]):
        extent = max(extent, stack.high[0, c] - stack.low[0, c])
    for c in range(stack.low.shape[1]):
        mean = stack.moment[d, c] / stack.size[d]
        room = 1e-9 * (extent + abs(mean))
        if not stack.low[d, c] - room <= mean <= stack.high[d, c] + room:
            return False
    return True


@njit(cache=True)
def search(
    data: PricingArrays,
    profits: Reals,
    stack: Stack,
    scratch: Scratch,
    counters: Integers,
    upper: Reals,
    n_nodes: int,
    optimal_only: bool,
    found: Booleans,
) -> int:
    """Branch and bound, depth first, over the sets X of value f(X) < upper.

    Parameters
    ----------
    stack, counters : state of the search; changed
    upper : (1,) only smaller values are of interest. With optimal_only it falls with each better
        set, and ends at the least value, if that is smaller than upper was. Otherwise every set of
        a smaller value is found
    n_nodes : number of further nodes to search
    found : (s, m) receives, from position counters[FOUND] on, each set that lowers upper, or every
        set below it. The search returns when it is full

    Returns FINISHED, UNFINISHED (n_nodes) or FULL.
    """
    last = counters[NODES] + n_nodes
    room = len(found)
    while True:
        d = counters[DEPTH]
        if not counters[FRESH]:
            d = _next(stack, d)
            if d < 0:
                counters[DEPTH] = 0
                return FINISHED
            counters[DEPTH] = d
            counters[FRESH] = 1
        if counters[NODES] >= last:
            return UNFINISHED
        if not optimal_only and counters[FOUND] >= room:
            return FULL
        counters[NODES] += 1
        counters[FRESH] = 0
        c, block, met = _process_node(data, stack, d, profits, scratch, upper[0], optimal_only)
        at_end = c < 0 and block < 0
        if optimal_only and met < upper[0]:
            upper[0] = met
            at = min(counters[FOUND], room - 1)
            for j in range(found.shape[1]):
                found[at, j] = scratch.met[j]
            counters[FOUND] = at + 1
        elif not optimal_only and at_end and stack.n_candidates[d] == 0 and stack.size[d] > 0.0:
            value = stack.scatter[d] - stack.profit[d]
            is_wanted = value < upper[0] and is_allowed(data, stack.used[d])
            if is_wanted and _has_its_mean(stack, d):
                for j in range(found.shape[1]):
                    found[counters[FOUND], j] = stack.chosen[d, j]
                counters[FOUND] += 1
        if at_end:
            continue
        copy_to_child(stack, d)
        if c >= 0:
            stack.pending[d] = UPPER - c
            stack.high[d + 1, c] = stack.cut[d]
        else:
            stack.pending[d] = block
            stack.likely[d + 1] -= data.weights[block]
            include(data, stack, d + 1, block, profits)
        counters[DEPTH] = d + 1
        counters[FRESH] = 1
