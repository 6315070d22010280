"""The pricer of column generation: local search first, branch and bound to prove."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Members
from sdpbb.bounds.colgen.parameters import PricingParameters
from sdpbb.bounds.colgen.pricing.climbing import local_minima
from sdpbb.bounds.colgen.pricing.problem import PricingProblem
from sdpbb.bounds.colgen.pricing.protocol import FarkasOutcome, PricingOutcome
from sdpbb.bounds.colgen.pricing.search import Search, SearchState
from sdpbb.problem import Contraction

# Whole numbers below are floats.
_LARGEST_WHOLE = 2.0**53
# Nodes that are bounded by their sizes take so many times longer.
SIZE_NODE = 8


@dataclass(frozen=True, eq=False)
class PricerState:
    """Where a pricer was left.

    forbidden : (q, m) sets of blocks that constraints without a compiled form were found to forbid
    prices, target, for_feasibility : what the search under way was asked, None without one
    search : where it is
    """

    forbidden: NDArray[np.bool_]
    prices: NDArray[np.float64] | None
    target: float
    for_feasibility: bool
    search: SearchState | None


class BranchingPricer:
    """Prices the clusters of a contraction (a `sdpbb.bounds.colgen.pricing.protocol.Pricer`).

    Constraints on clusters that are neither cannot-links nor budgets are asked about the clusters
    that are found. One that is not allowed holds a least set of blocks that is not, and as the
    constraints are anti-monotone, no cluster may hold all of that: a budget of one block fewer.
    """

    def __init__(self, contraction: Contraction, parameters: PricingParameters) -> None:
        self._contraction = contraction
        self._parameters = parameters
        self._forbidden = np.zeros((0, contraction.n_blocks), bool)
        self._problems: dict[bool, PricingProblem] = {}
        self._search: Search | None = None
        self._asked: tuple[NDArray[np.float64], float, bool] | None = None

    def heuristic(self, prices: NDArray[np.float64], sigma: float) -> Members:
        return self._climbed(False, prices, -sigma)

    def farkas_heuristic(self, prices: NDArray[np.float64], sigma: float) -> Members:
        return self._climbed(True, prices, -sigma)

    def exact(self, prices: NDArray[np.float64], target: float) -> PricingOutcome:
        """As in the protocol, except that a target above 0 counts as 0: the least value is looked
        for among those below."""
        members, upper = self._advanced(prices, min(target, 0.0), False)
        if upper is None:
            return PricingOutcome(members, None)
        return PricingOutcome(members, upper - self._problem(False).margin(prices))

    def farkas_exact(self, prices: NDArray[np.int64], target: int) -> FarkasOutcome:
        weights = prices.astype(np.float64)
        assert weights.sum() < _LARGEST_WHOLE  # so that all sums are exact
        members, upper = self._advanced(weights, float(-target), True)
        return FarkasOutcome(members, None if upper is None else int(-upper))

    def state(self) -> PricerState:
        prices, target, for_feasibility = self._asked or (None, 0.0, False)
        return PricerState(
            self._forbidden,
            prices,
            target,
            for_feasibility,
            None if self._search is None else self._search.state(),
        )

    def restore(self, state: PricerState) -> None:
        self._forget()
        self._forbidden = state.forbidden
        if state.prices is not None and state.search is not None:
            self._asked = (state.prices, state.target, state.for_feasibility)
            self._search = Search(self._problem(state.for_feasibility), state.prices, state.target)
            self._search.restore(state.search)

    @property
    def nodes_per_slice(self) -> int:
        """Of a search; fewer where they take longer."""
        slower = SIZE_NODE if self._problem(False).data.by_size else 1
        return max(1, self._parameters.nodes_per_slice // slower)

    def problem(self) -> PricingProblem:
        """The blocks and what is known of constraints by now."""
        return self._problem(False)

    def _climbed(self, for_feasibility: bool, prices: NDArray[np.float64], below: float) -> Members:
        m, k = self._contraction.n_blocks, self._contraction.k
        n_seeds = max(k, int(self._parameters.climbing_effort * k / m**2))
        return self._allowed(local_minima(self._problem(for_feasibility), prices, below, n_seeds))

    def _problem(self, for_feasibility: bool) -> PricingProblem:
        if for_feasibility not in self._problems:
            self._problems[for_feasibility] = PricingProblem.of(
                self._contraction, for_feasibility, self._forbidden
            )
        return self._problems[for_feasibility]

    def _advanced(
        self, prices: NDArray[np.float64], target: float, for_feasibility: bool
    ) -> tuple[Members, float | None]:
        """A slice of a search: the clusters met, and the least value or target once it is over."""
        if self._search is None or not self._continues(prices, target, for_feasibility):
            self._asked = (prices.copy(), target, for_feasibility)
            self._search = Search(self._problem(for_feasibility), prices, target)
        met = self._search.run(self.nodes_per_slice)
        allowed = self._allowed(met)
        if len(allowed) < len(met):
            # Its bound has fallen to a value that no cluster has: it begins anew.
            self._search = None
            return allowed, None
        if not self._search.is_finished:
            return allowed, None
        upper, self._search = self._search.upper, None
        return allowed, upper

    def _continues(self, prices: NDArray[np.float64], target: float, for_feasibility: bool) -> bool:
        assert self._asked is not None
        before, of, kind = self._asked
        return np.array_equal(before, prices) and of == target and kind == for_feasibility

    def _forget(self) -> None:
        self._problems.clear()
        self._search = None
        self._asked = None

    def _allowed(self, members: Members) -> Members:
        """The clusters that constraints without a compiled form allow; learns from the others."""
        if not self._contraction.other_constraints or not len(members):
            return members
        keep = [self._contraction.allows(np.flatnonzero(row)) for row in members]
        learned = [self._least_forbidden(row) for row in members[~np.array(keep)]]
        if learned:
            self._forget()
            self._forbidden = np.unique(np.vstack([self._forbidden, *learned]), axis=0)
        return members[keep]

    def _least_forbidden(self, row: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(1, m) a subset that is not allowed, while it is without any of its blocks."""
        least = row.copy()
        for block in np.flatnonzero(row):
            least[block] = False
            if not least.any() or self._contraction.allows(np.flatnonzero(least)):
                least[block] = True
        return least[None, :]
