"""Soft pairs over the blocks of a contraction, and their share in the cost of clusterings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem.checks import SoftPairs


@dataclass(frozen=True, eq=False)
class SoftBlocks:
    """Soft pairs between blocks; a violated pair costs its weight.

    Attributes
    ----------
    pairs : (q, 2) blocks i < j, sorted, each once, without cannot-links
    weights : (q,) w > 0 for a soft cannot-link, w < 0 for a soft must-link of weight -w
    constant : penalty that every clustering pays: for soft cannot-links inside a block, for soft
        must-links across a cannot-link, and for the lighter of two opposing pairs
    rounding : bound on the relative rounding error of each sum of weights
    """

    pairs: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), np.intp))
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    constant: float = 0.0
    rounding: float = 0.0

    @classmethod
    def of(
        cls,
        must_link: SoftPairs,
        cannot_link: SoftPairs,
        block_of: NDArray[np.intp],
        apart: NDArray[np.intp],
    ) -> SoftBlocks:
        """Return the soft pairs of points over their blocks.

        Parameters
        ----------
        block_of : (n,) the block of each point
        apart : (p, 2) cannot-linked blocks i < j
        """
        m = int(block_of.max(initial=-1)) + 1
        apart_key, apart_weight, inside = _sums(cannot_link, block_of, m)
        linked_key, linked_weight, _ = _sums(must_link, block_of, m)
        keys = np.unique(np.concatenate([apart_key, linked_key]))
        cannot, must = np.zeros(len(keys)), np.zeros(len(keys))
        cannot[np.searchsorted(keys, apart_key)] = apart_weight
        must[np.searchsorted(keys, linked_key)] = linked_weight
        is_hard = np.isin(keys, apart[:, 0] * m + apart[:, 1])
        lost = np.where(is_hard, must, np.minimum(cannot, must))
        weights = np.where(is_hard, 0.0, cannot - must)
        kept = weights != 0.0
        pairs = np.column_stack(np.divmod(keys[kept], max(m, 1))).astype(np.intp)
        count = len(must_link) + len(cannot_link)
        eps = float(np.finfo(np.float64).eps)
        constant = math.fsum([inside, *lost.tolist()])
        return cls(pairs, weights[kept], constant, eps * (count + 8))

    def __len__(self) -> int:
        return len(self.weights)

    def __bool__(self) -> bool:
        """Return whether clusterings differ in what they pay."""
        return len(self.weights) > 0

    @cached_property
    def constant_below(self) -> float:
        """Lower bound, in exact arithmetic, on the penalty that every clustering pays."""
        return self.constant * (1.0 - 2.0 * self.rounding)

    def penalty(self, labels: NDArray[np.intp]) -> float:
        """Return the penalty of labels (m,) of the blocks, the constant included."""
        if not len(self.weights):
            return self.constant
        i, j = self.pairs.T
        together = labels[i] == labels[j]
        violated = together == (self.weights > 0.0)
        return self.constant + math.fsum(np.abs(self.weights[violated]))

    def shares(self, m: int) -> NDArray[np.float64]:
        """Return half the weight of the soft must-links of each block, (m,)."""
        found = np.zeros(m)
        np.add.at(found, self.pairs.ravel(), 0.5 * np.repeat(np.maximum(-self.weights, 0.0), 2))
        return found

    def shared_by(self, members: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the shares (t,) of clusters (t, m) in the penalty of a clustering.

        A cluster pays the weight of each soft cannot-link inside, and half the weight of each soft
        must-link with exactly one end in it. The shares of all clusters add up to `penalty` without
        the constant.
        """
        if not len(self.weights):
            return np.zeros(len(members))
        one, other = (members[:, end] for end in self.pairs.T)
        cannot = np.where(self.weights > 0.0, self.weights, 0.0)
        must = np.where(self.weights < 0.0, -0.5 * self.weights, 0.0)
        return np.asarray((one & other) @ cannot + (one ^ other) @ must)

    @cached_property
    def uncertainty(self) -> float:
        """Bound on the rounding error of the sum of all weights."""
        # A weight may be the difference of two weights; the lighter one is in the constant.
        return self.rounding * (float(np.abs(self.weights).sum()) + 2.0 * self.constant)

    def matrix(self, m: int) -> NDArray[np.float64]:
        """Return the weights as a symmetric matrix (m, m)."""
        found = np.zeros((m, m))
        i, j = self.pairs.T
        found[i, j] = found[j, i] = self.weights
        return found


def _sums(
    soft: SoftPairs, block_of: NDArray[np.intp], m: int
) -> tuple[NDArray[np.intp], NDArray[np.float64], float]:
    """Return soft pairs over blocks: keys i m + j with i < j, each once, and their weights.

    The third value is the weight of the pairs inside blocks.
    """
    ends = np.sort(block_of[soft.pairs], axis=1)
    is_inside = ends[:, 0] == ends[:, 1]
    between = ends[~is_inside]
    keys, inverse = np.unique(between[:, 0] * m + between[:, 1], return_inverse=True)
    weights = np.bincount(inverse.reshape(-1), soft.weights[~is_inside], len(keys))
    return keys, weights.astype(np.float64), math.fsum(soft.weights[is_inside])
