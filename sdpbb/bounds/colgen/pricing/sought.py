"""Clusters that a search looks for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.pricing.problem import PricingProblem


@dataclass(frozen=True, eq=False)
class SoughtClusters:
    """Clusters that a search looks for: those of value c(X) - prices(X) below a target.

    prices : (m,) of the blocks
    optimal_only : the search is for the least value only, which must not be above 0 unless sets
        have a least size, or there are soft pairs; otherwise it is for all clusters below the
        target
    least : where all are wanted: proven to be at most all values, None if nothing is
    """

    prices: NDArray[np.float64]
    target: float
    optimal_only: bool = True
    least: float | None = None

    def narrowed(self, problem: PricingProblem) -> PricingProblem:
        """Return the problem without what no cluster that is looked for has."""
        if self.optimal_only:
            # Above 0 the empty set is in the way: a block that is left out may be all there is.
            return problem if self.target > 0.0 else problem.for_least_value(self.prices)
        if self.least is None:
            return problem
        slack = problem.slack(self.prices, self.target, self.least)
        return problem.for_values_below(self.prices, slack)

    def reaches(self, problem: PricingProblem) -> NDArray[np.float64]:
        """Return how far blocks may be from the mean of such a cluster, (m,) by position.

        It is -1 for blocks that are in none.
        """
        if self.optimal_only:
            return problem.reaches(self.prices)
        if self.least is None:
            return problem.reaches(self.prices, np.inf)
        return problem.reaches(self.prices, problem.slack(self.prices, self.target, self.least))
