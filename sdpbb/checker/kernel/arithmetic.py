"""Floating-point arithmetic with rigorous bounds on its rounding errors.

Assumed of the machine: IEEE 754 double precision, rounding to nearest; +, -, *, / and the square
root correctly rounded; sums and matrix products that add up the products (fused or not) in some
order, each entry by itself. Then with u = 2^-53 and gamma_n = n u / (1 - n u)

    a sum of n terms is off by at most gamma_(n-1) times the sum of their absolute values,
    an inner product of n terms by at most gamma_n times that of the absolute products,

and n further operations on each term turn gamma_m into gamma_(m+n) (Higham, Accuracy and Stability
of Numerical Algorithms, sections 3.1 and 4.2). Products that underflow are off by 2^-1075 at most
besides; TINY is far above what all of them in a computation can add up to, and far below anything
of interest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

UNIT_ROUNDOFF = 2.0**-53
TINY = 1e-290


def gamma(n: float) -> float:
    """Return at least n u / (1 - n u), for 0 <= n < 2^52; `ValueError` beyond."""
    if not 0 <= n < 2.0**52:
        raise ValueError(f"{n} operations are too many for a bound on their rounding errors")
    # Product, difference and quotient are each rounded once; the next number but two is above.
    quotient = n * UNIT_ROUNDOFF / (1.0 - n * UNIT_ROUNDOFF)
    return quotient * (1.0 + 8.0 * UNIT_ROUNDOFF)


def up(value: float) -> float:
    """Return the next number above."""
    return math.nextafter(value, math.inf)


def down(value: float) -> float:
    """Return the next number below."""
    return math.nextafter(value, -math.inf)


def sum_up(values: Iterable[float]) -> float:
    """Return at least the exact sum; the sum itself where all values are 0."""
    total = math.fsum(values)  # correctly rounded
    return up(total) if total else total


def sum_down(values: Iterable[float]) -> float:
    """Return at most the exact sum; the sum itself where all values are 0."""
    total = math.fsum(values)
    return down(total) if total else total


def norm_up(values: NDArray[np.float64]) -> float:
    """Return at least the Euclidean (Frobenius) norm; 0 exactly where all values are."""
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

    Nothing may be beyond 1e300.
    """
    d = a - b
    minus_b = d - a
    return d, (a - (d - minus_b)) - (b + minus_b)
