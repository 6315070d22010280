"""Compiled loops of the safe bound (see `safe_bound`): matrices of its dual function.

Each entry is summed in one pass over the matrices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit


@njit(cache=True, nogil=True)
def write_nonnegative_part(
    N: Reals, forbidden: Booleans, part: Reals, first: int, last: int
) -> None:
    """Write (P + P') / 2 for P = max(N, 0), N itself where forbidden.

    Of the entries (i, j) with i <= j those of rows first to last - 1, and their mirror images.
    """
    for j in range(first, len(N)):
        for i in range(first, min(last, j + 1)):
            barred = forbidden[i, j]
            upper = 0.0 if N[i, j] < 0.0 and not barred else N[i, j]
            lower = 0.0 if N[j, i] < 0.0 and not barred else N[j, i]
            part[i, j] = part[j, i] = 0.5 * (upper + lower)


@njit(cache=True)
def add_cuts(
    start: Integers,
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    coefficient: Reals,
    t: Reals,
    total: Reals,
    absolute: Reals,
) -> None:
    """Add sum_c t_c B_c to total, and the sum of the absolute values of its terms to absolute.

    The cuts are those of a `CutSet`.
    """
    for c in range(len(t)):
        for p in range(start[c], start[c + 1]):
            i, j = row[p], column[p]
            value = coefficient[p] * t[c]
            if i != j:
                value *= 0.5
                total[j, i] += value
                absolute[j, i] += abs(value)
            total[i, j] += value
            absolute[i, j] += abs(value)


@njit(cache=True, nogil=True)
def write_dual_matrix(
    N: Reals, r: Reals, K: Reals, total: Reals, absolute: Reals, first: int, last: int
) -> None:
    """Write S = -K - D^-1/2 (N + total) D^-1/2 to total, of rows first to last - 1.

    The same of absolute values is written to absolute. r : (m,) diagonal of D^-1/2
    """
    m = len(N)
    for i in range(first, last):
        for j in range(m):
            total[i, j] = (-N[i, j] - total[i, j]) * r[i] * r[j] - K[i, j]
            absolute[i, j] = (abs(N[i, j]) + absolute[i, j]) * r[i] * r[j] + abs(K[i, j])


@njit(cache=True, nogil=True)
def subtract_products(A: Reals, u: Reals, a: Reals, first: int, last: int) -> None:
    """Subtract u a' + a u' from rows first to last - 1 of A."""
    for i in range(first, last):
        for j in range(len(u)):
            A[i, j] = A[i, j] - u[i] * a[j] - u[j] * a[i]
