"""Projection onto the spectral set, by LAPACK or by a warm-started filtered subspace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular

from sdpbb.archive.stored import stored
from sdpbb.arrays import Reals
from sdpbb.bounds.sdp.parameters import SpectrumParameters


def simplex_threshold(values: NDArray[np.float64], total: float, cap: float) -> float:
    """Return the tau with sum of min(max(values - tau, 0), cap) = total.

    The values are in descending order, and 0 < total <= cap len(values).

    values may be the head of a longer list: the threshold is that of the whole list if it is above
    the last value given.
    """
    for capped in range(len(values)):
        left = total - capped * cap
        tail = values[capped:]
        if left <= 0:
            return float(tail[0])
        # Relative to the largest, so that none is too large for the others to be seen beside.
        below = tail - tail[0]
        excess = (np.cumsum(below) - left) / np.arange(1, len(tail) + 1)
        tau = float(excess[np.flatnonzero(below > excess)[-1]])
        if -tau <= cap:
            return float(tail[0]) + tau
    return float(values[-1]) - cap


@stored
@dataclass(eq=False)
class SpectrumState:
    """State of a `SpectralProjector`: where the next projection starts.

    basis : (m, carried) eigenvectors of the last matrix, those of its largest eigenvalues; None
        before the first projection
    lower, upper : a lower estimate of its spectrum, and the least eigenvalue in the basis: the ends
        of the interval that the filter damps
    rank : number of eigenvectors with positive weight
    """

    basis: NDArray[np.float64] | None = None
    lower: float = 0.0
    upper: float = 0.0
    rank: int = 0


class SpectralProjector:
    """Projection of symmetric matrices onto {u u' + R : 0 <= R <= cap I, R u = 0, tr R = trace}.

    The eigenvalues of P M P on the complement of the unit vector u are projected onto a capped
    simplex; only the pairs above its threshold enter R. Consecutive matrices are close to each
    other, so the last eigenvectors, passed through a Chebyshev filter that damps what lies below
    them, and a Rayleigh-Ritz step give the next ones. When the residual is above its tolerance, or
    more pairs than carried have positive weight, LAPACK answers instead.
    """

    def __init__(
        self,
        u: NDArray[np.float64],
        trace: float,
        parameters: SpectrumParameters,
        state: SpectrumState,
    ):
        """state : to begin with; it is changed by every projection"""
        self.u = u
        self.trace = trace
        self.parameters = parameters
        self.state = state
        self.n_exact = 0
        self.n_iterative = 0

    def project(self, M: NDArray[np.float64], residual: float, out: NDArray[np.float64]) -> None:
        """Write the projection of M to out; `residual` is the method's own current residual."""
        pairs = self._iterate(M, self.parameters.accuracy * residual)
        if pairs is None:
            pairs = self._exactly(M)
        weights, vectors = pairs
        self.state.rank = len(weights)
        scaled = vectors * np.sqrt(weights)
        np.matmul(scaled, scaled.T, out=out)
        out += self.u[:, None] * self.u

    def _exactly(self, M: Reals) -> tuple[Reals, Reals]:
        self.n_exact += 1
        m, u = len(self.u), self.u
        Mu = M @ u
        uMu = float(u @ Mu)
        shift = 2.0 * float(np.linalg.norm(M)) + 1.0
        a = Mu - (0.5 * (uMu - shift)) * u
        outer = np.outer(u, a)
        restricted = M - outer
        restricted -= outer.T  # P M P - shift u u'
        wanted = self._carried()
        if (
            m >= self.parameters.min_order
            and self.state.rank
            and wanted < self.parameters.exact_fraction * m
        ):
            values, vectors = eigh(
                restricted, subset_by_index=(m - wanted, m - 1), driver="evr", check_finite=False
            )
            values, vectors = values[::-1], vectors[:, ::-1]
            tau = simplex_threshold(values, self.trace, self.parameters.cap)
            if values[-1] < tau:
                return self._keep(values, vectors, tau)
        values, vectors = np.linalg.eigh(restricted)
        values, vectors = values[:0:-1], vectors[:, :0:-1]  # descending, without u's
        self.state.lower = float(values[-1]) if len(values) else 0.0
        return self._keep(
            values, vectors, simplex_threshold(values, self.trace, self.parameters.cap)
        )

    def _keep(self, values: Reals, vectors: Reals, tau: float) -> tuple[Reals, Reals]:
        rank = int((values > tau).sum())
        self.state.rank = rank
        carried = min(self._carried(), len(values))
        self.state.basis = np.ascontiguousarray(vectors[:, :carried])
        self.state.upper = float(values[carried - 1])
        return np.minimum(values[:rank] - tau, self.parameters.cap), vectors[:, :rank]

    def _carried(self) -> int:
        return self.state.rank + max(self.parameters.buffer, self.state.rank // 4)

    def _iterate(self, M: Reals, tolerance: float) -> tuple[Reals, Reals] | None:
        """Iterate on a filtered subspace; return None where that cannot be done accurately."""
        m = len(self.u)
        X = self.state.basis
        if X is None or m < self.parameters.min_order:
            return None
        if X.shape[1] > self.parameters.max_fraction * m or self.state.upper <= self.state.lower:
            return None
        for _ in range(2):
            X = self._orthonormal(self._filter(M, X))
            if X is None:
                return None
            MX = self._times(M, X)
            values, Q = np.linalg.eigh(X.T @ MX)
            values, Q = values[::-1], np.ascontiguousarray(Q[:, ::-1])
            X = X @ Q
            tau = simplex_threshold(values, self.trace, self.parameters.cap)
            rank = int((values > tau).sum())
            if rank == len(values):
                return None
            self.state.upper = float(values[-1])
            error = MX @ Q[:, :rank] - X[:, :rank] * values[:rank]
            if np.sqrt((error * error).sum()) <= tolerance:
                self.n_iterative += 1
                return self._keep(values, X, tau)
        return None

    def _times(self, M: Reals, X: Reals) -> Reals:
        """Return P M P X for X orthogonal to u."""
        MX = M @ X
        MX -= self.u[:, None] * (self.u @ MX)
        return MX

    def _filter(self, M: Reals, X: Reals) -> Reals:
        """Return T_degree((P M P - centre) / half) X, up to scale.

        It grows above [lower, upper] only.
        """
        centre = 0.5 * (self.state.upper + self.state.lower)
        half = 0.5 * (self.state.upper - self.state.lower)
        before = X
        X = self._times(M, X)
        X -= centre * before
        X /= half
        for _ in range(self.parameters.degree - 1):
            after = self._times(M, X)
            after -= centre * X
            after *= 2.0 / half
            after -= before
            before, X = X, after
        return X

    def _orthonormal(self, X: Reals) -> Reals | None:
        """Return orthonormal columns by Cholesky QR.

        Columns are scaled first; they start out almost orthogonal.
        """
        X = X / np.sqrt((X * X).sum(axis=0))
        try:
            factor = cholesky(X.T @ X, lower=False, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        solved: Reals = solve_triangular(factor, X.T, trans="T", lower=False, check_finite=False)
        return solved.T
