"""Floating-point arithmetic with rigorous bounds on its rounding errors.

Assumed of the machine: IEEE 754 double precision, rounding to nearest; +, -, *, / and the square
root correctly rounded; sums and matrix products that add up the products (fused or not) in some
order, each entry by itself. Then with u = 2^-53 and gamma_n = n u / (1 - n u)

    a sum of n terms is off by at most gamma_(n-1) times the sum of their absolute values,
    an inner product of n terms by at most gamma_n times the sum of the absolute products,

and n further operations on each term turn gamma_m into gamma_(m+n) (Higham, Accuracy and Stability
of Numerical Algorithms, sections 3.1 and 4.2). A product that underflows is off by at most 2^-1075
more. TINY is far above the sum of all such errors in a computation, and far below any number of
interest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .rejection import Rejected

UNIT_ROUNDOFF = 2.0**-53
TINY = 1e-290


def gamma(n: float) -> float:
    """Return an upper bound on n u / (1 - n u), for 0 <= n < 2^52; `ValueError` beyond."""
    if not 0 <= n < 2.0**52:
        raise ValueError(f"{n} operations are too many for a bound on their rounding errors")
    # Product, difference and quotient are each rounded once: the factor outweighs all three.
    quotient = n * UNIT_ROUNDOFF / (1.0 - n * UNIT_ROUNDOFF)
    return quotient * (1.0 + 8.0 * UNIT_ROUNDOFF)


def up(value: float) -> float:
    """Return the next number above."""
    return math.nextafter(value, math.inf)


def down(value: float) -> float:
    """Return the next number below."""
    return math.nextafter(value, -math.inf)


def sum_up(values: Iterable[float]) -> float:
    """Return an upper bound on the exact sum; 0 if all values are 0."""
    total = math.fsum(values)  # correctly rounded
    return up(total) if total else total


def sum_down(values: Iterable[float]) -> float:
    """Return a lower bound on the exact sum; 0 if all values are 0."""
    total = math.fsum(values)
    return down(total) if total else total


def norm_up(values: NDArray[np.float64]) -> float:
    """Return an upper bound on the Euclidean (Frobenius) norm; 0 if all values are 0."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    exponent = math.frexp(largest)[1]
    scaled = np.ldexp(values, -exponent)  # no square overflows, and the largest does not underflow
    norm = float(np.sqrt(np.square(scaled).sum())) * (1.0 + gamma(scaled.size + 8)) + TINY
    return up(math.ldexp(norm, exponent))


def difference_and_error(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return d and r with a - b = d + r exactly, d the rounded difference (Knuth's two-sum).

    No entry may be beyond 1e300.
    """
    d = a - b
    minus_b = d - a
    return d, (a - (d - minus_b)) - (b + minus_b)


def sum_of_smallest(M: NDArray[np.float64], k: int) -> float:
    """Return a lower bound on the sum of the k smallest eigenvalues of M (m, m), symmetric.

    Here 0 <= k <= m. The sum is the least <M, Y> over the orthogonal projectors Y of rank k. For
    any numbers theta, L_1 .. L_m and any vectors v_1 .. v_m, with

        E = M - theta I - sum of L_i v_i v_i',

    every such Y has <M, Y> = k theta + sum of L_i v_i'Y v_i + <E, Y>. Here tr Y = k, 0 <= v'Y v <=
    |v|^2 and |<E, Y>| <= ||E||_F sqrt(k), so

        <M, Y> >= k theta - sum of |L_i| |v_i|^2 over L_i < 0 - sqrt(k) ||E||_F.

    LAPACK finds v, the eigenvectors, and L, the eigenvalues less theta, the k-th smallest one. The
    bound is right for any of these numbers; for exact ones it is the sum itself. E is computed with
    the sum over i in chunks of s = sqrt(m) terms. Each entry is off by at most
    gamma_(s + m / s + 3) times the same entry of |M| + |theta| I + sum of |L_i| |v_i| |v_i|'. The
    Frobenius norm of this matrix is at most ||M||_F + |theta| sqrt(m) + sum of |L_i| |v_i|^2.

    Raises `Rejected` if M is not finite, or LAPACK finds no eigenvalues.
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
