"""Bounds on the sets of blocks whose mean is in a box, for many boxes at once.

A box is: a place y in low <= y <= high, and the sets X of the package with their mean there that
hold the blocks chosen and no others but open ones. With v_i(y) = a_i - e_i |c_i - y|^2,

    -f(X) = sum of v_i(mean_X) over i in X <= max over y in the box of sum of v_i(y) over i in X.

Of block i, low_i <= v_i(y) <= high_i is known from the nearest and the farthest place of the box.
Open blocks are in cliques of which X holds one block at most. Let 1 be the block of a clique with
the greatest high, and s >= 0 the greatest of the others, or 0. Whatever X holds of the clique, for
any slope 0 <= b <= 1 it adds at most

    b v_1(y) + g,    g = max((1 - b) high_1, s - b low_1)

(the first if it is block 1, the second if not), and b is chosen such that the two are about equal.
With b = 1 for the blocks chosen, c_i = m + u_i and y = m + e for the middle m of the box,

    sum of v_i(y) <= sum of b_i (a_i - e_i |u_i|^2) + sum of g + sum over the coordinates j of
        2 M_j e_j - W e_j^2,    W = sum of b_i e_i,  M = sum of b_i e_i u_i,

which is greatest at e_j = M_j / W, or at an end of the box. Where clusters have to keep limits, the
a_i of open blocks are less, and the sum of u R is added (`rules`); where they have least sizes,
these are more, and what is paid for the size that is lacking is taken off (`rules`).

Rounding. Each low_i and high_i is rounded outwards. With c blocks, l limits and half-widths r, sums
are off by so many 2^-53: those of b a, b e |u|^2 and g by c + 12 + 4 l of themselves; M_j by c + 4
of the sum of b e |u_j|, and so 2 M_j e_j by as many of sum of b e (u_j^2 + r_j^2); W e_j^2 by c + 2
of W r_j^2; and the last steps by 20 of all of these. What least sizes add is off by c + 12 of
itself. A block that is left out is worth nothing, or less where there are no least sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..kernel.arithmetic import gamma
from ..kernel.rules import Rules, broken_by, broken_with, selected
from .problem import SLACK, Indices, Marks, Reals, clique_numbers, slopes_of_cliques, some
from .rules import Whole, reduced_profits

# In units in which the profits add up to 0.5 to 3; far above what underflows.
_NEGLIGIBLE = 1e-40


@dataclass(frozen=True, eq=False)
class PlacedBlocks:
    """Blocks that matter to some boxes; those of a clique stand side by side.

    In units in which the profits add up to 0.5 to 3, or in any others of that kind.

    weights, profits : (c,) e, and a > 0; of any sign with `whole`
    means : (c, d)
    linked : (c, c) True for cannot-links; None if there are none
    rules : on sets of them
    clique : (c,) non-decreasing numbers of cliques from 0 on: no X holds two blocks of one
    starts : where each begins
    whole : least and listed sizes of sets, or None. There are no soft pairs
    """

    weights: Reals
    profits: Reals
    means: Reals
    linked: Marks | None
    rules: Rules
    clique: Indices
    starts: Indices
    whole: Whole | None = None

    @classmethod
    def of(
        cls,
        weights: Reals,
        profits: Reals,
        means: Reals,
        linked: Marks,
        exponent: int,
        rules: Rules = (),
        whole: Whole | None = None,
    ) -> PlacedBlocks:
        """Return all blocks (m,), with the means (m, d) multiplied by 2^exponent."""
        alone = np.arange(len(weights))
        with np.errstate(over="ignore"):  # such blocks are not for this
            scaled = np.ldexp(means, exponent)
        placed = cls(weights, profits, scaled, linked, rules, alone, alone, whole)
        return placed.select(alone)[0]

    @cached_property
    def links(self) -> Reals:
        """1.0 for cannot-links, (c, c), where there are any."""
        assert self.linked is not None
        return self.linked.astype(np.float64)

    def select(self, columns: Indices) -> tuple[PlacedBlocks, Indices]:
        """Return some of the blocks with cliques of their own, and their order among these."""
        linked = None if self.linked is None else self.linked[np.ix_(columns, columns)]
        clique = order = np.arange(len(columns))
        if linked is not None and linked.any():
            clique = clique_numbers(linked)
            order = np.argsort(clique, kind="stable")
            linked = linked[np.ix_(order, order)]
        else:
            linked = None
        chosen, clique = columns[order], clique[order]
        first = np.concatenate([[True], clique[1:] != clique[:-1]])
        part = PlacedBlocks(
            self.weights[chosen],
            self.profits[chosen],
            self.means[chosen],
            linked,
            selected(self.rules, chosen),
            np.cumsum(first) - 1,
            np.flatnonzero(first),
            None if self.whole is None else self.whole.select(chosen),
        )
        return part, order


class Boxes(NamedTuple):
    """Boxes as arrays, a row for each of s boxes.

    low, high : (s, d)
    chosen, open : (s, c) blocks in X, blocks that may be
    """

    low: Reals
    high: Reals
    chosen: Marks
    open: Marks

    def indexed(self, rows: Any) -> Boxes:
        """Return some of the boxes."""
        return Boxes(*(array[rows] for array in self))

    def beside(self, others: Boxes) -> Boxes:
        """Return these boxes, and others."""
        return Boxes(*(np.concatenate(arrays) for arrays in zip(self, others, strict=True)))

    def with_columns(self, columns: Indices) -> Boxes:
        """Return the boxes with some of the blocks only."""
        return self._replace(chosen=self.chosen[:, columns], open=self.open[:, columns])


class PlaceBounds(NamedTuple):
    """Bounds of s boxes; see the module.

    value : (s,) upper bound on -f(X), but for rounding
    rounding : (s,) by how much it may be below one at most
    place : (s, d) where it is reached, about
    n_unclear : (s,) open blocks that are worth something at some places of the box only
    """

    value: Reals
    rounding: Reals
    place: Reals
    n_unclear: Indices

    def indexed(self, rows: Any) -> PlaceBounds:
        """Return the bounds of some of the boxes."""
        return PlaceBounds(*(array[rows] for array in self))


def within_reach(placed: PlacedBlocks, boxes: Boxes) -> Boxes:
    """Return the boxes without open blocks that break a rule or are worth nothing there.

    Those whose chosen blocks break a rule, or are worth less than nothing, are left out: a set of
    least f has no such block, as it would be worth more without. Where there are least sizes, it
    may, and the boxes are left out that have too few blocks.
    """
    if placed.rules:
        boxes = boxes.indexed(~broken_by(placed.rules, boxes.chosen))
        boxes = boxes._replace(open=boxes.open & ~broken_with(placed.rules, boxes.chosen))
    if placed.whole is not None:
        return boxes.indexed(placed.whole.allow(boxes.chosen, boxes.open))
    high = placed.profits - placed.weights * _squares(placed, boxes)[0]
    boxes = boxes._replace(open=boxes.open & (high > 0.0))
    return boxes.indexed(~some(boxes.chosen & (high < 0.0)))


def bound_boxes(placed: PlacedBlocks, boxes: Boxes) -> PlaceBounds:
    """Return bounds of boxes."""
    e, a, n_rules = placed.weights, placed.profits, len(placed.rules)
    middle = 0.5 * (boxes.low + boxes.high)
    half = np.maximum(boxes.high - middle, middle - boxes.low) * (1.0 + SLACK)
    profits, paid = np.broadcast_to(a, boxes.open.shape), np.zeros(len(boxes.open))
    further = paid
    if n_rules:
        _, profits, paid, further = worth_at(placed, boxes, middle)
    near, far = _squares(placed, boxes)
    room = SLACK * (1.0 + n_rules) * (np.abs(a) + np.maximum(profits - a, 0.0))
    high = np.where(boxes.open, profits + room - e * near, 0.0)
    low = profits - room - e * far
    still = boxes.open & (high > 0.0)
    least = np.where(still, -high, 0.0)
    cliques = slopes_of_cliques(placed.starts, placed.clique, still, least, -low)
    added = -cliques.added
    share = boxes.chosen + np.where(cliques.is_first, cliques.slope, 0.0)
    profits = np.where(boxes.chosen, a, profits)
    weights = share * e
    weight = weights.sum(axis=1)
    scale = (share * np.abs(a)).sum(axis=1) + added + np.abs(paid) + further
    value = (share * profits).sum(axis=1) + added + paid
    place = np.empty_like(middle)
    for j, x in enumerate(placed.means.T):
        offsets = x - middle[:, j, None]
        squares = (weights * np.square(offsets)).sum(axis=1)
        moment, reach = (weights * offsets).sum(axis=1), weight * half[:, j]
        centre = np.divide(moment, weight, out=np.zeros_like(moment), where=weight > 0.0)
        size = np.abs(moment)
        inner = size <= reach
        value += np.where(inner, size * np.abs(centre), (2.0 * size - reach) * half[:, j]) - squares
        scale += squares + reach * half[:, j]
        place[:, j] = middle[:, j] + np.clip(centre, -half[:, j], half[:, j])
    error = rounding_error(placed, boxes.open.shape[1])
    n_unclear = (boxes.open & (low < 0.0) & (high > 0.0)).sum(axis=1)
    return PlaceBounds(value, error * scale + _NEGLIGIBLE, place, n_unclear)


def rounding_error(placed: PlacedBlocks, count: int) -> float:
    """Return the relative error of the sums over so many blocks in a bound."""
    return gamma(4.0 * (count + len(placed.rules)) + 100.0)


def worth_at(placed: PlacedBlocks, boxes: Boxes, place: Reals) -> tuple[Reals, Reals, Reals, Reals]:
    """Return about what blocks of boxes are worth at a place of each.

    (s, c) a_i - e_i |c_i - y|^2; the profits (s, c) in place of a for limits; sums u R, (s,), less
    what is paid for sizes that are lacking; and what errors of that are in proportion to, (s,).

    place : (s, d)
    """
    a = placed.profits
    values = np.broadcast_to(a, boxes.open.shape)
    for j, x in enumerate(placed.means.T):
        values = values - placed.weights * np.square(x - place[:, j, None])
    none = np.zeros(len(values))
    if not placed.rules:
        return values, np.broadcast_to(a, values.shape), none, none
    gained = np.where(boxes.open, -values, 0.0)
    profits, paid = reduced_profits(placed.rules, a, boxes.chosen, boxes.open, gained)
    if placed.whole is None:
        return values, profits, paid, none
    # Not both, which would differ by less than either: where a limit takes off, nothing lacks.
    raised, added, further = placed.whole.raised(a, boxes.chosen, boxes.open, gained)
    is_full = paid > 0.0
    profits = np.where(is_full[:, None], profits, raised)
    return values, profits, np.where(is_full, paid, -added), np.where(is_full, 0.0, further)


def greatest_of_cliques(placed: PlacedBlocks, values: Reals) -> Reals:
    """Return the sum (s,) of the greatest of the values (s, c) >= 0 of each clique."""
    if len(placed.starts) < values.shape[1]:
        values = np.maximum.reduceat(values, placed.starts, axis=1)
    return np.asarray(values.sum(axis=1))


def _squares(placed: PlacedBlocks, boxes: Boxes) -> tuple[Reals, Reals]:
    """Return |c_i - y|^2 for the nearest and the farthest place of each box, rounded outwards."""
    near, far = np.zeros(boxes.open.shape), np.zeros(boxes.open.shape)
    for j, x in enumerate(placed.means.T):
        below, above = x - boxes.low[:, j, None], boxes.high[:, j, None] - x
        far += np.square(np.maximum(below, above))
        near += np.square(np.minimum(np.minimum(below, above), 0.0))
    return near * (1.0 - SLACK), far * (1.0 + SLACK)
