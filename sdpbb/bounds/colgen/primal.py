"""Primal side of column generation: the last solution, and the cheapest clustering found."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Columns, PackedColumns
from sdpbb.bounds.colgen.master_programme import MasterSolution, Phase
from sdpbb.bounds.colgen.rounding import Labels, labels_of_cheapest_cover, round_to_clustering
from sdpbb.bounds.colgen.stabilisation import DualValues
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored

# Values of a solution that miss whole numbers by less are whole.
_WHOLE = 1e-6
# Maximum columns that a better clustering can use, and seconds, of the integer programme over them.
# It only searches for clusterings: no bound depends on it.
INTEGER_COLUMNS, INTEGER_SECONDS = 2000, 1.0


@stored
@dataclass(eq=False)
class PrimalState:
    """State of a `Primal`.

    support, x : the s clusters that the last solution uses, and how much of each (s,)
    labels, cost : the cheapest clustering found
    """

    support: PackedColumns
    x: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    labels: Labels | None = None
    cost: float = math.inf


class Primal:
    """Last solution of the master programme, and the cheapest clustering found so far.

    state : of one for the same contraction, to go on from; None to begin
    """

    def __init__(self, contraction: Contraction, state: PrimalState | None = None) -> None:
        self._contraction = contraction
        none = np.zeros((0, contraction.n_blocks), bool)
        self.state = state or PrimalState(PackedColumns.of(none))

    @property
    def labels(self) -> Labels | None:
        """Labels (m,) of the cheapest clustering found."""
        return self.state.labels

    def meet(self, columns: Columns, solution: MasterSolution, rounds: bool = True) -> None:
        """Record a master solution, and round it to a clustering if it is a cover.

        rounds : whether that is worth its time
        """
        used = solution.x > 0.0
        members, x = columns.members[used], solution.x[used]
        self.state.support, self.state.x = PackedColumns.of(members), x
        if solution.phase is Phase.COST and rounds:
            self._offer(round_to_clustering(self._contraction, members, x))

    def affinity(self) -> NDArray[np.float64]:
        """Return the affinity (m, m): sum_X x_X 1_X 1_X' / (points of X)."""
        members = self.state.support.members().astype(np.float64)
        weights = self.state.x / (members @ self._contraction.weights)
        return members.T @ (weights[:, None] * members)

    def search(self, columns: Columns, duals: DualValues, cutoff: float) -> None:
        """Look for a cheaper clustering among the columns that one below the cutoff can use.

        Their reduced cost is at most the difference between the value of the dual and the cutoff.
        """
        if np.all(np.abs(self.state.x - 1.0) < _WHOLE):
            return
        upper = min(cutoff, self.state.cost) - self._contraction.soft.constant_below
        reduced = columns.costs - columns.collected(duals.prices) + duals.sigma
        usable = columns.select(reduced <= upper - duals.value(self._contraction.k))
        if 0 < len(usable) <= INTEGER_COLUMNS:
            self._offer(labels_of_cheapest_cover(self._contraction, usable, INTEGER_SECONDS))

    def _offer(self, labels: Labels | None) -> None:
        """Take a clustering if it keeps limits on sizes and is the cheapest so far."""
        if labels is None or not self._contraction.keeps_sizes(labels):
            return
        cost = self._contraction.cost(labels)
        if cost < self.state.cost:
            self.state.labels, self.state.cost = labels, cost
