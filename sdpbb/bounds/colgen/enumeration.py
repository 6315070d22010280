"""Enumeration: a bound from all clusters that a better clustering can have."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.colgen.columns import Columns, PackedColumns
from sdpbb.bounds.colgen.partitioning import cheapest_partition
from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer
from sdpbb.bounds.colgen.pricing.regional_search import (
    RegionalSearch,
    RegionalSearchState,
    search_for,
)
from sdpbb.bounds.colgen.pricing.search import ClusterSearch, ClusterSearchState
from sdpbb.bounds.colgen.pricing.sought import SoughtClusters
from sdpbb.bounds.colgen.safe_bound import lagrangian_bound
from sdpbb.bounds.colgen.stabilisation import DualValues
from sdpbb.bounds.evidence import Enumerated, Lagrangian
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored

# What a proof claims of the bound is less by this part.
ROUNDING = 1e-11
# Maximum relative gap for trying enumeration: a larger gap leaves too many clusters.
MAX_GAP = 0.2
# Maximum clusters; enumeration is given up beyond it.
MAX_CLUSTERS = 200_000
# Maximum slices of exact pricing and search together, and of exact pricing alone. If pricing does
# not end by then at the prices of the semidefinite bound, clusters are too large in the whole tree.
MAX_SLICES, MAX_PRICING_SLICES = 120, 8


@stored
@dataclass(eq=False)
class EnumerationState:
    """State of an `Enumeration`.

    at, cutoff : the dual values and the cutoff that it began with
    found : clusters found so far
    least : proven by exact pricing, None before
    n_slices, most_slices : of exact pricing and of the search, and after how many they are given up
    search : for all clusters, None before it has begun
    bound : proven for all clusterings of the blocks, with its evidence
    labels : (m,) of the cheapest clustering found, if it is cheaper than the cutoff
    """

    at: DualValues
    cutoff: float
    found: PackedColumns
    most_slices: int
    least: float | None = None
    n_slices: int = 0
    search: ClusterSearchState | RegionalSearchState | None = None
    bound: ProvenBound = field(default_factory=lambda: ProvenBound(0.0))
    labels: NDArray[np.intp] | None = None
    is_finished: bool = False


class Enumeration:
    """Enumeration of clusters at dual values, and partitioning of the blocks into them, in slices.

    With v the least c(X) - prices(X) over all clusters, a clustering that costs less than the
    cutoff has k clusters of c(X) - prices(X) - v >= 0 which add up to less than

        cutoff - (sum of prices + k v),

    so each of them is below that. Where that is little, these clusters are few, and the cheapest
    partition into k of them ends the node: what a tree would have found out by branching.

    Source: for vehicle routing, Baldacci, Christofides and Mingozzi (2008).
    """

    def __init__(
        self,
        contraction: Contraction,
        pricer: BranchingPricer,
        state: EnumerationState,
        max_pricing_slices: int | None = None,
    ) -> None:
        """
        Parameters
        ----------
        state : of an enumeration for the same contraction, to go on from, as the pricer is
        max_pricing_slices : None for MAX_PRICING_SLICES
        """
        self._contraction, self._pricer, self.state = contraction, pricer, state
        self._max_pricing_slices = max_pricing_slices or MAX_PRICING_SLICES
        self._search = None if state.search is None else self._search_from_prices(state.search)

    @classmethod
    def start(
        cls,
        contraction: Contraction,
        pricer: BranchingPricer,
        at: DualValues,
        cutoff: float,
        least: float | None = None,
        most_slices: int | None = None,
        max_pricing_slices: int | None = None,
    ) -> Enumeration:
        """Begin to enumerate.

        Parameters
        ----------
        cutoff : finite
        least : proven by exact pricing at these prices, if that has been done
        most_slices, max_pricing_slices : None for MAX_SLICES and MAX_PRICING_SLICES
        """
        assert math.isfinite(cutoff)
        none = PackedColumns.of(np.zeros((0, contraction.n_blocks), bool))
        state = EnumerationState(at, cutoff, none, most_slices or MAX_SLICES)
        self = cls(contraction, pricer, state, max_pricing_slices)
        if least is not None:
            self._take(least)
        return self

    @property
    def bound(self) -> ProvenBound:
        """Bound proven for all clusterings of the blocks, with its evidence."""
        return self.state.bound

    @property
    def is_finished(self) -> bool:
        return self.state.is_finished

    @property
    def is_out_of_reach(self) -> bool:
        """True while not even exact pricing has ended."""
        return self.is_finished and self.state.least is None

    @property
    def labels(self) -> NDArray[np.intp] | None:
        """Labels (m,) of the cheapest clustering found, if it is cheaper than the cutoff."""
        return self.state.labels

    def advance(self) -> None:
        """Work for a slice; sets `is_finished` when nothing more is to be had."""
        if self.is_finished:
            return
        if self.state.least is None:
            self._price()
        elif self._search is None or not self._search.is_finished:
            self._enumerate()
        else:
            self._partition(self.state.least)

    def _price(self) -> None:
        """Work for a slice on exact pricing."""
        state = self.state
        state.n_slices += 1
        least = self._pricer.exact(state.at.prices, -state.at.sigma).least
        if least is None:
            state.is_finished = state.n_slices >= self._max_pricing_slices
            return
        self._take(least)

    def _take(self, least: float) -> None:
        """Take the least value of a cluster, and the bound that it proves."""
        state = self.state
        state.least = least
        bound = lagrangian_bound(self._contraction, state.at.prices, least)
        state.bound = ProvenBound(bound.value, Lagrangian(state.at.prices, least))
        missing = state.cutoff - state.bound.value
        if missing <= 0.0 or missing > MAX_GAP * abs(state.cutoff):
            state.is_finished = True

    def _enumerate(self) -> None:
        """Work for a slice on the search for all clusters."""
        state = self.state
        if self._search is None:
            self._search = self._search_from_prices()
            state.search = self._search.state
        state.n_slices += 1
        found = self._search.run(self._pricer.nodes_per_slice)
        state.found = state.found + PackedColumns.of(found)
        state.is_finished = not self._search.is_finished and (
            state.n_slices >= state.most_slices or len(state.found) > MAX_CLUSTERS
        )

    def _search_from_prices(
        self, resumed: ClusterSearchState | RegionalSearchState | None = None
    ) -> ClusterSearch | RegionalSearch:
        """Return the search for all clusters of a better clustering; at its root for None."""
        state, problem = self.state, self._pricer.problem()
        assert state.least is not None
        prices = state.at.prices
        room = 2.0 * problem.margin(prices)
        total = math.fsum(prices)
        room += 1e-13 * (abs(total) + abs(state.cutoff))
        cutoff = state.cutoff - self._contraction.soft.constant_below
        threshold = cutoff - total - (self._contraction.k - 1) * state.least + room
        sought = SoughtClusters(prices, threshold, optimal_only=False, least=state.least)
        return search_for(problem, sought, resumed)

    def _partition(self, least: float) -> None:
        """Partition the blocks into the clusters found."""
        state, members = self.state, self.state.found.members()
        if self._contraction.oracles:
            keep = [self._contraction.allows(np.flatnonzero(row)) for row in members]
            members = members[np.array(keep, bool)]
        columns = Columns.of(self._contraction, members)
        found = cheapest_partition(self._contraction, columns, state.cutoff, state.at.prices)
        if found.bound > state.bound:
            evidence = Enumerated(
                # Costs and bounds are rounded elsewhere. What all pay is not part of it.
                (found.bound.value - self._contraction.soft.constant) * (1.0 - ROUNDING),
                state.at.prices,
                min(least, 0.0) if self._contraction.is_monotone else least,
                found.prices,
                found.triples,
                found.penalties,
            )
            state.bound = ProvenBound(found.bound.value, evidence)
        state.labels = found.labels
        state.is_finished = True
