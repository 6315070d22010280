"""Verified pricing: a proven bound on reduced costs, and all clusters below a threshold.

Each block is in exactly one of the k clusters X, which cost c(X) for the points x^ of `Contracted`,
so that a clustering costs

    sum of c(X) = sum of prices + sum of (c(X) - prices(X)) >= sum of prices + k least.

Proven is that no cluster is worth less, at given prices, than is stated, but for a margin for
rounding; and all are found that are worth less than another number.

With block weights e, means c, scatter w, prices p and a_i = p_i - w_i, a non-empty set X of blocks
without a cannot-linked pair is worth

    f(X) = sum_{i in X} e_i |c_i - mean_X|^2 - a_i = min_y sum_{i in X} q_i(y),
    q_i(y) = e_i |c_i - y|^2 - a_i.

To prove: f(X) >= t for all X that keep the rules on clusters, if there are any (`limits`): then so
do their subsets.

With t <= 0, suppose there are sets below t; let X be one of least value, and of these one of the
fewest blocks, y = mean_X, E = e(X). Then

    (in)   e_i |c_i - y|^2 < a_i (1 - e_i / E) for i in X, if X has other blocks: leaving i out
           changes f by a_i - e_i E / (E - e_i) |c_i - y|^2, which is above 0; a set of i alone is
           below 0, so that a_i > 0 in any case.

So blocks with a_i <= 0 are in no such X, and blocks i and j that are sqrt(a_i / e_i) +
sqrt(a_j / e_j) or more apart are not both in X. `sets` looks for X: for each block i, for
the X whose first block is i in an order of the blocks in which few are near each block later on.

Where the means are in three dimensions or fewer, `places` looks for X by its mean: f(X) is at least
minus the greatest value that a place y has,

    max_y max_X sum_{i in X} a_i - e_i |c_i - y|^2,

which takes a search over boxes of places, however many blocks a set has.

All sets that are below another number t + slack, where no set is below t, are found by the same
rule, for less: leaving i out gives a set of at least t, and so changes f by more than -slack.

    (in)   e_i |c_i - y|^2 < (a_i + slack) (1 - e_i / E);  a_i > -slack, if i is all of X, too

Where clusters have least sizes or weights, or listed sizes, or there are soft pairs, parts of a set
may be none, or worth less, and none of that holds. Sets are looked at as a whole then (`limits`):
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
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..kernel.archive import REALS
from ..kernel.arithmetic import down, sum_down, up
from ..kernel.blocks import Blocks
from ..kernel.evidence import FULL, AtStep, Effort, Evidence, go_on
from ..kernel.geometry import Contracted
from ..kernel.rejection import Rejected
from .places import greatest_value
from .problem import CheckedPricing, Marks
from .sets import sets_below

PRICES = REALS[:1]
"""Type of arrays of prices."""
MAX_NODES = 1_000_000
"""Nodes of the search, all of them together."""
FEWEST_BOXES, BOXES_OF_BLOCK = 20_000, 200
"""Boxes of places that are looked at first: so many, and so many more for each block."""
# Prices beyond this prove nothing that is of use, and their sums may overflow.
_LARGEST = 1e250


@dataclass(frozen=True, eq=False)
class Lagrangian(Evidence):
    """Prices of the m blocks of a node, and a lower bound on the value of every cluster at them.

    prices : (m,) of any sign, in squared units of the data
    least : no cluster X of blocks without a cannot-linked pair has c(X) - prices(X) < least
    """

    prices: NDArray[np.float64]
    least: float

    WORD: ClassVar = "prices"
    PROOF: ClassVar = "pricing"
    STATES: ClassVar = ("least",)

    @staticmethod
    def shapes(m: int) -> dict[str, Any]:
        return {"prices": (PRICES, m)}

    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        prices, least = self.prices, self.least
        require_numbers(prices, least)
        nodes = effort.of(MAX_NODES)
        proven = proven_least(contracted, blocks, prices, least, nodes, effort.at_step)
        squares = sum_down([*prices.tolist(), *[proven] * blocks.k])
        return contracted.for_points(contracted.with_soft(squares, blocks.adjacency))

    def proves_infeasible(
        self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL
    ) -> bool:
        """Return whether the prices prove that there is no clustering at all.

        Where all points are in one place every clustering costs 0, so that there is none if the
        bound of some prices is above 0. No k clusters hold all blocks then, as each holds so much
        of the prices at most (Farkas).

        Parameters, and `Rejected`, as for `bound`.
        """
        m = contracted.m
        one_place = Contracted(contracted.n, contracted.weights, np.zeros((m, 1)), np.zeros(m), 0.0)
        return self.bound(one_place, blocks, effort) > 0.0


def require_numbers(prices: NDArray[np.float64], value: float) -> None:
    """Raise `Rejected` if prices, or a value, are no moderate numbers."""
    if not (np.abs([*prices, value]) <= _LARGEST).all():  # false for nan
        raise Rejected(f"a price, or a value, is not a number of at most {_LARGEST:g}")


def proven_least(
    contracted: Contracted,
    blocks: Blocks,
    prices: NDArray[np.float64],
    least: float,
    max_nodes: int = MAX_NODES,
    at_step: AtStep = go_on,
) -> float:
    """Return a proven lower bound on c(X) - prices(X), at most `least` and hardly less.

    X are the non-empty sets of blocks without a cannot-linked pair that keep the rules; c is that
    of the points x^ of `Contracted`. The bound is at most 0, unless sets are looked at as a whole.

    The difference is less than (100 m + 3000) 2^-53 times the sum of the positive p_i - w_i,
    and by far where only few blocks are near each other.

    Parameters
    ----------
    prices : (m,) of any sign, at most 1e250 in absolute value, as `least`
    at_step : called between steps of the search; what it raises ends it

    Raises
    ------
    Rejected
        If a set is worth less, or the search takes more than `max_nodes` nodes; and boxes before.
    """
    problem, least = CheckedPricing.of(contracted, blocks, prices), float(least)
    if problem.whole is None:
        least = min(least, 0.0)
    if not problem.m or least < -2.0 * problem.total:
        return least  # no set is worth less than minus all profits
    stated, greatest = problem.rescaled(least), None
    if stated <= 0.0:
        boxes = min(max_nodes, FEWEST_BOXES + BOXES_OF_BLOCK * problem.m)
        greatest = greatest_value(problem, -stated, boxes, at_step)
    if greatest == math.inf:
        raise Rejected(f"a cluster is worth less than {least!r}")
    if greatest is not None:
        return min(least, down(problem.in_units(-greatest)))
    target = down(least - up(problem.in_units(problem.margin(stated))))
    if next(sets_below(problem, problem.rescaled(target), max_nodes, at_step), None) is not None:
        raise Rejected(f"a cluster is worth less than {least!r}")
    return target


def clusters_below(
    contracted: Contracted,
    blocks: Blocks,
    prices: NDArray[np.float64],
    least: float,
    value: float,
    max_nodes: int,
    max_clusters: int,
    at_step: AtStep = go_on,
) -> Marks:
    """Return all sets X (t, m) of blocks that have c(X) - prices(X) < value.

    They are those of `proven_least`, as are the other parameters. Some that are worth hardly more
    are among them.

    Parameters
    ----------
    least : no set is worth less, not even where the next numbers above p_i - w_i are the
        profits, as `proven_least` proves it
    value : finite

    Raises
    ------
    Rejected
        If these are more than `max_clusters`, or the search takes more than `max_nodes` nodes.
    """
    slack = max(0.0, up(value - least))
    problem = CheckedPricing.of(contracted, blocks, prices, slack)
    found = [np.zeros((0, contracted.m), bool)]
    if not problem.m or value <= least:
        return found[0]
    for sets in sets_below(problem, up(problem.rescaled(value)), max_nodes, at_step):
        members = np.zeros((len(sets), contracted.m), bool)
        members[:, problem.kept] = sets
        found.append(members)
        if sum(map(len, found)) > max_clusters:
            raise Rejected(f"more than {max_clusters} clusters are worth less than a limit")
    return np.concatenate(found)
