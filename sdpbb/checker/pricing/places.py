"""Search for clusters of low value by the places of their means.

It is a branch and bound over boxes of places, many at once. A box is halved; or, if its bound is
mostly due to blocks that cannot be together, one of these is left out or chosen.

A box stands for the places low <= y <= high, and for the sets X of the package with their mean
there. These hold all chosen blocks and some open ones. With v_i(y) = a_i - e_i |c_i - y|^2,

    -f(X) = sum of v_i(mean_X) over i in X <= max over y in the box of sum of v_i(y) over i in X.

The nearest and the farthest place of the box give low_i <= v_i(y) <= high_i for block i. X holds at
most one open block of each clique. Let 1 be the block of a clique with the greatest high, and
s >= 0 the greatest high of the others, or 0. For any slope 0 <= b <= 1 the clique adds at most

    b v_1(y) + g,    g = max((1 - b) high_1, s - b low_1)

(the first number if X holds block 1, the second if not); b makes the two about equal.
With b = 1 for the blocks chosen, c_i = m + u_i and y = m + e for the middle m of the box,

    sum of v_i(y) <= sum of b_i (a_i - e_i |u_i|^2) + sum of g + sum over the coordinates j of
        2 M_j e_j - W e_j^2,    W = sum of b_i e_i,  M = sum of b_i e_i u_i,

which is greatest at e_j = M_j / W, or at an end of the box. Limits make the a_i of open blocks less
and add the sum of u R; least sizes make them more and subtract u (t - points of S) (`limits`).

Rounding. Each low_i and high_i is rounded outwards. With c blocks, l terms of limits and
half-widths r, and 2^-53 as the unit, the errors are

    of the sums of b a, b e |u|^2 and g:    c + 12 + 4 l times the sum of absolute values,
    of M_j:                                 c + 4 times the sum of b e |u_j|,
    so of 2 M_j e_j:                        c + 4 times the sum of b e (u_j^2 + r_j^2),
    of W e_j^2:                             c + 2 times W r_j^2,
    of the last steps:                      20 times all of these,
    of what least sizes add:                c + 12 times its absolute value.

A block that is left out adds at most 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernel.arithmetic import gamma
from ..kernel.evidence import Steps
from ..kernel.rules import broken_by, count_terms
from .limits import reduced_profits
from .problem import (
    SLACK,
    CheckedPricing,
    Indices,
    Nodes,
    Reals,
    Scope,
    by_cliques,
    indexed,
    slopes_of_cliques,
    stacked,
    without_and_with,
)

MOST_DIMENSIONS = 3
"""Dimensions up to which places are searched."""

# Beyond this, squares of coordinates overflow.
_LARGEST = 1e100
# Boxes times blocks in one step; the share of blocks that matter to some box, below which the
# arrays are made smaller.
_BATCH, _SHARE = 100_000, 0.7
# A box is split by a block if the excess of its best place above the target is at least this part
# of what halving could take off.
_EAGER = 0.25
# It is also split by a block if a limit is reached and the value of the best place is within _TIED
# of the target: blocks with equal v can replace each other in sets at the limit, however small the
# box is. But first halving has to leave at most _FEW_UNCLEAR blocks with v of both signs in the
# box. A bound of 300 points in 3 clusters of 90 to 110, 0.16 % below the cost, takes 2,200 boxes,
# and 2,900 with 8 such blocks. 80,000 were too few if this began as soon as halving took off
# at most _TIED. 2,000 points in 20 clusters of at most 110 take 23,000.
_TIED, _FEW_UNCLEAR = 1e-3, 4
# In units in which the profits add up to 0.5 to 3. Far above the errors of underflow.
_NEGLIGIBLE = 1e-40


class PlaceBounds(NamedTuple):
    """Bounds of s boxes; see the module.

    value : (s,) upper bound on -f(X), but for rounding
    rounding : (s,) upper bound on its rounding error
    place : (s, d) about where it is reached
    n_unclear : (s,) number of open blocks with v of both signs in the box
    """

    value: Reals
    rounding: Reals
    place: Reals
    n_unclear: Indices


def greatest_value(problem: CheckedPricing, target: float, steps: Steps) -> float | None:
    """Return a proven upper bound on -f(X) for all sets X, hardly above the target.

    Infinity: -f(X) of some X is above the target. None: the search needs more steps, or it does
    not support soft pairs or the dimension. X are the non-empty sets of blocks without a
    cannot-linked pair that satisfy the rules.

    target : >= 0
    steps : boxes that it may take
    """
    means, whole_sets = problem.means, problem.whole_sets
    if whole_sets is not None and whole_sets.tied.any():
        return None
    if not 1 <= means.shape[1] <= MOST_DIMENSIONS or not np.abs(means).max() <= _LARGEST:
        return None
    low, high = means.min(axis=0)[None], means.max(axis=0)[None]
    if (low == high).all():
        return None
    scope, order = _scope(problem, np.arange(problem.m))
    chosen = np.zeros((1, len(order)), bool)
    search = _PlaceSearch(target, 4.0 * rounding_error(scope), steps)
    return search.run(scope, Nodes(chosen, ~chosen, low, high))


def _scope(problem: CheckedPricing, blocks: Indices) -> tuple[Scope, Indices]:
    """Return the scope of some blocks, whose cliques are found anew, and their order in it."""
    order = clique = np.arange(len(blocks))
    if problem.has_links:
        linked = problem.linked[np.ix_(blocks, blocks)]
        if linked.any():
            order, clique = by_cliques(linked)
    return Scope.of(problem, blocks[order], clique), order


class _PlaceSearch:
    """Search under way, with the greatest bound of the boxes that are done."""

    def __init__(self, target: float, room: float, steps: Steps) -> None:
        """room : greatest rounding error that is accepted in a bound above the target"""
        self._target, self._room, self._steps = target, room, steps
        self._greatest = 0.0  # infinity once a set is above the target

    def run(self, scope: Scope, boxes: Nodes) -> float | None:
        """Return the greatest bound, infinity once a set is above the target, or None."""
        stack = [(scope, boxes)]
        while stack and self._greatest < np.inf:
            scope, boxes = stack.pop()
            rows, count = boxes.open.shape
            if rows > 1 and rows * count > _BATCH:
                # Neighbours stay together, so that few blocks matter to each part.
                stack.append((scope, indexed(boxes, np.s_[rows // 2 :])))
                stack.append((scope, indexed(boxes, np.s_[: rows // 2])))
                continue
            if not self._steps.take(rows):
                return None
            boxes = within_reach(scope, boxes)
            columns = np.flatnonzero((boxes.chosen | boxes.open).any(axis=0))
            if not len(columns):
                continue
            if len(columns) < _SHARE * count:
                scope, order = _scope(scope.problem, scope.blocks[columns])
                columns = columns[order]
                chosen, still = boxes.chosen[:, columns], boxes.open[:, columns]
                boxes = boxes._replace(chosen=chosen, open=still)
            children = self._children(scope, boxes)
            if len(children.low):
                stack.append((scope, children))
        return self._greatest

    def _children(self, scope: Scope, boxes: Nodes) -> Nodes:
        """Return the parts of the boxes that may hold a set above the target."""
        bounds = bound_boxes(scope, boxes)
        # A box with a set exactly at the target is done, in spite of its rounding.
        above = bounds.value + bounds.rounding
        done = above <= self._target + 3.0 * np.minimum(bounds.rounding, self._room)  # not for nan
        self._greatest = max(self._greatest, float(above[done].max(initial=0.0)))
        boxes, bounds = indexed(boxes, ~done), indexed(bounds, ~done)
        block = self._undecided(scope, boxes, bounds)
        by_block = block >= 0
        if not by_block.any():
            return _halved(boxes)
        linked, block = scope.linked, block[by_block]
        allowed = None if linked is None else ~linked[block]
        split = without_and_with(indexed(boxes, by_block), block, allowed)
        return stacked([_halved(indexed(boxes, ~by_block)), *split])

    def _undecided(self, scope: Scope, boxes: Nodes, bounds: PlaceBounds) -> Indices:
        """Return the block (s,) to split each box by; -1: halve the box.

        If the blocks have a sum of v well above the target at the best place itself, but cannot be
        together, halving the box does not help.
        """
        own, profits, paid, _ = values_at(scope, boxes, bounds.place)
        values = own - (scope.profits - profits)
        here = np.where(boxes.open, np.maximum(values, 0.0), 0.0)
        there = np.where(boxes.chosen, own, 0.0).sum(axis=1)
        there += greatest_of_cliques(scope, here) + paid
        block = np.full(len(there), -1)
        excess = there - self._target
        is_tied = (paid != 0.0) & (excess > -_TIED * self._target)
        is_tied &= bounds.n_unclear <= _FEW_UNCLEAR
        rows = np.flatnonzero(is_tied | (excess > _EAGER * (bounds.value - there)))
        if not len(rows):
            return block
        wanted, here, still = boxes.chosen[rows] | (here[rows] > 0.0), here[rows], boxes.open[rows]
        clashing = np.zeros_like(wanted)
        if scope.linked is not None:
            clashing = wanted & (wanted @ scope.linked.astype(np.float64) > 0.0)
        clash = np.asarray(clashing.any(axis=1))
        broken = broken_by(scope.rules, wanted)
        if scope.whole_sets is not None:
            broken |= ~scope.whole_sets.allow(wanted, np.zeros_like(wanted))
        above = np.where(wanted, own[rows], 0.0).sum(axis=1) > self._target + bounds.rounding[rows]
        if (above & ~clash & ~broken).any():
            self._greatest = np.inf
        # The best block that clashes or breaks a rule. If limits change profits: the block with v
        # nearest to 0.
        best = np.where(still & wanted & (clashing | ~clash[:, None]), here, -np.inf)
        edge = np.where(
            still & np.not_equal(profits, scope.profits)[rows], -np.abs(values[rows]), -np.inf
        )
        is_paid = (paid[rows] != 0.0) & ~clash
        score = np.where(is_paid[:, None], edge, best)
        can_be = np.isfinite(score.max(axis=1)) & (clash | broken | is_paid)
        block[rows] = np.where(can_be, score.argmax(axis=1), -1)
        return block


def _halved(boxes: Nodes) -> Nodes:
    """Return the halves of boxes along their longest sides, in pairs."""
    rows = np.arange(len(boxes.low))
    side = (boxes.high - boxes.low).argmax(axis=1)
    middle = 0.5 * (boxes.low[rows, side] + boxes.high[rows, side])
    halves = indexed(boxes, np.repeat(rows, 2))
    halves.high[2 * rows, side] = middle
    halves.low[2 * rows + 1, side] = middle
    return halves


def within_reach(scope: Scope, boxes: Nodes) -> Nodes:
    """Return the boxes without blocks that a set of least f does not hold.

    Open blocks that break a rule, or have v <= 0 in the box, are removed. So are boxes whose chosen
    blocks break a rule, or have v < 0 in the box. If sets count as a whole, the sign of v does not
    matter, and boxes without a set of an allowed size are removed.
    """
    boxes = scope.within_limits(boxes)
    if scope.whole_sets is not None:
        return boxes
    high = scope.profits - scope.weights * _squares(scope, boxes)[0]
    boxes = boxes._replace(open=boxes.open & (high > 0.0))
    return indexed(boxes, ~(boxes.chosen & (high < 0.0)).any(axis=1))


def bound_boxes(scope: Scope, boxes: Nodes) -> PlaceBounds:
    """Return upper bounds on -f(X) for the sets X of each box; see the module."""
    e, a, n_rules = scope.weights, scope.profits, count_terms(scope.rules)
    middle = 0.5 * (boxes.low + boxes.high)
    half = np.maximum(boxes.high - middle, middle - boxes.low) * (1.0 + SLACK)
    profits, paid = np.broadcast_to(a, boxes.open.shape), np.zeros(len(boxes.open))
    further = paid
    if n_rules:
        _, profits, paid, further = values_at(scope, boxes, middle)
    near, far = _squares(scope, boxes)
    room = SLACK * (1.0 + n_rules) * (np.abs(a) + np.maximum(profits - a, 0.0))
    high = np.where(boxes.open, profits + room - e * near, 0.0)
    low = profits - room - e * far
    still = boxes.open & (high > 0.0)
    least = np.where(still, -high, 0.0)
    cliques = slopes_of_cliques(scope.starts, scope.clique, still, least, -low)
    added = -cliques.added
    share = boxes.chosen + np.where(cliques.is_first, cliques.slope, 0.0)
    profits = np.where(boxes.chosen, a, profits)
    weights = share * e
    weight = weights.sum(axis=1)
    scale = (share * np.abs(a)).sum(axis=1) + added + np.abs(paid) + further
    value = (share * profits).sum(axis=1) + added + paid
    place = np.empty_like(middle)
    for j, x in enumerate(scope.problem.means[scope.blocks].T):
        offsets = x - middle[:, j, None]
        squares = (weights * np.square(offsets)).sum(axis=1)
        moment, reach = (weights * offsets).sum(axis=1), weight * half[:, j]
        centre = np.divide(moment, weight, out=np.zeros_like(moment), where=weight > 0.0)
        size = np.abs(moment)
        inner = size <= reach
        value += np.where(inner, size * np.abs(centre), (2.0 * size - reach) * half[:, j]) - squares
        scale += squares + reach * half[:, j]
        place[:, j] = middle[:, j] + np.clip(centre, -half[:, j], half[:, j])
    error = rounding_error(scope)
    n_unclear = (boxes.open & (low < 0.0) & (high > 0.0)).sum(axis=1)
    return PlaceBounds(value, error * scale + _NEGLIGIBLE, place, n_unclear)


def rounding_error(scope: Scope) -> float:
    """Return the relative error of the sums over the blocks in a bound."""
    return gamma(4.0 * (len(scope.blocks) + count_terms(scope.rules)) + 100.0)


def values_at(scope: Scope, boxes: Nodes, place: Reals) -> tuple[Reals, Reals, Reals, Reals]:
    """Return v of the blocks of boxes at a place of each, and what limits and sizes change.

    They are v_i(y) (s, c), but for rounding; profits (s, c) instead of a; the sum of u R, or minus
    the sum of u (t - points), (s,); and what its errors are in proportion to, (s,).

    place : (s, d)
    """
    a = scope.profits
    values = np.broadcast_to(a, boxes.open.shape)
    for j, x in enumerate(scope.problem.means[scope.blocks].T):
        values = values - scope.weights * np.square(x - place[:, j, None])
    none = np.zeros(len(values))
    if not scope.rules:
        return values, np.broadcast_to(a, values.shape), none, none
    gained = np.where(boxes.open, -values, 0.0)
    profits, paid = reduced_profits(scope.rules, a, boxes.chosen, boxes.open, gained)
    if scope.whole_sets is None:
        return values, profits, paid, none
    # Only one of them: a box that reaches an upper limit does not lack size.
    raised, added, further = scope.whole_sets.raised(a, boxes.chosen, boxes.open, gained)
    is_full = paid > 0.0
    profits = np.where(is_full[:, None], profits, raised)
    return values, profits, np.where(is_full, paid, -added), np.where(is_full, 0.0, further)


def greatest_of_cliques(scope: Scope, values: Reals) -> Reals:
    """Return the sum (s,) of the greatest of the values (s, c) >= 0 of each clique."""
    if len(scope.starts) < values.shape[1]:
        values = np.maximum.reduceat(values, scope.starts, axis=1)
    return np.asarray(values.sum(axis=1))


def _squares(scope: Scope, boxes: Nodes) -> tuple[Reals, Reals]:
    """Return |c_i - y|^2 for the nearest and the farthest place of each box, rounded outwards."""
    near, far = np.zeros(boxes.open.shape), np.zeros(boxes.open.shape)
    for j, x in enumerate(scope.problem.means[scope.blocks].T):
        below, above = x - boxes.low[:, j, None], boxes.high[:, j, None] - x
        far += np.square(np.maximum(below, above))
        near += np.square(np.minimum(np.minimum(below, above), 0.0))
    return near * (1.0 - SLACK), far * (1.0 + SLACK)
