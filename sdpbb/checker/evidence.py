"""What proves a bound: the values that a node of a certificate carries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .cuts import Cuts

Floats = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Semidefinite:
    """Dual values of the semidefinite relaxation of a node of m blocks.

    unit : a power of two; N and multipliers are in this unit of squared length of the data
    N : (m (m + 1) / 2,) the upper triangle row by row, diagonal included, of a symmetric matrix;
        >= 0 but for cannot-linked pairs, float32 or float64
    cuts, multipliers : and their multipliers >= 0, (number of cuts,), float32 or float64
    """

    unit: float
    N: Floats
    cuts: Cuts
    multipliers: Floats


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """Prices of the m blocks of a node, and what every cluster is worth at them at least.

    prices : (m,) of any sign, in squared units of the data
    least : no cluster X of blocks without a cannot-linked pair has c(X) - prices(X) < least
    """

    prices: NDArray[np.float64]
    least: float


@dataclass(frozen=True, eq=False)
class Enumerated:
    """That no clusters of low value at some prices are a cheap clustering, by looking at all.

    below : no clustering costs less
    prices, least : as of a `Lagrangian`; least at most 0
    share_prices, triples, penalties : (m,), (c, 3), (c,) >= 0: prices and penalties at which few
        of these clusters are left (see `partitions`), in squared units of the data
    """

    below: float
    prices: NDArray[np.float64]
    least: float
    share_prices: NDArray[np.float64]
    triples: NDArray[np.int32]
    penalties: NDArray[np.float64]


Evidence = Semidefinite | Lagrangian | Enumerated
