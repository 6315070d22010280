"""Pricer of column generation: local search first, branch and bound to prove."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Membership
from sdpbb.bounds.colgen.pricing.climbing_kernels import climb
from sdpbb.bounds.colgen.pricing.problem import PricingProblem
from sdpbb.bounds.colgen.pricing.protocol import FarkasOutcome, PricingOutcome
from sdpbb.bounds.colgen.pricing.regional_search import (
    RegionalSearch,
    RegionalSearchState,
    search_for,
)
from sdpbb.bounds.colgen.pricing.search import ClusterSearch, ClusterSearchState
from sdpbb.bounds.colgen.pricing.sought import SoughtClusters
from sdpbb.bounds.colgen.pricing.whole_climbing_kernels import climb_whole
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored

# Sets that each local search of a region hands over: its end, and those on the way there. Without
# them master programmes over thousands of blocks have twice as many rounds.
_SETS_OF_REGION = 6


def local_minima(
    problem: PricingProblem, prices: NDArray[np.float64], below: float, n_seeds: int | None = None
) -> Membership:
    """Return clusters (t, m) of low value that no exchange of single blocks improves.

    They have c(X) - prices(X) < below, the lowest first; there may be none. The searches start from
    every block, or from about n_seeds of them. In a problem with regions they look at the blocks
    near these only, and sets on the way to the minima are returned, too, each once.
    """
    within = (problem.data.linear <= problem.data.limits[:, None]).all(axis=0)
    seeds = np.flatnonzero(within).astype(np.int64)
    if n_seeds is not None and n_seeds < len(seeds):
        seeds = np.ascontiguousarray(seeds[:: -(-len(seeds) // n_seeds)])
    if len(problem.data.ranges) or len(problem.data.soft_other):
        found, values = np.zeros((len(seeds), problem.m), bool), np.zeros(len(seeds))
        climb_whole(problem.data, problem.profits(prices), seeds, found, values)
        members = problem.members(found)
    elif problem.regions is None:
        found, values = np.zeros((len(seeds), problem.m), bool), np.zeros(len(seeds))
        climb(problem.data, problem.profits(prices), seeds, found, values)
        members = problem.members(found)
    else:
        members, values = _by_regions(problem, prices, below, seeds)
    best = np.argsort(values, kind="stable")
    best = best[values[best] < below]
    return members[best]


def _by_regions(
    problem: PricingProblem, prices: NDArray[np.float64], below: float, seeds: NDArray[np.int64]
) -> tuple[Membership, NDArray[np.float64]]:
    """Return clusters (t, m) below a value met by searches inside each region, with values."""
    regions, points = problem.regions, problem.data.points
    assert regions is not None
    reach = problem.reaches(prices)
    members: list[Membership] = [np.zeros((0, problem.m), bool)]
    values: list[NDArray[np.float64]] = [np.zeros(0)]
    owner = regions.owner[seeds]
    for region in np.unique(owner).tolist():
        own = seeds[owner == region]
        near = np.union1d(regions.near(region, points, reach), own)
        part = problem.restricted(near)
        count = len(own) * _SETS_OF_REGION
        found, met = np.zeros((count, part.m), bool), np.zeros(count)
        climb(part.data, part.profits(prices), np.searchsorted(near, own), found, met)
        good = np.flatnonzero(met < below)
        if len(good):
            keys = np.packbits(found[good], axis=1)
            once = list(
                {key.tobytes(): row for row, key in zip(good.tolist(), keys, strict=True)}.values()
            )
            members.append(part.members(found[once]))
            values.append(met[once])
    return np.concatenate(members), np.concatenate(values)


# Whole numbers below are floats.
_LARGEST_WHOLE = 2.0**53
# Nodes that are bounded by their sizes take so many times longer.
SIZE_NODE = 8
# Nodes of exact pricing in one step of bounding. These take a few tenths of a second.
NODES_PER_SLICE = 4000
# Effort of local search, about the comparisons of one round: it starts at CLIMBING_EFFORT k / m^2
# of the m blocks. Limits the time with large clusters of many blocks.
CLIMBING_EFFORT = 2e7


@stored
@dataclass(eq=False)
class PricerState:
    """State of a pricer.

    forbidden : (q, m) sets of blocks that constraints without a compiled form were found to forbid
    prices, target, for_feasibility : arguments of the unfinished search
    search : its state, None if there is none
    """

    forbidden: NDArray[np.bool_]
    prices: NDArray[np.float64] | None = None
    target: float = 0.0
    for_feasibility: bool = False
    search: ClusterSearchState | RegionalSearchState | None = None


class BranchingPricer:
    """Pricer of a contraction (`sdpbb.bounds.colgen.pricing.protocol.Pricer`).

    Constraints on clusters that are neither cannot-links nor limits are asked about the clusters
    that are found. One that is not allowed holds a least set of blocks that is not, and as the
    constraints are anti-monotone, no cluster may hold all of that: a budget of one block fewer.
    """

    def __init__(self, contraction: Contraction, state: PricerState | None = None) -> None:
        """state : of a pricer for the same contraction, to go on from; None to begin"""
        self._contraction = contraction
        self.state = state or PricerState(np.zeros((0, contraction.n_blocks), bool))
        self._problems: dict[bool, PricingProblem] = {}
        self._search: ClusterSearch | RegionalSearch | None = None
        if self.state.search is not None:
            self._search = self._resumed_search(self.state.search)

    def heuristic(self, prices: NDArray[np.float64], sigma: float) -> Membership:
        return self._climb(False, prices, -sigma)

    def farkas_heuristic(self, prices: NDArray[np.float64], sigma: float) -> Membership:
        return self._climb(True, prices, -sigma)

    def exact(self, prices: NDArray[np.float64], target: float) -> PricingOutcome:
        """Work for a slice on exact pricing, as in the protocol.

        Where parts of clusters are clusters and cost no more, a target above 0 counts as 0: the
        least value is looked for among those below.
        """
        if self._contraction.is_monotone:
            target = min(target, 0.0)
        members, upper = self._advance(prices, target, False)
        if upper is None:
            return PricingOutcome(members, None)
        return PricingOutcome(members, upper - self._problem(False).margin(prices))

    def farkas_exact(self, prices: NDArray[np.int64], target: int) -> FarkasOutcome:
        weights = prices.astype(np.float64)
        assert np.abs(weights).sum() < _LARGEST_WHOLE  # so that all sums are exact
        members, upper = self._advance(weights, float(-target), True)
        return FarkasOutcome(members, None if upper is None else int(-upper))

    @property
    def nodes_per_slice(self) -> int:
        """Nodes of a search in a slice; fewer where they take longer."""
        slower = SIZE_NODE if self._problem(False).data.by_size else 1
        return max(1, NODES_PER_SLICE // slower)

    def problem(self) -> PricingProblem:
        """Return the pricing problem with the constraints that are known by now."""
        return self._problem(False)

    def _climb(
        self, for_feasibility: bool, prices: NDArray[np.float64], below: float
    ) -> Membership:
        m, k = self._contraction.n_blocks, self._contraction.k
        problem = self._problem(for_feasibility)
        # Searches that look at the blocks of a region only are cheap.
        n_seeds = None if problem.regions else max(k, int(CLIMBING_EFFORT * k / m**2))
        return self._allowed_clusters(local_minima(problem, prices, below, n_seeds))

    def _problem(self, for_feasibility: bool) -> PricingProblem:
        if for_feasibility not in self._problems:
            self._problems[for_feasibility] = PricingProblem.of(
                self._contraction, for_feasibility, self.state.forbidden
            )
        return self._problems[for_feasibility]

    def _resumed_search(
        self, search: ClusterSearchState | RegionalSearchState | None = None
    ) -> ClusterSearch | RegionalSearch:
        """Return the search whose arguments the state has, at its root where no search is given."""
        state = self.state
        assert state.prices is not None
        problem = self._problem(state.for_feasibility)
        return search_for(problem, SoughtClusters(state.prices, state.target), search)

    def _advance(
        self, prices: NDArray[np.float64], target: float, for_feasibility: bool
    ) -> tuple[Membership, float | None]:
        """Work for a slice on a search; return the clusters found, and its value once it ends.

        The value is the least one met, or the target.
        """
        search = self._search_for(prices, target, for_feasibility)
        met = search.run(self.nodes_per_slice)
        allowed = self._allowed_clusters(met)
        # Where a cluster met is not allowed, the bound has fallen to a value that none may have.
        is_void = len(allowed) < len(met)
        if is_void or search.is_finished:
            self._search = self.state.search = None
        return allowed, search.upper if search.is_finished and not is_void else None

    def _search_for(
        self, prices: NDArray[np.float64], target: float, for_feasibility: bool
    ) -> ClusterSearch | RegionalSearch:
        """Return the unfinished search if it has these arguments, else a new one."""
        state = self.state
        if not (
            self._search is not None
            and state.prices is not None
            and np.array_equal(state.prices, prices)
            and (state.target, state.for_feasibility) == (target, for_feasibility)
        ):
            state.prices, state.target = prices.copy(), target
            state.for_feasibility = for_feasibility
            self._search = self._resumed_search()
            state.search = self._search.state
        return self._search

    def _allowed_clusters(self, members: Membership) -> Membership:
        """Return the clusters that uncompiled constraints allow; learn from the others."""
        if not self._contraction.oracles or not len(members):
            return members
        keep = [self._contraction.allows(np.flatnonzero(row)) for row in members]
        learned = [self._least_forbidden(row) for row in members[~np.array(keep)]]
        if learned:
            # The problems that a search and its prices belong to are other ones now.
            self._problems.clear()
            self._search = self.state.search = None
            known = self.state.forbidden
            self.state.forbidden = np.unique(np.vstack([known, *learned]), axis=0)
        return members[keep]

    def _least_forbidden(self, row: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a least subset (1, m) that is not allowed: without any of its blocks it is."""
        least = row.copy()
        for block in np.flatnonzero(row):
            least[block] = False
            if not least.any() or self._contraction.allows(np.flatnonzero(least)):
                least[block] = True
        return least[None, :]
