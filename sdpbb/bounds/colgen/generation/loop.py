"""Loop of column generation for one node: master programme, then pricing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.generation.exact_pricing import price_in_slices
from sdpbb.bounds.colgen.generation.farkas_pricing import (
    begin_farkas_pricing,
    price_farkas_exactly,
)
from sdpbb.bounds.colgen.generation.heuristic_pricing import price
from sdpbb.bounds.colgen.generation.parts import GenerationParts
from sdpbb.bounds.colgen.generation.state import (
    ExactPricing,
    FarkasPricing,
    GenerationState,
    GenerationWarmStart,
    StepEvent,
)
from sdpbb.bounds.colgen.master_programme import Phase
from sdpbb.bounds.colgen.masters import begun_master, resumed_master
from sdpbb.bounds.colgen.pricing.protocol import Pricer
from sdpbb.bounds.colgen.primal import Primal
from sdpbb.bounds.colgen.safe_bound import scatter_bound
from sdpbb.bounds.colgen.stabilisation import DualValues, resumed_stabilisation, stabilisation
from sdpbb.problem import Contraction

# Maximum columns per block that children start with.
INHERITED_PER_BLOCK = 10


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
        if state is None:
            master = begun_master(contraction, columns, centre)
            scheme = stabilisation(master.needs_stabilisation, centre)
            primal = Primal(contraction)
            bound = scatter_bound(contraction)
            state = GenerationState(master.state, scheme.state, primal.state, bound, integer)
        else:
            master = resumed_master(contraction, state.master)
            scheme = resumed_stabilisation(state.stabilisation)
            primal = Primal(contraction, state.primal)
        self.state = state
        self._parts = GenerationParts(contraction, pricer, master, scheme, primal, state)

    @property
    def columns(self) -> Columns:
        """The pool."""
        return self._parts.master.columns

    @property
    def bound(self) -> ProvenBound:
        """The best bound proven so far, with its evidence."""
        return self.state.bound

    @property
    def duals(self) -> DualValues | None:
        """Dual values of the last master programme; None while it has no cover."""
        return self.state.own if self._parts.master.phase is Phase.COST else None

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
        contraction, columns, own = self._parts.contraction, self.columns, self.duals
        if own is not None:
            reduced = columns.costs - columns.collected(own.prices)
            count = INHERITED_PER_BLOCK * contraction.n_blocks
            columns = columns.select(np.argsort(reduced, kind="stable")[:count])
        return GenerationWarmStart(contraction.block_of, columns.packed(), own)

    def affinity(self) -> NDArray[np.float64]:
        """Return the affinity (m, m) of the last x: sum_X x_X 1_X 1_X' / (points of X).

        Z @ weights is how often each block is covered. Zero before the first step.
        """
        return self._parts.primal.affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        """Return the cheapest clustering met: labels (m,) of exactly k clusters, if any."""
        return self._parts.primal.labels

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
        return Step(event, state.bound, state.finished is not None, len(self.columns))

    def _next_event(self, cutoff: float) -> StepEvent:
        """Go on with unfinished exact pricing, or solve the master programme and price."""
        parts, pricing = self._parts, self.state.under_way
        if isinstance(pricing, ExactPricing):
            return price_in_slices(parts, pricing, cutoff)
        if isinstance(pricing, FarkasPricing):
            return price_farkas_exactly(parts, pricing)
        master = parts.master
        solution = master.solve(parts.stabilisation.penalty())
        parts.primal.meet(master.columns, solution, master.is_worth_rounding)
        self.state.own = own = DualValues.of(solution)
        if solution.phase is Phase.FEASIBILITY:
            return begin_farkas_pricing(parts, own)
        master.purge(solution)
        return price(parts, own, solution, cutoff)
