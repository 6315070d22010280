"""The proof from all clusters that a better clustering can have."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import SafeBound
from sdpbb.bounds.colgen.columns import Columns, Members, PackedColumns
from sdpbb.bounds.colgen.parameters import EnumerationParameters
from sdpbb.bounds.colgen.partitioning import cheapest_partition
from sdpbb.bounds.colgen.pricing import BranchingPricer, Search, SearchState
from sdpbb.bounds.colgen.safe_bound import lagrangian_bound
from sdpbb.bounds.colgen.stabilisation import DualValues
from sdpbb.checker.evidence import Enumerated, Lagrangian
from sdpbb.problem import Contraction

# What a proof claims of the bound is less by this part.
ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class EnumerationState:
    """Where an enumeration was left.

    at, cutoff : what it began with
    least : proven by exact pricing, None before
    n_slices : of exact pricing and of the search
    search : of all clusters, None before it has begun
    found : clusters met so far
    bound, proof, labels, is_finished : what it has come to
    """

    at: DualValues
    cutoff: float
    least: float | None
    n_slices: int
    search: SearchState | None
    found: PackedColumns
    bound: SafeBound
    proof: Lagrangian | Enumerated | None
    labels: NDArray[np.intp] | None
    is_finished: bool


class Enumeration:
    """Enumerates clusters at dual values, and partitions the blocks into them, in slices.

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
        at: DualValues,
        cutoff: float,
        parameters: EnumerationParameters,
        least: float | None = None,
    ) -> None:
        """
        Parameters
        ----------
        cutoff : finite
        least : what exact pricing at these prices has proven already, if it has
        """
        assert math.isfinite(cutoff)
        self._contraction, self._pricer, self._parameters = contraction, pricer, parameters
        self._at, self._cutoff = at, cutoff
        self._least: float | None = None
        self._n_slices = 0
        self._search: Search | None = None
        self._found: Members = np.zeros((0, contraction.n_blocks), bool)
        self._bound = SafeBound(0.0)
        self._proof: Lagrangian | Enumerated | None = None
        self._labels: NDArray[np.intp] | None = None
        self.is_finished = False
        if least is not None:
            self._learn(least)

    @property
    def bound(self) -> SafeBound:
        """What has been proven for all clusterings of the blocks."""
        return self._bound

    @property
    def proof(self) -> Lagrangian | Enumerated | None:
        """What the bound is proven by."""
        return self._proof

    @property
    def is_out_of_reach(self) -> bool:
        """Whether not even exact pricing has ended."""
        return self.is_finished and self._least is None

    @property
    def labels(self) -> NDArray[np.intp] | None:
        """(m,) of the cheapest clustering met, if it is cheaper than the cutoff."""
        return self._labels

    def advance(self) -> None:
        """Work for a slice; sets `is_finished` when nothing more is to be had."""
        if self.is_finished:
            return
        if self._least is None:
            self._price()
        elif self._search is None or not self._search.is_finished:
            self._enumerate()
        else:
            self._partition()

    def _price(self) -> None:
        self._n_slices += 1
        least = self._pricer.exact(self._at.prices, -self._at.sigma).least
        if least is None:
            self.is_finished = self._n_slices >= self._parameters.max_pricing_slices
            return
        self._learn(least)

    def _learn(self, least: float) -> None:
        self._least = least
        self._bound = lagrangian_bound(self._contraction, self._at.prices, least)
        self._proof = Lagrangian(self._at.prices, least)
        missing = self._cutoff - self._bound.value
        if missing <= 0.0 or missing > self._parameters.max_gap * abs(self._cutoff):
            self.is_finished = True

    def _enumerate(self) -> None:
        search = self._search or self._begun()
        self._search = search
        self._n_slices += 1
        found = search.run(self._pricer.nodes_per_slice)
        self._found = np.concatenate([self._found, found])
        self.is_finished = not search.is_finished and (
            self._n_slices >= self._parameters.max_slices
            or len(self._found) > self._parameters.max_clusters
        )

    def _begun(self) -> Search:
        problem, prices = self._pricer.problem(), self._at.prices
        assert self._least is not None
        room = 2.0 * problem.margin(prices)
        total = math.fsum(prices)
        room += 1e-13 * (abs(total) + abs(self._cutoff))
        threshold = self._cutoff - total - (self._contraction.k - 1) * self._least + room
        return Search(problem, prices, threshold, optimal_only=False, least=self._least)

    def _partition(self) -> None:
        members = self._found
        if self._contraction.other_constraints:
            keep = [self._contraction.allows(np.flatnonzero(row)) for row in members]
            members = members[np.array(keep, bool)]
        columns = Columns.of(self._contraction, members)
        found = cheapest_partition(
            self._contraction,
            columns,
            self._cutoff,
            self._at.prices,
            self._parameters.partitioning,
        )
        assert self._least is not None
        if found.bound > self._bound:
            self._bound = found.bound
            self._proof = Enumerated(
                # Costs and bounds are rounded elsewhere.
                found.bound.value * (1.0 - ROUNDING),
                self._at.prices,
                min(self._least, 0.0),
                found.prices,
                found.triples,
                found.penalties,
            )
        self._labels = found.labels
        self.is_finished = True

    def state(self) -> EnumerationState:
        return EnumerationState(
            self._at,
            self._cutoff,
            self._least,
            self._n_slices,
            None if self._search is None else self._search.state(),
            PackedColumns.of(self._found),
            self._bound,
            self._proof,
            self._labels,
            self.is_finished,
        )

    @classmethod
    def resumed(
        cls,
        contraction: Contraction,
        pricer: BranchingPricer,
        parameters: EnumerationParameters,
        state: EnumerationState,
    ) -> Enumeration:
        """Go on where an enumeration of the same contraction was left; the pricer's own state has
        been restored."""
        self = cls(contraction, pricer, state.at, state.cutoff, parameters)
        self._least, self._n_slices = state.least, state.n_slices
        self._found = state.found.members()
        self._bound, self._labels = state.bound, state.labels
        self._proof = state.proof
        self.is_finished = state.is_finished
        if state.search is not None:
            self._search = self._begun()
            self._search.restore(state.search)
        return self
