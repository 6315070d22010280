"""Questions of a proof that numbers decide: bounds of nodes, pairs that are apart, costs of labels.

The judge answers in floating-point numbers, with bounds on their rounding errors. The judge of
`exact` answers in balls.

*Excluded pairs* share a cluster in no clustering cheaper than a given number, the cutoff. A
clustering with matrix Z costs at least bound + <N, Z> (`dual.dual_bound`). Here <N, Z> is the sum
over the clusters C of the sum of N_pq over p, q in C, divided by the weight |C|. No summand is
negative, as cannot-linked blocks share no cluster. If the clustering costs less than the cutoff,
then with budget = cutoff - bound every cluster has

    sum of N_pq over p, q in C < budget |C| = budget times the sum of e_p over p in C.

Let C hold i and j. Leave out N_pq >= 0 of two other blocks. Then the left side less the right is at
least

    N_ii + N_jj + 2 N_ij - budget (e_i + e_j)
        + sum over p of min(0, N_pp + 2 N_ip + 2 N_jp - budget e_p)

with p over all other blocks that may join both. If this is not negative, there is no such C.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arithmetic import TINY, gamma, sum_down, up
from .blocks import Blocks
from .dual import Semidefinite, dual_bound
from .evidence import Evidence
from .geometry import Contracted, Geometry

Matrix = NDArray[np.float64]
PairMask = NDArray[np.bool_]

_LARGEST = 2.0**250
# The budgets of all blocks add up to about 2^58 units.
_BITS = 58
# Number of contractions kept: a node and its child often have the same blocks.
_KEPT = 2


class Judge:
    """Answers about the points of an instance, or of a subset."""

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self._contractions: list[tuple[NDArray[np.intp], Contracted]] = []

    def bound(self, evidence: Evidence, blocks: Blocks) -> float:
        """Return a lower bound on the cost of every clustering of the blocks."""
        return evidence.bound(self.contracted(blocks), blocks)

    def proves_infeasible(self, prices: Any, blocks: Blocks) -> bool:
        """Return whether prices (`pricing.Lagrangian`) prove that the blocks have no clustering."""
        return bool(prices.proves_infeasible(self.contracted(blocks), blocks))

    def excluded(self, evidence: Semidefinite, blocks: Blocks, below: float) -> PairMask:
        """Return pairs of blocks (m, m) that no clustering cheaper than `below` has in a cluster.

        The marks are symmetric and False on the diagonal. Cannot-linked pairs are among them. As
        each pair found keeps blocks from joining others, the test is repeated until it finds none.
        Raises `Rejected` if the evidence is not as `Semidefinite` says.
        """
        contracted, adjacency = self.contracted(blocks), blocks.adjacency
        bound, terms = dual_bound(contracted, blocks, evidence)
        unit = float(np.ldexp(1.0, 2 * terms.exponent))
        if below == np.inf or unit == 0.0:  # of coordinates whose squares underflow
            return adjacency.copy()
        budget = up(up(contracted.cutoff(below) - bound) / unit)
        return pairs_within(budget, terms.N, contracted.weights, adjacency)

    def far(self, blocks: Blocks, below: float) -> PairMask:
        """Return pairs of blocks, (m, m) symmetric, that their distance alone excludes.

        No clustering of the blocks that costs less than `below` has them in a cluster. With i and
        j in a cluster, a clustering costs at least e_i e_j / (e_i + e_j) |c_i - c_j|^2 and the
        scatter inside all blocks. Blocks of different components share no cluster, and are among
        the pairs.
        """
        contracted = self.contracted(blocks)
        e, c, cutoff = contracted.weights, contracted.means, contracted.cutoff(below)
        inside = sum_down(contracted.scatter.tolist())
        accuracy = 1.0 - gamma(c.shape[1] + 12)
        far = np.zeros((len(e), len(e)), dtype=bool)
        for i in range(len(e)):
            squares = np.square(c - c[i]).sum(axis=1)
            between = e * (e[i] / (e + e[i])) * squares * accuracy
            far[i] = (inside + between) * (1.0 - gamma(4)) - TINY >= cutoff
        np.fill_diagonal(far, False)
        return np.asarray((far & far.T) | contracted.across)

    def cost_at_most(self, labels: NDArray[np.int64]) -> float:
        """Return an upper bound on the cost of labels (n,), nearly equal to it."""
        return self.geometry.cost_at_most(labels)

    def contracted(self, blocks: Blocks) -> Contracted:
        """Return the geometry of blocks."""
        of, inside = blocks.block_of, blocks.component_of
        key = of if inside is None else np.stack([of, inside[of]])
        for known, contracted in self._contractions:
            if np.array_equal(known, key):
                return contracted
        contracted = self.geometry.contracted(of, inside)
        self._contractions = [(key, contracted), *self._contractions[: _KEPT - 1]]
        return contracted


def pairs_within(
    budget: float, N: Matrix, weights: NDArray[np.float64], adjacency: PairMask
) -> PairMask:
    """Return the pairs of blocks (m, m) that no clustering with <N, Z> < budget has in a cluster.

    N : (m, m) symmetric, >= 0 off the adjacent pairs
    """
    if budget <= 0.0:  # there is no such clustering
        return ~np.eye(len(weights), dtype=bool)
    apart = adjacency.copy()
    if budget <= _LARGEST:  # beyond, no entry of N comes near it
        _exclude(*_in_units(budget, N, weights), apart)
    return apart


def _in_units(
    budget: float, N: Matrix, weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return N, rounded down, and budget e_p, rounded up, in whole units.

    The test stays valid for a smaller N >= 0 and a larger budget. Nothing else is rounded: the
    budgets add up to less than 2^59, and entries of N are cut to 2^58.
    """
    products = np.nextafter(budget * weights, np.inf)
    exponent = _BITS - math.frexp(float(products.sum()))[1]
    with np.errstate(over="ignore", under="ignore"):
        most = np.ceil(np.ldexp(products, exponent)).astype(np.int64)
        units = np.floor(np.clip(np.ldexp(N, exponent), -(2.0**_BITS), 2.0**_BITS))
    return units.astype(np.int64), most


def _exclude(N: NDArray[np.int64], most: NDArray[np.int64], apart: PairMask) -> None:
    """Add to `apart` all pairs that the test of the module excludes.

    N, most : (m, m) and budget e_p, (m,), in whole units
    """
    own = np.diag(N) - most
    others = ~np.eye(len(most), dtype=bool)
    while True:
        found = False
        for i in range(len(most)):
            least = own[i] + own + 2 * N[i]
            j = np.flatnonzero(others[i] & ~apart[i] & (least >= 0))
            if not len(j):
                continue
            # Only blocks that gain from i alone can gain from i and j.
            gain = own + 2 * N[i]
            p = np.flatnonzero(others[i] & ~apart[i] & (gain < 0))
            taken = np.minimum(gain[p] + 2 * N[np.ix_(j, p)], 0)
            taken[apart[np.ix_(j, p)] | (j[:, None] == p)] = 0
            new = j[least[j] + taken.sum(axis=1) >= 0]
            apart[i, new] = apart[new, i] = True
            found |= len(new) > 0
        if not found:
            return
