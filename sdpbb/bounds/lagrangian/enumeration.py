"""Enumeration of all clusters that a better clustering may have, and the bound from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, ProvenBound
from sdpbb.bounds.lagrangian.columns import Columns, allowed
from sdpbb.bounds.lagrangian.duals import DualValues, lagrangian_bound
from sdpbb.bounds.lagrangian.partitioning import cheapest_partition
from sdpbb.bounds.lagrangian.sets.pricer import BranchingPricer
from sdpbb.bounds.lagrangian.sets.search import ClusterSearch, SoughtClusters
from sdpbb.checker.partitions import Enumerated
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import Attached, stored
from sdpbb.runtime.time_left import TimeLeft, no_limit

# The bound in a proof is less by this part.
ROUNDING = 1e-11
# Maximum relative gap for trying enumeration: a larger gap leaves too many clusters.
MAX_GAP = 0.2
# Maximum clusters; enumeration is given up beyond it.
MAX_CLUSTERS = 200_000
# Maximum slices of exact pricing and search together, and of exact pricing alone. If pricing at the
# prices of the semidefinite bound takes more, clusters are too large in the whole tree.
MAX_SLICES, MAX_PRICING_SLICES = 120, 8


@stored
@dataclass(eq=False)
class Enumeration(Attached):
    """Enumeration of clusters at dual values, and partitioning of the blocks into them, in slices.

    Let v be the least c(X) - prices(X) over all clusters. The k clusters of a clustering below the
    cutoff have c(X) - prices(X) - v >= 0, and these numbers add up to less than

        cutoff - (sum of prices + k v),

    so each of them is below that. If that is small, there are few such clusters, and the cheapest
    partition into k of them closes the node without branching.

    Source: for vehicle routing, Baldacci, Christofides and Mingozzi (2008).

    at, cutoff : dual values and cutoff at the start
    found : (t, ceil(m / 8)) clusters found so far, as `numpy.packbits` has them
    max_slices, max_pricing_slices : maximum slices of exact pricing and the search, and of exact
        pricing alone
    least : proven by exact pricing, None before
    n_slices : of exact pricing and of the search
    search : search for all clusters, None before it has begun
    bound : proven bound, with its evidence
    labels : (m,) the cheapest clustering found, if it is cheaper than the cutoff
    """

    at: DualValues
    cutoff: float
    found: NDArray[np.uint8]
    max_slices: int
    max_pricing_slices: int
    least: float | None = None
    n_slices: int = 0
    search: ClusterSearch | None = None
    bound: ProvenBound = field(default_factory=lambda: ProvenBound(0.0))
    labels: NDArray[np.intp] | None = None
    is_finished: bool = False

    def attach(self, contraction: Contraction, pricer: BranchingPricer) -> Enumeration:
        """Resume on the contraction that it started with, with the pricer."""
        self._contraction, self._pricer = contraction, pricer
        if self.search is not None and not self.is_finished:
            self.search.attach(pricer.problem())
        return self

    @classmethod
    def start(
        cls,
        contraction: Contraction,
        pricer: BranchingPricer,
        at: DualValues,
        cutoff: float,
        least: float | None = None,
        max_slices: int | None = None,
        max_pricing_slices: int | None = None,
    ) -> Enumeration:
        """Begin to enumerate.

        Parameters
        ----------
        cutoff : finite
        least : proven by exact pricing at these prices, if that has been done
        max_slices, max_pricing_slices : None: MAX_SLICES and MAX_PRICING_SLICES
        """
        assert math.isfinite(cutoff)
        none = np.packbits(np.zeros((0, contraction.n_blocks), bool), axis=1)
        most = max_slices or MAX_SLICES, max_pricing_slices or MAX_PRICING_SLICES
        self = cls(at, cutoff, none, *most)
        self.attach(contraction, pricer)
        if least is not None:
            self._take(least)
        return self

    @property
    def is_out_of_reach(self) -> bool:
        """True if it was given up before exact pricing ended."""
        return self.is_finished and self.least is None

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Work for a slice; stalled when it has ended below the cutoff."""
        if not self.is_finished:
            if self.least is None:
                self._price()
            elif self.search is None or not self.search.is_finished:
                self._search()
            else:
                self._partition(self.least)
        return BoundProgress(self.bound, self.is_finished and self.bound.value < cutoff, 0)

    def _price(self) -> None:
        """Work for a slice on exact pricing."""
        self.n_slices += 1
        least = self._pricer.exact(self.at.prices, -self.at.sigma).least
        if least is None:
            self.is_finished = self.n_slices >= self.max_pricing_slices
            return
        self._take(least)

    def _take(self, least: float) -> None:
        """Store the least value of a cluster, and the bound that it proves."""
        self.least = least
        self.bound = lagrangian_bound(self._contraction, self.at.prices, least)
        missing = self.cutoff - self.bound.value
        if missing <= 0.0 or missing > MAX_GAP * abs(self.cutoff):
            self.is_finished = True

    def _search(self) -> None:
        """Work for a slice on the search for all clusters."""
        if self.search is None:
            self.search = ClusterSearch.begin(self._pricer.problem(), self._sought())
        self.n_slices += 1
        found = self.search.run(self._pricer.nodes_per_slice)
        self.found = np.concatenate([self.found, np.packbits(found, axis=1)])
        self.is_finished = not self.search.is_finished and (
            self.n_slices >= self.max_slices or len(self.found) > MAX_CLUSTERS
        )

    def _sought(self) -> SoughtClusters:
        """Return the sought clusters: all that a better clustering may have."""
        problem, prices = self._pricer.problem(), self.at.prices
        assert self.least is not None
        total = math.fsum(prices)
        room = 2.0 * problem.margin(prices) + 1e-13 * (abs(total) + abs(self.cutoff))
        cutoff = self.cutoff - self._contraction.soft.constant_below
        threshold = cutoff - total - (self._contraction.k - 1) * self.least + room
        return SoughtClusters(prices, threshold, self.least)

    def _partition(self, least: float) -> None:
        """Partition the blocks into the clusters found."""
        m = self._contraction.n_blocks
        members = np.unpackbits(self.found, axis=1, count=m).astype(bool)
        if self._contraction.oracles:
            members = members[allowed(self._contraction, members)]
        columns = Columns.of(self._contraction, members)
        found = cheapest_partition(self._contraction, columns, self.cutoff, self.at.prices)
        if found.bound > self.bound:
            evidence = Enumerated(
                # With room for rounding; without the cost of soft pairs in all clusterings.
                (found.bound.value - self._contraction.soft.constant) * (1.0 - ROUNDING),
                self.at.prices,
                min(least, 0.0) if self._contraction.is_monotone else least,
                *found.multipliers,
            )
            self.bound = ProvenBound(found.bound.value, evidence)
        self.labels = found.labels
        self.is_finished = True
