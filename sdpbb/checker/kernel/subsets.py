"""Subsets of an instance, whose lower bounds add up to one of the whole.

Let S_1, ..., S_T be disjoint sets of points. Restricted to S_t, a clustering of the whole has k
clusters or fewer, keeps the links with both ends in S_t, and its clusters keep the rules, as these
allow each part of what they allow. Around its own mean the part of a cluster in S_t has no larger
sum of squares than around the mean of the cluster, so that with OPT(S) for the least cost of such
clusterings of S

    OPT >= OPT(S_1) + ... + OPT(S_T).

So it does for costs with what is paid for the soft pairs with both ends in S_t: these are some of
all, and none is paid less than nothing. Points of no subset add nothing. If there is no clustering
of S_t, there is none of the whole.

Proofs are about exactly k clusters. Where the must-links inside of S_t leave k blocks or more, a
clustering of S_t into fewer than k clusters has one with two blocks or more, which can be divided
into two: this costs nothing, and breaks no link and no rule. It violates no soft cannot-link, and
no soft must-link if the two are unions of components of must-links and soft must-links: there are
such two if S_t has k components or more, and if not, its soft must-links are left out. So the bound
for exactly k clusters is one of OPT(S_t), too. A subset of fewer blocks is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .blocks import Blocks
from .rejection import Rejected, at
from .rules import Either, Limit, Rule, Rules, of_parts, with_limits
from .soft import CheckedSoftPairs, PricedPairs

Pairs = NDArray[np.int64]


class Subsets:
    """Disjoint subsets of n points, with the constraints inside of each.

    Attributes
    ----------
    rows : the points of each subset, (s,) increasing
    """

    def __init__(
        self,
        rows: Sequence[NDArray[np.integer]],
        n: int,
        must_link: Pairs,
        cannot_link: Pairs,
        rules: Rules,
        soft: CheckedSoftPairs | None = None,
    ) -> None:
        """
        Parameters
        ----------
        must_link, cannot_link, rules : of the whole; least and listed sizes, and weights, are left
            out, and what follows from them is to be among the rules (`with_limits`)
        soft : of the whole, or None

        Raises
        ------
        Rejected
            If the rows are not increasing numbers of points, or a point is in two subsets.
        """
        self.rows = [_checked(each, n, number) for number, each in enumerate(rows)]
        self._subset_of = np.full(n, -1, np.int32)
        self._place = np.empty(n, np.int64)
        for number, each in enumerate(self.rows):
            if (self._subset_of[each] >= 0).any():
                point = int(each[self._subset_of[each] >= 0][0])
                raise Rejected(
                    f"subset {number}: point {point} is in subset {self._subset_of[point]}, too"
                )
            self._subset_of[each] = number
            self._place[each] = np.arange(len(each))
        self._must_link, self._cannot_link = self._inside(must_link), self._inside(cannot_link)
        self._rules = [self._rule_inside(rule) for rule in of_parts(rules)]
        priced = CheckedSoftPairs() if soft is None else soft
        self._soft_must_link = self._priced_inside(priced.must_link)
        self._soft_cannot_link = self._priced_inside(priced.cannot_link)

    def root(self, number: int, k: int) -> Blocks:
        """Return the blocks of a subset, of which every proof about it begins.

        Raises
        ------
        Rejected
            If it has fewer than k.
        """
        n, none = len(self.rows[number]), np.empty((0, 2), np.int64)
        stated = Blocks.of(n, k, self._must_link(number), none)
        if stated.m < k:
            raise Rejected(f"{stated.m} blocks; expected k = {k} or more")
        rules = tuple(rule(number) for rule in self._rules)
        limited = with_limits(rules, n, k)
        return Blocks(k, stated.block_of, stated.adjacency, limited).separated(
            self._cannot_link(number)
        )

    def soft(self, number: int, k: int) -> CheckedSoftPairs:
        """Return the soft pairs of a subset that its bound for exactly k clusters may count."""
        n, none = len(self.rows[number]), np.empty((0, 2), np.int64)
        together, apart = self._soft_must_link(number), self._soft_cannot_link(number)
        if len(together):
            linked = np.concatenate([self._must_link(number), together.pairs])
            if Blocks.of(n, k, linked, none).m < k:
                together = PricedPairs()
        return CheckedSoftPairs(together, apart)

    def _priced_inside(self, priced: PricedPairs) -> Callable[[int], PricedPairs]:
        """Return a function from a subset to the soft pairs of its points, by their places."""
        inside, begins = self._positions_inside(priced.pairs)

        def of(number: int) -> PricedPairs:
            chosen = inside[begins[number] : begins[number + 1]]
            return PricedPairs(self._place[priced.pairs[chosen]], priced.weights[chosen])

        return of

    def _inside(self, pairs: Pairs) -> Callable[[int], Pairs]:
        """Return a function from a subset to the pairs (q, 2) of its points, by their places."""
        inside, begins = self._positions_inside(pairs)
        places = self._place[pairs[inside]]
        return lambda number: places[begins[number] : begins[number + 1]]

    def _positions_inside(self, pairs: Pairs) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the positions of the pairs inside of subsets, and where those of each begin."""
        subset = self._subset_of[pairs[:, 0]]
        inside = np.flatnonzero((subset >= 0) & (subset == self._subset_of[pairs[:, 1]]))
        inside = inside[np.argsort(subset[inside], kind="stable")]
        return inside, np.searchsorted(subset[inside], np.arange(len(self.rows) + 1))

    def _rule_inside(self, rule: Rule) -> Callable[[int], Rule]:
        """Return a function from a subset to a rule on clusters of its points."""
        if isinstance(rule, Limit):
            limit, inside = rule, self._inside(rule.pairs)
            return lambda number: Limit(
                limit.weights[self.rows[number]], inside(number), limit.most
            )
        if not isinstance(rule, Either):
            raise ValueError("rules: least sizes do not hold for parts of clusters")
        parts = [[self._rule_inside(each) for each in part] for part in rule.alternatives]
        return lambda number: Either(tuple(tuple(each(number) for each in part) for part in parts))


def _checked(rows: NDArray[np.integer], n: int, number: int) -> NDArray[np.int64]:
    with at(f"subset {number}"):
        if not len(rows) or rows[0] < 0 or rows[-1] >= n or (rows[1:] <= rows[:-1]).any():
            raise Rejected(f"rows: expected increasing numbers of points in 0..{n - 1}")
    return rows.astype(np.int64)
