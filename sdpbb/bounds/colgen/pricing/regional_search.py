"""Exact pricing region by region, for many blocks in few dimensions.

A cluster X of value below a target has its mean in one of the regions, and its blocks near that:
of a cluster of least value, leaving out block i does not lower the value, so that

    e_i || c_i - mean_X ||^2 < a_i,

and where all clusters below the target are wanted and none is below `least`, a_i plus the
difference between the two takes the place of a_i. So each region is searched over the blocks that
come so near to it, by the search for all blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdpbb.bounds.colgen.columns import Membership
from sdpbb.bounds.colgen.pricing.problem import PricingProblem
from sdpbb.bounds.colgen.pricing.search import ClusterSearch, ClusterSearchState
from sdpbb.bounds.colgen.pricing.sought import SoughtClusters
from sdpbb.runtime.archive.stored import stored


@stored
@dataclass(eq=False)
class RegionalSearchState:
    """State of a `RegionalSearch`.

    region : the present one
    search : of the present region, None before it has begun
    upper : the target, or the least value met
    n_nodes : in the regions before
    """

    region: int
    search: ClusterSearchState | None
    upper: float
    n_nodes: int = 0
    is_finished: bool = False


class RegionalSearch:
    """Branch and bound over the clusters of value c(X) - prices(X) below a target, by regions.

    Where only the least value is wanted, each region hands over the clusters that lower its own.

    problem : with regions
    state : of a search with the same arguments, to go on from; None to begin
    """

    def __init__(
        self,
        problem: PricingProblem,
        sought: SoughtClusters,
        state: RegionalSearchState | None = None,
    ) -> None:
        assert problem.regions is not None
        self._problem, self._regions, self._sought = problem, problem.regions, sought
        self._reach = sought.reaches(problem)
        self.state = RegionalSearchState(0, None, sought.target) if state is None else state
        self._search: ClusterSearch | None = None
        if self.state.search is not None:
            self._begin()

    @property
    def is_finished(self) -> bool:
        return self.state.is_finished

    @property
    def upper(self) -> float:
        """Target, or the least value met if that is smaller and only the least is wanted."""
        return self.state.upper

    @property
    def n_nodes(self) -> int:
        """Number of nodes looked at so far."""
        return self.state.n_nodes + (0 if self._search is None else self._search.n_nodes)

    def run(self, n_nodes: int) -> Membership:
        """Look at so many more nodes; return the clusters (t, m) met, as `ClusterSearch.run`."""
        state, last = self.state, self.n_nodes + n_nodes
        met = [np.zeros((0, self._problem.m), bool)]
        while not state.is_finished and self.n_nodes < last:
            if self._search is None and not self._begin():
                self._leave()
                continue
            assert self._search is not None
            met.append(self._search.run(last - self.n_nodes))
            if self._search.is_finished:
                state.upper = min(state.upper, self._search.upper)
                state.n_nodes = self.n_nodes
                self._leave()
        return np.concatenate(met)

    def _begin(self) -> bool:
        """Begin, or go on with, the search of the present region, unless nothing is near it."""
        region, regions, problem = self.state.region, self._regions, self._problem
        near = regions.near(region, problem.data.points, self._reach)
        if not len(near):
            return False
        self._search = ClusterSearch(
            problem.restricted(near),
            self._sought,
            self.state.search,
            (regions.low[region], regions.high[region]),
        )
        self.state.search = self._search.state
        return True

    def _leave(self) -> None:
        """Move to the next region."""
        state = self.state
        self._search = state.search = None
        state.region += 1
        state.is_finished = state.region == len(self._regions)


def search_for(
    problem: PricingProblem,
    sought: SoughtClusters,
    state: ClusterSearchState | RegionalSearchState | None = None,
) -> ClusterSearch | RegionalSearch:
    """Return the search of a problem: by regions if it has any."""
    if problem.regions is None:
        assert not isinstance(state, RegionalSearchState)
        return ClusterSearch(problem, sought, state)
    assert not isinstance(state, ClusterSearchState)
    return RegionalSearch(problem, sought, state)
