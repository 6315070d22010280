"""Verified pricing: a proven bound on reduced costs, and all clusters below a threshold.

Each block is in exactly one of the k clusters X, which cost c(X) for the points x^ of `Contracted`.
If every cluster has a reduced cost of at least `least`, a clustering costs

    sum of c(X) = sum of prices + sum of (c(X) - prices(X)) >= sum of prices + k least.

`proven_least` proves this, but for a margin for rounding. `clusters_below` finds all clusters with
a reduced cost below a number.

With block weights e, means c, scatter w, prices p and a_i = p_i - w_i, the reduced cost or value of
a non-empty set X of blocks without a cannot-linked pair is

    f(X) = sum_{i in X} e_i |c_i - mean_X|^2 - a_i = min_y sum_{i in X} q_i(y),
    q_i(y) = e_i |c_i - y|^2 - a_i.

To prove: f(X) >= t for all X that satisfy the rules on clusters (`limits`). Their subsets satisfy
the rules, too.

Let t <= 0, and suppose that some sets are below t. Let X be one of least value, and of these one
with the fewest blocks, y = mean_X, E = e(X). Then

    (in)   e_i |c_i - y|^2 < a_i (1 - e_i / E) for i in X, if X has other blocks: leaving i out
           changes f by a_i - e_i E / (E - e_i) |c_i - y|^2, which is above 0. A set of i alone is
           below 0, so that a_i > 0 in any case.

So blocks with a_i <= 0 are in no such X. Blocks i and j at a distance of sqrt(a_i / e_i) +
sqrt(a_j / e_j) or more are not both in X. `sets` searches for X by its first block i, in an order
of the blocks in which few later blocks are near each block.

If the means have at most three dimensions, `places` searches for X by its mean: f(X) is at least
minus the greatest value of a place y,

    max_y max_X sum_{i in X} a_i - e_i |c_i - y|^2.

It searches over boxes of places, however many blocks a set has.

Let no set be below t. The sets below t + slack are found by a weaker rule: leaving i out gives a
set of value t or more, and so changes f by more than -slack.

    (in)   e_i |c_i - y|^2 < (a_i + slack) (1 - e_i / E);  a_i > -slack, also if X is i alone

If clusters have least sizes or weights, or listed sizes, or there are soft pairs, parts of a set
may break the rules or have a lower value, and (in) is not valid. Then sets count as a whole
(`limits`): all blocks are near each other, only bounds exclude blocks, and t may be above 0.

All blocks of X are near its first block. So a sum over the blocks of X is at most the largest sum
over the blocks near a block; the margin is in proportion to it.

A profit a_i may be raised, as this lowers the values of sets. So the search uses the next number
above each rounded difference p_i - w_i, which is above the exact one, and at least 1e-250 for
positive ones. What it proves for these profits, taken exactly, holds for the differences. In the
units of the search the profits add up to about 0.5 to 2. Nothing overflows, and errors of underflow
are negligible next to the rounding errors that are counted.
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
from ..kernel.certificate import Shape, number
from ..kernel.evidence import FULL, Effort, Evidence, Steps
from ..kernel.geometry import Contracted
from ..kernel.rejection import Rejected
from .places import greatest_value
from .problem import CheckedPricing, Marks
from .sets import sets_below

PRICES = REALS[:1]
"""Type of arrays of prices."""
MAX_NODES = 1_000_000
"""Most nodes of a search."""
FEWEST_BOXES, BOXES_OF_BLOCK = 20_000, 200
"""Most boxes of the first search, over places: a number, and one for each block."""
# Sums of larger prices may overflow.
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
    READS: ClassVar = {"least": number}

    @classmethod
    def shapes(cls, values: dict[str, Any], m: int) -> dict[str, Shape]:
        return {"prices": (PRICES, m)}

    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        prices, least = self.prices, self.least
        require_numbers(prices, least)
        proven = proven_least(contracted, blocks, prices, least, effort.steps(MAX_NODES))
        squares = sum_down([*prices.tolist(), *[proven] * blocks.k])
        return contracted.for_points(contracted.with_soft(squares, blocks.adjacency))

    def proves_infeasible(
        self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL
    ) -> bool:
        """Return whether the prices prove that no clustering exists.

        If all points were in one place, every clustering would cost 0. So none exists if the bound
        is above 0 then: k clusters hold less than the sum of all prices (Farkas).

        Parameters, and `Rejected`, as for `bound`.
        """
        m = contracted.m
        one_place = Contracted(contracted.n, contracted.weights, np.zeros((m, 1)), np.zeros(m), 0.0)
        return self.bound(one_place, blocks, effort) > 0.0


def require_numbers(prices: NDArray[np.float64], value: float) -> None:
    """Raise `Rejected` unless all prices, and the value, are at most 1e250 in absolute value."""
    if not (np.abs([*prices, value]) <= _LARGEST).all():  # false for nan
        raise Rejected(f"a price, or a value, is not a number of at most {_LARGEST:g}")


def proven_least(
    contracted: Contracted,
    blocks: Blocks,
    prices: NDArray[np.float64],
    least: float,
    steps: Steps,
) -> float:
    """Return a proven lower bound on c(X) - prices(X), at most `least` and hardly less.

    X are the non-empty sets of blocks without a cannot-linked pair that satisfy the rules; c(X) is
    for the points x^ of `Contracted`. The bound is at most 0, unless sets count as a whole.

    It is less than `least` by at most (100 m + 3000) 2^-53 times the sum of the positive p_i - w_i,
    and by far less if few blocks are near each other.

    Parameters
    ----------
    prices : (m,) of any sign, at most 1e250 in absolute value, as `least`
    steps : nodes of the search over sets; a search over places before it has its own steps

    Raises
    ------
    Rejected
        If a set has a lower value, or the search needs more steps.
    """
    problem, least = CheckedPricing.of(contracted, blocks, prices), float(least)
    if problem.whole_sets is None:
        least = min(least, 0.0)
    if not problem.m or least < -2.0 * problem.total:
        return least  # no set has a value below minus the sum of all profits
    stated, greatest = problem.rescaled(least), None
    if stated <= 0.0:
        boxes = Steps(min(steps.most, FEWEST_BOXES + BOXES_OF_BLOCK * problem.m), steps.at_step)
        greatest = greatest_value(problem, -stated, boxes)
    if greatest == math.inf:
        raise Rejected(f"a cluster is worth less than {least!r}")
    if greatest is not None:
        return min(least, down(problem.in_units(-greatest)))
    target = down(least - up(problem.in_units(problem.margin(stated))))
    if next(sets_below(problem, problem.rescaled(target), steps), None) is not None:
        raise Rejected(f"a cluster is worth less than {least!r}")
    return target


def clusters_below(
    contracted: Contracted,
    blocks: Blocks,
    prices: NDArray[np.float64],
    least: float,
    value: float,
    steps: Steps,
    max_clusters: int,
) -> Marks:
    """Return all sets X (t, m) of blocks that have c(X) - prices(X) < value.

    Some sets of slightly higher value may be among them. X and other parameters are as for
    `proven_least`.

    Parameters
    ----------
    least : a result of `proven_least`: no set has a lower value, even for the raised profits
    value : finite

    Raises
    ------
    Rejected
        If there are more than `max_clusters`, or the search needs more steps.
    """
    slack = max(0.0, up(value - least))
    problem = CheckedPricing.of(contracted, blocks, prices, slack)
    found = [np.zeros((0, contracted.m), bool)]
    if not problem.m or value <= least:
        return found[0]
    for sets in sets_below(problem, up(problem.rescaled(value)), steps):
        members = np.zeros((len(sets), contracted.m), bool)
        members[:, problem.kept] = sets
        found.append(members)
        if sum(map(len, found)) > max_clusters:
            raise Rejected(f"more than {max_clusters} clusters are worth less than a limit")
    return np.concatenate(found)
