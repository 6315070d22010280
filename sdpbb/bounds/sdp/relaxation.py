"""The contracted Peng-Wei relaxation in the coordinates the solver works in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction


@dataclass(frozen=True, eq=False)
class Relaxation:
    """minimise    total - scale <K, Y>
    subject to  Y = u u' + R,  R >= 0 (semidefinite),  R u = 0,  tr R = k - 1,
                Y_ij >= 0,  Y_ij = 0 for cannot-links.

    With Z the clustering matrix over blocks (Z_ij = 1/|C| for two blocks of a cluster C, else 0),
    D = diag(e) and e the block sizes: Y = D^1/2 Z D^1/2, u = sqrt(e/n) a unit vector with Y u = u,
    and scale K = D^1/2 C C' D^1/2 for the block means C, centred so that K u = 0 (PC-SOS-SDP,
    equation 7, after the change of variables). ||K||_F = 1 makes the method's parameters
    independent of the data's units.

    Attributes
    ----------
    k, n : number of clusters, of points
    u : (m,) unit vector
    K : (m, m) symmetric, Frobenius norm 1 (or 0 where all block means coincide)
    scale, total : >= 0, in squared units of the data
    rounding : what the sums behind K and total may have lost to rounding, in the same units
    sizes : (m,) block sizes e
    forbidden : (m, m) bool, the cannot-linked pairs
    """

    k: int
    n: int
    u: NDArray[np.float64]
    K: NDArray[np.float64]
    scale: float
    total: float
    rounding: float
    sizes: NDArray[np.float64]
    forbidden: NDArray[np.bool_]

    @classmethod
    def of(cls, contraction: Contraction) -> Relaxation:
        """The relaxation of a contracted instance."""
        e = contraction.sizes
        factor = np.sqrt(e)[:, None] * contraction.means
        K = factor @ factor.T
        scale = float(np.linalg.norm(K))
        if scale > 0:
            K /= scale
        u = np.sqrt(e / e.sum())
        return cls(
            k=contraction.k,
            n=contraction.n_points,
            u=u,
            K=K,
            scale=scale,
            total=contraction.total,
            rounding=float(np.finfo(float).eps) * (16 + 2 * factor.shape[1]) * contraction.total,
            sizes=e,
            forbidden=contraction.adjacency,
        )

    @property
    def m(self) -> int:
        """The number of blocks."""
        return len(self.sizes)

    @cached_property
    def inverse_roots(self) -> NDArray[np.float64]:
        """(m,) 1/sqrt(e)."""
        return 1.0 / np.sqrt(self.sizes)

    def to_affinity(self, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z = D^-1/2 Y D^-1/2."""
        r = self.inverse_roots
        return r[:, None] * Y * r
