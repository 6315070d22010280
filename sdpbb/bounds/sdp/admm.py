"""The first-order method: alternating projections with a dual memory (ADMM)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.bounds.sdp import kernels
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, ScaledCuts
from sdpbb.bounds.sdp.parameters import AdmmParameters, SpectrumParameters
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.bounds.sdp.spectrum import SpectralProjector, Subspace


@stored
@dataclass(frozen=True, eq=False)
class AdmmState:
    """The variables of the method between two iterations, in the coordinates of Y."""

    W: NDArray[np.float64]
    U: NDArray[np.float64]
    t: NDArray[np.float64]
    cuts: CutSet
    rho: float
    n_iterations: int
    primal_residual: float
    dual_residual: float
    subspace: Subspace | None


class Admm:
    """Iterates for the relaxation with cuts, min -<K, Y> over Y = W with

        Y in the spectral set   { u u' + R : 0 <= R <= cap I, R u = 0, tr R = k - 1 },
        W in the polyhedral set { W >= 0, W = 0 on cannot-links, <B_c, W> >= b_c },

    a scaled dual U and a penalty rho. One iteration is

        1. Y <- projection of W - U + K/rho onto the spectral set
        2. G <- relaxation Y + (1 - relaxation) W + U
        3. W <- projection of G onto the polyhedral set, by a few dual sweeps over the cuts
        4. U <- G - W

    and at any time N = -rho U - rho sum_c t_c B_c and the multipliers rho t_c are dual values
    whose bound can be evaluated: `dual_point`.
    """

    def __init__(
        self,
        relaxation: Relaxation,
        parameters: AdmmParameters,
        spectrum: SpectrumParameters,
    ):
        m = relaxation.m
        self.relaxation = relaxation
        self.parameters = parameters
        self.projector = SpectralProjector(relaxation.u, relaxation.k - 1.0, spectrum)
        self.cuts = ScaledCuts.of(CutSet.empty(), relaxation.inverse_roots)
        self.t = np.zeros(0)
        self.rho = parameters.penalty
        self.n_iterations = 0
        self.primal_residual = self.dual_residual = np.inf
        self.Y = np.zeros((m, m))
        self.W = self._centre()
        self.U = np.zeros((m, m))
        self._M = self.W + relaxation.K / self.rho
        self._V = np.empty((m, m))

    def _centre(self) -> NDArray[np.float64]:
        """u u' + (k-1)/(m-1) (I - u u'): the spectral set's centre."""
        m, k, u = self.relaxation.m, self.relaxation.k, self.relaxation.u
        share = (k - 1.0) / max(m - 1, 1)
        return (1.0 - share) * np.outer(u, u) + share * np.eye(m)

    def iterate(self) -> None:
        """One iteration."""
        p = self.parameters
        residual = max(self.primal_residual, self.dual_residual)
        M = self._M
        if self.relaxation.kernel.shape[1]:
            M = self.relaxation.deflated(M, -float(np.linalg.norm(M)))
        self.projector.project(M, residual, out=self.Y)
        cuts = self.cuts
        primal, dual = kernels.polyhedral_step(
            self.Y,
            self.W,
            self.U,
            self.relaxation.K,
            self.rho,
            p.relaxation,
            self.relaxation.forbidden,
            cuts.start,
            cuts.position,
            cuts.coefficient,
            cuts.entry,
            cuts.rhs,
            self.t,
            p.sweeps,
            self._V,
            self._M,
        )
        self.primal_residual, self.dual_residual = float(np.sqrt(primal)), float(np.sqrt(dual))
        self.n_iterations += 1

    def balance(self) -> None:
        """Change rho towards equal primal and dual residuals; the unscaled duals stay."""
        p = self.parameters
        if self.primal_residual > p.balance * self.dual_residual:
            factor = p.penalty_step
        elif self.dual_residual > p.balance * self.primal_residual:
            factor = 1.0 / p.penalty_step
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
        np.subtract(self.W, self.U, out=self._M)
        self._M += self.relaxation.K / self.rho

    def replace_cuts(self, new: CutSet) -> None:
        """Drop the cuts whose multiplier is zero, add those of `new` that are not there yet."""
        active = self.t > 0.0
        kept = self.cuts.cuts.select(active)
        fresh = new.select(~np.isin(new.keys, kept.keys))
        self.cuts = ScaledCuts.of(kept + fresh, self.relaxation.inverse_roots)
        self.t = np.concatenate([self.t[active], np.zeros(len(fresh))])

    def dual_point(self) -> DualPoint:
        """The dual values of the current iterate, in the coordinates of Z."""
        N = np.empty_like(self.U)
        cuts = self.cuts
        kernels.nonnegativity_multipliers(
            self.U, self.relaxation.forbidden, cuts.start, cuts.position, cuts.entry, self.t, N
        )
        roots = 1.0 / self.relaxation.inverse_roots
        N *= self.rho * roots[:, None] * roots
        return DualPoint(N, cuts.cuts, self.rho * self.t / cuts.norm)

    def state(self) -> AdmmState:
        """A copy of what `restore` needs."""
        return AdmmState(
            W=self.W.copy(),
            U=self.U.copy(),
            t=self.t.copy(),
            cuts=self.cuts.cuts,
            rho=self.rho,
            n_iterations=self.n_iterations,
            primal_residual=self.primal_residual,
            dual_residual=self.dual_residual,
            subspace=self.projector.subspace,
        )

    def restore(self, state: AdmmState) -> None:
        """Go on, to the last bit, as the method would have that was in this state."""
        self.W, self.U, self.t = state.W.copy(), state.U.copy(), state.t.copy()
        self.cuts = ScaledCuts.of(state.cuts, self.relaxation.inverse_roots)
        self.rho = state.rho
        self.n_iterations = state.n_iterations
        self.primal_residual, self.dual_residual = state.primal_residual, state.dual_residual
        self.projector.subspace = state.subspace
        self._refresh()

    def start_from(self, dual: DualPoint, Z: NDArray[np.float64], rho: float) -> None:
        """Continue from dual values and an affinity in the coordinates of this relaxation."""
        r = self.relaxation.inverse_roots
        roots = 1.0 / r
        self.rho = rho
        self.cuts = ScaledCuts.of(dual.cuts, r)
        self.t = dual.multipliers * self.cuts.norm / rho
        self.W = np.where(self.relaxation.forbidden, 0.0, roots[:, None] * Z * roots)
        cuts = self.cuts
        self.U = np.zeros_like(self.W)
        flat = self.U.reshape(-1)
        np.subtract.at(flat, cuts.position, self.t[cuts.cuts.owner] * cuts.entry)
        self.U += np.triu(self.U, 1).T
        self.U -= dual.N * r[:, None] * r / rho
        self._refresh()
