"""Warm start of a child of a node whose relaxation was solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored


@stored
@dataclass(frozen=True, eq=False)
class SdpWarmStart:
    """Warm start of a child: its parent's last iterate, in the coordinates of Z.

    block_of : (n,) the parent's blocks, by which its matrices are mapped to the child's
    scale : of the parent's relaxation, the unit of dual
    dual : dual values, N in single precision (any N >= 0 proves something)
    Z : (m, m) affinity, in single precision
    rho : penalty
    weights : (m,) of the parent's blocks; None where they are numbers of points
    """

    block_of: NDArray[np.intp]
    scale: float
    dual: DualPoint
    Z: NDArray[np.float32]
    rho: float
    weights: NDArray[np.float64] | None = None

    def for_child(self, child: Contraction, scale: float) -> tuple[DualPoint, NDArray[np.float64]]:
        """Return dual values, in units of `scale`, and an affinity in the blocks of a child.

        Each block of its contraction is a union of the parent's (see `contract`).
        """
        first = np.unique(self.block_of, return_index=True)[1]
        block_of = child.block_of[first]
        assert np.array_equal(block_of[self.block_of], child.block_of)
        dual = DualPoint(self.dual.N.astype(np.float64), self.dual.cuts, self.dual.multipliers)
        dual = dual.scaled(self.scale / scale).merged(block_of, child.n_blocks)
        # The weighted mean over merged blocks keeps Z e = 1.
        weights = np.zeros((child.n_blocks, len(first)))
        parts = np.bincount(self.block_of) if self.weights is None else self.weights
        weights[block_of, np.arange(len(first))] = parts
        weights /= child.weights[:, None]
        return dual, weights @ self.Z.astype(np.float64) @ weights.T
