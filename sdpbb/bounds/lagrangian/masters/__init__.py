"""Restricted master programmes: the cheapest cover of the blocks by known clusters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.lagrangian.columns import Columns
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import Attached, stored


@stored
class Phase(Enum):
    """Objective of the master programme."""

    FEASIBILITY = "the number of blocks, in parts, that are not covered"
    COST = "the cost of a cover"


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """Optimal solution of the restricted master programme and of its dual.

    value : the minimum, with what perturbations cost
    x : (t,) how much of each column is used
    prices : (m,) of blocks, >= 0 in the covering form
    sigma : the price of a cluster, >= 0 in the covering form
    perturbation : sum of the perturbations of the covers of blocks; 0 without a penalty on prices
    """

    value: float
    x: NDArray[np.float64]
    prices: NDArray[np.float64]
    sigma: float
    perturbation: float


@dataclass(eq=False)
class MasterProgramme(Attached, ABC):
    """Restricted master programme over a pool of columns.

    By default it is solved to an optimal vertex. A class whose solutions are less precise says so
    by `is_worth_rounding` and `is_final`; `observe` and `settle` tighten its tolerance.

    columns : the pool
    phase : objective of the last solution, or of the first one before
    """

    columns: Columns
    phase: Phase

    @abstractmethod
    def attach(self, contraction: Contraction) -> MasterProgramme:
        """Resume on the contraction that the programme started with."""

    def add(self, columns: Columns) -> int:
        """Add the columns that are not in the pool, and return their number."""
        before = len(self.columns)
        self.columns = self.columns + columns
        self._append(self.columns.select(np.arange(before, len(self.columns))))
        return len(self.columns) - before

    @abstractmethod
    def _append(self, columns: Columns) -> None:
        """Extend the programme by new columns of the pool."""

    @abstractmethod
    def solve(self) -> MasterSolution:
        """Minimise over the pool.

        Raises
        ------
        BackendFailure
            If the method ends without a result, or contradicts itself.
        """

    @abstractmethod
    def settle(self, solution: MasterSolution) -> bool:
        """Make the next solution more precise, as heuristic pricing finds nothing at this one.

        Return whether this one is precise enough for exact pricing.
        """

    @property
    def is_worth_rounding(self) -> bool:
        """True if the last solution is precise enough to round to a clustering."""
        return True

    @property
    def is_final(self) -> bool:
        """True if no later solution will be more precise than the last one."""
        return True

    def observe(self, solution: MasterSolution, shown: float) -> None:
        """Set the precision of the next solution by the bound that heuristic pricing suggests."""
