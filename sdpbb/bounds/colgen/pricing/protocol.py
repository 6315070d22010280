"""Interface of pricers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Membership


@dataclass(frozen=True, eq=False)
class PricingOutcome:
    """Result of a slice of exact pricing.

    members : (t, m) clusters met with c(X) - prices(X) < target, maybe none; those of the lowest
        values are the most useful
    least : proven, in exact arithmetic: c(X) - prices(X) >= least for every cluster X. At least
        the target where there is no cluster below it. None when left unfinished: the same call
        again goes on
    """

    members: Membership
    least: float | None


@dataclass(frozen=True, eq=False)
class FarkasOutcome:
    """Result of a slice of exact Farkas pricing.

    members : (t, m) clusters met with prices(X) > target, maybe none
    most : proven: prices(X) <= most for every cluster X; None when left unfinished
    """

    members: Membership
    most: int | None


class Pricer(Protocol):
    """Interface of pricers: find clusters of a contraction that a master programme lacks.

    Clusters are non-empty sets of blocks without cannot-linked pairs that keep all constraints of
    the contraction. What a call returns depends on its arguments and the calls before it only.
    """

    def heuristic(self, prices: NDArray[np.float64], sigma: float) -> Membership:
        """Return clusters (t, m) with c(X) - prices(X) + sigma < 0, maybe none, quickly.

        It proves nothing. Many different ones are better than the best alone. prices (m,) of any
        sign; sigma may be -inf: good clusters for these prices, whatever their values.
        """

    def exact(self, prices: NDArray[np.float64], target: float) -> PricingOutcome:
        """Work for a slice on the search for the least value among those below target <= 0.

        The value of a cluster is c(X) - prices(X). A call with other arguments begins anew. Slices
        must not be cut by the clock.
        """

    def farkas_heuristic(self, prices: NDArray[np.float64], sigma: float) -> Membership:
        """Return clusters (t, m) with prices(X) > sigma, maybe none; prices (m,) >= 0."""

    def farkas_exact(self, prices: NDArray[np.int64], target: int) -> FarkasOutcome:
        """Work for a slice on the search for the largest prices(X) among the values above target.

        The prices (m,) are >= 0, their sum is below 2^53.
        """
