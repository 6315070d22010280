"""Soft pairs: pairs of points that a clustering may violate at a price, which is part of its cost.

Let c and b be the weights of soft cannot-links and soft must-links between blocks i and j of a
node. Let x = 1 if the blocks share a cluster, and 0 otherwise. A clustering pays

    c x + b (1 - x) = min(c, b) + (c - b)+ x + (b - c)+ (1 - x),

so that the lighter of the two is a constant. If no cluster holds both blocks, b is a constant, too.
So are the weights of soft cannot-links inside of a block. All weights are rounded down, so that no
clustering pays less.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .arithmetic import TINY, gamma, sum_down
from .rejection import Rejected

Reals = NDArray[np.float64]
Marks = NDArray[np.bool_]

# Prices beyond this are not added up.
_LARGEST = 1e250


def _no_pairs() -> NDArray[np.int64]:
    return np.empty((0, 2), np.int64)


@dataclass(frozen=True, eq=False)
class PricedPairs:
    """Pairs of points with the price of violating each; a pair may be stated several times.

    pairs : (p, 2) int64, i < j
    weights : (p,) > 0, in units of the cost
    """

    pairs: NDArray[np.int64] = field(default_factory=_no_pairs)
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.weights)

    def over(self, block_of: NDArray[np.intp], m: int) -> tuple[Reals, float]:
        """Return lower bounds on the prices of pairs of blocks (m, m), and of pairs inside blocks.

        block_of : (n,) 0..m-1
        """
        ends = np.sort(block_of[self.pairs], axis=1)
        inside = ends[:, 0] == ends[:, 1]
        pairs, which, count = np.unique(
            ends[~inside], axis=0, return_inverse=True, return_counts=True
        )
        sums = np.bincount(which.reshape(-1), self.weights[~inside], len(pairs))
        # Single weights are exact. Sums are rounded, and so is the product below.
        lost = np.array([gamma(float(most) + 2.0) if most > 1 else 0.0 for most in count.tolist()])
        costs = np.zeros((m, m))
        i, j = pairs.T
        costs[i, j] = costs[j, i] = sums * (1.0 - lost)
        return costs, sum_down(self.weights[inside].tolist())


@dataclass(frozen=True, eq=False)
class CheckedSoftPairs:
    """Soft pairs of an instance."""

    must_link: PricedPairs = field(default_factory=PricedPairs)
    cannot_link: PricedPairs = field(default_factory=PricedPairs)

    def __bool__(self) -> bool:
        return bool(len(self.must_link) or len(self.cannot_link))

    @property
    def points(self) -> NDArray[np.int64]:
        """Points of the pairs."""
        return np.unique(np.concatenate([self.must_link.pairs, self.cannot_link.pairs]))

    def violated(self, labels: NDArray[np.intp]) -> list[float]:
        """Return the weights of the pairs that labels (n,) violate."""
        i, j = self.must_link.pairs.T
        p, q = self.cannot_link.pairs.T
        apart = self.must_link.weights[labels[i] != labels[j]]
        together = self.cannot_link.weights[labels[p] == labels[q]]
        return [*apart.tolist(), *together.tolist()]

    def over(self, block_of: NDArray[np.intp], m: int) -> SoftOverBlocks:
        """Return the pairs over blocks block_of (n,), 0..m-1."""
        cannot, inside = self.cannot_link.over(block_of, m)
        return SoftOverBlocks(cannot, self.must_link.over(block_of, m)[0], inside)


@dataclass(frozen=True, eq=False)
class SoftOverBlocks:
    """Soft pairs over blocks; all weights rounded down.

    cannot, must : (m, m) symmetric, >= 0, what two blocks pay in one cluster, and in two
    inside : what soft cannot-links inside of blocks cost
    """

    cannot: Reals
    must: Reals
    inside: float = 0.0

    def constant(self, apart: Marks) -> float:
        """Return a lower bound on what every clustering pays.

        apart : (m, m) pairs that no cluster holds
        """
        lost = np.triu(np.where(apart, self.must, np.minimum(self.cannot, self.must)), 1)
        return sum_down([self.inside, *lost[lost > 0.0].tolist()])

    def prices(self, apart: Marks, exponent: int) -> SoftOverBlocks:
        """Return lower bounds on prices beyond the constant, in units of 4^exponent.

        apart : (m, m) pairs that no cluster holds
        """
        with np.errstate(over="ignore", under="ignore"):
            W = np.ldexp(self.cannot - self.must, -2 * exponent) * (1.0 - gamma(4.0))
        # Rounding errors of numbers that underflow are not relative.
        W[apart | (np.abs(W) < TINY)] = 0.0
        return SoftOverBlocks(np.maximum(W, 0.0), np.maximum(-W, 0.0))

    def shared_by(self, members: Marks) -> Reals:
        """Return lower bounds (t,) on the prices that clusters (t, m) pay; a clustering pays all.

        A cluster pays the price of each soft cannot-link inside it, and half the price of each soft
        must-link of which it holds one block.
        """
        held = members.astype(np.float64)
        inside = 0.5 * ((held @ self.cannot) * held).sum(axis=1)
        across = 0.5 * ((held @ self.must) * (1.0 - held)).sum(axis=1)
        return np.asarray((inside + across) * (1.0 - gamma(4.0 * held.shape[1] + 16.0)))


def require_moderate(soft: CheckedSoftPairs) -> None:
    """Raise `Rejected` unless all weights are at most 1e250."""
    for priced in (soft.must_link, soft.cannot_link):
        if not (priced.weights <= _LARGEST).all():
            raise Rejected(f"a weight of a soft pair is above {_LARGEST:g}")
