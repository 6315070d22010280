"""Compiled loops of the first-order method (see `admm`).

Each step reads what the last one wrote, so these are not array operations of NumPy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit


@njit(cache=True)
def dual_sweeps(
    Y: Reals,
    W: Reals,
    U: Reals,
    over_relaxation: float,
    touched: Integers,
    root: Reals,
    start: Integers,
    place: NDArray[np.uint32],
    term: Reals,
    rhs: Reals,
    t: Reals,
    cap: Reals,
    sweeps: int,
) -> Reals:
    """Project onto {W >= 0, W = 0 where forbidden, cuts} (step 3 of the method, see `admm`).

    With G = a Y + (1 - a) W + U (a: over_relaxation) and V = G + sum_c t_c B_c, the projection is
    max(V, 0). `sweeps` passes of dual coordinate ascent (Hildreth) change the multipliers t: the
    step t_c += rhs_c - <B_c, max(V, 0)> never decreases the dual function because ||B_c|| = 1; nor
    does it where it ends at 0 or at the cap of t_c.

    touched : positions of the upper triangle that cuts have terms at, in ascending order
    root : factor of each of them in svec coordinates
    place : of the position of each term, among them
    term : in svec coordinates

    Returns the entries of V there; it is G elsewhere.
    """
    flat_Y, flat_W, flat_U = Y.reshape(-1), W.reshape(-1), U.reshape(-1)
    V = np.empty(len(touched))  # next to each other, they stay in the processor's cache
    for q in range(len(touched)):
        p = touched[q]
        G = over_relaxation * flat_Y[p] + (1.0 - over_relaxation) * flat_W[p] + flat_U[p]
        V[q] = root[q] * G
    n_cuts = len(rhs)
    for c in range(n_cuts):
        if t[c] > 0.0:
            for p in range(start[c], start[c + 1]):
                V[place[p]] += t[c] * term[p]
    # A cut that is slack with multiplier zero in the first sweep rarely matters in the next ones.
    active = np.arange(n_cuts)
    for _ in range(sweeps):
        n_active = 0
        for a in range(len(active)):
            c = active[a]
            lhs = 0.0
            for p in range(start[c], start[c + 1]):
                lhs += term[p] * max(V[place[p]], 0.0)
            new = min(cap[c], max(0.0, t[c] + rhs[c] - lhs))
            step = new - t[c]
            if new > 0.0 or step != 0.0:
                active[n_active] = c
                n_active += 1
            if step != 0.0:
                t[c] = new
                for p in range(start[c], start[c + 1]):
                    V[place[p]] += step * term[p]
        active = active[:n_active]
    return V / root


@njit(cache=True, nogil=True)
def polyhedral_iterates(
    Y: Reals,
    W: Reals,
    U: Reals,
    K: Reals,
    rho: float,
    over_relaxation: float,
    forbidden: Booleans,
    touched: Integers,
    V: Reals,
    M: Reals,
    first: int,
    last: int,
) -> tuple[float, float]:
    """Write W, U = G - W and M of rows first to last - 1, and these columns of M.

    That is step 4 of the method (see `admm`), with the touched entries of V from `dual_sweeps`.
    M = W - U + K / rho is the matrix that the next spectral projection takes. Of the others only
    the upper triangles are read and written.

    Returns the parts of these rows in the squared residuals, primal and dual.
    """
    m = Y.shape[0]
    primal = 0.0
    dual = 0.0
    row_of_G, row_of_V = np.empty(m), np.empty(m)
    q = np.searchsorted(touched, first * m)
    for i in range(first, last):
        # Loops over slices that begin at 0 compile to the fastest code.
        n = m - i
        y, w, u, barred = Y[i, i:], W[i, i:], U[i, i:], forbidden[i, i:]
        k, next_row, g, v = K[i, i:], M[i, i:], row_of_G[:n], row_of_V[:n]
        for j in range(n):
            g[j] = over_relaxation * y[j] + (1.0 - over_relaxation) * w[j] + u[j]
        for j in range(n):
            v[j] = g[j]
        while q < len(touched) and touched[q] < (i + 1) * m:
            v[touched[q] - i * m - i] = V[q]
            q += 1
        for j in range(n):
            projected = 0.0 if barred[j] else max(v[j], 0.0)
            weight = 2.0 if j else 1.0
            primal += weight * (y[j] - projected) ** 2
            dual += weight * (projected - w[j]) ** 2
            w[j] = projected
            u[j] = g[j] - projected
            next_row[j] = projected - u[j] + k[j] / rho
    mirror(M, first, last)
    return primal, dual


@njit(cache=True, nogil=True)
def mirror(A: Reals, first: int, last: int) -> None:
    """Copy rows first to last - 1 of the upper triangle to the lower one."""
    # Rows are written one after the other; a piece of the columns stays in the cache.
    for j in range(first + 1, len(A)):
        for i in range(first, min(last, j)):
            A[j, i] = A[i, j]


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
