"""Oracle over sets of blocks: local search first, then branch and bound for proofs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.lagrangian.columns import Membership, allowed
from sdpbb.bounds.lagrangian.sets.climbing_kernels import climb
from sdpbb.bounds.lagrangian.sets.problem import PricingProblem
from sdpbb.bounds.lagrangian.sets.search import ClusterSearch, SoughtClusters
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import Attached, stored


@dataclass(frozen=True, eq=False)
class PricingOutcome:
    """Result of a slice of exact pricing. The length of a slice does not depend on the clock.

    members : (t, m) clusters met with c(X) - prices(X) < target, t >= 0
    least : proven in exact arithmetic: c(X) - prices(X) >= least for every cluster X. It is about
        the target if no cluster is below it. None: unfinished, the same call again resumes
    """

    members: Membership
    least: float | None


# Sets that each local search of a region returns: its end, and sets on the way. Without the latter
# master programmes over thousands of blocks have twice as many rounds.
_SETS_OF_REGION = 6


def local_minima(
    problem: PricingProblem, prices: NDArray[np.float64], below: float, n_seeds: int | None = None
) -> Membership:
    """Return clusters (t, m) of low value that no exchange of single blocks improves.

    They have c(X) - prices(X) < below, the lowest first; t may be 0. The searches start from every
    block, or from about n_seeds of them. With regions, each search is over the blocks near its
    region, and sets on the way to the minima are returned, too. A set is returned once per region.
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


# Nodes that are bounded for each number of points take this many times longer.
SIZE_NODE = 8
# Nodes of exact pricing in one step of bounding. These take a few tenths of a second.
NODES_PER_SLICE = 4000
# Effort of local search, about the comparisons of one round: it starts from CLIMBING_EFFORT k / m^2
# of the m blocks. This limits the time with large clusters of many blocks.
CLIMBING_EFFORT = 2e7


@stored
@dataclass(eq=False)
class BranchingPricer(Attached):
    """Pricer of a contraction: finds clusters that a master programme lacks.

    Clusters are non-empty sets of blocks that satisfy all constraints of the contraction. Results
    of a call depend only on its arguments and the calls before.

    While no columns cover the blocks, clusters cost nothing, and prices are dual values of the
    programme for a cover (`for_cover`). Proofs about whole prices are exact if their absolute
    values add up to less than 2^53.

    Oracles are called with the clusters found. A forbidden cluster has a smallest forbidden subset.
    As oracles are anti-monotone, no cluster may hold all of that subset: this becomes a budget.

    forbidden : (q, m) sets of blocks that oracles forbid, as found so far
    search, for_cover : the unfinished search or None, and whether it is for a cover
    """

    forbidden: NDArray[np.bool_]
    search: ClusterSearch | None = None
    for_cover: bool = False

    @classmethod
    def begin(cls, contraction: Contraction) -> Self:
        return cls(np.zeros((0, contraction.n_blocks), bool)).attach(contraction)

    def attach(self, contraction: Contraction) -> Self:
        """Resume on the contraction that the pricer started with."""
        self._contraction = contraction
        self._problems: dict[bool, PricingProblem] = {}
        if self.search is not None:
            self.search.attach(self.problem(self.for_cover))
        return self

    def heuristic(
        self, prices: NDArray[np.float64], sigma: float, for_cover: bool = False
    ) -> Membership:
        """Return clusters (t, m) with c(X) - prices(X) + sigma < 0, t >= 0, by local search.

        It proves nothing. Prices (m,) have any sign. sigma = -inf: good clusters of any value.
        """
        m, k = self._contraction.n_blocks, self._contraction.k
        problem = self.problem(for_cover)
        # Searches over the blocks of a region are cheap.
        n_seeds = None if problem.regions else max(k, int(CLIMBING_EFFORT * k / m**2))
        return self._allowed_clusters(local_minima(problem, prices, -sigma, n_seeds))

    def exact(
        self, prices: NDArray[np.float64], target: float, for_cover: bool = False
    ) -> PricingOutcome:
        """Search for the least value c(X) - prices(X) below the target, for a slice.

        A call with other arguments begins a new search. In monotone problems a target above 0
        counts as 0.
        """
        if self._contraction.is_monotone:
            target = min(target, 0.0)
        search = self._search_for(prices, target, for_cover)
        met = search.run(self.nodes_per_slice)
        allowed = self._allowed_clusters(met)
        # If a cluster met is forbidden, the search has lowered `upper` to its value.
        is_void = len(allowed) < len(met)
        if is_void or search.is_finished:
            self.search = None
        if is_void or not search.is_finished:
            return PricingOutcome(allowed, None)
        return PricingOutcome(allowed, search.upper - self.problem(for_cover).margin(prices))

    @property
    def nodes_per_slice(self) -> int:
        """Number of nodes of a search in a slice."""
        slower = SIZE_NODE if self.problem().data.by_size else 1
        return max(1, NODES_PER_SLICE // slower)

    def problem(self, for_cover: bool = False) -> PricingProblem:
        """Return the pricing problem with the forbidden sets found so far."""
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
        """Return the clusters that oracles allow; learn forbidden sets from the others."""
        if not self._contraction.oracles or not len(members):
            return members
        keep = allowed(self._contraction, members)
        learned = [self._least_forbidden(row) for row in members[~keep]]
        if learned:
            # The problems have changed, and the search was on one of them.
            self._problems.clear()
            self.search = None
            self.forbidden = np.unique(np.vstack([self.forbidden, *learned]), axis=0)
        return members[keep]

    def _least_forbidden(self, row: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a smallest forbidden subset (1, m): without any of its blocks it is allowed."""
        least = row.copy()
        for block in np.flatnonzero(row):
            least[block] = False
            if not least.any() or self._contraction.allows(np.flatnonzero(least)):
                least[block] = True
        return least[None, :]
