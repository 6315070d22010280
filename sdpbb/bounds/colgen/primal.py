"""The primal side of column generation: what the last solution uses, and clusterings met."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Columns, PackedColumns
from sdpbb.bounds.colgen.master import MasterSolution, Phase
from sdpbb.bounds.colgen.parameters import GenerationParameters
from sdpbb.bounds.colgen.rounding import Labels, cheapest_cover, rounded
from sdpbb.bounds.colgen.stabilisation import DualValues
from sdpbb.problem import Contraction

# Values of a solution that miss whole numbers by less are whole.
_WHOLE = 1e-6


@dataclass(frozen=True, eq=False)
class PrimalState:
    """All of a `Primal`.

    support, x : clusters (s, m) that the last solution uses, and how much (s,)
    labels, cost : the cheapest clustering met
    """

    support: PackedColumns
    x: NDArray[np.float64]
    labels: Labels | None
    cost: float


class Primal:
    """The last solution of the master programme, and the cheapest clustering met on the way."""

    def __init__(self, contraction: Contraction) -> None:
        self._contraction = contraction
        self._support = np.zeros((0, contraction.n_blocks), bool)
        self._x = np.zeros(0)
        self._cost = math.inf
        self.labels: Labels | None = None

    def state(self) -> PrimalState:
        return PrimalState(PackedColumns.of(self._support), self._x, self.labels, self._cost)

    def restore(self, state: PrimalState) -> None:
        """Go on from the state of one for the same contraction."""
        self._support, self._x = state.support.members(), state.x
        self.labels, self._cost = state.labels, state.cost

    def meet(self, columns: Columns, solution: MasterSolution) -> None:
        """Keep what a solution uses, and round it to a clustering unless it lacks a cover."""
        used = solution.x > 0.0
        self._support, self._x = columns.members[used], solution.x[used]
        if solution.phase is Phase.COST:
            self._offer(rounded(self._contraction, self._support, self._x))

    def affinity(self) -> NDArray[np.float64]:
        """(m, m) sum_X x_X 1_X 1_X' / (points of X)."""
        members = self._support.astype(np.float64)
        weights = self._x / (members @ self._contraction.sizes)
        return members.T @ (weights[:, None] * members)

    def search(
        self, columns: Columns, duals: DualValues, cutoff: float, limits: GenerationParameters
    ) -> None:
        """Look for a cheaper clustering among the columns that one below the cutoff can use: those
        whose reduced cost is at most what lies between the value of the dual and the cutoff."""
        if np.all(np.abs(self._x - 1.0) < _WHOLE):
            return
        upper = min(cutoff, self._cost)
        reduced = columns.costs - columns.members @ duals.prices + duals.sigma
        usable = columns.select(reduced <= upper - duals.value(self._contraction.k))
        if 0 < len(usable) <= limits.integer_columns:
            self._offer(cheapest_cover(self._contraction, usable, limits.integer_seconds))

    def _offer(self, labels: Labels | None) -> None:
        cost = math.inf if labels is None else self._contraction.cost(labels)
        if cost < self._cost:
            self.labels, self._cost = labels, cost
