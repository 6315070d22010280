"""What proves a bound: the values that a node of a certificate carries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cuts:
    """Inequalities over the clustering matrix Z of the blocks of a node (Z_ij = 1/|C| for two
    blocks of a cluster C of |C| points, else 0), by the blocks they are made of.

    star       Z_ii + sum of Z_jl over j < l in T - sum of Z_ij over j in T >= 0
    clique     sum of Z_ij over i < j in Q >= 1 / (n - k + 1), |Q| = k + 1
    complement Z_ij + Z_ih - Z_ii >= 0 where k = 2 and j, h are cannot-linked

    T and Q are lists in which blocks may occur more than once, i among them: of a leaves in the
    cluster of i, 1 - a + a (a - 1) / 2 >= 0 for every integer a; of k + 1 blocks, two share one
    of k clusters, which has at most n - k + 1 points.

    Multipliers are in the order stars, cliques, complements.

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

    def __len__(self) -> int:
        return len(self.star_start) - 1 + len(self.cliques) + len(self.complements)


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


Evidence = Semidefinite | Lagrangian
