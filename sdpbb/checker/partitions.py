"""Evidence by clusters of low value: no partition of the blocks into k of them costs less.

Let v = `least` be a lower bound on the value c(X) - prices(X) of every cluster X at some prices. A
clustering that costs less than `below` has only clusters with

    c(X) - prices(X) < below - sum of prices - (k - 1) v.

One search finds all of these, for the points x^ of `Contracted` (`pricing`). Another one proves
that no k of them are a partition of the blocks that costs less than `below`.

Costs are rounded down, and the limit is rounded up, to whole multiples of a unit. Nothing else is
rounded. In a partition, at most one cluster has two or three of any three blocks. So for any prices
p of the blocks and penalties v_S >= 0 of sets S of three blocks, a partition costs at least

    L + sum of g(X) over its clusters,
    r(X) = c(X) - p(X) + sum of the v_S of all S of which X has at least two,
    L = sum of p - sum of v + k min r,      g(X) = r(X) - min r >= 0.

If single sizes are listed, a partition has as many clusters of each size as the list. Then the sum
of the least r of the listed sizes replaces k min r, and g(X) = r(X) - the least r of its size.

In a partition that costs less than the limit, the g add up to less than limit - L. The search for
it goes depth first. It branches on the open block that the fewest remaining clusters hold, and
tries each of these. A node is closed if the g spent, plus a lower bound for the open blocks,
reaches limit - L. For the lower bound, each open block in turn takes the least g that remains among
its clusters, and reduces all of these by it.
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
from .kernel.certificate import Shape, number
from .kernel.evidence import FULL, Effort, Evidence, Steps
from .kernel.geometry import Contracted
from .kernel.rejection import Rejected
from .kernel.rules import Measure, Rules
from .pricing import PRICES, clusters_below, proven_least, require_numbers
from .pricing.limits import measures_of_whole
from .pricing.problem import Indices, Marks, Reals

MAX_CLUSTER_NODES, MAX_CLUSTERS, MAX_PARTITION_NODES = 200_000, 20_000, 40_000
"""Most nodes of each search for clusters, clusters, and nodes of the search for a partition."""
MAX_TRIPLES = 2_000
"""Most sets of three blocks in evidence."""

# Smaller costs may underflow.
_LEAST = 1e-200
# The limit is a whole number of at most 2^_BITS units, prices and penalties add up to less than
# _LARGEST: sums of them are exact in int64.
_BITS, _LARGEST = 50, 2.0**60


@dataclass(frozen=True, eq=False)
class Enumerated(Evidence):
    """Prices at which few clusters have a low value, and no partition into these is cheap.

    below : no clustering costs less
    prices, least : as of a `Lagrangian`
    share_prices, triples, penalties : (m,), (c, 3), (c,) >= 0: p, sets S and v_S of the module, in
        squared units of the data
    """

    below: float
    prices: NDArray[np.float64]
    least: float
    share_prices: NDArray[np.float64]
    triples: NDArray[np.int32]
    penalties: NDArray[np.float64]

    WORD: ClassVar = "clusters"
    PROOF: ClassVar = "partitions into priced clusters"
    READS: ClassVar = {"below": number, "least": number}

    @classmethod
    def shapes(cls, values: dict[str, Any], m: int) -> dict[str, Shape]:
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
        steps, most = effort.steps(MAX_CLUSTER_NODES), effort.steps(MAX_CLUSTERS).most
        proven = proven_least(contracted, blocks, prices, least, steps)
        value = sum_up([below, *(-prices).tolist(), *[-proven] * (blocks.k - 1)])
        steps = effort.steps(MAX_CLUSTER_NODES)
        members = clusters_below(contracted, blocks, prices, proven, value, steps, most)
        self.require_no_partition(contracted, blocks, members, effort)
        return contracted.for_points(contracted.with_soft(below, blocks.adjacency))

    def require_no_partition(
        self, contracted: Contracted, blocks: Blocks, members: Marks, effort: Effort = FULL
    ) -> None:
        """Raise `Rejected` unless every partition into k of the clusters (t, m) costs `below`.

        Also raise it if a partition costs little more, or the search needs more steps. The clusters
        satisfy the rules of the blocks.
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
        if not present.all():  # no cluster has one of the listed sizes
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
        search.run(wanted, effort.steps(MAX_PARTITION_NODES))

    def _check_triples(self, m: int) -> None:
        """Raise `Rejected` unless each triple is of three blocks and has a penalty >= 0."""
        triples, penalties = self.triples, self.penalties
        if (triples < 0).any() or (triples >= m).any() or (np.diff(np.sort(triples)) == 0).any():
            raise Rejected(f"a triple is not of three of the blocks 0..{m - 1}")
        if len(triples) != len(penalties):
            raise Rejected(f"{len(penalties)} penalties of {len(triples)} triples")
        if not ((penalties >= 0.0) & np.isfinite(penalties)).all():
            raise Rejected("a penalty is negative or no number")


def cluster_costs(contracted: Contracted, members: Marks, adjacency: Marks) -> Reals:
    """Return lower bounds (t,) on the costs of clusters (t, m), for the points x^ of `Contracted`.

    The cost is the scatter of the blocks, plus the sum of e_i e_j |c_i - c_j|^2 over the pairs,
    divided by the weight; plus its share of the prices of soft pairs (`SoftOverBlocks.shared_by`).

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

    Kinds are the listed sizes; without a list there is one kind.
    """
    for measure in measures_of_whole(rules):
        if measure.limits.exact is not None:
            sizes, wanted = np.unique(measure.limits.exact, return_counts=True)
            return np.searchsorted(sizes, members @ measure.values), wanted
    return np.zeros(len(members), np.intp), np.array([k])


@dataclass(frozen=True, eq=False)
class _PartitionNode:
    """Node of the search: chosen clusters, and the sum of their g.

    candidates : (c,) clusters that hold none of their blocks
    open : (m,) blocks that they do not hold
    wanted : (q,) number of clusters of each kind that are missing
    spent : sum of the g
    """

    candidates: Indices
    open: Marks
    wanted: Indices
    spent: int
    chosen: tuple[int, ...]


class _PartitionSearch:
    """Search for a partition into clusters (t, m) with their g, costs and kinds, each (t,).

    The engine has another search on purpose (`bounds.lagrangian.partitioning`): the checker relies
    on none of its code.

    budget, limit : limit - L, and the limit
    ranged : measures of blocks with listed ranges
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

    def run(self, wanted: Indices, steps: Steps) -> None:
        """Raise `Rejected` if a partition costs less than the limit, or after too many steps."""
        t, m = self._members.shape
        stack = [_PartitionNode(np.arange(t), np.ones(m, bool), wanted, 0, ())]
        while stack:
            if not steps.take():
                raise Rejected("could not prove the partitions within the nodes of a search")
            stack += self._children(stack.pop())

    def _children(self, node: _PartitionNode) -> list[_PartitionNode]:
        """Return the children of a node; `Rejected` if it is a partition below the limit."""
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
        """Return whether the clusters of a partition are within the listed ranges."""
        members = self._members[list(chosen)]
        return all(each.limits.keeps(members @ each.values) for each in self._ranged)

    def _remaining_clusters(self, node: _PartitionNode) -> Indices:
        """Return the candidates that a partition below the limit may still have."""
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
