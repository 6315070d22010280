"""What a step of column generation comes to, its state, and what a child starts from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.backends.growing import Basis
from sdpbb.bounds.bound import SafeBound
from sdpbb.bounds.colgen.columns import Columns, PackedColumns, merged
from sdpbb.bounds.colgen.master import MasterState, Phase
from sdpbb.bounds.colgen.primal import PrimalState
from sdpbb.bounds.colgen.stabilisation import DualValues, StabilisationState
from sdpbb.checker.evidence import Lagrangian
from sdpbb.problem import Contraction


class Event(Enum):
    """What a step has come to."""

    COLUMNS = "the pool has grown"
    PENALTY = "the penalty of a stabilised programme has changed"
    PRICING = "a slice of exact pricing"
    BOUND = "exact pricing has ended at prices that are not optimal"
    SOLVED = "the master programme is solved, or no further progress is to be had"
    INFEASIBLE = "the node is proven to hold no clustering"


@dataclass(frozen=True)
class Step:
    """A unit of work.

    event : what it has come to
    bound : the best bound proven so far
    stalled : further steps change nothing: branching is due, unless the bound closes the node
    n_columns : in the pool now
    """

    event: Event
    bound: SafeBound
    stalled: bool
    n_columns: int


@dataclass(frozen=True, eq=False)
class ExactPricing:
    """Exact pricing that is under way.

    at : where
    target : values from here on are of no interest
    settles : whether the master programme is solved if nothing is found
    rung : a lower target, which proves less, sooner; None on the way to the target itself
    has_climbed : whether such targets have been tried
    """

    at: DualValues
    target: float
    settles: bool
    rung: float | None = None
    has_climbed: bool = False


@dataclass(frozen=True, eq=False)
class FarkasPricing:
    """The same in the phase FEASIBILITY: whole prices, and the value of interest from above."""

    prices: NDArray[np.int64]
    target: int


@dataclass(frozen=True, eq=False)
class GenerationState:
    """Where column generation for a node was left.

    columns, master, stabilisation, pricer, primal : the states of its parts
    under_way : exact pricing that is unfinished
    own : dual values of the last master programme
    bound, proof : the best so far, and what it is proven by
    integer : whether an integer programme is to look for a clustering at the end
    early : whether exact pricing before the end is worth another try
    finished : the event that steps end with, None before
    least : proven for the values of all clusters at own, when the master programme is solved
    n_steps : so far
    """

    columns: PackedColumns
    master: MasterState
    stabilisation: StabilisationState
    pricer: Any
    under_way: ExactPricing | FarkasPricing | None
    own: DualValues | None
    primal: PrimalState
    bound: SafeBound
    proof: Lagrangian | None
    integer: bool
    early: bool
    finished: Event | None
    least: float | None
    n_steps: int


@dataclass(frozen=True, eq=False)
class GenerationWarmStart:
    """What a child starts from: clusters and dual values of its parent.

    block_of : (n,) the parent's blocks
    columns : clusters of these
    duals : dual values for these, None before the parent's first master programme
    """

    block_of: NDArray[np.intp]
    columns: PackedColumns
    duals: DualValues | None

    def for_child(self, child: Contraction) -> tuple[Columns, DualValues | None]:
        """The clusters that the child allows, and dual values, in the blocks of a contraction each
        of whose blocks is a union of the parent's. Prices of merged blocks add up: what they prove
        for the parent they prove for the child."""
        columns = merged(self.columns, self.block_of, child)
        if self.duals is None:
            return columns, None
        first = np.unique(self.block_of, return_index=True)[1]
        prices = np.zeros(child.n_blocks)
        np.add.at(prices, child.block_of[first], self.duals.prices)
        return columns, DualValues(prices, self.duals.sigma)


# What a state and a warm start are made of, but for the state of the pricer.
STATE_TYPES = (
    GenerationState,
    GenerationWarmStart,
    Event,
    ExactPricing,
    FarkasPricing,
    MasterState,
    Phase,
    Basis,
    StabilisationState,
    DualValues,
    PrimalState,
    PackedColumns,
    Lagrangian,
)
