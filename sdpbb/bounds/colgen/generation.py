"""Column generation for one node, in steps: master programme, pricing, and bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.colgen.columns import Columns, PackedColumns, cluster_costs, merged
from sdpbb.bounds.colgen.interior.first_prices import first_prices
from sdpbb.bounds.colgen.interior.master import InteriorMaster, InteriorState, covering_prefix
from sdpbb.bounds.colgen.interior.repair import repaired
from sdpbb.bounds.colgen.master import Master, MasterSolution, MasterState, Phase
from sdpbb.bounds.colgen.parameters import ColgenParameters, StabilisationParameters
from sdpbb.bounds.colgen.pricing.protocol import Pricer
from sdpbb.bounds.colgen.primal import Primal, PrimalState
from sdpbb.bounds.colgen.safe_bound import (
    integer_prices,
    is_proof_of_infeasibility,
    lagrangian_bound,
    scatter_bound,
)
from sdpbb.bounds.colgen.stabilisation import (
    DualValues,
    Observation,
    StabilisationState,
    stabilisation,
)
from sdpbb.bounds.evidence import Lagrangian
from sdpbb.problem import Contraction

# Of the exact prices of a cluster in the phase FEASIBILITY, whose prices are at most about 1.
_FARKAS_TOLERANCE = 1e-8

# For rounding in the proof of a bound that is to reach the cutoff.
_ROOM = 1e-9

# Repairs of prices in a row, and the share of what a bound lacks that makes a repair worth it.
_REPAIRS, _PROMISE = 3, 0.6
# Relative gap from which on an interior solution is worth exact pricing.
_ROUGH = 1e-4

# Where exact pricing exceeds its slice, the next target is this fraction of the remaining distance
# away, as long as the bound that it promises is better by the second share.
_RUNG, _WORTH = 0.2, 0.1


@stored
class StepEvent(Enum):
    """Result of a step."""

    COLUMNS = "the pool has grown"
    PENALTY = "the penalty of a stabilised programme has changed"
    TOLERANCE = "the next master programme is to be solved more precisely"
    PRICING = "a slice of exact pricing"
    BOUND = "exact pricing has ended at prices that are not optimal"
    SOLVED = "the master programme is solved, or no further progress is to be had"
    INFEASIBLE = "the node is proven to hold no clustering"


@dataclass(frozen=True)
class Step:
    """Step of column generation.

    event : its result
    bound : the best bound proven so far
    stalled : further steps change nothing: branching is due, unless the bound closes the node
    n_columns : in the pool now
    """

    event: StepEvent
    bound: ProvenBound
    stalled: bool
    n_columns: int


@stored
@dataclass(frozen=True, eq=False)
class ExactPricing:
    """Unfinished exact pricing.

    at : the dual values
    target : only values below it are of interest
    settles : whether the master programme is solved if nothing is found
    repairs : how often prices may be lowered yet, until no cluster is below the target; None where
        they are those of the master programme
    rung : a lower target, which proves less, sooner; None on the way to the target itself
    has_climbed : whether such targets have been tried
    """

    at: DualValues
    target: float
    settles: bool
    repairs: int | None = None
    rung: float | None = None
    has_climbed: bool = False


@stored
@dataclass(frozen=True, eq=False)
class FarkasPricing:
    """Unfinished exact pricing in the phase FEASIBILITY.

    Prices are whole numbers, and only larger values than the target are of interest.
    """

    prices: NDArray[np.int64]
    target: int


@stored
@dataclass(eq=False)
class GenerationState:
    """State of a `Generation`.

    master, stabilisation, primal : states of its parts
    bound : the best so far, with its evidence; None for the scatter inside blocks. Where the bound
        is inf, it is for costs that are all 0
    integer : whether an integer programme is to look for a clustering at the end
    under_way : unfinished exact pricing
    own : dual values of the last master programme
    early : whether exact pricing before the end is worth another try
    finished : the event that all further steps end with, None before
    tried : the highest value of repaired prices that exact pricing began at
    least : proven for the values of all clusters at own, when the master programme is solved
    n_steps : so far
    """

    master: MasterState | InteriorState
    stabilisation: StabilisationState
    primal: PrimalState
    bound: ProvenBound
    integer: bool
    under_way: ExactPricing | FarkasPricing | None = None
    own: DualValues | None = None
    early: bool = True
    finished: StepEvent | None = None
    tried: float = -math.inf
    least: float | None = None
    n_steps: int = 0


@stored
@dataclass(frozen=True, eq=False)
class GenerationWarmStart:
    """Warm start of a child: clusters and dual values of its parent.

    block_of : (n,) the parent's blocks
    columns : clusters of these
    duals : dual values for these, None before the parent's first master programme
    """

    block_of: NDArray[np.intp]
    columns: PackedColumns
    duals: DualValues | None

    def for_child(self, child: Contraction) -> tuple[Columns, DualValues | None]:
        """Return the clusters that the child allows, and dual values, in the blocks of the child.

        Each block of its contraction is a union of the parent's. Prices of merged blocks add up:
        what they prove for the parent they prove for the child.
        """
        columns = merged(self.columns, self.block_of, child)
        if self.duals is None:
            return columns, None
        first = np.unique(self.block_of, return_index=True)[1]
        prices = np.zeros(child.n_blocks)
        np.add.at(prices, child.block_of[first], self.duals.prices)
        return columns, DualValues(prices, self.duals.sigma)


class Generation:
    """Column generation for the blocks of a contraction.

    Columns are found by heuristic pricing, and only when that fails by exact pricing. Heuristics
    prove nothing; exact pricing at any prices proves a Lagrangian bound, and at the dual values of
    a restricted master programme, when it finds nothing, that the master programme is solved. It is
    called early where the bound to expect would close the node.

    Source: Babaki, Guns and Nijssen (2014), section 3; Farkas pricing as in equation 21.
    """

    def __init__(
        self,
        contraction: Contraction,
        pricer: Pricer,
        parameters: ColgenParameters,
        columns: Columns | None = None,
        centre: DualValues | None = None,
        integer: bool = True,
        state: GenerationState | None = None,
    ) -> None:
        """
        Parameters
        ----------
        columns : to begin with, allowed clusters of known clusterings, say. Singletons are added
        centre : dual values from elsewhere, for the stabilisation
        integer : whether to look for a clustering by an integer programme once the master is solved
        state : of a generation for the same contraction, to go on from to the last bit; None to
            begin. The first three are its own
        """
        self._contraction, self._pricer, self._parameters = contraction, pricer, parameters
        if state is None:
            self._master = begun_master(contraction, parameters, columns, centre)
            self._stabilisation = stabilisation(self._schemes(), centre)
            self._primal = Primal(contraction)
            state = GenerationState(
                self._master.state,
                self._stabilisation.state,
                self._primal.state,
                scatter_bound(contraction),
                integer,
            )
        else:
            self._master = resumed_master(contraction, parameters, state.master)
            self._stabilisation = stabilisation(self._schemes(), state=state.stabilisation)
            self._primal = Primal(contraction, state.primal)
        self.state = state

    def _schemes(self) -> StabilisationParameters:
        """Return the parameters of stabilisation: prices near the central path need none."""
        own = self._parameters.stabilisation
        return replace(own, scheme="none") if isinstance(self._master, InteriorMaster) else own

    @property
    def columns(self) -> Columns:
        """The pool."""
        return self._master.columns

    @property
    def bound(self) -> ProvenBound:
        """The best bound proven so far, with its evidence."""
        return self.state.bound

    @property
    def duals(self) -> DualValues | None:
        """Dual values of the last master programme; None while it has no cover."""
        return self.state.own if self._master.phase is Phase.COST else None

    @property
    def least(self) -> float | None:
        """Proven lower bound on the reduced costs at the prices of `duals`.

        c(X) - prices(X) >= least for every cluster X. None before the master programme is solved.
        """
        return self.state.least

    @property
    def n_steps(self) -> int:
        return self.state.n_steps

    def warm_start(self) -> GenerationWarmStart:
        """Warm start of the children of the node: the columns of the lowest reduced costs."""
        columns, own = self._master.columns, self.duals
        if own is not None:
            reduced = columns.costs - columns.collected(own.prices)
            count = self._parameters.generation.inherited_per_block * self._contraction.n_blocks
            columns = columns.select(np.argsort(reduced, kind="stable")[:count])
        return GenerationWarmStart(self._contraction.block_of, columns.packed(), own)

    def affinity(self) -> NDArray[np.float64]:
        """Return the affinity (m, m) of the last x: sum_X x_X 1_X 1_X' / (points of X).

        Z @ sizes is how often each block is covered. Zero before the first step.
        """
        return self._primal.affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        """Return the cheapest clustering met: labels (m,) of exactly k clusters, if any."""
        return self._primal.labels

    def step(self, cutoff: float) -> Step:
        """Solve the restricted master programme and price, or go on with exact pricing by a slice.

        `cutoff` is the bound that would close the node.

        Raises
        ------
        BackendFailure
            If HiGHS ends without a verdict.
        """
        state = self.state
        state.n_steps += state.finished is None
        event = state.finished or self._next_event(cutoff)
        return Step(event, state.bound, state.finished is not None, len(self._master.columns))

    def _next_event(self, cutoff: float) -> StepEvent:
        """Go on with unfinished exact pricing, or solve the master programme and price."""
        pricing = self.state.under_way
        if isinstance(pricing, ExactPricing):
            if pricing.rung is not None:
                return self._price_to_rung(pricing, pricing.rung)
            if pricing.repairs is not None:
                return self._price_repaired(pricing, pricing.repairs, cutoff)
            return self._price_exactly(pricing, cutoff)
        if isinstance(pricing, FarkasPricing):
            return self._farkas_price_exactly(pricing)
        solution = self._master.solve(self._stabilisation.penalty())
        master = self._master
        is_clear = not isinstance(master, InteriorMaster) or master.is_worth_rounding
        self._primal.meet(master.columns, solution, is_clear)
        self.state.own = own = DualValues.of(solution)
        if solution.phase is Phase.FEASIBILITY:
            return self._farkas_price(own)
        master.purge(solution)
        return self._price(own, solution, cutoff)

    def _price(self, own: DualValues, solution: MasterSolution, cutoff: float) -> StepEvent:
        """Price heuristically at the points of the stabilisation.

        Where nothing is found, begin exact pricing.
        """
        k = self._contraction.k
        for position, at in enumerate(self._stabilisation.points(own)):
            # Which clusters of smoothed prices are of use, the master's own prices say.
            sigma = own.sigma if at is own else -math.inf
            found = Columns.of(self._contraction, self._pricer.heuristic(at.prices, sigma))
            observation = self._observation(at, found, first=position == 0)
            self._stabilisation.observe(own, observation, k)
            if isinstance(self._master, InteriorMaster):
                self._master.observe(solution, observation.at.value(k))
            grown = self._add(found, own)
            if isinstance(self._master, InteriorMaster) and self._repair(own, found, cutoff):
                return StepEvent.PRICING
            if self.state.early and observation.at.value(k) >= cutoff:
                self.state.under_way = ExactPricing(
                    at, self._closing_value(at, cutoff), settles=False
                )
                return StepEvent.PRICING
            if grown:
                return StepEvent.COLUMNS
        if not self._stabilisation.solved(solution):
            return StepEvent.PENALTY
        if isinstance(self._master, InteriorMaster):
            self._master.tighten()
        if self._is_rough(_ROUGH):
            return StepEvent.TOLERANCE
        optimal, needed = -own.sigma - self._tolerance(own), self._closing_value(own, cutoff)
        closing = self.state.early and needed < optimal
        settles = not closing and not self._is_rough()
        self.state.under_way = ExactPricing(own, needed if closing else optimal, settles)
        return StepEvent.PRICING

    def _repair(self, own: DualValues, found: Columns, cutoff: float) -> bool:
        """Begin exact pricing at repaired prices if these promise a much better bound."""
        state, k = self.state, self._contraction.k
        prices = repaired(own.prices, own.sigma, self._contraction.scatter, found)
        at = DualValues(prices, own.sigma)
        value, known = at.value(k), max(state.tried, state.bound.value)
        if not (value >= cutoff > known or value - known >= _PROMISE * abs(own.value(k) - known)):
            return False
        state.tried = value
        state.under_way = ExactPricing(at, -own.sigma, False, _REPAIRS)
        return True

    def _is_rough(self, tolerance: float = 0.0) -> bool:
        """Return whether a master programme is to be solved to less than a relative gap."""
        master = self._master
        if not isinstance(master, InteriorMaster) or master.is_final:
            return False
        return master.state.tolerance > tolerance

    def _price_exactly(self, pricing: ExactPricing, cutoff: float) -> StepEvent:
        """Work for a slice on exact pricing."""
        outcome = self._pricer.exact(pricing.at.prices, pricing.target)
        own, found = self.state.own, Columns.of(self._contraction, outcome.members)
        assert own is not None
        grown = self._add(found, own)
        # A cluster below the target shows that these prices do not close the node.
        refuted = not pricing.settles and len(found) > 0
        if outcome.least is None and not grown and not refuted:
            self.state.under_way = self._with_rung(pricing)
            return StepEvent.PRICING
        self.state.under_way = None
        if outcome.least is not None:
            self._prove(pricing.at.prices, outcome.least)
        shown = self._observation(pricing.at, found, least=outcome.least)
        self._stabilisation.observe(own, shown, self._contraction.k)
        if grown:
            return StepEvent.COLUMNS
        if not pricing.settles:
            # Either the bound closes the node, or these prices will not while the pool is the same.
            self.state.early = False
            return StepEvent.BOUND
        self.state.least = outcome.least
        if self.state.integer:
            self._primal.search(self._master.columns, own, cutoff, self._parameters.generation)
        self.state.finished = StepEvent.SOLVED
        return StepEvent.SOLVED

    def _price_repaired(self, pricing: ExactPricing, repairs: int, cutoff: float) -> StepEvent:
        """Work for a slice on exact pricing at repaired prices, and repair them once more."""
        state, at, k = self.state, pricing.at, self._contraction.k
        outcome = self._pricer.exact(at.prices, pricing.target)
        assert state.own is not None
        self._add(Columns.of(self._contraction, outcome.members), state.own)
        if outcome.least is None:
            return StepEvent.PRICING
        state.under_way = None
        self._prove(at.prices, outcome.least)
        master = self._master
        if repairs and state.bound.value < cutoff and isinstance(master, InteriorMaster):
            reduced = master.reduced(at.prices, at.sigma)
            scatter = self._contraction.scatter
            prices = repaired(at.prices, at.sigma, scatter, master.columns, reduced)
            lower = DualValues(prices, at.sigma)
            if not np.array_equal(prices, at.prices) and lower.value(k) > state.bound.value:
                state.under_way = replace(pricing, at=lower, repairs=repairs - 1)
                return StepEvent.PRICING
        return StepEvent.BOUND

    def _prove(self, prices: NDArray[np.float64], least: float) -> None:
        """Take the Lagrangian bound of prices at which no cluster has a value below least."""
        proven = lagrangian_bound(self._contraction, prices, least)
        if proven > self.state.bound:
            self.state.bound = ProvenBound(proven.value, Lagrangian(prices, least))

    def _with_rung(self, pricing: ExactPricing) -> ExactPricing:
        """Return the same pricing with a lower target first, if that is new and worth it.

        A search that ends without a value below a target t proves the bound sum prices + k t, and
        the lower t, the sooner it ends: where the target itself takes long, something is proven.
        """
        k, total = self._contraction.k, math.fsum(pricing.at.prices)
        begin = (self.state.bound.value - total) / k
        missing = total + k * pricing.target - self.state.bound.value
        is_quick = isinstance(self._master, InteriorMaster)  # and ends soon enough
        if is_quick or pricing.has_climbed or missing <= _WORTH * abs(self.state.bound.value):
            return pricing
        rung = begin + _RUNG * (pricing.target - begin)
        return replace(pricing, rung=rung, has_climbed=True)

    def _price_to_rung(self, pricing: ExactPricing, rung: float) -> StepEvent:
        """Work for a slice towards a lower target; move to the next one if it has ended there."""
        outcome = self._pricer.exact(pricing.at.prices, rung)
        if outcome.least is not None:
            self._prove(pricing.at.prices, outcome.least)
        assert self.state.own is not None
        if self._add(Columns.of(self._contraction, outcome.members), self.state.own):
            self.state.under_way = None
            return StepEvent.COLUMNS
        higher = None
        if outcome.least is not None and not len(outcome.members):
            next_rung = rung + _RUNG * (pricing.target - rung)
            worth = (
                self._contraction.k * (next_rung - rung) > _WORTH * _RUNG * self.state.bound.value
            )
            higher = next_rung if worth else None
        self.state.under_way = replace(pricing, rung=higher)
        return StepEvent.PRICING

    def _farkas_price(self, own: DualValues) -> StepEvent:
        """Price heuristically in the phase FEASIBILITY; where nothing is found, begin exactly."""
        found = Columns.of(self._contraction, self._pricer.farkas_heuristic(own.prices, own.sigma))
        if self._add_covering(found, own):
            return StepEvent.COLUMNS
        prices = integer_prices(own.prices)
        largest = float(own.prices.max())
        target = math.floor((own.sigma + _FARKAS_TOLERANCE) * (float(prices.max()) / largest))
        self.state.under_way = FarkasPricing(prices, target)
        return StepEvent.PRICING

    def _farkas_price_exactly(self, pricing: FarkasPricing) -> StepEvent:
        """Work for a slice on exact Farkas pricing."""
        outcome = self._pricer.farkas_exact(pricing.prices, pricing.target)
        assert self.state.own is not None
        grown = self._add_covering(Columns.of(self._contraction, outcome.members), self.state.own)
        if outcome.most is None and not grown:
            return StepEvent.PRICING
        self.state.under_way = None
        if outcome.most is not None and is_proof_of_infeasibility(
            pricing.prices, outcome.most, self._contraction.k
        ):
            prices, least = pricing.prices.astype(np.float64), -float(outcome.most)
            self.state.bound = ProvenBound(math.inf, Lagrangian(prices, least))
            self.state.finished = StepEvent.INFEASIBLE
        elif not grown:
            self.state.finished = StepEvent.SOLVED
        return self.state.finished or StepEvent.COLUMNS

    def _observation(
        self, at: DualValues, found: Columns, first: bool = False, least: float | None = None
    ) -> Observation:
        """Return the outcome of pricing at dual values that found some clusters.

        `least` is given if it is proven.
        """
        values = found.costs - found.collected(at.prices)
        cluster = found.members[np.argmin(values)] if len(found) else None
        met = float(values.min(initial=-at.sigma))
        shown = DualValues(at.prices, -(met if least is None else least))
        return Observation(shown, cluster, first, least is not None)

    def _closing_value(self, at: DualValues, cutoff: float) -> float:
        """Return the least value with which these prices close the node, with room for rounding.

        It is 0 where that is positive.
        """
        total = math.fsum(at.prices)
        room = _ROOM * (abs(total) + abs(cutoff)) if math.isfinite(cutoff) else 0.0
        return min((cutoff + room - total) / self._contraction.k, 0.0)

    def _tolerance(self, own: DualValues) -> float:
        k = self._contraction.k
        return self._parameters.generation.tolerance * abs(own.value(k)) / k

    def _add(self, found: Columns, own: DualValues) -> bool:
        """Add the columns that improve the restricted master programme; return whether any do."""
        reduced = found.costs - found.collected(own.prices) + own.sigma
        return self._add_best(found, reduced, -self._tolerance(own))

    def _add_covering(self, found: Columns, own: DualValues) -> bool:
        """Add the columns of `_add` in the phase FEASIBILITY."""
        return self._add_best(found, own.sigma - found.collected(own.prices), -_FARKAS_TOLERANCE)

    def _add_best(self, found: Columns, reduced: NDArray[np.float64], below: float) -> bool:
        order = np.argsort(reduced, kind="stable")
        most = self._parameters.generation.max_columns_per_round
        if isinstance(self._master, InteriorMaster):
            most = max(most, self._contraction.n_blocks)
        best = order[reduced[order] < below][:most]
        grown = self._master.add(found.select(best)) > 0
        self.state.early = self.state.early or grown
        return grown


def begun_master(
    contraction: Contraction,
    parameters: ColgenParameters,
    columns: Columns | None,
    centre: DualValues | None,
) -> Master | InteriorMaster:
    """Return a new master programme over the singletons and some columns.

    centre : dual values to begin from, None for those of the clustering that the columns begin with
    """
    pool = Columns.singletons(contraction)
    if columns is None or not len(columns):
        return Master(pool, contraction.k, parameters.master)
    n_known = covering_prefix(columns, contraction.k)
    pool = pool + columns
    if not n_known or contraction.n_blocks < parameters.master.interior_from:
        return Master(pool, contraction.k, parameters.master)
    if centre is None:
        known = columns.select(np.arange(n_known))
        prices, sigma = first_prices(contraction, known)
    else:
        prices, sigma = centre.prices, centre.sigma
    n_fixed = contraction.n_blocks + n_known
    return InteriorMaster.start(contraction, pool, n_fixed, parameters.master, prices, sigma)


def resumed_master(
    contraction: Contraction, parameters: ColgenParameters, state: MasterState | InteriorState
) -> Master | InteriorMaster:
    """Return a master programme that goes on from its state."""
    members = state.columns.members()  # different ones, as they were added
    pool = Columns(members, cluster_costs(contraction, members))
    if isinstance(state, InteriorState):
        return InteriorMaster(contraction, pool, parameters.master, state)
    return Master(pool, contraction.k, parameters.master, state)
