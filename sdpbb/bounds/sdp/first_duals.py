"""First dual values of a node: of a clustering for a root, of the parent for a child.

Dual values of a clustering have a closed form. Let C_1, ..., C_k be a clustering, w_c the number of
points of C_c, m_c its mean, e_i and c_i the size and mean of block i. The dual of the Peng-Wei
relaxation has a price y_i of a point of block i, and a price mu of each cluster:

    maximise    sum_i e_i y_i - k mu + (scatter inside blocks)
    subject to  e_i e_j (||c_i - c_j||^2 - y_i - y_j) / 2 + mu e_i [i = j] - N_ij
                is positive semidefinite,  N >= 0.

If clusters are far apart, the clustering is optimal. Then complementary slackness determines, up to
the choice of mu, a solution with N = 0 inside clusters and the matrix equal to 0 between them:

    y_i = ||c_i - m_c||^2 + mu / w_c  for i of C_c,
    N_ij = e_i e_j (||c_i - c_j||^2 - y_i - y_j) / 2  for i, j of different clusters.

It is feasible if mu is at least the largest eigenvalue of the scatter of any cluster, and N >= 0.
Otherwise y_i is at most the least ||c_i - m_d||^2 - mu / w_d over other clusters d, which lowers
prices on borders, and N is cut off at 0. The safe bound at N (see `safe_bound`) needs no
feasibility. It is within a few percent of the cost for most data, and the first-order method
continues from there.

Source: the dual certificate of Iguchi, Mixon, Peterson and Villar (Probably certifiably correct
k-means clustering, Mathematical Programming 165, 2017, section 3), with blocks for points, N
instead of a matrix of rank one for each pair of clusters, and the cutoffs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import unions_of
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import stored

# Price of a cluster, in the least one that is feasible inside clusters. Of 0.9, 1, 1.15, 1.3 and
# 1.5 this has the best bounds (docs/relaxation.md).
PRICE = 1.15


def clustering_dual(
    contraction: Contraction, relaxation: Relaxation, labels: NDArray[np.intp]
) -> DualPoint:
    """Return the dual values of a clustering of the blocks, without cuts.

    labels : (m,) from 0 on, without gaps
    """
    e, means = contraction.weights, contraction.means
    prices = _point_prices(e, means, labels)
    halves = 0.5 * ((means**2).sum(axis=1) - prices)
    N = halves[:, None] + halves - means @ means.T  # (||c_i - c_j||^2 - y_i - y_j) / 2
    N *= np.outer(e, e) / relaxation.scale
    N[(N < 0.0) & ~relaxation.forbidden] = 0.0
    N[labels[:, None] == labels] = 0.0
    return DualPoint(N, CutSet.empty(), np.zeros(0))


def clustering_affinity(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the clustering matrix Z (m, m) of a clustering of the blocks."""
    weight = np.bincount(labels, contraction.weights)
    return np.where(labels[:, None] == labels, 1.0 / weight[labels], 0.0)


def _point_prices(
    weights: NDArray[np.float64], means: NDArray[np.float64], labels: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the price y (m,) of a point of each block, in squared units of the data."""
    centres = np.zeros((int(labels.max()) + 1, means.shape[1]))
    np.add.at(centres, labels, weights[:, None] * means)
    centres /= np.bincount(labels, weights)[:, None]
    cluster_price = PRICE * _largest_scatter(weights, means - centres[labels], labels)
    inside, elsewhere = clustering_prices(means, weights, labels, centres, cluster_price)
    return np.minimum(inside, elsewhere)


def clustering_prices(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    labels: NDArray[np.intp],
    centres: NDArray[np.float64],
    cluster_price: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the price of each point in its own cluster, and the least in another one, (m,).

    They are ||c_i - m_c||^2 + mu / w_c, and the least ||c_i - m_d||^2 - mu / w_d.

    points, weights, labels : (m, r), (m,), (m,) of a clustering, from 0 on
    centres : (k, r) its means
    cluster_price : mu, in the units of `points` squared
    """
    shares = cluster_price / np.bincount(labels, weights)
    inside, elsewhere = np.empty(len(points)), np.full(len(points), np.inf)
    for label, centre in enumerate(centres):
        squares, is_own = ((points - centre) ** 2).sum(axis=1), labels == label
        inside[is_own] = squares[is_own] + shares[label]
        squares[is_own] = np.inf
        np.minimum(elsewhere, squares - shares[label], out=elsewhere)
    return inside, elsewhere


def _largest_scatter(
    weights: NDArray[np.float64], deviations: NDArray[np.float64], labels: NDArray[np.intp]
) -> float:
    """Return the largest eigenvalue of the scatter matrices of the clusters.

    deviations : (m, r) of the blocks from the means of their clusters
    """
    rows = np.sqrt(weights)[:, None] * deviations
    parts = [rows[labels == cluster] for cluster in range(int(labels.max()) + 1)]
    # X'X and X X' have the same eigenvalues except zeros; the smaller matrix is faster.
    grams = (part.T @ part if part.shape[1] <= len(part) else part @ part.T for part in parts)
    return max(float(np.linalg.eigvalsh(gram).max(initial=0.0)) for gram in grams)


@stored
@dataclass(frozen=True, eq=False)
class SdpWarmStart:
    """Warm start of a child: its parent's last iterate, in the coordinates of Z.

    block_of : (n,) the parent's blocks
    scale : of the parent's relaxation, the unit of dual
    dual : dual values, N in single precision
    Z : (m, m) affinity, in single precision
    rho : penalty
    weights : (m,) of the parent's blocks
    """

    block_of: NDArray[np.intp]
    scale: float
    dual: DualPoint
    Z: NDArray[np.float32]
    rho: float
    weights: NDArray[np.float64]

    def for_child(self, child: Contraction, scale: float) -> tuple[DualPoint, NDArray[np.float64]]:
        """Return dual values, in units of `scale`, and an affinity in the blocks of a child.

        Each block of the child is a union of the parent's blocks (see `contract`).
        """
        block_of = unions_of(self.block_of, child)
        dual = DualPoint(self.dual.N.astype(np.float64), self.dual.cuts, self.dual.multipliers)
        dual = dual.scaled(self.scale / scale).merged(block_of, child.n_blocks)
        # The weighted mean over merged blocks keeps Z e = 1.
        weights = np.zeros((child.n_blocks, len(block_of)))
        weights[block_of, np.arange(len(block_of))] = self.weights
        weights /= child.weights[:, None]
        return dual, weights @ self.Z.astype(np.float64) @ weights.T
