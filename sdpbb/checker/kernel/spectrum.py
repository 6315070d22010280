"""Rigorous lower bound on the sum of the smallest eigenvalues of a symmetric matrix."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .arithmetic import TINY, down, gamma, norm_up, sum_down, sum_up, up
from .rejection import Rejected


def sum_of_smallest(M: NDArray[np.float64], k: int) -> float:
    """Return at most the sum of the k smallest eigenvalues of M (m, m), symmetric, 0 <= k <= m.

    That sum is the minimum of <M, Y> over the orthogonal projectors Y of rank k. For any numbers
    theta, L_1 .. L_m and any vectors v_1 .. v_m, with

        E = M - theta I - sum of L_i v_i v_i',

    every such Y has <M, Y> = k theta + sum of L_i v_i'Y v_i + <E, Y>. Here tr Y = k, 0 <= v'Y v <=
    |v|^2 and |<E, Y>| <= ||E||_F sqrt(k), so

        <M, Y> >= k theta - sum of |L_i| |v_i|^2 over L_i < 0 - sqrt(k) ||E||_F.

    Nothing is assumed of L and v, which are the eigenvalues less theta and the eigenvectors that
    LAPACK found; theta is the k-th smallest eigenvalue, so that k - 1 of the L_i are negative and
    the bound is the sum itself but for rounding. E is computed with the sum over i in chunks of
    s = sqrt(m) terms, and so but for an error of at most gamma_(s + m / s + 3) times
    |M| + |theta| I + sum of |L_i| |v_i| |v_i|' entry by entry, whose Frobenius norm is at most
    ||M||_F + |theta| sqrt(m) + sum of |L_i| |v_i|^2.

    Raises `Rejected` where M is not finite, or LAPACK finds no eigenvalues.
    """
    m = len(M)
    largest = float(np.abs(M).max(initial=0.0))
    if not math.isfinite(largest):
        raise Rejected("a matrix has entries that are no finite numbers")
    if k == 0 or largest == 0.0:
        return 0.0
    exponent = math.frexp(largest)[1]
    E = np.ldexp(M, -exponent)
    try:
        eigenvalues, V = np.linalg.eigh(E)
    except np.linalg.LinAlgError as error:
        raise Rejected("the eigenvalues of a matrix were not found") from error
    theta = float(eigenvalues[k - 1])
    L = eigenvalues - theta
    began = norm_up(E) + abs(theta) * math.sqrt(m)
    E[np.diag_indices(m)] -= theta
    step = math.isqrt(m)
    for start in range(0, m, step):
        part = V[:, start : start + step]
        E -= (part * L[start : start + step]) @ part.T
    squares = np.square(V).sum(axis=0) * (1.0 + gamma(m + 8))
    weights = np.abs(L) * squares * (1.0 + gamma(4))
    chunks = -(-m // step)
    rounding = gamma(step + chunks + 8) * up(sum_up(weights.tolist()) + began)
    loss = up(up(math.sqrt(k)) * up(norm_up(E) + up(rounding))) + TINY
    negative = (-weights[L < 0.0]).tolist()
    bound = math.ldexp(sum_down([theta] * k + negative + [-up(loss)]), exponent)
    if not math.isfinite(bound):
        raise Rejected("the eigenvalues of a matrix were not found")
    return down(bound)
