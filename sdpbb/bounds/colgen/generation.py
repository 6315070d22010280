"""Column generation for one node: master programme, pricing and what that proves, in steps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import SafeBound
from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.generation_state import (
    Event,
    ExactPricing,
    FarkasPricing,
    GenerationState,
    GenerationWarmStart,
    Step,
)
from sdpbb.bounds.colgen.master import Master, MasterSolution, Phase
from sdpbb.bounds.colgen.parameters import ColgenParameters
from sdpbb.bounds.colgen.pricing.protocol import Pricer
from sdpbb.bounds.colgen.primal import Primal
from sdpbb.bounds.colgen.safe_bound import (
    integer_prices,
    is_proof_of_infeasibility,
    lagrangian_bound,
    scatter_bound,
)
from sdpbb.bounds.colgen.stabilisation import DualValues, Observation, restored, stabilisation
from sdpbb.checker.evidence import Lagrangian
from sdpbb.problem import Contraction

# Of the exact prices of a cluster in the phase FEASIBILITY, whose prices are at most about 1.
_FARKAS_TOLERANCE = 1e-8

# For rounding in the proof of a bound that is to reach the cutoff.
_ROOM = 1e-9

# Of the way that is left to the target of exact pricing that takes long: lower targets, of a slice
# each, as long as they promise this share more than the bound that is known.
_RUNG, _WORTH = 0.2, 0.1


class Generation:
    """Column generation for the blocks of a contraction.

    Columns are found by heuristic pricing, and only when that fails by exact pricing. Heuristics
    prove nothing; exact pricing at any prices proves a Lagrangian bound, and at the dual values of
    a restricted master programme, when it finds nothing, that the master programme is solved. It is
    called early where the bound to expect would close the node.

    Source: Babaki, Guns and Nijssen (2014), section 3; Farkas pricing as in equation 21.

    Parameters
    ----------
    columns : to begin with, allowed clusters of known clusterings, say. Singletons are added
    centre : dual values from elsewhere, for the stabilisation
    integer : whether to look for a clustering by an integer programme once the master is solved
    """

    def __init__(
        self,
        contraction: Contraction,
        pricer: Pricer,
        parameters: ColgenParameters,
        columns: Columns | None = None,
        centre: DualValues | None = None,
        integer: bool = True,
    ) -> None:
        self._contraction, self._pricer, self._parameters = contraction, pricer, parameters
        pool = Columns.singletons(contraction)
        self._master = Master(pool + columns if columns else pool, contraction.k, parameters.master)
        self._stabilisation = stabilisation(parameters.stabilisation, centre)
        self._under_way: ExactPricing | FarkasPricing | None = None
        self._own: DualValues | None = None
        self._primal = Primal(contraction)
        self._bound = scatter_bound(contraction)
        self._proof: Lagrangian | None = None
        self._integer = integer
        self._early = True
        self._finished: Event | None = None
        self._least: float | None = None
        self._n_steps = 0

    @classmethod
    def resumed(
        cls,
        contraction: Contraction,
        pricer: Pricer,
        parameters: ColgenParameters,
        state: GenerationState,
    ) -> Generation:
        """Go on from a state, see `restore`."""
        self = cls(contraction, pricer, parameters)
        self.restore(state)
        return self

    def restore(self, state: GenerationState) -> None:
        """Go on where generation with the same contraction and parameters was left: to the last
        bit. The pricer is given its own state."""
        columns = Columns.of(self._contraction, state.columns.members())
        self._master = Master(columns, self._contraction.k, self._parameters.master)
        self._master.restore(state.master)
        self._stabilisation = restored(self._parameters.stabilisation, state.stabilisation)
        self._pricer.restore(state.pricer)
        self._primal.restore(state.primal)
        self._under_way, self._own = state.under_way, state.own
        self._bound, self._proof = state.bound, state.proof
        self._early, self._integer = state.early, state.integer
        self._finished, self._least = state.finished, state.least
        self._n_steps = state.n_steps

    @property
    def columns(self) -> Columns:
        """The pool."""
        return self._master.columns

    @property
    def bound(self) -> SafeBound:
        """The best bound proven so far."""
        return self._bound

    @property
    def proof(self) -> Lagrangian | None:
        """What it is proven by; None if it is the scatter inside blocks. A bound that is inf is one
        for costs that are all 0."""
        return self._proof

    @property
    def duals(self) -> DualValues | None:
        """Of the last master programme, None while that lacks a cover."""
        return self._own if self._master.phase is Phase.COST else None

    @property
    def least(self) -> float | None:
        """Proven: c(X) - prices(X) >= least at the prices of `duals` for every cluster X; None
        before the master programme is solved."""
        return self._least

    @property
    def n_steps(self) -> int:
        return self._n_steps

    def state(self) -> GenerationState:
        return GenerationState(
            columns=self._master.columns.packed(),
            master=self._master.state(),
            stabilisation=self._stabilisation.state(),
            pricer=self._pricer.state(),
            under_way=self._under_way,
            own=self._own,
            primal=self._primal.state(),
            bound=self._bound,
            proof=self._proof,
            integer=self._integer,
            early=self._early,
            finished=self._finished,
            least=self._least,
            n_steps=self._n_steps,
        )

    def warm_start(self) -> GenerationWarmStart:
        """For the children of the node: the columns of the lowest reduced costs."""
        columns, own = self._master.columns, self.duals
        if own is not None:
            reduced = columns.costs - columns.members @ own.prices
            count = self._parameters.generation.inherited_per_block * self._contraction.n_blocks
            columns = columns.select(np.argsort(reduced, kind="stable")[:count])
        return GenerationWarmStart(self._contraction.block_of, columns.packed(), own)

    def affinity(self) -> NDArray[np.float64]:
        """(m, m) sum_X x_X 1_X 1_X' / (points of X) for the last x; Z @ sizes is how often each
        block is covered. Zero before the first step."""
        return self._primal.affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        """Labels (m,) of the cheapest clustering met, of exactly k clusters, if any."""
        return self._primal.labels

    def step(self, cutoff: float) -> Step:
        """Solve the restricted master programme and price, or go on with exact pricing by a slice;
        `cutoff` is the bound that would close the node.

        Raises
        ------
        BackendFailure
            If HiGHS ends without a verdict.
        """
        self._n_steps += self._finished is None
        event = self._finished or self._worked(cutoff)
        return Step(event, self._bound, self._finished is not None, len(self._master.columns))

    def _worked(self, cutoff: float) -> Event:
        if isinstance(self._under_way, ExactPricing):
            if self._under_way.rung is not None:
                return self._climbed(self._under_way, self._under_way.rung)
            return self._priced_exactly(self._under_way, cutoff)
        if isinstance(self._under_way, FarkasPricing):
            return self._farkas_priced_exactly(self._under_way)
        solution = self._master.solve(self._stabilisation.penalty())
        self._primal.meet(self._master.columns, solution)
        self._own = own = DualValues.of(solution)
        if solution.phase is Phase.FEASIBILITY:
            return self._farkas_priced(own)
        self._master.purge(solution)
        return self._priced(own, solution, cutoff)

    def _priced(self, own: DualValues, solution: MasterSolution, cutoff: float) -> Event:
        k = self._contraction.k
        for position, at in enumerate(self._stabilisation.points(own)):
            # Which clusters of smoothed prices are of use, the master's own prices say.
            sigma = own.sigma if at is own else -math.inf
            found = Columns.of(self._contraction, self._pricer.heuristic(at.prices, sigma))
            observation = self._observed(at, found, first=position == 0)
            self._stabilisation.observe(own, observation, k)
            grown = self._add(found, own)
            if self._early and observation.at.value(k) >= cutoff:
                self._under_way = ExactPricing(at, self._needed(at, cutoff), settles=False)
                return Event.PRICING
            if grown:
                return Event.COLUMNS
        if not self._stabilisation.solved(solution):
            return Event.PENALTY
        optimal, needed = -own.sigma - self._tolerance(own), self._needed(own, cutoff)
        closing = self._early and needed < optimal
        self._under_way = ExactPricing(own, needed if closing else optimal, not closing)
        return Event.PRICING

    def _priced_exactly(self, pricing: ExactPricing, cutoff: float) -> Event:
        outcome = self._pricer.exact(pricing.at.prices, pricing.target)
        own, found = self._own, Columns.of(self._contraction, outcome.members)
        assert own is not None
        grown = self._add(found, own)
        # A cluster below the target shows that these prices do not close the node.
        refuted = not pricing.settles and len(found) > 0
        if outcome.least is None and not grown and not refuted:
            self._under_way = self._climbing(pricing)
            return Event.PRICING
        self._under_way = None
        if outcome.least is not None:
            self._prove(pricing.at.prices, outcome.least)
        shown = self._observed(pricing.at, found, least=outcome.least)
        self._stabilisation.observe(own, shown, self._contraction.k)
        if grown:
            return Event.COLUMNS
        if not pricing.settles:
            # Either the bound closes the node, or these prices will not while the pool is the same.
            self._early = False
            return Event.BOUND
        self._least = outcome.least
        if self._integer:
            self._primal.search(self._master.columns, own, cutoff, self._parameters.generation)
        self._finished = Event.SOLVED
        return Event.SOLVED

    def _prove(self, prices: NDArray[np.float64], least: float) -> None:
        """Take the bound of prices at which every cluster is worth so much at least."""
        proven = lagrangian_bound(self._contraction, prices, least)
        if proven > self._bound:
            self._bound, self._proof = proven, Lagrangian(prices, least)

    def _climbing(self, pricing: ExactPricing) -> ExactPricing:
        """The same by way of lower targets, unless that has been tried or is not worth it.

        A search that ends without a value below a target t proves the bound sum prices + k t, and
        the lower t, the sooner it ends: where the target itself takes long, something is proven.
        """
        k, total = self._contraction.k, math.fsum(pricing.at.prices)
        begin = (self._bound.value - total) / k
        missing = total + k * pricing.target - self._bound.value
        if pricing.has_climbed or missing <= _WORTH * abs(self._bound.value):
            return pricing
        rung = begin + _RUNG * (pricing.target - begin)
        return replace(pricing, rung=rung, has_climbed=True)

    def _climbed(self, pricing: ExactPricing, rung: float) -> Event:
        """A slice towards a lower target; the next one, if it has ended there."""
        outcome = self._pricer.exact(pricing.at.prices, rung)
        if outcome.least is not None:
            self._prove(pricing.at.prices, outcome.least)
        assert self._own is not None
        if self._add(Columns.of(self._contraction, outcome.members), self._own):
            self._under_way = None
            return Event.COLUMNS
        higher = None
        if outcome.least is not None and not len(outcome.members):
            next_rung = rung + _RUNG * (pricing.target - rung)
            worth = self._contraction.k * (next_rung - rung) > _WORTH * _RUNG * self._bound.value
            higher = next_rung if worth else None
        self._under_way = replace(pricing, rung=higher)
        return Event.PRICING

    def _farkas_priced(self, own: DualValues) -> Event:
        found = Columns.of(self._contraction, self._pricer.farkas_heuristic(own.prices, own.sigma))
        if self._add_covering(found, own):
            return Event.COLUMNS
        prices = integer_prices(own.prices)
        largest = float(own.prices.max())
        target = math.floor((own.sigma + _FARKAS_TOLERANCE) * (float(prices.max()) / largest))
        self._under_way = FarkasPricing(prices, target)
        return Event.PRICING

    def _farkas_priced_exactly(self, pricing: FarkasPricing) -> Event:
        outcome = self._pricer.farkas_exact(pricing.prices, pricing.target)
        assert self._own is not None
        grown = self._add_covering(Columns.of(self._contraction, outcome.members), self._own)
        if outcome.most is None and not grown:
            return Event.PRICING
        self._under_way = None
        if outcome.most is not None and is_proof_of_infeasibility(
            pricing.prices, outcome.most, self._contraction.k
        ):
            self._bound = SafeBound(math.inf)
            self._proof = Lagrangian(pricing.prices.astype(np.float64), -float(outcome.most))
            self._finished = Event.INFEASIBLE
        elif not grown:
            self._finished = Event.SOLVED
        return self._finished or Event.COLUMNS

    def _observed(
        self, at: DualValues, found: Columns, first: bool = False, least: float | None = None
    ) -> Observation:
        """What clusters show of the prices they were found at; `least` if it is proven."""
        values = found.costs - found.members @ at.prices
        cluster = found.members[np.argmin(values)] if len(found) else None
        met = float(values.min(initial=-at.sigma))
        shown = DualValues(at.prices, -(met if least is None else least))
        return Observation(shown, cluster, first, least is not None)

    def _needed(self, at: DualValues, cutoff: float) -> float:
        """The least value with which these prices close the node, with room for rounding; 0 where
        that is positive."""
        total = math.fsum(at.prices)
        room = _ROOM * (abs(total) + abs(cutoff)) if math.isfinite(cutoff) else 0.0
        return min((cutoff + room - total) / self._contraction.k, 0.0)

    def _tolerance(self, own: DualValues) -> float:
        k = self._contraction.k
        return self._parameters.generation.tolerance * abs(own.value(k)) / k

    def _add(self, found: Columns, own: DualValues) -> bool:
        """Add what improves the restricted master programme; whether anything did."""
        reduced = found.costs - found.members @ own.prices + own.sigma
        return self._add_best(found, reduced, -self._tolerance(own))

    def _add_covering(self, found: Columns, own: DualValues) -> bool:
        """The same in the phase FEASIBILITY."""
        return self._add_best(found, own.sigma - found.members @ own.prices, -_FARKAS_TOLERANCE)

    def _add_best(self, found: Columns, reduced: NDArray[np.float64], below: float) -> bool:
        order = np.argsort(reduced, kind="stable")
        best = order[reduced[order] < below][: self._parameters.generation.max_columns_per_round]
        grown = self._master.add(found.select(best)) > 0
        self._early = self._early or grown
        return grown
