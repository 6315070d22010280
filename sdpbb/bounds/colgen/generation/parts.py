"""Parts of the column generation of a node, on which all kinds of pricing work."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.generation.state import GenerationState
from sdpbb.bounds.colgen.master_programme import MasterProgramme
from sdpbb.bounds.colgen.pricing.protocol import Pricer
from sdpbb.bounds.colgen.primal import Primal
from sdpbb.bounds.colgen.safe_bound import lagrangian_bound
from sdpbb.bounds.colgen.stabilisation import DualValues, Observation, Stabilisation
from sdpbb.bounds.evidence import Lagrangian
from sdpbb.problem import Contraction

# For rounding in the proof of a bound that is to reach the cutoff.
_ROOM = 1e-9
# Maximum columns added at once, those of the lowest reduced costs.
MAX_COLUMNS_PER_ROUND = 200
# Reduced costs count as negative below minus this share of the master's value per cluster. A bound
# is at most this share below the value of the programme.
TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class GenerationParts:
    """Parts of the column generation of a node, and what all kinds of pricing do with clusters."""

    contraction: Contraction
    pricer: Pricer
    master: MasterProgramme
    stabilisation: Stabilisation
    primal: Primal
    state: GenerationState

    def add(self, found: Columns, own: DualValues) -> bool:
        """Add the columns that improve the restricted master programme; return whether any do."""
        reduced = found.costs - found.collected(own.prices) + own.sigma
        return self.add_best(found, reduced, -self.tolerance(own))

    def add_best(self, found: Columns, reduced: NDArray[np.float64], below: float) -> bool:
        """Add the columns with the least reduced costs, as far as these are below a number."""
        order = np.argsort(reduced, kind="stable")
        most = max(MAX_COLUMNS_PER_ROUND, self.master.columns_at_once)
        best = order[reduced[order] < below][:most]
        grown = self.master.add(found.select(best)) > 0
        self.state.early = self.state.early or grown
        return grown

    def prove(self, prices: NDArray[np.float64], least: float) -> None:
        """Take the Lagrangian bound of prices at which no cluster has a value below least."""
        proven = lagrangian_bound(self.contraction, prices, least)
        if proven > self.state.bound:
            self.state.bound = ProvenBound(proven.value, Lagrangian(prices, least))

    def observation(
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

    def closing_value(self, at: DualValues, cutoff: float) -> float:
        """Return the least value with which these prices close the node, with room for rounding.

        It is 0 where that is positive, and parts of clusters are clusters and cost no more.
        """
        total = math.fsum(at.prices)
        room = _ROOM * (abs(total) + abs(cutoff)) if math.isfinite(cutoff) else 0.0
        value = (cutoff - self.paid_by_all + room - total) / self.contraction.k
        return min(value, 0.0) if self.contraction.is_monotone else value

    @property
    def paid_by_all(self) -> float:
        """Part of the cost that all clusterings pay for soft pairs, and no column does."""
        return self.contraction.soft.constant_below

    def value(self, at: DualValues) -> float:
        """Return the Lagrangian value of dual values, with what all clusterings pay."""
        return at.value(self.contraction.k) + self.paid_by_all

    def tolerance(self, own: DualValues) -> float:
        """Return how little a cluster may save at dual values without being worth a column."""
        k = self.contraction.k
        return TOLERANCE * abs(own.value(k)) / k
