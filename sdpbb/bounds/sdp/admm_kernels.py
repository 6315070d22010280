"""Compiled loops of the first-order method (see `admm`).

Each step reads what the last one wrote, so these are not array operations of NumPy.
"""

from __future__ import annotations

import numpy as np

from sdpbb.arrays import Booleans, Integers, Reals
from sdpbb.jit import njit


@njit(cache=True, nogil=True)
def relaxed_sum(
    Y: Reals, W: Reals, U: Reals, over_relaxation: float, V: Reals, first: int, last: int
) -> None:
    """Write V = a Y + (1 - a) W + U (a: over_relaxation), of rows first to last - 1.

    Only the upper triangles are read and written.
    """
    m = Y.shape[0]
    for i in range(first, last):
        for j in range(i, m):
            V[i, j] = over_relaxation * Y[i, j] + (1.0 - over_relaxation) * W[i, j] + U[i, j]


@njit(cache=True, nogil=True)
def dual_sweeps(
    V: Reals,
    forbidden: Booleans,
    start: Integers,
    position: Integers,
    coefficient: Reals,
    entry: Reals,
    rhs: Reals,
    t: Reals,
    sweeps: int,
) -> None:
    """Project onto {W >= 0, W = 0 where forbidden, cuts} (step 3 of the method, see `admm`).

    V, a matrix G at first, and t are changed in place. `sweeps` passes of dual coordinate ascent
    (Hildreth) go over the multipliers t, from their last values: with V = G + sum_c t_c B_c and
    W = max(V, 0), the step t_c += rhs_c - <B_c, W> never decreases the dual function because
    ||B_c|| = 1. Only the upper triangles are read and written.
    """
    flat = V.reshape(-1)
    n_cuts = len(rhs)
    for c in range(n_cuts):
        if t[c] > 0.0:
            for p in range(start[c], start[c + 1]):
                flat[position[p]] += t[c] * entry[p]
    barred = forbidden.reshape(-1)
    # A cut that is slack with multiplier zero in the first sweep rarely matters in the next ones.
    active = np.empty(n_cuts, np.int64)
    n_active = 0
    for c in range(n_cuts):
        lhs = 0.0
        for p in range(start[c], start[c + 1]):
            q = position[p]
            if flat[q] > 0.0 and not barred[q]:
                lhs += coefficient[p] * flat[q]
        new = max(0.0, t[c] + rhs[c] - lhs)
        step = new - t[c]
        if new > 0.0 or step != 0.0:
            active[n_active] = c
            n_active += 1
            t[c] = new
            for p in range(start[c], start[c + 1]):
                flat[position[p]] += step * entry[p]
    for _ in range(sweeps - 1):
        for a in range(n_active):
            c = active[a]
            lhs = 0.0
            for p in range(start[c], start[c + 1]):
                q = position[p]
                if flat[q] > 0.0 and not barred[q]:
                    lhs += coefficient[p] * flat[q]
            new = max(0.0, t[c] + rhs[c] - lhs)
            step = new - t[c]
            if step != 0.0:
                t[c] = new
                for p in range(start[c], start[c + 1]):
                    flat[position[p]] += step * entry[p]


@njit(cache=True, nogil=True)
def polyhedral_iterates(
    Y: Reals,
    W: Reals,
    U: Reals,
    K: Reals,
    rho: float,
    over_relaxation: float,
    forbidden: Booleans,
    V: Reals,
    M: Reals,
    first: int,
    last: int,
) -> tuple[float, float]:
    """Write W, U = G - W and M of rows first to last - 1, and of these columns.

    That is step 4 of the method (see `admm`), after `dual_sweeps` on V. M = W - U + K / rho is the
    matrix that the next spectral projection takes. Only the upper triangles are read.

    Returns the parts of these rows in the squared residuals, primal and dual.
    """
    m = Y.shape[0]
    primal = 0.0
    dual = 0.0
    for i in range(first, last):
        for j in range(i, m):
            G = over_relaxation * Y[i, j] + (1.0 - over_relaxation) * W[i, j] + U[i, j]
            w = 0.0 if forbidden[i, j] else max(V[i, j], 0.0)
            u = G - w
            weight = 1.0 if i == j else 2.0
            primal += weight * (Y[i, j] - w) ** 2
            dual += weight * (w - W[i, j]) ** 2
            W[i, j] = w
            U[i, j] = u
            M[i, j] = w - u + K[i, j] / rho
    # Rows are written one after the other; a piece of the columns stays in the cache.
    for j in range(first + 1, m):
        for i in range(first, min(last, j)):
            W[j, i] = W[i, j]
            U[j, i] = U[i, j]
            M[j, i] = M[i, j]
    return primal, dual


@njit(cache=True)
def nonnegativity_multipliers(
    U: Reals,
    forbidden: Booleans,
    start: Integers,
    position: Integers,
    entry: Reals,
    t: Reals,
    N: Reals,
) -> None:
    """Write N = -U - sum_c t_c B_c, the multipliers (divided by rho) of W >= 0.

    They are those after `polyhedral_iterates`: nonnegative off the cannot-links up to rounding,
    symmetric, in the coordinates of Y.
    """
    m = U.shape[0]
    for i in range(m):
        for j in range(i, m):
            N[i, j] = -U[i, j]
    flat = N.reshape(-1)
    for c in range(len(t)):
        if t[c] > 0.0:
            for p in range(start[c], start[c + 1]):
                flat[position[p]] -= t[c] * entry[p]
    for i in range(m):
        for j in range(i, m):
            if N[i, j] < 0.0 and not forbidden[i, j]:
                N[i, j] = 0.0
            N[j, i] = N[i, j]
