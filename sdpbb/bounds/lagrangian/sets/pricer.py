"""Oracle over sets of blocks: local search first, branch and bound to prove."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.lagrangian.columns import Membership
from sdpbb.bounds.lagrangian.sets.climbing_kernels import climb
from sdpbb.bounds.lagrangian.sets.problem import PricingProblem
from sdpbb.bounds.lagrangian.sets.search import ClusterSearch, SoughtClusters
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import Attached, stored


@dataclass(frozen=True, eq=False)
class PricingOutcome:
    """Result of a slice of exact pricing. Slices are not cut by the clock.

    members : (t, m) clusters met with c(X) - prices(X) < target, maybe none; those of the lowest
        values are the most useful
    least : proven, in exact arithmetic: c(X) - prices(X) >= least for every cluster X. At least
        the target where there is no cluster below it. None when left unfinished: the same call
        again goes on
    """

    members: Membership
    least: float | None


# Sets that each local search of a region hands over: its end, and those on the way there. Without
# them master programmes over thousands of blocks have twice as many rounds.
_SETS_OF_REGION = 6


def local_minima(
    problem: PricingProblem, prices: NDArray[np.float64], below: float, n_seeds: int | None = None
) -> Membership:
    """Return clusters (t, m) of low value that no exchange of single blocks improves.

    They have c(X) - prices(X) < below, the lowest first; there may be none. The searches start from
    every block, or from about n_seeds of them. In a problem with regions they look at the blocks
    near these only, and sets on the way to the minima are returned, too. Each is returned once for
    each region.
    """
    within = (problem.data.linear <= problem.data.limits[:, None]).all(axis=0)
    seeds = np.flatnonzero(within).astype(np.int64)
    if n_seeds is not None and n_seeds < len(seeds):
        seeds = np.ascontiguousarray(seeds[:: -(-len(seeds) // n_seeds)])
    members: list[Membership] = [np.zeros((0, problem.m), bool)]
    values: list[NDArray[np.float64]] = [np.zeros(0)]
    n_sets = 1 if problem.regions is None else _SETS_OF_REGION
    for part, own in _parts(problem, prices, seeds):
        found, met = np.zeros((n_sets * len(own), part.m), bool), np.zeros(n_sets * len(own))
        climb(part.data, part.profits(prices), own, found, met)
        good = np.flatnonzero(met < below)
        keys = np.packbits(found[good], axis=1)
        once = list({key.tobytes(): row for row, key in zip(good, keys, strict=True)}.values())
        members.append(part.members(found[once]))
        values.append(met[once])
    return np.concatenate(members)[np.argsort(np.concatenate(values), kind="stable")]


def _parts(
    problem: PricingProblem, prices: NDArray[np.float64], seeds: NDArray[np.int64]
) -> Iterator[tuple[PricingProblem, NDArray[np.int64]]]:
    """Yield the problem of each region, or the whole one, with its seeds."""
    regions = problem.regions
    if regions is None:
        yield problem, seeds
        return
    reach, owner = problem.reaches(prices), regions.owner[seeds]
    for region in np.unique(owner).tolist():
        own = seeds[owner == region]
        near = np.union1d(regions.near(region, problem.data.points, reach), own)
        yield problem.restricted(near), np.searchsorted(near, own)


# Nodes that are bounded by their sizes take so many times longer.
SIZE_NODE = 8
# Nodes of exact pricing in one step of bounding. These take a few tenths of a second.
NODES_PER_SLICE = 4000
# Effort of local search, about the comparisons of one round: it starts at CLIMBING_EFFORT k / m^2
# of the m blocks. Limits the time with large clusters of many blocks.
CLIMBING_EFFORT = 2e7


@stored
@dataclass(eq=False)
class BranchingPricer(Attached):
    """Pricer of a contraction: finds clusters that a master programme lacks.

    Clusters are non-empty sets of blocks without cannot-linked pairs that keep all constraints of
    the contraction. What a call returns depends on its arguments and the calls before it only.

    While a pool has no cover, clusters cost nothing, and prices are those of its dual
    (`for_cover`). If these are whole numbers whose absolute values add up to less than 2^53, what
    is proven of them is exact.

    Constraints on clusters that are neither cannot-links nor limits are asked about the clusters
    that are found. One that is not allowed holds a least set of blocks that is not, and as the
    constraints are anti-monotone, no cluster may hold all of that: a budget of one block fewer.

    forbidden : (q, m) sets of blocks that constraints without a compiled form were found to forbid
    search, for_cover : the unfinished search, None if there is none, and whether it is for a cover
    """

    forbidden: NDArray[np.bool_]
    search: ClusterSearch | None = None
    for_cover: bool = False

    @classmethod
    def begin(cls, contraction: Contraction) -> Self:
        return cls(np.zeros((0, contraction.n_blocks), bool)).attach(contraction)

    def attach(self, contraction: Contraction) -> Self:
        """Resume on the contraction that the pricer has started with."""
        self._contraction = contraction
        self._problems: dict[bool, PricingProblem] = {}
        if self.search is not None:
            self.search.attach(self.problem(self.for_cover))
        return self

    def heuristic(
        self, prices: NDArray[np.float64], sigma: float, for_cover: bool = False
    ) -> Membership:
        """Return clusters (t, m) with c(X) - prices(X) + sigma < 0, maybe none, quickly.

        It proves nothing. Prices (m,) have any sign; sigma may be -inf: good clusters for these
        prices, whatever their values.
        """
        m, k = self._contraction.n_blocks, self._contraction.k
        problem = self.problem(for_cover)
        # Searches that look at the blocks of a region only are cheap.
        n_seeds = None if problem.regions else max(k, int(CLIMBING_EFFORT * k / m**2))
        return self._allowed_clusters(local_minima(problem, prices, -sigma, n_seeds))

    def exact(
        self, prices: NDArray[np.float64], target: float, for_cover: bool = False
    ) -> PricingOutcome:
        """Work for a slice on the search for the least value among those below the target.

        The value of a cluster is c(X) - prices(X). A call with other arguments begins anew. Where
        parts of clusters are clusters and cost no more, a target above 0 counts as 0.
        """
        if self._contraction.is_monotone:
            target = min(target, 0.0)
        search = self._search_for(prices, target, for_cover)
        met = search.run(self.nodes_per_slice)
        allowed = self._allowed_clusters(met)
        # Where a cluster met is not allowed, the bound has fallen to a value that none may have.
        is_void = len(allowed) < len(met)
        if is_void or search.is_finished:
            self.search = None
        if is_void or not search.is_finished:
            return PricingOutcome(allowed, None)
        return PricingOutcome(allowed, search.upper - self.problem(for_cover).margin(prices))

    @property
    def nodes_per_slice(self) -> int:
        """Nodes of a search in a slice; fewer where they take longer."""
        slower = SIZE_NODE if self.problem().data.by_size else 1
        return max(1, NODES_PER_SLICE // slower)

    def problem(self, for_cover: bool = False) -> PricingProblem:
        """Return the pricing problem with the constraints that are known by now."""
        if for_cover not in self._problems:
            self._problems[for_cover] = PricingProblem.of(
                self._contraction, for_cover, self.forbidden
            )
        return self._problems[for_cover]

    def _search_for(
        self, prices: NDArray[np.float64], target: float, for_cover: bool
    ) -> ClusterSearch:
        """Return the unfinished search if it has these arguments, else a new one."""
        if not (
            self.search is not None
            and np.array_equal(self.search.sought.prices, prices)
            and (self.search.sought.target, self.for_cover) == (target, for_cover)
        ):
            sought = SoughtClusters(prices.copy(), target)
            self.search = ClusterSearch.begin(self.problem(for_cover), sought)
            self.for_cover = for_cover
        return self.search

    def _allowed_clusters(self, members: Membership) -> Membership:
        """Return the clusters that uncompiled constraints allow; learn from the others."""
        if not self._contraction.oracles or not len(members):
            return members
        keep = [self._contraction.allows(np.flatnonzero(row)) for row in members]
        learned = [self._least_forbidden(row) for row in members[~np.array(keep)]]
        if learned:
            # The problems that a search and its prices belong to are other ones now.
            self._problems.clear()
            self.search = None
            self.forbidden = np.unique(np.vstack([self.forbidden, *learned]), axis=0)
        return members[keep]

    def _least_forbidden(self, row: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a least subset (1, m) that is not allowed: without any of its blocks it is."""
        least = row.copy()
        for block in np.flatnonzero(row):
            least[block] = False
            if not least.any() or self._contraction.allows(np.flatnonzero(least)):
                least[block] = True
        return least[None, :]
