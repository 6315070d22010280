"""Column generation for one node, in steps that can be resumed.

A step solves the restricted master programme and prices: by heuristics, and exactly in slices if
these find nothing. While no k columns of the pool cover all blocks, Farkas pricing finds columns
for a cover, or proves that there is no cover.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, ProvenBound, scatter_bound
from sdpbb.bounds.lagrangian.columns import Columns, allowed, merged
from sdpbb.bounds.lagrangian.duals import (
    DualValues,
    first_duals,
    inherited_prices,
    is_proof_of_infeasibility,
    lagrangian_bound,
    whole_prices,
)
from sdpbb.bounds.lagrangian.masters import MasterProgramme, MasterSolution, Phase
from sdpbb.bounds.lagrangian.masters.interior import InteriorMaster
from sdpbb.bounds.lagrangian.masters.simplex import Master
from sdpbb.bounds.lagrangian.primal import round_to_clustering
from sdpbb.bounds.lagrangian.reach import uses_interior
from sdpbb.bounds.lagrangian.sets.pricer import BranchingPricer
from sdpbb.checker.pricing import Lagrangian
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import Attached, stored
from sdpbb.runtime.time_left import TimeLeft, no_limit


@stored
@dataclass(frozen=True, eq=False)
class ExactPricing:
    """Unfinished exact pricing.

    prices : (m,) of the blocks
    target : only values below it are of interest
    settles : whether the master programme is solved if no cluster is found
    for_cover : whether the pool has no cover: clusters cost nothing, and prices are whole numbers
    """

    prices: NDArray[np.float64]
    target: float
    settles: bool
    for_cover: bool = False


@stored
@dataclass(frozen=True, eq=False)
class GenerationWarmStart:
    """Warm start of a child: clusters and dual values of its parent.

    block_of : (n,) the parent's blocks
    columns : clusters of these
    duals : dual values for these, None before the parent's first master programme
    """

    block_of: NDArray[np.intp]
    columns: Columns
    duals: DualValues | None

    def for_child(self, child: Contraction) -> tuple[Columns, DualValues | None]:
        """Return the clusters that the child allows, and dual values, in the blocks of the child.

        Each block of its contraction is a union of the parent's.
        """
        packed = replace(self.columns)  # members are not stored with the warm start
        columns = merged(packed, self.block_of, child)
        if self.duals is None:
            return columns, None
        prices = inherited_prices(self.duals.prices, self.block_of, child)
        return columns, DualValues(prices, self.duals.sigma)


# Maximum columns per block that children start with.
INHERITED_PER_BLOCK = 10
# Relative room for rounding in the proof of a bound at the cutoff.
_ROOM = 1e-9
# Maximum columns added at once, the lowest reduced costs first; with more blocks, their number.
MAX_COLUMNS_PER_ROUND = 200
# Reduced costs count as negative below minus this share of the master's value per cluster. Bounds
# lose at most this share of the value.
TOLERANCE = 1e-10
# The same while the pool has no cover: prices are then at most about 1.
_COVER_TOLERANCE = 1e-8


@stored
@dataclass(eq=False)
class Generation(Attached):
    """Column generation for the blocks of a contraction.

    Heuristic pricing finds columns. Exact pricing follows if it finds none. At any prices exact
    pricing proves a Lagrangian bound. If it finds no column at the dual values of the restricted
    master programme, the master programme is solved. It begins early if the expected bound would
    close the node.

    Source: Babaki, Guns and Nijssen (2014), section 3; Farkas pricing as in equation 21.

    support, x : the s clusters that the last master solution uses, and how much of each (s,)
    bound : the best so far, with its evidence. The evidence of inf is for clusters without costs
    under_way : unfinished exact pricing
    own : dual values of the last master programme
    labels, cost : the cheapest clustering from roundings of master solutions
    early : whether exact pricing may begin before the master programme is solved
    is_finished : whether further steps change nothing
    least : proven to be at most c(X) - prices(X) of every cluster X at own; None before the master
        programme is solved
    n_iterations : steps so far
    """

    master: MasterProgramme
    support: Columns
    x: NDArray[np.float64]
    bound: ProvenBound
    under_way: ExactPricing | None = None
    own: DualValues | None = None
    labels: NDArray[np.intp] | None = None
    cost: float = math.inf
    early: bool = True
    is_finished: bool = False
    least: float | None = None
    n_iterations: int = 0

    @classmethod
    def begin(
        cls,
        contraction: Contraction,
        pricer: BranchingPricer,
        known: NDArray[np.intp] | None = None,
        inherited: Columns | None = None,
        centre: DualValues | None = None,
    ) -> Generation:
        """Begin to generate columns: single blocks, clusters of a clustering, and inherited ones.

        Parameters
        ----------
        known : labels (m,) of a clustering that satisfies all constraints, if one is known
        inherited : further allowed clusters
        centre : good dual values, for example of another bound or of the parent of a node; None:
            of the known clustering
        """
        pool = Columns.singletons(contraction)
        if not contraction.is_monotone:
            pool = pool.select(allowed(contraction, pool.members))
        if known is not None:
            pool += Columns.of(contraction, known == np.arange(contraction.k)[:, None])
            centre = centre or first_duals(contraction, known)
        if inherited is not None:
            pool += inherited
        is_interior = known is not None and uses_interior(contraction)
        master = (InteriorMaster if is_interior else Master).begin(contraction, pool, centre)
        none = Columns.of(contraction, np.zeros((0, contraction.n_blocks), bool))
        self = cls(master, none, np.zeros(0), scatter_bound(contraction))
        self._contraction, self._pricer = contraction, pricer
        return self

    def attach(self, contraction: Contraction, pricer: BranchingPricer) -> Generation:
        """Resume on the contraction that it started with, with the pricer."""
        self._contraction, self._pricer = contraction, pricer
        self.master.attach(contraction)
        return self

    @property
    def columns(self) -> Columns:
        """The pool."""
        return self.master.columns

    @property
    def duals(self) -> DualValues | None:
        """Dual values of the last master programme; None while it has no cover."""
        return self.own if self.master.phase is Phase.COST else None

    def warm_start(self) -> GenerationWarmStart:
        """Return the warm start of a child: the columns of the lowest reduced costs."""
        contraction, columns, own = self._contraction, self.columns, self.duals
        if own is not None:
            reduced = columns.costs - columns.collected(own.prices)
            count = INHERITED_PER_BLOCK * contraction.n_blocks
            columns = columns.select(np.argsort(reduced, kind="stable")[:count])
        return GenerationWarmStart(contraction.block_of, replace(columns), own)

    def affinity(self) -> NDArray[np.float64]:
        """Return the affinity (m, m) of the last x: sum_X x_X 1_X 1_X' / (points of X).

        Z @ weights is how often each block is covered. Zero before the first step.
        """
        members = self.support.members.astype(np.float64)
        weights = self.x / (members @ self._contraction.weights)
        return members.T @ (weights[:, None] * members)

    def clustering(self) -> NDArray[np.intp] | None:
        """Return the cheapest clustering met: labels (m,) of exactly k clusters, if any."""
        return self.labels

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Solve the restricted master programme and price, or continue exact pricing by a slice.

        `cutoff` is the bound that would close the node.

        Raises
        ------
        BackendFailure
            If HiGHS ends without a result.
        """
        if not self.is_finished:
            self.n_iterations += 1
            self._step(cutoff)
        return BoundProgress(self.bound, self.is_finished, len(self.columns))

    def _step(self, cutoff: float) -> None:
        """Resume unfinished exact pricing, or solve the master programme and price."""
        if self.under_way is not None:
            self._price_for_slice(self.under_way)
            return
        master = self.master
        solution = master.solve()
        used = solution.x > 0.0
        self.support, self.x = master.columns.select(used), solution.x[used]
        self.own = own = DualValues(solution.prices, solution.sigma)
        for_cover = master.phase is Phase.FEASIBILITY
        if not for_cover and master.is_worth_rounding:
            self._round()
        members = self._pricer.heuristic(own.prices, own.sigma, for_cover)
        found = Columns.of(self._contraction, members)
        grown = self._add(found, own)
        if for_cover:
            self.under_way = None if grown else _pricing_for_cover(own)
        else:
            self._conclude(own, found, grown, solution, cutoff)

    def _round(self) -> None:
        """Round the last master solution, and store the clustering if it is the cheapest so far."""
        node = self._contraction
        labels = round_to_clustering(node, self.support.members, self.x)
        if labels is not None and node.keeps_sizes(labels) and node.cost(labels) < self.cost:
            self.labels, self.cost = labels, node.cost(labels)

    def _conclude(
        self, own: DualValues, found: Columns, grown: bool, solution: MasterSolution, cutoff: float
    ) -> None:
        """Begin exact pricing if heuristics find nothing, or if it may close the node.

        own : the dual values of the solution
        """
        least = float((found.costs - found.collected(own.prices)).min(initial=-own.sigma))
        shown = DualValues(own.prices, -least).value(self._contraction.k)
        self.master.observe(solution, shown)
        needed = self._closing_value(own, cutoff)
        if self.early and shown + self._paid_by_all >= cutoff:
            self.under_way = ExactPricing(own.prices, needed, settles=False)
        elif not grown and self.master.settle(solution):
            optimal = -own.sigma - self._tolerance(own)
            closing = self.early and needed < optimal
            settles = not closing and self.master.is_final
            self.under_way = ExactPricing(own.prices, needed if closing else optimal, settles)

    def _price_for_slice(self, pricing: ExactPricing) -> None:
        """Work for a slice on unfinished exact pricing.

        It remains unfinished if nothing is proven or found. New columns lead to the next master
        programme. Without any, prices that should close the node are given up; or the master
        programme is solved.
        """
        assert self.own is not None
        prices = pricing.prices
        outcome = self._pricer.exact(prices, pricing.target, pricing.for_cover)
        found = Columns.of(self._contraction, outcome.members)
        grown, least = self._add(found, self.own), outcome.least
        # A cluster below the target proves that these prices do not close the node.
        refuted = not pricing.settles and len(found) > 0
        if least is None and not (grown or refuted):
            return
        self.under_way = None
        if least is not None:
            if not pricing.for_cover:
                bound = lagrangian_bound(self._contraction, prices, least)
                self.bound = max(self.bound, bound)
            elif is_proof_of_infeasibility(prices, least, self._contraction.k):
                self.bound = ProvenBound(math.inf, Lagrangian(prices, least))
                self.is_finished = True
        if grown:
            return
        if not pricing.settles:
            self.early = False  # until the pool grows
            return
        self.is_finished = True
        if not pricing.for_cover:
            self.least = least

    def _add(self, found: Columns, own: DualValues) -> bool:
        """Add the columns that improve the master programme most; return whether any do.

        While the pool has no cover, they cost nothing.
        """
        if self.master.phase is Phase.COST:
            reduced, tolerance = found.costs - found.collected(own.prices), self._tolerance(own)
        else:
            reduced, tolerance = -found.collected(own.prices), _COVER_TOLERANCE
        reduced = reduced + own.sigma
        order = np.argsort(reduced, kind="stable")
        most = max(MAX_COLUMNS_PER_ROUND, self._contraction.n_blocks)
        best = order[reduced[order] < -tolerance][:most]
        grown = self.master.add(found.select(best)) > 0
        self.early = self.early or grown
        return grown

    def _closing_value(self, own: DualValues, cutoff: float) -> float:
        """Return the value of clusters from which on these prices close the node, with rounding.

        It is at most 0 in monotone problems.
        """
        total = math.fsum(own.prices)
        room = _ROOM * (abs(total) + abs(cutoff)) if math.isfinite(cutoff) else 0.0
        value = (cutoff - self._paid_by_all + room - total) / self._contraction.k
        return min(value, 0.0) if self._contraction.is_monotone else value

    @property
    def _paid_by_all(self) -> float:
        """Cost of soft pairs in all clusterings, which no column includes."""
        return self._contraction.soft.constant_below

    def _tolerance(self, own: DualValues) -> float:
        """Return the least saving at dual values for which a cluster becomes a column."""
        k = self._contraction.k
        return TOLERANCE * abs(own.value(k)) / k


def _pricing_for_cover(own: DualValues) -> ExactPricing:
    """Return exact pricing at whole prices, scaled from dual values without a cover (Farkas)."""
    prices = whole_prices(own.prices)
    scale = float(np.abs(prices).max()) / float(np.abs(own.prices).max())
    target = -math.floor((own.sigma + _COVER_TOLERANCE) * scale)
    return ExactPricing(prices, float(target), settles=True, for_cover=True)
