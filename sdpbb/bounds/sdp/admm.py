"""First-order method: alternating projections with a dual memory (ADMM), and its compiled loops.

Each step of the loops depends on the last one, so these are not array operations of NumPy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, ScaledCuts
from sdpbb.bounds.sdp.cuts.soft_pairs import multiplier_caps
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.bounds.sdp.spectrum import SpectralProjector
from sdpbb.runtime.archive import Attached, stored
from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.cores import in_pieces, pass_pieces
from sdpbb.runtime.jit import njit

# First penalty rho; the data are scaled so that ||K||_F = 1.
PENALTY = 0.5
OVER_RELAXATION = 1.6
# Passes of dual coordinate ascent over the cuts per iteration.
SWEEPS = 4
# The penalty changes by PENALTY_STEP when the residuals differ by more than the factor BALANCE.
# 1.3 and 2 for both need 6 and 12 % more iterations.
BALANCE = 1.5
PENALTY_STEP = 1.5


@stored
@dataclass(eq=False)
class Admm(Attached):
    """Iterates of the first-order method for the relaxation with cuts.

    It solves min -<K, Y> over Y = W with

        Y in the spectral set   { u u' + R : 0 <= R <= cap I, R u = 0, tr R = k - 1 },
        W in the polyhedral set { W >= 0, W = 0 on cannot-links, <B_c, W> >= b_c }

    with a scaled dual U and a penalty rho. Terms of soft pairs may be violated at a price, which
    caps their multipliers. One iteration is

        1. Y <- projection of W - U + K/rho onto the spectral set
        2. G <- a Y + (1 - a) W + U, with a the over-relaxation
        3. W <- projection of G onto the polyhedral set, by a few dual sweeps over the cuts
        4. U <- G - W

    At any time N = -rho U - rho sum_c t_c B_c and the multipliers rho t_c are dual values
    (`dual_point`).

    State between two iterations, in the coordinates of Y:

    W : (m, m) the polyhedral iterate, in the upper triangle
    U : (m, m) the scaled dual, in the upper triangle
    t : (number of cuts,) scaled multipliers of the cuts
    cuts : of the polyhedral set
    rho : penalty
    spectrum : projection onto the spectral set
    """

    W: NDArray[np.float64]
    U: NDArray[np.float64]
    t: NDArray[np.float64]
    cuts: CutSet
    rho: float
    n_iterations: int = 0
    primal_residual: float = math.inf
    dual_residual: float = math.inf
    spectrum: SpectralProjector = field(default_factory=SpectralProjector)

    @classmethod
    def centre(cls, relaxation: Relaxation) -> Admm:
        """Return the method at the spectral set's centre, without cuts and with zero dual values.

        The centre is u u' + (k-1)/(m-1) (I - u u').
        """
        m, k, u = relaxation.m, relaxation.k, relaxation.u
        share = (k - 1.0) / max(m - 1, 1)
        W = (1.0 - share) * np.outer(u, u) + share * np.eye(m)
        admm = cls(W, np.zeros((m, m)), np.zeros(0), CutSet.empty(), PENALTY)
        return admm.attach(relaxation)

    @classmethod
    def at(
        cls, relaxation: Relaxation, dual: DualPoint, Z: NDArray[np.float64], rho: float = PENALTY
    ) -> Admm:
        """Return the method at dual values and an affinity, in units of the relaxation."""
        r = relaxation.inverse_roots
        roots = 1.0 / r
        cuts = ScaledCuts.of(dual.cuts, r, relaxation.forbidden)
        t = np.minimum(dual.multipliers, multiplier_caps(relaxation, dual.cuts)) * cuts.norm / rho
        W = np.where(relaxation.forbidden, 0.0, roots[:, None] * Z * roots)
        U = np.zeros_like(W)
        np.subtract.at(U.reshape(-1), cuts.position, t[dual.cuts.owner] * cuts.entry)
        U += np.triu(U, 1).T
        U -= dual.N * r[:, None] * r / rho
        return cls(W, U, t, dual.cuts, rho).attach(relaxation)

    def attach(self, relaxation: Relaxation) -> Admm:
        """Start or resume, to the last bit, on the relaxation that the method started with."""
        m = relaxation.m
        self.relaxation = relaxation
        self.spectrum.attach(relaxation.u, relaxation.k - 1.0)
        self._take_cuts()
        self._Y, self._M = np.empty((m, m)), np.empty((m, m))
        self._pieces = pass_pieces(m)
        self._refresh()
        return self

    def iterate(self) -> None:
        """Do one iteration."""
        residual = max(self.primal_residual, self.dual_residual)
        M = self._M
        if self.relaxation.kernel.shape[1]:
            M = self.relaxation.deflated(M, self.spectrum.below(M))
        self.spectrum.project(M, residual, out=self._Y)
        self._project_onto_polyhedron()
        self.n_iterations += 1

    def _project_onto_polyhedron(self) -> None:
        """Do steps 2 to 4, and write M for the next projection onto the spectral set."""
        cuts, Y, W, U = self._cuts, self._Y, self.W, self.U
        V = dual_sweeps(
            Y,
            W,
            U,
            OVER_RELAXATION,
            cuts.touched,
            cuts.root,
            cuts.start,
            cuts.place,
            cuts.term,
            cuts.rhs,
            self.t,
            self._caps / self.rho,
            SWEEPS,
        )
        iterates = partial(
            polyhedral_iterates,
            Y,
            W,
            U,
            self.relaxation.K,
            self.rho,
            OVER_RELAXATION,
            self.relaxation.forbidden,
            cuts.touched,
            V,
            self._M,
        )
        residuals = np.array(in_pieces(iterates, self._pieces)).sum(axis=0)
        self.primal_residual, self.dual_residual = map(float, np.sqrt(residuals))

    def balance(self) -> None:
        """Change rho towards equal primal and dual residuals; the unscaled duals stay."""
        # The residual of the unscaled duals has the factor rho. Without a factor, rho went from
        # 0.02 to 5.7 on 1,608 blocks, and bounds got worse for 100 iterations.
        dual_residual = max(1.0, math.sqrt(self.rho / PENALTY)) * self.dual_residual
        if self.primal_residual > BALANCE * dual_residual:
            factor = PENALTY_STEP
        elif dual_residual > BALANCE * self.primal_residual:
            factor = 1.0 / PENALTY_STEP
        else:
            return
        self._set_penalty(self.rho * factor)

    def _set_penalty(self, rho: float) -> None:
        ratio = self.rho / rho
        self.U *= ratio
        self.t *= ratio
        self.rho = rho
        self._refresh()

    def _refresh(self) -> None:
        M = self._M
        np.subtract(self.W, self.U, out=M)
        M += self.relaxation.K / self.rho
        in_pieces(partial(mirror, M), self._pieces)

    def replace_cuts(self, new: CutSet) -> None:
        """Drop the cuts whose multiplier is zero, and add the cuts of `new` that are missing."""
        active = self.t > 0.0
        kept = self.cuts.select(active)
        fresh = new.select(~np.isin(new.keys, kept.keys))
        self.cuts = kept + fresh
        self._take_cuts()
        self.t = np.concatenate([self.t[active], np.zeros(len(fresh))])

    def _take_cuts(self) -> None:
        relaxation, cuts = self.relaxation, self.cuts
        self._cuts = ScaledCuts.of(cuts, relaxation.inverse_roots, relaxation.forbidden)
        self._caps = multiplier_caps(relaxation, cuts) * self._cuts.norm

    def polyhedral_iterate(self) -> NDArray[np.float64]:
        """Return W, both triangles."""
        in_pieces(partial(mirror, self.W), self._pieces)
        return self.W

    def dual_point(self) -> DualPoint:
        """Return the dual values of the current iterate, in the coordinates of Z.

        N, the multipliers (divided by rho) of W >= 0, is nonnegative up to rounding.
        """
        cuts, N = self._cuts, -self.U
        np.subtract.at(N.reshape(-1), cuts.position, self.t[self.cuts.owner] * cuts.entry)
        N[(N < 0.0) & ~self.relaxation.forbidden] = 0.0
        in_pieces(partial(mirror, N), self._pieces)
        roots = 1.0 / self.relaxation.inverse_roots
        N *= self.rho * roots[:, None] * roots
        return DualPoint(N, self.cuts, self.rho * self.t / cuts.norm)


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
    max(V, 0). `sweeps` passes of dual coordinate ascent (Hildreth) change the multipliers t. The
    step t_c += rhs_c - <B_c, max(V, 0)> never decreases the dual function because ||B_c|| = 1; nor
    does a step to 0 or to the cap of t_c.

    touched : positions of terms of cuts in the upper triangle, ascending
    root : factor of each position in svec coordinates
    place : place of the position of each term in touched
    term : in svec coordinates

    Returns the entries of V at these positions; other entries of V are entries of G.
    """
    flat_Y, flat_W, flat_U = Y.reshape(-1), W.reshape(-1), U.reshape(-1)
    V = np.empty(len(touched))  # contiguous, for the processor's cache
    for q in range(len(touched)):
        p = touched[q]
        G = over_relaxation * flat_Y[p] + (1.0 - over_relaxation) * flat_W[p] + flat_U[p]
        V[q] = root[q] * G
    n_cuts = len(rhs)
    for c in range(n_cuts):
        if t[c] > 0.0:
            for p in range(start[c], start[c + 1]):
                V[place[p]] += t[c] * term[p]
    # A slack cut with multiplier zero in the first sweep rarely matters in later ones.
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
    """Write rows first to last - 1 of W, U = G - W and M, and these columns of M.

    That is step 4 of the method (see `admm`), with the touched entries of V from `dual_sweeps`. The
    next spectral projection projects M = W - U + K / rho. Only upper triangles of the other
    matrices are read and written.

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
    # Rows are written in order; a piece of the columns stays in the cache.
    for j in range(first + 1, len(A)):
        for i in range(first, min(last, j)):
            A[j, i] = A[i, j]
