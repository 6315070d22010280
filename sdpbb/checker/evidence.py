"""What proves a bound: the values that a node of a certificate carries."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pentagons:
    """Inequalities that compare clusters (see `pentagons`).

    Attributes
    ----------
    cycles : (number, 5) the blocks of each, in a circle
    start : (number + 1,) those of pentagon c are estimates[start[c] : start[c + 1]]
    estimates : (number of estimates, 3) place, block s, points: place 3 a + w is of the edge from
        block a of the circle to the next one, and 15 + 3 a + w of the chord from it to the next but
        one; w says which is the block c, the first, the second or s. On chords it is not s, and the
        estimate is Z_cs
    """

    cycles: NDArray[np.int32]
    start: NDArray[np.int64]
    estimates: NDArray[np.int32]

    @classmethod
    def none(cls) -> Pentagons:
        return cls(np.empty((0, 5), np.int32), np.zeros(1, np.int64), np.empty((0, 3), np.int32))

    def __len__(self) -> int:
        return len(self.cycles)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Inequalities over the clustering matrix Z of the blocks of a node (Z_ij = 1/|C| for two
    blocks of a cluster C of |C| points, else 0), by the blocks they are made of.

    star       Z_ii + sum of Z_jl over j < l in T - sum of Z_ij over j in T >= 0
    clique     sum of Z_ij over i < j in Q >= 1 / (n - k + 1), |Q| = k + 1
    complement Z_ij + Z_ih - Z_ii >= 0 where k = 2 and j, h are cannot-linked
    pentagon   see `Pentagons`

    T and Q are lists in which blocks may occur more than once, i among them: of a leaves in the
    cluster of i, 1 - a + a (a - 1) / 2 >= 0 for every integer a; of k + 1 blocks, two share one
    of k clusters, which has at most n - k + 1 points.

    Multipliers are in the order stars, cliques, complements, pentagons.

    Attributes
    ----------
    star_start : (number of stars + 1,) int64
    star_blocks : star c is star_blocks[star_start[c] : star_start[c + 1]], the centre i first and
        then the leaves T, at least one
    cliques : (number, k + 1)
    complements : (number, 3), rows i, j, h
    """

    star_start: NDArray[np.int64]
    star_blocks: NDArray[np.int32]
    cliques: NDArray[np.int32]
    complements: NDArray[np.int32]
    pentagons: Pentagons = field(default_factory=Pentagons.none)

    @classmethod
    def of_pentagons(cls, pentagons: Pentagons, k: int) -> Cuts:
        """No others."""
        none = np.empty(0, np.int32)
        start, cliques = np.zeros(1, np.int64), none.reshape(0, k + 1)
        return cls(start, none, cliques, none.reshape(0, 3), pentagons)

    def __len__(self) -> int:
        others = len(self.cliques) + len(self.complements) + len(self.pentagons)
        return len(self.star_start) - 1 + others


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
