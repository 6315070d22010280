"""The compiled loops of pricing: branch and bound over sets of blocks and places of their mean.

Notation: a set X of blocks has E(X) points, mean y(X) and value

    f(X) = sum_{i in X} (e_i || c_i - y(X) ||^2 - a_i)
         = min_y sum_{i in X} (e_i || c_i - y ||^2 - a_i),

where e_i, c_i are the size and mean of block i, and a_i its price less its own scatter.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
Marks = NDArray[np.bool_]


class Data(NamedTuple):
    """The blocks, in an order in which those of a clique of cannot-links follow each other.

    points : (m, p) means
    sizes : (m,)
    clique : (m,) non-decreasing; blocks of one clique are mutually cannot-linked
    start, neighbours : cannot-links of block i in neighbours[start[i] : start[i + 1]], ascending
    linear, pairs, limits : budgets (b, m), (b, m, m) or (0, m, m), (b,) (`sdpbb.problem.budgets`)
    unbudgeted : (m,) blocks that use no budget
    squares, nearest : (m, m) squared distances of the means; for each block all, the nearest first
    boxes, by_size : whether boxes are halved, and whether sizes are looked at one by one: what is
        worth its time depends on the dimension
    """

    points: Reals
    sizes: Reals
    clique: Integers
    start: Integers
    neighbours: Integers
    linear: Reals
    pairs: Reals
    limits: Reals
    unbudgeted: Marks
    squares: Reals
    nearest: Integers
    boxes: bool
    by_size: bool


class Stack(NamedTuple):
    """The nodes from the root to the present one, by depth d: the sets X with chosen <= X <= chosen
    + candidates whose mean is in a box and no farther than radius from the mean of chosen.

    chosen : (d, m) marks; size, moment, scatter, profit, used : of them, (d,), (d, p) sum of
        e_i c_i, (d,) sum of e_i || c_i - mean ||^2, (d,) sum of a_i, (d, b) of the budgets
    low, high : (d, p) the box
    radius : (d,)
    candidates, n_candidates : (d, m) in ascending order, (d,)
    pending : (d,) what is left to do there: NOTHING, or the exclusion of block pending >= 0, or the
        upper half of the box along coordinate UPPER - pending, from cut on
    cut : (d,)
    likely : (d,) how many points more than chosen a set of interest may have, if any
    """

    chosen: Marks
    size: Reals
    moment: Reals
    scatter: Reals
    profit: Reals
    used: Reals
    low: Reals
    high: Reals
    radius: Reals
    candidates: Integers
    n_candidates: Integers
    pending: Integers
    cut: Reals
    likely: Reals


class Scratch(NamedTuple):
    """Of the present node, by position among its candidates.

    distance : from the mean of chosen
    near : squared distance from the box
    gain : what the candidate adds to the bound at least, in an interval of radii
    inside, outside : bounds on the sets with the candidate, and without
    rivals : (m,) per block: what its cannot-linked candidates can add together, as a positive
        number
    place : (m,) position of a block among the candidates, or -1
    met : (m,) marks of the set of the least value chosen on the way, if that is below upper
    weight_sums, pair_sums : (m, m + 1) per candidate: points, and sum of e_l squared distance, of
        the nearest candidates that it can share a cluster with
    at : (m,) position in these
    key : (m,)
    """

    distance: Reals
    near: Reals
    gain: Reals
    inside: Reals
    outside: Reals
    rivals: Reals
    place: Integers
    met: Marks
    weight_sums: Reals
    pair_sums: Reals
    at: Integers
    key: Reals


# What is called from compiled code only needs no wrapper, which would take longer to compile.
_inner = nb.njit(cache=True, no_cpython_wrapper=True)  # type: ignore[call-overload]

NOTHING, UPPER = -1, -2
# Entries of the counters.
DEPTH, FRESH, NODES, FOUND = 0, 1, 2, 3
# What a search comes back with.
FINISHED, UNFINISHED, FULL = 0, 1, 2
# Intervals that the distance of the means is cut into, and how often they are narrowed.
INTERVALS, NARROWINGS, WORTHWHILE = 12, 3, 0.7
# Multipliers tried for the number of points.
MULTIPLIERS = 8
EPSILON = float(np.finfo(np.float64).eps)
# Of a half box, where it is only compared.
HALF_INTERVALS = 4
# A branching's score: gains count at least as this share of what is missing, and those of halving
# the box so many times more, unless the box is smaller than a share of the first: the last one
# where all sets are wanted, which are looked at once in each box that their bounds allow.
LEAST_GAIN, BOX_WEIGHT, LEAST_BOX, LEAST_BOX_ALL = 1e-2, 5.0, 1e-4, 0.05


@_inner
def _reset_from_parent(stack, d):
    """Make node d + 1 a copy of node d."""
    for j in range(stack.chosen.shape[1]):
        stack.chosen[d + 1, j] = stack.chosen[d, j]
    for c in range(stack.low.shape[1]):
        stack.moment[d + 1, c] = stack.moment[d, c]
        stack.low[d + 1, c] = stack.low[d, c]
        stack.high[d + 1, c] = stack.high[d, c]
    for b in range(stack.used.shape[1]):
        stack.used[d + 1, b] = stack.used[d, b]
    for x in range(stack.n_candidates[d]):
        stack.candidates[d + 1, x] = stack.candidates[d, x]
    stack.size[d + 1] = stack.size[d]
    stack.scatter[d + 1] = stack.scatter[d]
    stack.profit[d + 1] = stack.profit[d]
    stack.radius[d + 1] = stack.radius[d]
    stack.n_candidates[d + 1] = stack.n_candidates[d]
    stack.pending[d + 1] = NOTHING
    stack.likely[d + 1] = stack.likely[d]


@_inner
def _load(data, chosen, b, j):
    """What block j would use of budget b."""
    load = data.linear[b, j]
    if len(data.pairs):
        for i in range(len(chosen)):
            if chosen[i]:
                load += data.pairs[b, i, j]
    return load


@_inner
def _fits(data, stack, d, j):
    """Whether no budget is exceeded with block j."""
    for b in range(len(data.limits)):
        if stack.used[d, b] + _load(data, stack.chosen[d], b, j) > data.limits[b]:
            return False
    return True


@_inner
def _all_fit(data, stack, d):
    """Whether all candidates together exceed no budget (False where that is not easily seen)."""
    if len(data.pairs):
        return False
    for b in range(len(data.limits)):
        used = stack.used[d, b]
        for x in range(stack.n_candidates[d]):
            used += data.linear[b, stack.candidates[d, x]]
        if used > data.limits[b]:
            return False
    return True


@_inner
def _include(data, stack, d, j, profits):
    """Choose block j: candidates that it excludes go, and the mean moves."""
    size, e = stack.size[d], data.sizes[j]
    square = 0.0
    if size > 0.0:
        for c in range(data.points.shape[1]):
            square += (stack.moment[d, c] / size - data.points[j, c]) ** 2
    for b in range(len(data.limits)):
        stack.used[d, b] += _load(data, stack.chosen[d], b, j)
    stack.scatter[d] += size * e / (size + e) * square
    stack.radius[d] += np.sqrt(square) * e / (size + e)
    stack.size[d] += e
    stack.profit[d] += profits[j]
    for c in range(data.points.shape[1]):
        stack.moment[d, c] += e * data.points[j, c]
    stack.chosen[d, j] = True
    kept, at, end = 0, data.start[j], data.start[j + 1]
    for x in range(stack.n_candidates[d]):
        i = stack.candidates[d, x]
        while at < end and data.neighbours[at] < i:
            at += 1
        if i == j or (at < end and data.neighbours[at] == i):
            continue
        if len(data.limits) and not _fits(data, stack, d, i):
            continue
        stack.candidates[d, kept] = i
        kept += 1
    stack.n_candidates[d] = kept


@_inner
def _box_square(point, low, high):
    """The squared distance of a point from a box."""
    square = 0.0
    for c in range(len(point)):
        if point[c] < low[c]:
            square += (low[c] - point[c]) ** 2
        elif point[c] > high[c]:
            square += (point[c] - high[c]) ** 2
    return square


@_inner
def _corner_square(point, low, high):
    """The squared distance of a point from the farthest corner of a box."""
    square = 0.0
    for c in range(len(point)):
        square += max(point[c] - low[c], high[c] - point[c]) ** 2
    return square


@_inner
def _measure(data, stack, d, profits, scratch):
    """Fill distance and near. Returns what the candidates can add at most, as a positive number,
    and the distance of the mean from the box."""
    size, n = stack.size[d], stack.n_candidates[d]
    dimension = data.points.shape[1]
    total, x = 0.0, 0
    while x < n:
        clique, best = data.clique[stack.candidates[d, x]], 0.0
        while x < n and data.clique[stack.candidates[d, x]] == clique:
            j = stack.candidates[d, x]
            near = _box_square(data.points[j], stack.low[d], stack.high[d])
            scratch.near[x] = near
            if size > 0.0:
                square = 0.0
                for c in range(dimension):
                    square += (stack.moment[d, c] / size - data.points[j, c]) ** 2
                scratch.distance[x] = np.sqrt(square)
            best = max(best, profits[j] - data.sizes[j] * near)
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


@_inner
def _gains(data, stack, d, profits, scratch, r):
    """Fill gain for means within r of that of chosen; their sum, one block of a clique at most."""
    n, has_mean = stack.n_candidates[d], stack.size[d] > 0.0
    total, best, clique = 0.0, 0.0, -1
    for x in range(n):
        j = stack.candidates[d, x]
        square = scratch.near[x]
        if has_mean:
            beyond = scratch.distance[x] - r
            if beyond > 0.0:
                square = max(square, beyond * beyond)
        gain = data.sizes[j] * square - profits[j]
        scratch.gain[x] = gain
        if data.clique[j] != clique:
            total += best
            best, clique = 0.0, data.clique[j]
        best = min(best, gain)
    return total + best


@_inner
def _narrowed(data, stack, d, profits, scratch, upper, least, most):
    """The part of the radii [least, most] where the bound is below upper; empty if it is nowhere.

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
            bound += _gains(data, stack, d, profits, scratch, r + width)
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


@_inner
def _in_and_out(data, stack, d, profits, scratch, upper, least, most):
    """Fill inside and outside; returns the bound of the node."""
    n, value = stack.n_candidates[d], stack.scatter[d] - stack.profit[d]
    for x in range(n):
        scratch.inside[x] = scratch.outside[x] = np.inf
    lowest = np.inf
    intervals = INTERVALS if most > least else 1
    width = (most - least) / intervals
    for interval in range(intervals):
        r = least + interval * width
        bound = value + stack.size[d] * r * r
        bound += _gains(data, stack, d, profits, scratch, r + width)
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


@_inner
def _rivals(data, stack, d, profits, scratch, r):
    """Fill rivals: per candidate with cannot-links, what these candidates can add together."""
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
            best = max(best, profits[j] - data.sizes[j] * square)
        scratch.rivals[i] = total + best
    for x in range(n):
        scratch.place[stack.candidates[d, x]] = -1


@_inner
def _reduced(data, stack, d, profits, scratch, upper, most, optimal_only):
    """Drop candidates that no set of interest holds, and find one that all of them hold.

    With optimal_only the sets of interest are those of least value: of these, no block can be left
    out, so its square is worth its price, and none can be added in the place of its rivals.

    Returns whether the node is empty, whether a candidate was dropped, and the block to include
    or -1.
    """
    n, has_mean = stack.n_candidates[d], stack.size[d] > 0.0
    all_fit = optimal_only and _all_fit(data, stack, d)
    if optimal_only:
        _rivals(data, stack, d, profits, scratch, most)
    kept, forced = 0, -1
    for x in range(n):
        j = stack.candidates[d, x]
        square = scratch.near[x]
        if has_mean and scratch.distance[x] > most:
            square = max(square, (scratch.distance[x] - most) ** 2)
        drop = scratch.inside[x] >= upper
        if optimal_only and data.sizes[j] * square >= profits[j]:
            drop = True
        if scratch.outside[x] >= upper:
            if drop:
                return True, True, -1
            if forced < 0:
                forced = j
        elif optimal_only and forced < 0 and not drop and (all_fit or data.unbudgeted[j]):
            square = _corner_square(data.points[j], stack.low[d], stack.high[d])
            if has_mean:
                square = min(square, (scratch.distance[x] + most) ** 2)
            if profits[j] - data.sizes[j] * square > scratch.rivals[j]:
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


@_inner
def _sum_neighbours(data, stack, d, scratch):
    """Fill weight_sums and pair_sums; returns the points of all candidates."""
    n, total = stack.n_candidates[d], 0.0
    for x in range(n):
        scratch.place[stack.candidates[d, x]] = x
    for x in range(n):
        j = stack.candidates[d, x]
        total += data.sizes[j]
        for at in range(data.start[j], data.start[j + 1]):
            if scratch.place[data.neighbours[at]] >= 0:
                scratch.place[data.neighbours[at]] += len(data.sizes)
        count = 0
        scratch.weight_sums[x, 0] = scratch.pair_sums[x, 0] = 0.0
        for i in data.nearest[j]:
            if i != j and 0 <= scratch.place[i] < len(data.sizes):
                e = data.sizes[i]
                scratch.weight_sums[x, count + 1] = scratch.weight_sums[x, count] + e
                scratch.pair_sums[x, count + 1] = (
                    scratch.pair_sums[x, count] + e * data.squares[j, i]
                )
                count += 1
        scratch.weight_sums[x, count + 1] = np.inf
        scratch.pair_sums[x, count + 1] = np.inf
        scratch.at[x] = 0
        for at in range(data.start[j], data.start[j + 1]):
            if scratch.place[data.neighbours[at]] >= 0:
                scratch.place[data.neighbours[at]] -= len(data.sizes)
    for x in range(n):
        scratch.place[stack.candidates[d, x]] = -1
    return total


@_inner
def _fill_keys(data, stack, d, profits, scratch, fewest, most):
    """Fill key: what each candidate adds at least to a set of fewest to most points more than
    chosen, half of the distances between candidates counted for each."""
    size = stack.size[d]
    for x in range(stack.n_candidates[d]):
        j = stack.candidates[d, x]
        e = data.sizes[j]
        if most < e:
            scratch.key[x] = np.inf
            continue
        wanted = max(0.0, fewest - e)
        at = scratch.at[x]
        while scratch.weight_sums[x, at + 1] <= wanted:
            at += 1
        while scratch.weight_sums[x, at] > wanted:
            at -= 1
        scratch.at[x] = at
        between = scratch.pair_sums[x, at]
        rest = wanted - scratch.weight_sums[x, at]
        if rest > 0.0:
            if scratch.weight_sums[x, at + 1] == np.inf:  # there are not so many to share with
                scratch.key[x] = np.inf
                continue
            step = scratch.weight_sums[x, at + 1] - scratch.weight_sums[x, at]
            between += rest * (scratch.pair_sums[x, at + 1] - between) / step
        with_chosen = 0.0
        if size > 0.0:
            with_chosen = size * scratch.distance[x] ** 2 + stack.scatter[d]
        scratch.key[x] = e * (with_chosen + 0.5 * between) / (size + most) - profits[j]


@_inner
def _size_bound(data, stack, d, scratch, fewest, most, upper, multiplier):
    """A bound on the sets of fewest to most points more than chosen: keys plus a multiplier for
    the number of points, one block of a clique at most. The best multiplier is looked for until
    upper is reached. Returns the bound and the multiplier."""
    n, size = stack.n_candidates[d], stack.size[d]
    value = size * stack.scatter[d] / (size + most) - stack.profit[d]
    below, above = -np.inf, np.inf
    best = -np.inf
    for _ in range(MULTIPLIERS):
        wanted = fewest if multiplier > 0.0 else most
        total, points = value + multiplier * wanted, 0.0
        terms = abs(value) + abs(multiplier) * wanted
        least, weight, clique = 0.0, 0.0, -1
        for x in range(n):
            j = stack.candidates[d, x]
            if data.clique[j] != clique:
                total += least
                terms -= least
                points += weight
                least, weight, clique = 0.0, 0.0, data.clique[j]
            term = scratch.key[x] - multiplier * data.sizes[j]
            if term < least:
                least, weight = term, data.sizes[j]
        total += least
        terms -= least
        points += weight
        # Multipliers can be large, and then cancel: each sum pays for its own rounding.
        best = max(best, total - (n + 64) * EPSILON * terms)
        if best >= upper or points == wanted:
            break
        step = (upper - total) / max(abs(wanted - points), 1.0)
        if points < wanted:  # too few: pay for points
            below = multiplier
            multiplier = multiplier + step if above == np.inf else 0.5 * (below + above)
        else:
            above = multiplier
            multiplier = multiplier - step if below == -np.inf else 0.5 * (below + above)
    return best, multiplier


@_inner
def _empty_by_size(data, stack, d, profits, scratch, upper):
    """Whether no set with further blocks is below upper, whatever number of points it has. With s
    points,

        f(X) = (sum of e_i e_j || c_i - c_j ||^2 over pairs) / s - profits,

    in which a pair of new blocks counts at least as the nearest ones would. Ranges of numbers are
    looked at together as far as that suffices, from a number that is likely not to be excluded on.
    """
    total = _sum_neighbours(data, stack, d, scratch)
    multiplier = 0.0
    likely = min(max(stack.likely[d], 1.0), total)
    for upwards in (True, False):
        step = 1.0
        more = likely if upwards else likely - 1.0
        while 1.0 <= more <= total:
            other = min(total, more + step - 1.0) if upwards else max(1.0, more - step + 1.0)
            fewest, most = min(more, other), max(more, other)
            _fill_keys(data, stack, d, profits, scratch, fewest, most)
            bound, multiplier = _size_bound(
                data, stack, d, scratch, fewest, most, upper, multiplier
            )
            if bound >= upper:
                more = other + 1.0 if upwards else other - 1.0
                step *= 2.0
            elif step > 1.0:
                step = max(1.0, np.floor(0.3 * step))
            else:
                stack.likely[d] = more
                return False
    return True


@_inner
def _half_bound(data, stack, d, profits, scratch, c, low, high, least, most):
    """A bound for the part [low, high] of the box along coordinate c."""
    n, size = stack.n_candidates[d], stack.size[d]
    value = stack.scatter[d] - stack.profit[d]
    intervals = HALF_INTERVALS if size > 0.0 else 1
    if size > 0.0:
        square = 0.0
        for other in range(data.points.shape[1]):
            coordinate = stack.moment[d, other] / size
            bottom = low if other == c else stack.low[d, other]
            top = high if other == c else stack.high[d, other]
            if coordinate < bottom:
                square += (bottom - coordinate) ** 2
            elif coordinate > top:
                square += (coordinate - top) ** 2
        least = max(least, np.sqrt(square))
        if least > most:
            return np.inf
    width, lowest = (most - least) / intervals, np.inf
    for interval in range(intervals):
        r = least + interval * width
        total, best, clique = value + size * r * r, 0.0, -1
        for x in range(n):
            j = stack.candidates[d, x]
            point = data.points[j, c]
            # Only this coordinate's part of the distance from the box changes.
            square = scratch.near[x]
            if point < stack.low[d, c]:
                square -= (stack.low[d, c] - point) ** 2
            elif point > stack.high[d, c]:
                square -= (point - stack.high[d, c]) ** 2
            if point < low:
                square += (low - point) ** 2
            elif point > high:
                square += (point - high) ** 2
            if size > 0.0:
                beyond = scratch.distance[x] - r - width
                if beyond > 0.0:
                    square = max(square, beyond * beyond)
            if data.clique[j] != clique:
                total += best
                best, clique = 0.0, data.clique[j]
            best = min(best, data.sizes[j] * square - profits[j])
        lowest = min(lowest, total + best)
    return lowest


@_inner
def _score(first, second, lowest, upper):
    """The product of the gains of two children."""
    missing = upper - lowest
    a = min(max(first - lowest, 0.0), missing) + LEAST_GAIN * missing
    b = min(max(second - lowest, 0.0), missing) + LEAST_GAIN * missing
    return a * b


@_inner
def _branching(data, stack, d, profits, scratch, upper, lowest, least, most, optimal_only):
    """The coordinate to halve the box along, or -1, and the candidate to branch on otherwise."""
    best, block = -1.0, -1
    for x in range(stack.n_candidates[d]):
        j = stack.candidates[d, x]
        score = _score(scratch.inside[x], scratch.outside[x], lowest, upper)
        if data.points.shape[1] == 0:  # weights of a graph: those that exclude most
            score = scratch.rivals[j] + profits[j]
        elif not data.boxes and stack.size[d] == 0.0:  # outer blocks first: they have few to go to
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
    middle = 0.5 * (stack.low[d, widest] + stack.high[d, widest])
    lower = _half_bound(
        data, stack, d, profits, scratch, widest, stack.low[d, widest], middle, least, most
    )
    higher = _half_bound(
        data, stack, d, profits, scratch, widest, middle, stack.high[d, widest], least, most
    )
    # Where no half gains, blocks must be branched on sooner or later.
    gain = max(lower, higher) if optimal_only else min(lower, higher)
    worth = gain - lowest > LEAST_GAIN * (upper - lowest)
    if optimal_only:
        worth = worth or stack.size[d] == 0.0
    else:  # no half is empty as long as the set chosen, or the empty set, is itself wanted
        worth = worth and stack.scatter[d] - stack.profit[d] >= upper
    if worth and BOX_WEIGHT * _score(lower, higher, lowest, upper) > best:
        stack.cut[d] = middle
        return widest, block
    return -1, block


@_inner
def _processed(data, stack, d, profits, scratch, upper, optimal_only):
    """Bound node d and reduce it until nothing changes.

    Returns the coordinate to halve the box along, or -1; the block to branch on, or -1 if the node
    holds nothing more of interest; and upper or, with optimal_only, what it has fallen to.
    """
    while True:
        value = stack.scatter[d] - stack.profit[d]
        if optimal_only and stack.size[d] > 0.0 and value < upper:
            upper = value
            for j in range(len(scratch.met)):
                scratch.met[j] = stack.chosen[d, j]
        if stack.n_candidates[d] == 0:
            return -1, -1, upper
        total, least = _measure(data, stack, d, profits, scratch)
        room = upper - value + total
        if room <= stack.size[d] * least * least:
            return -1, -1, upper
        most = 0.0
        if stack.size[d] > 0.0:
            most = min(stack.radius[d], np.sqrt(room / stack.size[d]))
            if most < least:
                return -1, -1, upper
            least, most = _narrowed(data, stack, d, profits, scratch, upper, least, most)
            if least > most:
                return -1, -1, upper
            stack.radius[d] = most
            for c in range(data.points.shape[1]):
                coordinate = stack.moment[d, c] / stack.size[d]
                stack.low[d, c] = max(stack.low[d, c], coordinate - most)
                stack.high[d, c] = min(stack.high[d, c], coordinate + most)
        lowest = _in_and_out(data, stack, d, profits, scratch, upper, least, most)
        if lowest == np.inf:
            return -1, -1, upper
        empty, dropped, forced = _reduced(
            data, stack, d, profits, scratch, upper, most, optimal_only
        )
        if empty:
            return -1, -1, upper
        if forced >= 0:
            _include(data, stack, d, forced, profits)
        elif not dropped:
            if data.by_size and _empty_by_size(data, stack, d, profits, scratch, upper):
                stack.n_candidates[d] = 0  # the set chosen may itself be wanted
                return -1, -1, upper
            c, block = _branching(
                data, stack, d, profits, scratch, upper, lowest, least, most, optimal_only
            )
            return c, block, upper


@_inner
def _next(stack, depth):
    """Go back to the deepest node with something left to do, and do it; -1 if there is none."""
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


@_inner
def _has_its_mean(stack, d):
    """Whether the mean of the blocks chosen is in the box, or close: another box has it if not."""
    for c in range(stack.low.shape[1]):
        room = 1e-9 * (stack.high[0, c] - stack.low[0, c])
        mean = stack.moment[d, c] / stack.size[d]
        if not stack.low[d, c] - room <= mean <= stack.high[d, c] + room:
            return False
    return True


@nb.njit(cache=True)
def search(data, profits, stack, scratch, counters, upper, n_nodes, optimal_only, found, values):
    """Branch and bound, depth first, over the sets X of value f(X) < upper.

    Parameters
    ----------
    stack, counters : where the search was left; changed
    upper : (1,) only smaller values are of interest. With optimal_only it falls with each better
        set, and what remains in the end is the least value, if that is smaller than upper was;
        without, every set of a smaller value is found
    n_nodes : how many more nodes to look at
    found, values : (s, m), (s,) receive, from position counters[FOUND] on, each set that lowers
        upper, or every set below it; the search comes back when there is no room for these

    Returns FINISHED, UNFINISHED (n_nodes) or FULL.
    """
    last = counters[NODES] + n_nodes
    room = len(values)
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
        c, block, met = _processed(data, stack, d, profits, scratch, upper[0], optimal_only)
        at_end = c < 0 and block < 0
        if optimal_only and met < upper[0]:
            upper[0] = met
            at = min(counters[FOUND], room - 1)
            for j in range(found.shape[1]):
                found[at, j] = scratch.met[j]
            values[at] = met
            counters[FOUND] = at + 1
        elif not optimal_only and at_end and stack.n_candidates[d] == 0 and stack.size[d] > 0.0:
            value = stack.scatter[d] - stack.profit[d]
            if value < upper[0] and _has_its_mean(stack, d):
                for j in range(found.shape[1]):
                    found[counters[FOUND], j] = stack.chosen[d, j]
                values[counters[FOUND]] = value
                counters[FOUND] += 1
        if at_end:
            continue
        _reset_from_parent(stack, d)
        if c >= 0:
            stack.pending[d] = UPPER - c
            stack.high[d + 1, c] = stack.cut[d]
        else:
            stack.pending[d] = block
            stack.likely[d + 1] -= data.sizes[block]
            _include(data, stack, d + 1, block, profits)
        counters[DEPTH] = d + 1
        counters[FRESH] = 1
