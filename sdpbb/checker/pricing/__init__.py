"""Verified pricing: a proven bound on reduced costs, and all clusters below a threshold.

Proven is that no cluster is worth less, at given prices, than is stated; and all are found that are
worth less than another number.

With block weights e, means c, scatter w, prices p and a_i = p_i - w_i, a non-empty set X of blocks
without a cannot-linked pair is worth

    f(X) = sum_{i in X} e_i |c_i - mean_X|^2 - a_i = min_y sum_{i in X} q_i(y),
    q_i(y) = e_i |c_i - y|^2 - a_i.

To prove: f(X) >= t for all X that keep the rules on clusters, if there are any (`rules`): then so
do their subsets.

Case t > 0. As f(X) >= -a(X), and f({i}) = -a_i, that is: a_i <= -t for all i.

Case t <= 0. Suppose there are sets below t; let X be one of least value, and of these one of the
fewest blocks, y = mean_X, E = e(X). Then

    (in)   e_i |c_i - y|^2 < a_i (1 - e_i / E) for i in X, if X has other blocks: leaving i out
           changes f by a_i - e_i E / (E - e_i) |c_i - y|^2, which is above 0; a set of i alone is
           below 0, so that a_i > 0 in any case;
    (out)  e_j |c_j - y|^2 >= a_j (1 + e_j / E) for each j not in X and not cannot-linked to any
           block of X, if X and j keep the rules on clusters: putting j in changes f by
           e_j E / (E + e_j) |c_j - y|^2 - a_j, which is not below 0;
    (swap) q_j(y) >= sum of q_i(y) over the i in X that are cannot-linked to j, for each j not in X:
           j may take their place, if the rules are kept then.

So blocks with a_i <= 0 are in no such X, and blocks i and j that are sqrt(a_i / e_i) +
sqrt(a_j / e_j) or more apart are not both in X. `search` looks for X: for each block i, for
the X whose first block is i in an order of the blocks in which few are near each block later on.

Where the means are in three dimensions or fewer, `places` looks for X by its mean: f(X) is at least
minus the greatest value that a place y has,

    max_y max_X sum_{i in X} a_i - e_i |c_i - y|^2,

which takes a search over boxes of places, however many blocks a set has.

All sets that are below another number t + slack, where no set is below t, are found by the same
rules, which hold for each such X by the same arguments, but for less: leaving i out of X, putting j
in, or instead of others, gives a set of at least t, and so changes f by more than -slack.

    (in)   e_i |c_i - y|^2 < (a_i + slack) (1 - e_i / E);  a_i > -slack, if i is all of X, too
    (out)  e_j |c_j - y|^2 > (a_j - slack) (1 + e_j / E)
    (swap) q_j(y) > sum of q_i(y) - slack

Where clusters have least sizes or weights, or listed sizes, or there are soft pairs, parts of a set
may be none, or worth less, and none of that holds. Sets are looked at as a whole then (`rules`):
all blocks are near each other, no rule but the bounds drops or chooses a block, and t may be above
0.

Near the first block of X are all its blocks: sums over the blocks of a node are at most the largest
of the sums over what is near a block, and that is what the margin is in proportion to.

A profit a_i may be raised, as that makes sets worth less. So the search is for the next number
above each difference p_i - w_i that is rounded, which is above the difference itself, and for no
number below 1e-250: what it proves of these profits, taken exactly, is then true of the differences
too. Units are such that the profits add up to between 0.5 and 2, or hardly more. There nothing
overflows, and what underflows is negligible beside the rounding errors that are accounted for.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..kernel.arithmetic import down, gamma, up
from ..kernel.evidence import AtStep, go_on
from ..kernel.geometry import Contracted
from ..kernel.rejection import Rejected
from ..kernel.rules import Rules, selected
from .place_bounds import PlacedBlocks
from .places import greatest_value
from .problem import CheckedPricing, Marks, in_order
from .rules import Whole
from .search import none_below, sets_below

MAX_NODES = 1_000_000
"""Nodes of the search, all of them together."""
FEWEST_BOXES, BOXES_OF_BLOCK = 20_000, 200
"""Boxes of places that are looked at first: so many, and so many more for each block."""

_LEAST_PROFIT = 1e-250
# Values and bounds are off by at most twice the sum of a_i times the relative error each, and
# lowered by as much: by four, and a little, `least` is lowered to be proven where it is right.
_MARGIN = 4.5


def proven_least(
    contracted: Contracted,
    adjacency: NDArray[np.bool_],
    prices: NDArray[np.float64],
    least: float,
    max_nodes: int = MAX_NODES,
    rules: Rules = (),
    at_step: AtStep = go_on,
) -> float:
    """Return a proven lower bound on c(X) - prices(X), at most `least` and hardly less.

    X are the non-empty sets of blocks without a cannot-linked pair that keep the rules; c is that
    of the points x^ of `Contracted`.

    The difference is less than (100 m + 3000) 2^-53 times the sum of the positive p_i - w_i,
    and by far where only few blocks are near each other.

    Parameters
    ----------
    adjacency : (m, m) symmetric, the cannot-linked pairs
    prices : (m,) of any sign, at most 1e250 in absolute value, as `least`
    at_step : called between steps of the search; what it raises ends it

    Raises
    ------
    Rejected
        If a set is worth less, or the search takes more than `max_nodes` nodes; and boxes before.
    """
    least = float(least)
    tied, shares = _soft_prices(contracted, adjacency)
    whole = Whole.of(tied, rules, contracted.m)
    if whole is not None:
        problem, exponent = _whole_problem(contracted, adjacency, prices, shares, rules, whole)
        if tied is None and least <= 0.0:
            greatest = _greatest_of_whole(problem, contracted, exponent, least, max_nodes, at_step)
            if greatest == math.inf:
                raise Rejected(f"a cluster is worth less than {least!r}")
            if greatest is not None:
                return min(least, down(-math.ldexp(greatest, -2 * exponent)))
        scale = float(problem.terms.sum()) + abs(math.ldexp(least, 2 * exponent))
        margin = 4.0 * _MARGIN * problem.error * scale
        target = down(least - up(math.ldexp(margin, -2 * exponent)))
        scaled = math.ldexp(target, 2 * exponent)
        if not none_below(in_order(problem)[0], scaled, max_nodes, at_step):
            raise Rejected(f"a cluster is worth less than {least!r}")
        return target
    profits = prices - contracted.scatter  # rounded once: of the right sign
    if least > 0.0:
        # What is rounded to a number of at most -least is below the next one.
        if not (profits <= -least).all():
            raise Rejected(f"a block by itself is worth less than {least!r}")
        return down(least)
    kept = np.flatnonzero(profits > 0.0)
    total = math.fsum(profits[kept])
    if len(kept) == 0 or -least > 2.0 * total:  # no set is worth less than minus all profits
        return least
    exponent = -(math.frexp(total)[1] // 2)
    raised = np.nextafter(profits[kept], np.inf)
    weights, profits = contracted.weights[kept], np.ldexp(raised, 2 * exponent)
    profits = np.maximum(profits, _LEAST_PROFIT)
    means, linked = contracted.means[kept], adjacency[np.ix_(kept, kept)]
    of_kept = selected(rules, kept)
    placed = PlacedBlocks.of(weights, profits, means, linked, exponent, of_kept)
    boxes = _most_boxes(len(kept), max_nodes)
    greatest = greatest_value(placed, -math.ldexp(least, 2 * exponent), boxes, at_step)
    if greatest == math.inf:
        raise Rejected(f"a cluster is worth less than {least!r}")
    if greatest is not None:
        return min(least, down(-math.ldexp(greatest, -2 * exponent)))
    problem = CheckedPricing.of(weights, means, profits, linked, exponent, rules=of_kept)
    margin = _MARGIN * problem.error * problem.largest_sum()
    target = down(least - up(math.ldexp(margin, -2 * exponent)))
    scaled = math.ldexp(target, 2 * exponent)
    if not none_below(in_order(problem)[0], scaled, max_nodes, at_step):
        raise Rejected(f"a cluster is worth less than {least!r}")
    return target


def looks_at_whole(contracted: Contracted, adjacency: NDArray[np.bool_], rules: Rules) -> bool:
    """Return whether sets are looked at as a whole (`rules`): the least value may be above 0."""
    return Whole.of(_soft_prices(contracted, adjacency)[0], rules, contracted.m) is not None


def clusters_below(
    contracted: Contracted,
    adjacency: NDArray[np.bool_],
    prices: NDArray[np.float64],
    least: float,
    value: float,
    max_nodes: int,
    max_clusters: int,
    rules: Rules = (),
    at_step: AtStep = go_on,
) -> Marks:
    """Return all sets X (t, m) of blocks that have c(X) - prices(X) < value.

    They are non-empty, without a cannot-linked pair, and keep the rules; c is that of the points x^
    of `Contracted`. Some that are worth hardly more are among them.

    Parameters
    ----------
    adjacency : (m, m) symmetric, the cannot-linked pairs
    prices : (m,) of any sign, at most 1e250 in absolute value
    least : at most 0; no set is worth less, not even where the next numbers above p_i - w_i are the
        profits, as `proven_least` proves it
    value : finite
    at_step : called between steps of the search; what it raises ends it

    Raises
    ------
    Rejected
        If these are more than `max_clusters`, or the search takes more than `max_nodes` nodes.
    """
    m = contracted.m
    tied, shares = _soft_prices(contracted, adjacency)
    whole = Whole.of(tied, rules, m)
    if whole is not None:
        problem, exponent = _whole_problem(contracted, adjacency, prices, shares, rules, whole)
        placed, places = in_order(problem)
        below = up(math.ldexp(value, 2 * exponent))
        found = sets_below(placed, below, max_nodes, max_clusters, at_step)
        members = np.zeros((len(found), m), bool)
        members[:, places] = found
        return members
    if value <= least:
        return np.zeros((0, m), bool)
    slack = up(value - least)
    profits = prices - contracted.scatter
    raised = np.where(profits == 0.0, 0.0, np.nextafter(profits, np.inf))
    kept = np.flatnonzero(raised > -slack)
    if len(kept) == 0:
        return np.zeros((0, m), bool)
    total = math.fsum(np.abs(raised[kept])) + len(kept) * slack
    exponent = -(math.frexp(total)[1] // 2)
    scaled = np.ldexp(raised[kept], 2 * exponent)
    problem = CheckedPricing.of(
        contracted.weights[kept],
        contracted.means[kept],
        np.where(scaled > 0.0, np.maximum(scaled, _LEAST_PROFIT), scaled),
        adjacency[np.ix_(kept, kept)],
        exponent,
        up(math.ldexp(slack, 2 * exponent) + m * _LEAST_PROFIT),
        selected(rules, kept),
    )
    order = in_order(problem)
    below = up(math.ldexp(value, 2 * exponent))
    found = sets_below(order[0], below, max_nodes, max_clusters, at_step)
    members = np.zeros((len(found), m), bool)
    members[:, kept[order[1]]] = found
    return members


def _most_boxes(n_blocks: int, max_nodes: int) -> int:
    return min(max_nodes, FEWEST_BOXES + BOXES_OF_BLOCK * n_blocks)


def _greatest_of_whole(
    problem: CheckedPricing,
    contracted: Contracted,
    exponent: int,
    least: float,
    max_nodes: int,
    at_step: AtStep,
) -> float | None:
    """Return what `greatest_value` does of all blocks, for sets of whole sizes."""
    placed = PlacedBlocks.of(
        problem.weights,
        problem.profits,
        contracted.means,
        problem.linked,
        exponent,
        problem.rules,
        problem.whole,
    )
    boxes = _most_boxes(problem.m, max_nodes)
    return greatest_value(placed, -math.ldexp(least, 2 * exponent), boxes, at_step)


def _soft_prices(
    contracted: Contracted, adjacency: NDArray[np.bool_]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64]]:
    """Return the W of soft pairs (m, m), or None, and half the prices of must-links, (m,).

    The latter are rounded down. What all clusterings pay is not part of either.
    """
    m = contracted.m
    if contracted.soft is None:
        return None, np.zeros(m)
    prices = contracted.soft.prices(adjacency | contracted.across, 0)
    shares = 0.5 * prices.must.sum(axis=1) * (1.0 - gamma(m + 8.0))
    return prices.cannot - prices.must, shares


def _whole_problem(
    contracted: Contracted,
    adjacency: NDArray[np.bool_],
    prices: NDArray[np.float64],
    shares: NDArray[np.float64],
    rules: Rules,
    whole: Whole,
) -> tuple[CheckedPricing, int]:
    """Return the problem of all blocks, with sets looked at as a whole, and its unit's exponent.

    Profits are rounded up twice. What underflows in these units is far below all margins.
    """
    profits = np.nextafter(np.nextafter(prices - contracted.scatter, np.inf) - shares, np.inf)
    total = math.fsum(np.abs(profits)) + math.fsum(np.abs(whole.tied).ravel())
    exponent = -(math.frexp(total or 1.0)[1] // 2)
    problem = CheckedPricing.of(
        contracted.weights,
        contracted.means,
        np.ldexp(profits, 2 * exponent),
        adjacency,
        exponent,
        rules=rules,
        whole=replace(whole, tied=np.ldexp(whole.tied, 2 * exponent)),
    )
    return problem, exponent
