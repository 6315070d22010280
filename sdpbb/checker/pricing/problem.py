"""Pricing problem of the checker: all blocks, and those that matter to nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernel.arithmetic import UNIT_ROUNDOFF, gamma
from ..kernel.rules import Rules, selected
from .rules import Whole

Reals = NDArray[np.float64]
Marks = NDArray[np.bool_]
Indices = NDArray[np.intp]

SLACK = 16.0 * UNIT_ROUNDOFF
"""Relative error of a few operations: what is rounded up is multiplied by 1 + SLACK."""

_MARGIN = 4.5  # twice two, and a little

FAR = 1e4
"""A squared distance at which two blocks cannot be near a third."""


@dataclass(frozen=True, eq=False)
class CheckedPricing:
    """Pricing problem of the checker: blocks of weights e, means c and profits a > -slack.

    Sets X of low value are looked for (see the package), in units in which the a + slack add up to
    less than 3.

    weights, profits : (m,), as they are: of other profits, these are at least as large
    slack : >= 0, how far above the least value X may be
    reach : (m,) at least sqrt((a_i + slack) / e_i), within which the mean of X is for i in X
    squares : (m, m) squared distances of the means, off by gamma_(d+4) of that, or FAR if that is
        less: blocks of a node are all near one, so that theirs are below 65
    near : (m, m) pairs that the distance does not keep from being in X together; not i with i
    linked : (m, m) the cannot-links
    together : (m, m) near and not linked
    error : relative, gamma_n for n = 4 s + d + 100, s the most blocks that are near one and that:
        in the sums of a node all other terms are 0; n is 4 more for each rule
    rules : of clusters, besides the cannot-links
    span : (m,) at least the distance of a block from the mean of any set; inf if that is not known
    whole : what sets are looked at for as a whole; None where parts of sets are sets, which reach,
        near and (in) are about. With it all blocks are near each other,
        and squares are what they are
    """

    weights: Reals
    profits: Reals
    slack: float
    reach: Reals
    squares: Reals
    near: Marks
    linked: Marks
    together: Marks
    error: float
    rules: Rules
    span: Reals
    whole: Whole | None = None

    @classmethod
    def of(
        cls,
        weights: Reals,
        means: Reals,
        profits: Reals,
        linked: Marks,
        exponent: int,
        slack: float = 0.0,
        rules: Rules = (),
        whole: Whole | None = None,
    ) -> CheckedPricing:
        """Return the problem with the means (m, d) multiplied by 2^exponent, a power of two.

        Profits and slack are multiplied by its square.
        """
        m, d = means.shape
        squares = np.zeros((m, m))
        reach = span = np.full(m, np.inf)
        with np.errstate(over="ignore"):  # what is infinite is not near
            for x in means.T:
                squares += np.square(np.ldexp(x[:, None] - x, exponent))
            if whole is None:
                reach = np.sqrt((profits + slack) / weights) * (1.0 + SLACK)
            both = np.square(reach[:, None] + reach) * (1.0 + SLACK)
            near = ~(squares * (1.0 - gamma(d + 8.0)) >= both)
        np.fill_diagonal(near, False)
        if whole is None:
            squares = np.minimum(squares, FAR)
            most = 1 + int(near.sum(axis=1).max())
            error = gamma(4.0 * (most + len(rules)) + d + 100.0)
        else:
            near = ~np.eye(m, dtype=np.bool_)
            error = gamma(8.0 * (m + len(rules)) + d + 200.0)
            # The mean of a set is among its blocks.
            span = np.sqrt(squares.max(axis=1)) * (1.0 + error)
        together = near & ~linked
        return cls(
            weights,
            profits,
            slack,
            reach,
            squares,
            near,
            linked,
            together,
            error,
            rules,
            span,
            whole,
        )

    @property
    def m(self) -> int:
        """Number of blocks."""
        return len(self.weights)

    @property
    def terms(self) -> Reals:
        """Bounds |a| + slack on the terms of a sum over blocks, (m,), soft pairs among them."""
        terms = np.abs(self.profits) + self.slack
        return terms if self.whole is None else terms + np.abs(self.whole.tied).sum(axis=1)

    def margin(self, least: float) -> float:
        """Return by how much a least value is lowered to be proven where it is right.

        Values and bounds are off by at most twice the sum of a_i times the relative error each, and
        lowered by as much. Of parts, that is the largest sum over a block and what is near it.
        """
        if self.whole is None:
            return _MARGIN * self.error * float((self.profits + self.near @ self.profits).max())
        return 4.0 * _MARGIN * self.error * (float(self.terms.sum()) + abs(least))

    def select(self, blocks: Indices) -> CheckedPricing:
        """Return the problem of some blocks only, in their order."""
        pairs = np.ix_(blocks, blocks)
        return CheckedPricing(
            self.weights[blocks],
            self.profits[blocks],
            self.slack,
            self.reach[blocks],
            self.squares[pairs],
            self.near[pairs],
            self.linked[pairs],
            self.together[pairs],
            self.error,
            selected(self.rules, blocks),
            self.span[blocks],
            None if self.whole is None else self.whole.select(blocks),
        )


def in_order(problem: CheckedPricing) -> tuple[CheckedPricing, Indices]:
    """Return the problem in another order, and the block at each place.

    First comes the one which can share a set with the fewest, then of the others the one which can
    with the fewest of them, and so on.
    """
    degree = problem.together.sum(axis=1)
    order = []
    for _ in range(problem.m):
        block = int(degree.argmin())
        order.append(block)
        degree -= problem.together[block]
        degree[block] = 2 * problem.m
    places = np.array(order, dtype=np.intp)
    return problem.select(places), places


@dataclass(frozen=True, eq=False)
class Scope:
    """Restriction of the pricing problem to the c blocks that matter to some nodes.

    Those of a clique stand side by side.

    blocks : (c,) their numbers
    problem : of them only
    clique : (c,) non-decreasing numbers of cliques from 0 on: no X holds two blocks of one
    starts : where each begins
    """

    blocks: Indices
    problem: CheckedPricing
    clique: Indices
    starts: Indices

    @classmethod
    def of(cls, problem: CheckedPricing, blocks: Indices, clique: Indices | None = None) -> Scope:
        """Return the scope of blocks with cliques (c,).

        Without any given, cliques are looked for.
        """
        chosen = problem.select(blocks)
        if clique is None:
            apart = ~chosen.together
            np.fill_diagonal(apart, False)
            clique = clique_numbers(apart)
            order = np.argsort(clique, kind="stable")
            return cls.of(problem, blocks[order], clique[order])
        first = np.concatenate([[True], clique[1:] != clique[:-1]])
        return cls(blocks, chosen, np.cumsum(first) - 1, np.flatnonzero(first))

    def select(self, columns: Indices, whole: CheckedPricing) -> Scope:
        """Return the scope of some of its blocks, by their position."""
        return Scope.of(whole, self.blocks[columns], self.clique[columns])


def clique_numbers(apart: Marks) -> Indices:
    """Return the number of a clique for each vertex (m,) of a graph without loops, greedily.

    Vertices come by decreasing degree, each into the first clique all of which it is adjacent to.
    The engine has a function of its own on purpose (`sdpbb.bounds.lagrangian.sets.problem`).
    """
    number = np.empty(len(apart), dtype=np.intp)
    common = np.ones((len(apart), len(apart)), dtype=np.bool_)  # adjacent to all of a clique
    count = 0
    for vertex in np.argsort(-apart.sum(axis=1), kind="stable").tolist():
        clique = int(common[: count + 1, vertex].argmax())
        count = max(count, clique + 1)
        number[vertex] = clique
        common[clique] &= apart[vertex]
    return number


class CliqueSlopes(NamedTuple):
    """Slopes of cliques of open blocks, of which a set holds one block at most; see `bounds`.

    is_first : (s, c) whether an open block has the least l of its clique
    slope, constant : (s, c) b and g of the clique of each block
    added : (s,) sum of g over the cliques
    """

    is_first: Marks
    slope: Reals
    constant: Reals
    added: Reals


def slopes_of_cliques(
    starts: Indices, clique: Indices, still: Marks, low: Reals, high: Reals
) -> CliqueSlopes:
    """Return the slopes of the cliques of the blocks `still`, (s, c).

    starts, clique : where each clique begins, and the clique (c,) of each block
    low, high : (s, c) l, which is 0 for other blocks, and u

    Among equals all are the first, and one of the others too: their slope is 0.
    """
    is_first, least, second, most = still, low, np.zeros_like(low), high
    if len(starts) < still.shape[1]:
        least = np.minimum.reduceat(low, starts, axis=1)
        is_first = still & (low == least[:, clique])
        many = np.add.reduceat(is_first, starts, axis=1, dtype=np.intp) > 1
        others = np.minimum.reduceat(np.where(is_first, 0.0, low), starts, axis=1)
        second = np.where(many, least, others)
        most = np.maximum.reduceat(np.where(is_first, high, -np.inf), starts, axis=1)
        most = np.where(np.isfinite(most), most, 0.0)
    slope, width = np.zeros_like(least), most - least
    np.divide(second - least, width, out=slope, where=(width > 0.0) & (least < 0.0))
    np.minimum(slope, 1.0, out=slope)
    constant = np.minimum((1.0 - slope) * least, second - slope * most)
    constant = np.where(least < 0.0, constant, 0.0)
    added = constant.sum(axis=1)
    if len(starts) < still.shape[1]:
        slope, constant = slope[:, clique], constant[:, clique]
    return CliqueSlopes(is_first, slope, constant, added)


def some(marks: Marks) -> Marks:
    """Return whether any of the marks (s, c) is set, (s,)."""
    return np.asarray(marks.any(axis=1))
