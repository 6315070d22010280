"""Search for clusters of low value by the places of their means.

All boxes of places, and sets of blocks with their mean there, are searched by branch and bound over
many boxes at once (see `place_bounds`). A box is halved; but where its bound is mostly that of
blocks that cannot be together, one of these is left out or chosen.
"""

from __future__ import annotations

import numpy as np

from ..kernel.evidence import AtStep, go_on
from ..kernel.rules import broken_by
from .place_bounds import (
    Boxes,
    PlaceBounds,
    PlacedBlocks,
    bound_boxes,
    greatest_of_cliques,
    rounding_error,
    within_reach,
    worth_at,
)
from .problem import Indices, some

MOST_DIMENSIONS = 3
"""Dimensions up to which places are searched."""

# Beyond this, squares of coordinates overflow.
_LARGEST = 1e100
# Boxes times blocks that are looked at together; the share of the blocks that matters to some box,
# below which the others are left out.
_BATCH, _SHARE = 100_000, 0.7
# A block is decided on where what cannot be together is worth so much of what halving may take off.
_EAGER = 0.25
# Also where a limit is reached and a place is bounded within so much of the target: blocks that are
# worth the same there may change their places in sets at the limit, however small the box. But only
# once so few blocks are worth something at some places of the box only, as more of them become
# fewer by halving. A bound of 300 points in 3 clusters of 90 to 110, 0.16 % below the cost, takes
# 2,200 boxes, and 2,900 with 8 such blocks; 80,000 were too few where deciding began as soon as
# halving took off no more than _TIED. 2,000 points in 20 clusters of at most 110 take 23,000.
_TIED, _FEW_UNCLEAR = 1e-3, 4


def greatest_value(
    placed: PlacedBlocks, target: float, max_boxes: int, at_step: AtStep = go_on
) -> float | None:
    """Return a number that is proven to be at least -f(X) for all sets X, and hardly above target.

    It is infinity if -f(X) of some X is above the target. None where it takes more boxes to tell,
    or the blocks are not in few dimensions. X are the non-empty sets of blocks without a
    cannot-linked pair that keep the rules.

    target : >= 0
    at_step : called between steps; what it raises ends the search
    """
    d, means = placed.means.shape[1], placed.means
    if not 1 <= d <= MOST_DIMENSIONS or not np.abs(means).max() <= _LARGEST:
        return None
    low, high = means.min(axis=0)[None], means.max(axis=0)[None]
    if (low == high).all():
        return None
    chosen = np.zeros((1, len(means)), bool)
    room = 4.0 * rounding_error(placed, len(means))
    search = _PlaceSearch(target, room, max_boxes, at_step)
    return search.run(placed, Boxes(low, high, chosen, ~chosen))


class _PlaceSearch:
    """Search under way, with the greatest bound of the boxes that it has left behind."""

    def __init__(self, target: float, room: float, max_boxes: int, at_step: AtStep) -> None:
        """room : rounding that is allowed for at most"""
        self._target, self._room, self._left = target, room, max_boxes
        self._at_step = at_step
        self._greatest = 0.0  # infinity once a set is above the target

    def run(self, placed: PlacedBlocks, boxes: Boxes) -> float | None:
        """Return the greatest bound, or None after too many boxes."""
        stack = [(placed, boxes)]
        while stack and self._greatest < np.inf:
            self._at_step()
            placed, boxes = stack.pop()
            rows, count = boxes.open.shape
            if rows > 1 and rows * count > _BATCH:
                # Neighbours stay together, so that few blocks matter to each part.
                stack.append((placed, boxes.indexed(np.s_[rows // 2 :])))
                stack.append((placed, boxes.indexed(np.s_[: rows // 2])))
                continue
            self._left -= rows
            if self._left < 0:
                return None
            boxes = within_reach(placed, boxes)
            columns = np.flatnonzero((boxes.chosen | boxes.open).any(axis=0))
            if not len(columns):
                continue
            if len(columns) < _SHARE * count:
                placed, order = placed.select(columns)
                boxes = boxes.with_columns(columns[order])
            children = self._children(placed, boxes)
            if len(children.low):
                stack.append((placed, children))
        return self._greatest

    def _children(self, placed: PlacedBlocks, boxes: Boxes) -> Boxes:
        """Return the parts of the boxes that may hold a set above the target."""
        bounds = bound_boxes(placed, boxes)
        # What is right is proven: a set at the target is bounded with its rounding.
        above = bounds.value + bounds.rounding
        done = above <= self._target + 3.0 * np.minimum(bounds.rounding, self._room)  # not for nan
        behind = above[done]
        self._greatest = max(self._greatest, float(behind.max(initial=0.0)))
        boxes, bounds = boxes.indexed(~done), bounds.indexed(~done)
        block = self._undecided(placed, boxes, bounds)
        parts = _halved(boxes)
        by_block = block >= 0
        if by_block.any():
            split = _split(placed, boxes.indexed(by_block), block[by_block])
            parts = parts.indexed(np.repeat(~by_block, 2)).beside(split)
        return parts

    def _undecided(self, placed: PlacedBlocks, boxes: Boxes, bounds: PlaceBounds) -> Indices:
        """Return the block (s,) to split each box by; -1 where it is to be halved.

        At the best place the blocks of a box are bounded alone, without others. Where that is well
        above the target, though these blocks cannot be together, halving the box does not help.
        """
        own, profits, paid, _ = worth_at(placed, boxes, bounds.place)
        values = own - (placed.profits - profits)
        here = np.where(boxes.open, np.maximum(values, 0.0), 0.0)
        there = np.where(boxes.chosen, own, 0.0).sum(axis=1)
        there += greatest_of_cliques(placed, here) + paid
        block = np.full(len(there), -1)
        excess = there - self._target
        is_tied = (paid != 0.0) & (excess > -_TIED * self._target)
        is_tied &= bounds.n_unclear <= _FEW_UNCLEAR
        rows = np.flatnonzero(is_tied | (excess > _EAGER * (bounds.value - there)))
        if not len(rows):
            return block
        wanted, here, still = boxes.chosen[rows] | (here[rows] > 0.0), here[rows], boxes.open[rows]
        clashing = np.zeros_like(wanted)
        if placed.linked is not None:
            clashing = wanted & (wanted @ placed.links > 0.0)
        clash, broken = some(clashing), broken_by(placed.rules, wanted)
        if placed.whole is not None:
            broken |= ~placed.whole.allow(wanted, np.zeros_like(wanted))
        above = np.where(wanted, own[rows], 0.0).sum(axis=1) > self._target + bounds.rounding[rows]
        if (above & ~clash & ~broken).any():
            self._greatest = np.inf
        # Of blocks that clash, or are too many, the best one; where that is paid for, the one at
        # the edge of what is worth it.
        best = np.where(still & wanted & (clashing | ~clash[:, None]), here, -np.inf)
        edge = np.where(still & (profits != placed.profits)[rows], -np.abs(values[rows]), -np.inf)
        is_paid = (paid[rows] != 0.0) & ~clash
        score = np.where(is_paid[:, None], edge, best)
        can_be = np.isfinite(score.max(axis=1)) & (clash | broken | is_paid)
        block[rows] = np.where(can_be, score.argmax(axis=1), -1)
        return block


def _halved(boxes: Boxes) -> Boxes:
    """Return the halves of boxes, one beside the other, along their longest sides."""
    rows = np.arange(len(boxes.low))
    side = (boxes.high - boxes.low).argmax(axis=1)
    middle = 0.5 * (boxes.low[rows, side] + boxes.high[rows, side])
    halves = boxes.indexed(np.repeat(rows, 2))
    halves.high[2 * rows, side] = middle
    halves.low[2 * rows + 1, side] = middle
    return halves


def _split(placed: PlacedBlocks, boxes: Boxes, block: Indices) -> Boxes:
    """Return two children of each box: without an open block (s,), and with it."""
    rows = np.arange(len(block))
    still = boxes.open.copy()
    still[rows, block] = False
    chosen = boxes.chosen.copy()
    chosen[rows, block] = True
    allowed = still if placed.linked is None else still & ~placed.linked[block]
    without = boxes._replace(open=still)
    return without.beside(boxes._replace(chosen=chosen, open=allowed))
