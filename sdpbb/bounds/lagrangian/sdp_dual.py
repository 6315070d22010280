"""Dual values of the master programme from dual values of the semidefinite relaxation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.cuts.soft_pairs import multiplier_caps
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, cut_sums, nonnegative_part
from sdpbb.problem import Contraction


def master_dual(contraction: Contraction, relaxation: Relaxation, dual: DualPoint) -> DualValues:
    """Return a dual point of the master programme from dual values of the relaxation.

    At its prices and sigma no cluster has a negative reduced cost, up to rounding, and its dual
    objective is what these dual values prove for the relaxation.

    Notation: as in `Relaxation`, with M = K + N + sum_c t_c B_c for N >= 0 (free on cannot-links),
    t >= 0; P = I - u u'. A cluster X of s points, indicator z, has a unit vector a = D^1/2 z /
    sqrt(s) and the matrix Y_X = a a', the Y of a clustering is the sum of its clusters', and

        c(X) = sum_{i in X} (w_i + scale K_ii) - scale a'Ka.

    1. If <N, Y_X> >= 0 and every <B_c, Y_X> >= 0, then a'Ka <= a'Ma. The first holds, as columns
       hold no cannot-linked pair. Cuts have to hold for single clusters; see `single_cluster_cuts`.
    2. With u'a = sqrt(s/n) and mu = u'Mu,
       a'Ma = (2 / sqrt n) sum_{i in X} sqrt(e_i) (Mu)_i - (s/n) mu + (Pa)'M(Pa).
    3. For any theta, let Q be the part of PMP above theta, of eigenvalues max(lambda - theta, 0).
       Then (Pa)'M(Pa) <= theta (1 - s/n) + a'Qa, and by the Cauchy-Schwarz inequality, twice,
       a'Qa <= (sum_X sqrt(e_i Q_ii))^2 / s <= sum_{i in X} Q_ii.

    So with sigma = scale theta and

        prices_i = w_i + scale (K_ii - 2 sqrt(e_i/n) (Mu)_i + (e_i/n) (mu + theta) - Q_ii)

    c(X) - prices(X) + sigma >= 0, and the dual objective, sum prices - k sigma, is

        total - scale (mu + (k - 1) theta + tr Q).

    Its maximum is attained by theta between the k-th and the (k-1)-th largest eigenvalue of PMP,
    where it is total - scale (mu + the sum of the k - 1 largest eigenvalues): the bound of
    `safe_bound` for N and these cuts, without a kernel. (Q stands for R <= I, which follows from
    Y >= 0 and Y u = u, as step 3 shows. With the largest eigenvalue as theta, Q = 0, and the value
    is only total - scale (mu + (k - 1) theta).)

    In monotone problems the master's dual has prices >= 0 and sigma >= 0: theta is at least 0, and
    negative prices become 0. That raises the objective. No reduced cost becomes negative, as
    c(X) >= 0 is at least the cost of the blocks of X with a positive price.

    With least sizes or soft pairs negative prices stay. Terms of soft pairs are cuts that a cluster
    may violate. As their multipliers are at most their caps, its cost includes the violation
    (`sdpbb.bounds.sdp.cuts.soft_pairs`; the sums there are over the clusters). A cut Z_ii >= b, or
    -Z_ii >= b, holds for the cluster of i alone: t b is part of the price of i. The second excludes
    small clusters, which columns satisfy only with lower limits
    (`Contraction.two_sided_quantities`).

    Multipliers of cuts that do not hold for single clusters count as 0. The kernel of the
    relaxation for k = 2 is left out: only clusters with one of every two cannot-linked blocks are
    in its complement, and columns need not be. So the value may be below the relaxation's.

    Parameters
    ----------
    contraction, relaxation : of the same node
    dual : any dual values of it; wrong signs count as 0

    The result proves nothing by itself: exact pricing proves its bound.

    Source: the value by theta = lambda_max was derived for this project; Peng and Wei (2007) have
    the relaxation.
    """
    m, k, n = relaxation.m, relaxation.k, relaxation.n
    e, u = relaxation.weights, relaxation.u
    weight = _multipliers_of_clusters(contraction, relaxation, dual)
    M = _matrix(relaxation, dual, weight)
    Mu = M @ u
    mu = float(u @ Mu)
    theta, above = _above(M, u, Mu, mu, min(max(k - 1, 1), m - 1))
    gain = np.diag(relaxation.K) - 2.0 * np.sqrt(e / n) * Mu + (e / n) * (mu + theta) - above
    cuts = dual.cuts
    of_block = np.flatnonzero(_of_one_block(cuts))
    np.add.at(gain, cuts.row[cuts.start[of_block]], weight[of_block] * cuts.rhs[of_block])
    prices = contraction.scatter + relaxation.scale * gain
    if contraction.is_monotone:
        prices = np.maximum(prices, 0.0)
    return DualValues(prices, relaxation.scale * theta)


def single_cluster_cuts(cuts: CutSet) -> NDArray[np.bool_]:
    """Return which cuts of a `CutSet` hold with b = 0 for each single cluster: (number of cuts,).

    The cuts are <B, Z> >= b, the matrix of a single cluster is z z' / s.

    Stars, and so pairs and triangles: z_i = 1 with a leaves gives (1 - a)(2 - a) / 2 >= 0, z_i = 0
    gives a (a - 1) / 2 >= 0; merging blocks only equates entries of z. Not cliques and pentagons,
    whose right-hand sides count all clusters (b = 0 leaves a clique nothing to say, and two
    neighbours of a five-cycle alone violate a pentagon's). So a cut holds if b = 0 and no diagonal
    entry of B is negative.
    """
    negative = (cuts.row == cuts.column) & (cuts.coefficient < 0.0)
    hold: NDArray[np.bool_] = (cuts.rhs == 0.0) & (
        np.bincount(cuts.owner, negative, len(cuts)) == 0
    )
    return hold


def _of_one_block(cuts: CutSet) -> NDArray[np.bool_]:
    """Return which cuts are on one diagonal entry of Z: (number of cuts,)."""
    diagonal = np.bincount(cuts.owner, cuts.row == cuts.column, len(cuts))
    return np.asarray((np.diff(cuts.start) == 1) & (diagonal == 1))


def _multipliers_of_clusters(
    contraction: Contraction, relaxation: Relaxation, dual: DualPoint
) -> NDArray[np.float64]:
    """Return the multipliers of the cuts, 0 for cuts that do not hold for single clusters."""
    cuts = dual.cuts
    caps = multiplier_caps(relaxation, cuts)
    of_one_block = _of_one_block(cuts)
    if not contraction.two_sided_quantities:
        of_one_block &= cuts.rhs >= 0.0
    hold = single_cluster_cuts(cuts) | np.isfinite(caps) | of_one_block
    return np.asarray(np.clip(dual.multipliers, 0.0, caps) * hold)


def _matrix(
    relaxation: Relaxation, dual: DualPoint, weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return M = K + N + sum_c t_c B_c (m, m), in the coordinates of Y, with t = weight."""
    r, (cuts, _) = relaxation.inverse_roots, cut_sums(dual.cuts, weight, relaxation.m)
    return relaxation.K + r[:, None] * (nonnegative_part(relaxation, dual) + cuts) * r


def _above(
    M: NDArray[np.float64], u: NDArray[np.float64], Mu: NDArray[np.float64], mu: float, count: int
) -> tuple[float, NDArray[np.float64]]:
    """Return the `count`-th largest eigenvalue of PMP and the diagonal (m,) of the part above it.

    The eigenvalue theta is one of PMP on the complement of u, and at least 0.
    """
    if count == 0:
        return 0.0, np.zeros(len(u))
    # P M P with an eigenvalue for u that is below all others.
    shift = -float(np.linalg.norm(M)) - 1.0
    outer = np.outer(u, Mu - (0.5 * (mu + shift)) * u)
    order = (len(u) - count, len(u) - 1)
    values, vectors = eigh(M - outer - outer.T, subset_by_index=order, driver="evr")
    theta = max(float(values[0]), 0.0)
    return theta, (vectors**2) @ np.maximum(values - theta, 0.0)
