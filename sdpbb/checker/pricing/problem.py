"""Pricing problem of a node, scaled so that nothing overflows, and tools of its two searches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernel.arithmetic import UNIT_ROUNDOFF, gamma, up
from ..kernel.blocks import Blocks
from ..kernel.geometry import Contracted
from ..kernel.rules import Rules, broken_by, broken_with, count_terms, over_blocks
from .limits import WholeSets

Reals = NDArray[np.float64]
Marks = NDArray[np.bool_]
Indices = NDArray[np.intp]

SLACK = 16.0 * UNIT_ROUNDOFF
"""Relative error of a few operations: a factor 1 + SLACK rounds a result up."""

_MARGIN = 4.5  # twice two, and a little
_LEAST_PROFIT = 1e-250

FAR = 1e4
"""Squared distance, in the units of a problem, of two blocks that are not near a third."""


@dataclass(frozen=True, eq=False)
class CheckedPricing:
    """Pricing problem of a node: blocks of weights e, means c and profits a > -slack.

    The searches look for sets X of low value (see the package). Profits, slack and squares are in
    units of 4^-exponent, in which the a + slack add up to less than 3.

    kept : (m,) the blocks of the node that may be in such a set
    total : at least about the sum of all positive profits, in units of the data
    weights, profits : (m,) e, and upper bounds on a
    means : (m, d) in units of 2^-exponent
    slack : >= 0, how far the value of X may be above the least one
    reach : (m,) upper bounds on sqrt((a_i + slack) / e_i), the distance of the mean of X from i in
        X
    squares : (m, m) squared distances of the means, with a relative error of gamma_(d+4), but at
        most FAR: blocks of a search node are all near one block, so that theirs are below 65
    near : (m, m) pairs that may be in X together by their distance; not i with i
    linked : (m, m) the cannot-links
    error : relative, gamma_n for n = 4 s + d + 100, s being the most blocks that are near one, with
        that one: all other terms in sums of a node are 0. n is 4 more for each term of a rule
    rules : of clusters, in addition to the cannot-links
    span : (m,) upper bounds on the distance of a block from the mean of any set; or inf
    whole_sets : why sets count as a whole; None: parts of sets are sets, so that reach, near and
        (in) are right. Otherwise all blocks are near each other, and squares may be above FAR
    """

    kept: Indices
    exponent: int
    total: float
    weights: Reals
    profits: Reals
    means: Reals
    slack: float
    reach: Reals
    squares: Reals
    near: Marks
    linked: Marks
    error: float
    rules: Rules
    span: Reals
    whole_sets: WholeSets | None

    @classmethod
    def of(
        cls, contracted: Contracted, blocks: Blocks, prices: Reals, slack: float = 0.0
    ) -> CheckedPricing:
        """Return the problem of a node, at prices (m,) of its blocks.

        slack : how far the values of sets may be above the least one, in units of the data

        Profits are rounded up from p_i - w_i: to the next number after each operation.
        """
        n, kept = contracted.m, np.arange(contracted.m)
        adjacency, rules = blocks.adjacency, blocks.block_rules
        tied, shares = np.zeros((n, n)), np.zeros(n)
        if contracted.soft is not None:
            soft = contracted.soft.prices(adjacency | contracted.across, 0)
            tied = soft.cannot - soft.must
            shares = 0.5 * soft.must.sum(axis=1) * (1.0 - gamma(n + 8.0))
        whole_sets = WholeSets.of(tied, rules)
        profits = prices - contracted.scatter  # rounded once, so that its sign is right
        if whole_sets is None:
            profits = np.where(profits == 0.0, 0.0, np.nextafter(profits, np.inf))
            kept = np.flatnonzero(profits > -slack)
            total = math.fsum(np.abs(profits[kept])) + len(kept) * slack
        else:
            profits = np.nextafter(np.nextafter(profits, np.inf) - shares, np.inf)
            total, slack = math.fsum(np.abs(profits)) + math.fsum(np.abs(tied).ravel()), 0.0
        exponent = -(math.frexp(total or 1.0)[1] // 2)
        a, e = np.ldexp(profits[kept], 2 * exponent), contracted.weights[kept]
        if whole_sets is None:
            a = np.where(a > 0.0, np.maximum(a, _LEAST_PROFIT), a)
        else:
            whole_sets = WholeSets(np.ldexp(tied, 2 * exponent), whole_sets.measures)
        slack = up(math.ldexp(slack, 2 * exponent) + n * _LEAST_PROFIT) if slack else 0.0
        m, d = len(kept), contracted.means.shape[1]
        squares, reach, span = np.zeros((m, m)), np.full(m, np.inf), np.full(m, np.inf)
        near = ~np.eye(m, dtype=np.bool_)
        with np.errstate(over="ignore"):  # infinite distances are not near
            for x in contracted.means[kept].T:
                squares += np.square(np.ldexp(x[:, None] - x, exponent))
            means = np.ldexp(contracted.means[kept], exponent)
            if whole_sets is None:
                reach = np.sqrt((a + slack) / e) * (1.0 + SLACK)
                both = np.square(reach[:, None] + reach) * (1.0 + SLACK)
                near &= ~(squares * (1.0 - gamma(d + 8.0)) >= both)
        if whole_sets is None:
            squares = np.minimum(squares, FAR)
            most = 1 + int(near.sum(axis=1).max(initial=0))
            error = gamma(4.0 * (most + count_terms(rules)) + d + 100.0)
        else:
            error = gamma(8.0 * (m + count_terms(rules)) + d + 200.0)
            # The mean of a set is in the convex hull of its blocks.
            span = np.sqrt(squares.max(axis=1)) * (1.0 + error)
        return cls(
            kept,
            exponent,
            total,
            e,
            a,
            means,
            slack,
            reach,
            squares,
            near,
            adjacency[np.ix_(kept, kept)],
            error,
            over_blocks(rules, _places(kept, n)),
            span,
            whole_sets,
        )

    @property
    def m(self) -> int:
        """Number of blocks."""
        return len(self.kept)

    @cached_property
    def together(self) -> Marks:
        """Pairs of blocks (m, m) that may share a set."""
        return self.near & ~self.linked

    @cached_property
    def has_links(self) -> bool:
        """True if there are cannot-links."""
        return bool(self.linked.any())

    @cached_property
    def terms(self) -> Reals:
        """Bounds |a| + slack on the terms of a sum over blocks, (m,), soft pairs among them."""
        terms = np.abs(self.profits) + self.slack
        if self.whole_sets is not None:
            terms += np.abs(self.whole_sets.tied).sum(axis=1)
        return terms

    def rescaled(self, value: float) -> float:
        """Return a value of the data in the units of the problem."""
        return math.ldexp(value, 2 * self.exponent)

    def in_units(self, value: float) -> float:
        """Return a value of the problem in units of the data."""
        return math.ldexp(value, -2 * self.exponent)

    def margin(self, least: float) -> float:
        """Return the amount by which a right least value is lowered, so that it can be proven.

        Values and bounds are off by at most twice the relative error times the sum of the a_i. If
        parts of sets are sets, the sum is the largest one over a block and the blocks near it.
        """
        if self.whole_sets is None:
            return _MARGIN * self.error * float((self.profits + self.near @ self.profits).max())
        return 4.0 * _MARGIN * self.error * (float(self.terms.sum()) + abs(least))


@dataclass(frozen=True, eq=False)
class Scope:
    """The c blocks of a problem that matter to some search nodes, in the order of their cliques.

    blocks : (c,) their numbers
    clique : (c,) numbers of cliques from 0 on, in ascending order: no X holds two blocks of one
    starts : where each begins
    """

    problem: CheckedPricing
    blocks: Indices
    clique: Indices
    starts: Indices

    @classmethod
    def of(cls, problem: CheckedPricing, blocks: Indices, clique: Indices) -> Scope:
        """Return the scope of blocks with ascending numbers (c,) of their cliques."""
        first = np.concatenate([[True], clique[1:] != clique[:-1]])
        return cls(problem, blocks, np.cumsum(first) - 1, np.flatnonzero(first))

    @cached_property
    def weights(self) -> Reals:
        return self.problem.weights[self.blocks]

    @cached_property
    def profits(self) -> Reals:
        return self.problem.profits[self.blocks]

    @cached_property
    def squares(self) -> Reals:
        return self.problem.squares[np.ix_(self.blocks, self.blocks)]

    @cached_property
    def together(self) -> Marks:
        return self.problem.together[np.ix_(self.blocks, self.blocks)]

    @cached_property
    def linked(self) -> Marks | None:
        """Cannot-links (c, c); None if there are none."""
        if not self.problem.has_links:
            return None
        linked = self.problem.linked[np.ix_(self.blocks, self.blocks)]
        return linked if linked.any() else None

    @cached_property
    def rules(self) -> Rules:
        return over_blocks(self.problem.rules, _places(self.blocks, self.problem.m))

    @cached_property
    def whole_sets(self) -> WholeSets | None:
        found = self.problem.whole_sets
        return None if found is None else found.select(self.blocks)

    def within_limits(self, nodes: Nodes) -> Nodes:
        """Return nodes whose chosen blocks satisfy the rules, less open blocks that break them."""
        kept = np.ones(len(nodes.chosen), np.bool_)
        if self.rules:
            kept = ~broken_by(self.rules, nodes.chosen)
            nodes = nodes._replace(open=nodes.open & ~broken_with(self.rules, nodes.chosen))
        if self.whole_sets is not None:
            kept &= self.whole_sets.allow(nodes.chosen, nodes.open)
        return nodes if kept.all() else indexed(nodes, kept)


class Nodes(NamedTuple):
    """s search nodes as arrays, one row each: chosen and open blocks, and bounds on the mean y.

    chosen, open : (s, c) blocks in X; blocks that may still join X
    low, high : (s, c) bounds on the distances of y from blocks; or (s, d) on its coordinates
    """

    chosen: Marks
    open: Marks
    low: Reals
    high: Reals


class CliqueSlopes(NamedTuple):
    """Slopes of cliques of open blocks; a set holds at most one block of a clique; see `sets`.

    is_first : (s, c) whether an open block has the least l of its clique
    slope, constant : (s, c) b and g of the clique of each block
    added : (s,) sum of g over the cliques
    """

    is_first: Marks
    slope: Reals
    constant: Reals
    added: Reals


Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


def indexed(values: Arrays, index: Any) -> Arrays:
    """Index all arrays alike, by rows or columns."""
    arrays: Any = (indexed(x, index) if isinstance(x, tuple) else x[index] for x in values)
    return type(values)(*arrays)


def stacked(parts: list[Nodes]) -> Nodes:
    """Return the nodes of several parts."""
    return Nodes(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def without_and_with(nodes: Nodes, block: Indices, allowed: Marks | None) -> tuple[Nodes, Nodes]:
    """Return two children of each node: without an open block (s,), and with it.

    allowed : (s, c) blocks that may be in X with it; None: all
    """
    rows = np.arange(len(block))
    still, chosen = nodes.open.copy(), nodes.chosen.copy()
    still[rows, block], chosen[rows, block] = False, True
    others = still if allowed is None else still & allowed
    return nodes._replace(open=still), nodes._replace(chosen=chosen, open=others)


def by_cliques(apart: Marks) -> tuple[Indices, Indices]:
    """Return an order of the vertices of a graph (m, m), and the cliques (m,) in that order.

    The graph has no loops. Cliques are found greedily: vertices come by decreasing degree, and each
    joins the first clique whose vertices are all adjacent to it. The engine has another function
    for this on purpose (`sdpbb.bounds.lagrangian.sets.problem`): the checker relies on none of its
    code.
    """
    number = np.empty(len(apart), dtype=np.intp)
    common = np.ones((len(apart), len(apart)), dtype=np.bool_)  # adjacent to all of a clique
    count = 0
    for vertex in np.argsort(-apart.sum(axis=1), kind="stable").tolist():
        clique = int(common[: count + 1, vertex].argmax())
        count = max(count, clique + 1)
        number[vertex] = clique
        common[clique] &= apart[vertex]
    order = np.argsort(number, kind="stable")
    return order, number[order]


def slopes_of_cliques(
    starts: Indices, clique: Indices, still: Marks, low: Reals, high: Reals
) -> CliqueSlopes:
    """Return the slopes of the cliques of the blocks `still`, (s, c).

    starts, clique : where each clique begins, and the clique (c,) of each block
    low, high : (s, c) l, which is 0 for other blocks, and u

    If several blocks of a clique have the least l, the second least is the same: the slope is 0.
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


def _places(blocks: Indices, m: int) -> Indices:
    """Return the place of each of m blocks among some of them; -1: not among them."""
    places = np.full(m, -1)
    places[blocks] = np.arange(len(blocks))
    return places
