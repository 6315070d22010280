"""Soft pairs: pairs of points that a clustering may violate at a price, which is part of its cost.

Over the blocks of a node each clustering pays, for blocks i and j with the weights c of soft
cannot-links and b of soft must-links between them, and x = 1 where they share a cluster, else 0,

    c x + b (1 - x) = min(c, b) + (c - b)+ x + (b - c)+ (1 - x),

so that the lighter of the two is a constant. So is b where no cluster holds both, and the weights
of soft cannot-links inside of a block. All weights are rounded down: no clustering pays less.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .arithmetic import TINY, gamma, sum_down
from .rejection import Rejected

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

    def over(
        self, block_of: NDArray[np.intp], m: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        """Return what pairs of different blocks cost, at least, and what pairs inside blocks do.

        The former as keys i m + j, i < j, in ascending order, with their sums of weights.
        """
        ends = np.sort(block_of[self.pairs], axis=1).astype(np.int64)
        inside = ends[:, 0] == ends[:, 1]
        between = ends[~inside]
        keys, which, count = np.unique(
            between[:, 0] * m + between[:, 1], return_inverse=True, return_counts=True
        )
        sums = np.bincount(which.reshape(-1), self.weights[~inside], len(keys))
        # Single weights are exact; so many are added up, and there is a product.
        lost = np.array([gamma(float(most) + 2.0) if most > 1 else 0.0 for most in count.tolist()])
        return keys, sums * (1.0 - lost), sum_down(self.weights[inside].tolist())


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
        cannot_keys, cannot_sums, inside = self.cannot_link.over(block_of, m)
        must_keys, must_sums, _ = self.must_link.over(block_of, m)
        keys = np.union1d(cannot_keys, must_keys).astype(np.int64)
        cannot, must = np.zeros(len(keys)), np.zeros(len(keys))
        cannot[np.searchsorted(keys, cannot_keys)] = cannot_sums
        must[np.searchsorted(keys, must_keys)] = must_sums
        pairs = np.column_stack(np.divmod(keys, max(m, 1)))
        return SoftOverBlocks(pairs, cannot, must, inside)


@dataclass(frozen=True, eq=False)
class SoftOverBlocks:
    """Soft pairs over blocks, whatever else is known of these; all weights rounded down.

    pairs : (q, 2) blocks i < j, each once
    cannot, must : (q,) >= 0, what i and j pay in one cluster, and in two
    inside : what soft cannot-links inside of blocks cost
    """

    pairs: NDArray[np.int64]
    cannot: NDArray[np.float64]
    must: NDArray[np.float64]
    inside: float

    def constant(self, apart: NDArray[np.bool_]) -> float:
        """Return at most what every clustering pays; apart (m, m): pairs that no cluster holds."""
        lost = np.where(self._decided(apart), self.must, np.minimum(self.cannot, self.must))
        return sum_down([self.inside, *lost.tolist()])

    def prices(self, apart: NDArray[np.bool_], exponent: int) -> SoftPrices:
        """Return what is left to be decided, in units of 4^exponent."""
        decided = self._decided(apart)
        with np.errstate(over="ignore", under="ignore"):
            difference = np.ldexp(self.cannot - self.must, -2 * exponent) * (1.0 - gamma(4.0))
        # Where they underflow, roundings are not relative.
        difference[decided | (np.abs(difference) < TINY)] = 0.0
        W = np.zeros(apart.shape)
        i, j = self.pairs.T
        W[i, j] = W[j, i] = difference
        return SoftPrices(np.maximum(W, 0.0), np.maximum(-W, 0.0))

    def _decided(self, apart: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.asarray(apart[self.pairs[:, 0], self.pairs[:, 1]])


@dataclass(frozen=True, eq=False)
class SoftPrices:
    """Prices of two blocks in one cluster (cannot) and in two (must), beyond the constant.

    Both are (m, m), symmetric, >= 0.
    """

    cannot: NDArray[np.float64]
    must: NDArray[np.float64]

    def shared_by(self, members: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return at most what clusters (t, m) pay, (t,), so that those of a clustering pay all.

        A cluster pays the price of each pair that it should not hold, and half that of each pair of
        which it holds one, and should hold both.
        """
        held = members.astype(np.float64)
        inside = 0.5 * ((held @ self.cannot) * held).sum(axis=1)
        across = 0.5 * ((held @ self.must) * (1.0 - held)).sum(axis=1)
        return np.asarray((inside + across) * (1.0 - gamma(4.0 * held.shape[1] + 16.0)))


def require_moderate(soft: CheckedSoftPairs) -> None:
    """Raise `Rejected` if weights are too large to be added up."""
    for priced in (soft.must_link, soft.cannot_link):
        if not (priced.weights <= _LARGEST).all():
            raise Rejected(f"a weight of a soft pair is above {_LARGEST:g}")
