"""Evidence by clusters of low value: no partition of the blocks into k of them costs less.

With no cluster X worth less than v = `least` at some prices, a clustering that costs less than
`below` has only clusters with

    c(X) - prices(X) < below - sum of prices - (k - 1) v.

All of these are found, for the points x^ of `Contracted` (`pricing`), and that no k of them are a
partition of the blocks that costs less than `below` is detected by another search.

Costs are rounded down, and the limit up, to whole multiples of a unit: from there on nothing is
rounded. For any prices p of the blocks and penalties v_S >= 0 of sets S of three blocks, of which a
partition has one cluster with two of them or three at most, a partition costs at least

    L + sum of g(X) over its clusters,
    r(X) = c(X) - p(X) + sum of the v_S of all S of which X has at least two,
    L = sum of p - sum of v + k min r,      g(X) = r(X) - min r >= 0.

Where single sizes are listed, a partition has as many clusters of each as the list. In the
place of k min r is the sum of the least r of these sizes, and g(X) = r(X) - the least of its size.

A partition that costs less than the limit is one of clusters of which the g add up to less than
limit - L. All of those are looked at, depth first: what is open is the block that the fewest of the
remaining clusters hold; each of them is tried. A node is left when what is spent, and what the
blocks that are not covered yet will take at the least, comes to the limit: each of these in turn
takes what the cheapest of its clusters has left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .kernel.archive import NUMBERS
from .kernel.arithmetic import gamma, sum_up
from .kernel.blocks import Blocks
from .kernel.evidence import FULL, AtStep, Effort, Evidence
from .kernel.geometry import Contracted
from .kernel.rejection import Rejected
from .kernel.rules import Rules
from .kernel.sizes import Measure
from .pricing import PRICES, clusters_below, proven_least, require_numbers
from .pricing.limits import measures_of_whole
from .pricing.problem import Indices, Marks, Reals

MAX_CLUSTER_NODES, MAX_CLUSTERS, MAX_PARTITION_NODES = 200_000, 20_000, 40_000
"""Of each of the two searches for clusters; clusters; nodes of the search for a partition."""
MAX_TRIPLES = 2_000
"""Sets of three blocks that evidence may have."""

# Below this costs may underflow.
_LEAST = 1e-200
# The limit is a whole number of at most 2^_BITS units, prices and penalties add up to less than
# _LARGEST: sums of them are exact in int64.
_BITS, _LARGEST = 50, 2.0**60


@dataclass(frozen=True, eq=False)
class Enumerated(Evidence):
    """Prices at which few clusters of low value are left, none of whose partitions is cheap.

    below : no clustering costs less
    prices, least : as of a `Lagrangian`; least at most 0, unless
        sets are looked at as a whole
    share_prices, triples, penalties : (m,), (c, 3), (c,) >= 0: prices and penalties at which few
        of these clusters are left (see `partitions`), in squared units of the data
    """

    below: float
    prices: NDArray[np.float64]
    least: float
    share_prices: NDArray[np.float64]
    triples: NDArray[np.int32]
    penalties: NDArray[np.float64]

    WORD: ClassVar = "clusters"
    PROOF: ClassVar = "partitions into priced clusters"
    STATES: ClassVar = ("below", "least")

    @staticmethod
    def shapes(m: int) -> dict[str, Any]:
        some = range(MAX_TRIPLES + 1)
        return {
            "penalties": (PRICES, some),
            "triples": (NUMBERS, some, 3),
            "prices": (PRICES, m),
            "share_prices": (PRICES, m),
        }

    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        prices, least, below = self.prices, self.least, self.below
        require_numbers(prices, least)
        require_numbers(self.share_prices, below)
        self._check_triples(contracted.m)
        if not below >= _LEAST:
            raise Rejected(
                f"clusters are enumerated below a cost of {_LEAST:g} or more, not {below!r}"
            )
        nodes, at_step = effort.of(MAX_CLUSTER_NODES), effort.at_step
        proven = proven_least(contracted, blocks, prices, least, nodes, at_step)
        value = sum_up([below, *(-prices).tolist(), *[-proven] * (blocks.k - 1)])
        most = effort.of(MAX_CLUSTERS)
        members = clusters_below(contracted, blocks, prices, proven, value, nodes, most, at_step)
        self.require_no_partition(contracted, blocks, members, effort)
        return contracted.for_points(contracted.with_soft(below, blocks.adjacency))

    def require_no_partition(
        self, contracted: Contracted, blocks: Blocks, members: Marks, effort: Effort = FULL
    ) -> None:
        """Raise `Rejected` where a partition into k of the clusters (t, m) costs less than `below`.

        Or nearly so; or where that is not decided with this effort. A partition holds each block
        once. The clusters keep the rules of the blocks.
        """
        exponent = math.frexp(self.below)[1] - _BITS
        limit = math.ceil(math.ldexp(self.below, -exponent))
        costs = cluster_costs(contracted, members, blocks.adjacency)
        cheap = costs < self.below
        members, units = (
            members[cheap],
            np.floor(np.ldexp(costs[cheap], -exponent)).astype(np.int64),
        )
        whole = np.rint(np.ldexp(np.concatenate([self.share_prices, self.penalties]), -exponent))
        if not np.abs(whole).sum() < _LARGEST:
            raise Rejected("the prices of a partition are too large")
        p, v = np.split(whole.astype(np.int64), [len(self.share_prices)])
        reduced = units - np.array([int(p[row].sum()) for row in members], np.int64)
        for triple, penalty in zip(self.triples, v, strict=True):
            reduced += penalty * (members[:, triple].sum(axis=1) >= 2)
        if not len(reduced):
            return
        rules = blocks.block_rules
        kind, wanted = _kinds(members, rules, blocks.k)
        present = np.bincount(kind, minlength=len(wanted)) > 0
        if not present.all():  # no partition has all of the listed sizes
            return
        least = np.array([reduced[kind == each].min() for each in range(len(wanted))], np.int64)
        of_least = sum(int(count) * int(value) for count, value in zip(wanted, least, strict=True))
        budget = limit - (int(p.sum()) - int(v.sum()) + of_least)
        if budget >= _LARGEST:  # more than any sum of g that int64 holds
            raise Rejected("the prices of a partition prove nothing")
        gains = reduced - least[kind]
        kept = np.flatnonzero(gains < budget)
        ranged = [each for each in measures_of_whole(rules) if each.limits.wide]
        search = _PartitionSearch(
            members[kept], gains[kept], units[kept], kind[kept], budget, limit, ranged
        )
        search.run(wanted, effort.of(MAX_PARTITION_NODES), effort.at_step)

    def _check_triples(self, m: int) -> None:
        triples, penalties = self.triples, self.penalties
        if (triples < 0).any() or (triples >= m).any() or (np.diff(np.sort(triples)) == 0).any():
            raise Rejected(f"a triple is not of three of the blocks 0..{m - 1}")
        if len(triples) != len(penalties):
            raise Rejected(f"{len(penalties)} penalties of {len(triples)} triples")
        if not ((penalties >= 0.0) & np.isfinite(penalties)).all():
            raise Rejected("a penalty is negative or no number")


def cluster_costs(contracted: Contracted, members: Marks, adjacency: Marks) -> Reals:
    """Return lower bounds (t,) on the costs of clusters (t, m), for the points x^ of `Contracted`.

    The cost is the scatter of the blocks, and the sum of e_i e_j |c_i - c_j|^2 over the pairs,
    divided by the points; and what the cluster pays for soft pairs, beyond what all clusterings do.

    adjacency : (m, m) the cannot-linked pairs
    """
    e, c, m = contracted.weights, contracted.means, contracted.m
    squares = np.zeros((m, m))
    for x in c.T:
        squares += np.square(x[:, None] - x)
    weights = members * e
    between = 0.5 * ((weights @ squares) * weights).sum(axis=1) / weights.sum(axis=1)
    inside = members.astype(np.float64) @ contracted.scatter
    if contracted.soft is not None:
        prices = contracted.soft.prices(adjacency | contracted.across, 0)
        inside = inside + prices.shared_by(members)
    # All terms are >= 0.
    return np.asarray((inside + between) * (1.0 - gamma(3.0 * m + c.shape[1] + 36.0)))


def _kinds(members: Marks, rules: Rules, k: int) -> tuple[Indices, Indices]:
    """Return the kind of each cluster (t, m), and how many of each kind a partition has.

    Kinds are the listed sizes, which the clusters have; there is one where none are listed.
    """
    for measure in measures_of_whole(rules):
        if measure.limits.exact is not None:
            sizes, wanted = np.unique(measure.limits.exact, return_counts=True)
            return np.searchsorted(sizes, members @ measure.values), wanted
    return np.zeros(len(members), np.intp), np.array([k])


@dataclass(frozen=True, eq=False)
class _PartitionNode:
    """Node of the search: clusters chosen, and what they spend of the limit.

    candidates : (c,) those that hold none of their blocks
    open : (m,) the blocks that they do not hold
    wanted : (q,) how many more of each kind are to be chosen
    chosen : the clusters
    """

    candidates: Indices
    open: Marks
    wanted: Indices
    spent: int
    chosen: tuple[int, ...]


class _PartitionSearch:
    """Search for a partition into clusters (t, m) with their g, costs and kinds, each (t,).

    The engine has a search of its own on purpose (`bounds.lagrangian.partitioning`): the
    checker relies on none of its code.
    """

    def __init__(
        self,
        members: Marks,
        gains: NDArray[np.int64],
        costs: NDArray[np.int64],
        kind: Indices,
        budget: int,
        limit: int,
        ranged: Sequence[Measure],
    ) -> None:
        self._kind = kind
        self._members, self._gains, self._costs = members, gains, costs
        self._weights = members.astype(np.float32)
        self._sizes = members.sum(axis=1)
        self._budget, self._limit, self._ranged = budget, limit, ranged

    def run(self, wanted: Indices, max_nodes: int, at_step: AtStep) -> None:
        t, m = self._members.shape
        stack = [_PartitionNode(np.arange(t), np.ones(m, bool), wanted, 0, ())]
        while stack:
            at_step()
            max_nodes -= 1
            if max_nodes < 0:
                raise Rejected("could not prove the partitions within the nodes of a search")
            stack += self._children(stack.pop())

    def _children(self, node: _PartitionNode) -> list[_PartitionNode]:
        if not node.open.any() or not node.wanted.any():
            is_partition = not node.open.any() and not node.wanted.any()
            paid = sum(self._costs[list(node.chosen)].tolist())
            if paid < self._limit and is_partition and self._keeps_ranges(node.chosen):
                raise Rejected("a partition of the blocks costs less than is stated")
            return []
        left = self._remaining_clusters(node)
        if not len(left):
            return []
        counts = self._members[left].sum(axis=0)
        counts[~node.open] = len(left) + 1
        holders = left[self._members[left, int(counts.argmin())]]
        free = self._weights[holders] @ self._weights[left].T == 0.0
        return [
            _PartitionNode(
                left[row],
                node.open & ~self._members[chosen],
                node.wanted - (np.arange(len(node.wanted)) == self._kind[chosen]),
                node.spent + int(self._gains[chosen]),
                (*node.chosen, int(chosen)),
            )
            for chosen, row in zip(holders, free, strict=True)
        ]

    def _keeps_ranges(self, chosen: tuple[int, ...]) -> bool:
        """Return whether the clusters of a partition have listed ranges of their own."""
        members = self._members[list(chosen)]
        return all(each.limits.keeps(members @ each.values) for each in self._ranged)

    def _remaining_clusters(self, node: _PartitionNode) -> Indices:
        """Return the candidates of a partition below the limit; none if there is none."""
        sizes, n_open = self._sizes[node.candidates], int(node.open.sum())
        missing = int(node.wanted.sum())
        least = n_open if missing == 1 else 1
        fits = (sizes >= least) & (sizes <= n_open - (missing - 1))
        fits &= node.wanted[self._kind[node.candidates]] > 0
        candidates: Indices = node.candidates[fits]
        holds = self._members[candidates][:, node.open].T
        counts = holds.sum(axis=1)
        budget = self._budget - node.spent
        if not counts.all() or budget <= 0:
            return candidates[:0]
        rest, taken = self._gains[candidates], 0
        for block in np.argsort(counts, kind="stable"):
            share = int(rest[holds[block]].min())
            if share:
                taken += share
                if taken >= budget:
                    return candidates[:0]
                rest = rest - share * holds[block]
        return candidates[rest < budget - taken]
