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

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .blocks import Blocks
from .rejection import Rejected, at
from .rules import Rules, of_parts, over_blocks, with_limits
from .soft import CheckedSoftPairs, PricedPairs
from .stated import StatedInstance, pairs_of


def parts_of(stated: StatedInstance, rows: Sequence[NDArray[np.int64]]) -> list[StatedInstance]:
    """Return the instances that disjoint subsets are, with the constraints inside of each.

    rows : the points of each subset, increasing numbers

    Raises
    ------
    Rejected
        If the rows are not such, or the must-links leave a subset fewer than k blocks.
    """
    rules = of_parts(with_limits(stated.rules, stated.n, stated.k))
    subset_of, found = np.full(stated.n, -1), []
    for number, own in enumerate(rows):
        with at(f"subset {number}"):
            if not len(own) or own[0] < 0 or own[-1] >= stated.n or (np.diff(own) <= 0).any():
                raise Rejected(f"rows: expected increasing numbers of points in 0..{stated.n - 1}")
            if (subset_of[own] >= 0).any():
                point = own[subset_of[own] >= 0][0]
                raise Rejected(f"point {point} is in subset {subset_of[point]}, too")
            subset_of[own] = number
            found.append(_part(stated, own, rules))
    return found


def _part(stated: StatedInstance, rows: NDArray[np.int64], rules: Rules) -> StatedInstance:
    place = np.full(stated.n, -1)
    place[rows] = np.arange(len(rows))

    def inside(pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray((place[pairs] >= 0).all(axis=1))

    def priced(soft: PricedPairs) -> PricedPairs:
        kept = inside(soft.pairs)
        return PricedPairs(place[soft.pairs[kept]], soft.weights[kept])

    must_link, cannot_link = (
        place[pairs[inside(pairs)]] for pairs in (stated.must_link, stated.cannot_link)
    )
    together, k = priced(stated.soft.must_link), stated.k

    def n_blocks(linked: NDArray[np.int64]) -> int:
        return Blocks.of(len(rows), k, linked, pairs_of()).m

    if n_blocks(must_link) < k:
        raise Rejected(f"{n_blocks(must_link)} blocks; expected k = {k} or more")
    if len(together) and n_blocks(np.concatenate([must_link, together.pairs])) < k:
        together = PricedPairs()
    return StatedInstance(
        stated.points[rows],
        k,
        must_link,
        cannot_link,
        over_blocks(rules, place),
        None if stated.weights is None else stated.weights[rows],
        CheckedSoftPairs(together, priced(stated.soft.cannot_link)),
    )
