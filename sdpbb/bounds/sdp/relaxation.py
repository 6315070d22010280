"""The contracted Peng-Wei relaxation in the coordinates the solver works in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction

# Rows this many times longer than nine tenths of all are outliers.
OUTLIER = 10.0


@dataclass(frozen=True, eq=False)
class Relaxation:
    """minimise    total - scale <K, Y>
    subject to  Y = u u' + R,  0 <= R <= I (semidefinite),  R u = 0,  tr R = k - 1,
                Y_ij >= 0,  Y_ij = 0 for cannot-links.

    With Z the clustering matrix over blocks (Z_ij = 1/|C| for two blocks of a cluster C, else 0),
    D = diag(e) and e the block sizes: Y = D^1/2 Z D^1/2, u = sqrt(e/n) a unit vector with Y u = u,
    and scale K = D^1/2 C C' D^1/2 for the block means C, centred so that K u = 0 (PC-SOS-SDP,
    equation 7, after the change of variables; R <= I follows from the rest, as D^-1/2 Y D^1/2 is
    nonnegative with row sums 1). K without outliers has Frobenius norm 1, which makes the method's
    parameters independent of the data's units.

    Attributes
    ----------
    k, n : number of clusters, of points
    u : (m,) unit vector
    K : (m, m) symmetric (0 where all block means coincide)
    scale, total : > 0 and >= 0, in squared units of the data
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
        unit = _typical_length(contraction)
        K = (factor / unit) @ (factor / unit).T
        u = np.sqrt(e / e.sum())
        return cls(
            k=contraction.k,
            n=contraction.n_points,
            u=u,
            K=K,
            scale=unit**2,
            total=contraction.total,
            rounding=_rounding(contraction),
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


def _typical_length(contraction: Contraction) -> float:
    """The length in which K has Frobenius norm 1 once outliers are pulled in. One of them would
    otherwise leave the rest of the data no digits to be seen by; and as it moves the mean as well,
    lengths are taken from the median."""
    centred = contraction.means - np.median(contraction.means, axis=0)
    rows = np.sqrt(contraction.sizes)[:, None] * centred
    longest = float(np.abs(rows).max(initial=0.0))
    if longest == 0.0:
        return 1.0
    rows /= longest
    norms = np.linalg.norm(rows, axis=1)
    cap = OUTLIER * np.quantile(norms, 0.9) or norms.max()
    rows = rows * np.minimum(1.0, cap / np.maximum(norms, cap))[:, None]
    return longest * float(np.sqrt(np.linalg.norm(rows.T @ rows)))


def _rounding(contraction: Contraction) -> float:
    """A bound on the rounding errors of the inner products in K and of the sums in total: those of
    r and m terms, and inside blocks of as many terms as the block has points."""
    eps = float(np.finfo(np.float64).eps)
    terms = 2 * contraction.means.shape[1] + 16
    inside = float(contraction.sizes.max()) * float(contraction.scatter.sum())
    return eps * (terms * contraction.total + inside)
