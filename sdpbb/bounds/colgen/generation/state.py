"""State of column generation, the event that a step ends with, and what children begin with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.colgen.columns import Columns, PackedColumns, merged
from sdpbb.bounds.colgen.master_programme import MasterProgrammeState
from sdpbb.bounds.colgen.primal import PrimalState
from sdpbb.bounds.colgen.stabilisation import DualValues, StabilisationState
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored


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

    master: MasterProgrammeState
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
