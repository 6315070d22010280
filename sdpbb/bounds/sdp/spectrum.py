"""Projection onto the spectral set, by LAPACK or by a warm-started filtered subspace."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from sdpbb.runtime.archive import Attached, stored
from sdpbb.runtime.arrays import Reals
from sdpbb.runtime.cores import LARGE, in_pieces, row_pieces


def simplex_threshold(values: NDArray[np.float64], total: float, cap: float) -> float:
    """Return the tau with sum of min(max(values - tau, 0), cap) = total.

    The values are in descending order, and 0 < total <= cap len(values).

    values may be the head of a longer list: the result holds for the longer list if it exceeds the
    last given value.
    """
    for capped in range(len(values)):
        left = total - capped * cap
        tail = values[capped:]
        if left <= 0:
            return float(tail[0])
        # Subtract the largest, to lose no digits.
        below = tail - tail[0]
        excess = (np.cumsum(below) - left) / np.arange(1, len(tail) + 1)
        tau = float(excess[np.flatnonzero(below > excess)[-1]])
        if -tau <= cap:
            return float(tail[0]) + tau
    return float(values[-1]) - cap


Floats = TypeVar("Floats", NDArray[np.float64], NDArray[np.float32])
# Upper bound on the eigenvalues of the projected matrix: R <= CAP I. Every value is valid. 1 is
# slower on ordinary data. k or more stalls at an outlier, whose eigenvalue takes the whole trace.
CAP = 2.0
# Least order for the filtered subspace. LAPACK is as fast below.
MIN_ORDER = 60
# Maximum share of the eigenpairs to compute by the filtered subspace.
MAX_FRACTION = 0.45
# Degree of the Chebyshev filter between two Rayleigh-Ritz steps. 20 can overflow.
DEGREE = 3
# Eigenpairs carried beyond the pairs of positive weight, as more may become positive.
BUFFER = 8
# Accepted residual, as a fraction of the method's own last residual. 0.02 to 0.5 need the same
# number of iterations of the method.
ACCURACY = 0.5
# Steps of Lanczos' method for the least eigenvalue: of the first matrix, and of each next one.
FIRST_STEPS, FOLLOWING_STEPS = 12, 3
# If the accepted residual is above this, the filter is in single precision, but not the
# Rayleigh-Ritz step. Entries are of the order of 1.
SINGLE = 1e-4
# Least width of the interval that the filter damps, as a fraction of the norm of the matrix.
NARROWEST = 0.05
# Differences of eigenvalues below this fraction of the norm are rounding.
ROUNDING = 1e-9
# Accepted residual of the first projection, as a fraction of the norm of its matrix.
FIRST_ACCURACY = 1e-3


def _least_ritz_pair(
    times: Callable[[Reals], Reals], start: Reals, steps: int
) -> tuple[float, float, Reals]:
    """Return the least Ritz value of a matrix A by Lanczos' method, its residual norm, and vector.

    Some eigenvalue is at most that norm away.

    times : x (m,) to A x; start : (m,), not 0
    """
    basis, alphas, betas = [start / np.linalg.norm(start)], [], []
    for _ in range(steps):
        w = times(basis[-1])
        alphas.append(float(basis[-1] @ w))
        for v in basis:  # once is enough for few steps
            w = w - (v @ w) * v
        betas.append(float(np.linalg.norm(w)))
        if betas[-1] <= 1e-14 * abs(alphas[0]):
            break
        basis.append(w / betas[-1])
    n = len(alphas)
    T = np.diag(alphas) + np.diag(betas[: n - 1], 1) + np.diag(betas[: n - 1], -1)
    values, vectors = np.linalg.eigh(T)
    vector = np.column_stack(basis[:n]) @ vectors[:, 0]
    return float(values[0]), betas[n - 1] * abs(float(vectors[-1, 0])), vector


def _product(A: Floats, B: Floats) -> Floats:
    """Return A B."""
    AB = np.empty((A.shape[0], B.shape[1]), A.dtype)
    in_pieces(
        lambda i, j: np.matmul(A[i:j], B, out=AB[i:j]),
        row_pieces(len(A), 2.0 * A.size * B.shape[1]),
    )
    return AB


def _gram(A: Reals, B: Reals) -> Reals:
    """Return A' B."""
    pieces = row_pieces(len(A), 2.0 * A.size * B.shape[1])
    parts = in_pieces(lambda i, j: A[i:j].T @ B[i:j], pieces)
    return sum(parts[1:], start=parts[0])


def _square(A: Reals, out: Reals) -> None:
    """Write A A' to out, at least its upper triangle."""
    in_pieces(
        lambda i, j: np.matmul(A[i:j], A[i:].T, out=out[i:j, i:]),
        row_pieces(len(A), (A.shape[1] + 4.0) * len(A) ** 2),
    )


@stored
@dataclass(eq=False)
class SpectralProjector(Attached):
    """Projection of symmetric matrices onto {u u' + R : 0 <= R <= CAP I, R u = 0, tr R = trace}.

    The eigenvalues of P M P on the complement of the unit vector u are projected onto a capped
    simplex; only pairs above its threshold enter R. Consecutive matrices are close to each other.
    So a Chebyshev filter, which damps lower eigenvalues, and a Rayleigh-Ritz step turn the last
    eigenvectors into the next ones. If more pairs than carried have positive weight, random columns
    join them. If the residual stays above its tolerance, LAPACK computes all pairs.

    basis : (m, carried) eigenvectors of the largest eigenvalues of the last matrix; None before the
        first projection
    lower, upper : ends of the interval that the filter damps: a lower estimate of the spectrum, and
        the least eigenvalue in the basis
    rank : number of eigenvectors with positive weight
    lowest : (m,) near the eigenvector of the least eigenvalue of the last matrix
    """

    basis: NDArray[np.float64] | None = None
    lower: float = 0.0
    upper: float = 0.0
    rank: int = 0
    lowest: NDArray[np.float64] | None = None

    def attach(self, u: NDArray[np.float64], trace: float) -> SpectralProjector:
        """Start or resume projections for a unit vector u (m,) and a trace."""
        self.u, self.trace = u, trace
        self.n_exact = self.n_iterative = 0
        return self

    def project(self, M: NDArray[np.float64], residual: float, out: NDArray[np.float64]) -> None:
        """Write the upper triangle of the projection of M to out.

        residual : the method's own current residual
        """
        pairs = self._iterate(M, ACCURACY * residual)
        if pairs is None:
            pairs = self._exactly(M)
        weights, vectors = pairs
        columns = vectors * np.sqrt(weights)
        if len(M) < LARGE:
            _square(columns, out)
            out += np.outer(self.u, self.u)
        else:  # a pass less
            _square(np.column_stack([columns, self.u]), out)

    def below(self, M: NDArray[np.float64]) -> float:
        """Return a low eigenvalue whose eigenvectors have no weight in the projection.

        It is in the interval of the filter if there is one.
        """
        is_known = len(M) >= MIN_ORDER and self.lower < 0.0
        return self.lower if is_known else -float(np.linalg.norm(M))

    def _exactly(self, M: Reals) -> tuple[Reals, Reals]:
        self.n_exact += 1
        u = self.u
        Mu = M @ u
        uMu = float(u @ Mu)
        shift = 2.0 * float(np.linalg.norm(M)) + 1.0
        a = Mu - (0.5 * (uMu - shift)) * u
        outer = np.outer(u, a)
        restricted = M - outer
        restricted -= outer.T  # P M P - shift u u'
        values, vectors = np.linalg.eigh(restricted)
        values, vectors = values[:0:-1], vectors[:, :0:-1]  # descending, without u's
        self.lower = float(values[-1]) if len(values) else 0.0
        return self._keep(values, vectors, simplex_threshold(values, self.trace, CAP))

    def _keep(self, values: Reals, vectors: Reals, tau: float) -> tuple[Reals, Reals]:
        rank = int((values > tau).sum())
        self.rank = rank
        carried = min(self._carried(), len(values))
        self.basis = np.ascontiguousarray(vectors[:, :carried])
        self.upper = float(values[carried - 1])
        return np.minimum(values[:rank] - tau, CAP), vectors[:, :rank]

    def _carried(self) -> int:
        return self.rank + max(BUFFER, self.rank // 4)

    def _iterate(self, M: Reals, tolerance: float) -> tuple[Reals, Reals] | None:
        """Iterate on a filtered subspace; return None if that is not accurate enough."""
        m, X = len(self.u), self.basis
        if m < MIN_ORDER:
            return None
        if X is None:
            X, tolerance = self._first_basis(M), FIRST_ACCURACY * float(np.linalg.norm(M))
        self._estimate_lower(M)
        if X.shape[1] > MAX_FRACTION * m or self.upper <= self.lower:
            return None
        X = self._widened(X)
        single = M.astype(np.float32) if m >= LARGE and tolerance > SINGLE else None
        for degree in self._degrees(X.shape[1]):
            X = self._orthonormal(self._filtered(M, single, X, degree))
            if X is None:
                return None
            MX = self._times(M, X)
            values, Q = np.linalg.eigh(_gram(X, MX))
            values, Q = values[::-1], np.ascontiguousarray(Q[:, ::-1])
            X = _product(X, Q)
            tau = simplex_threshold(values, self.trace, CAP)
            rank = int((values > tau).sum())
            if rank == len(values):
                self.rank = rank
                X = self._widened(X)
                continue
            self.upper = float(values[-1])
            error = _product(MX, Q[:, :rank]) - X[:, :rank] * values[:rank]
            if np.sqrt((error * error).sum()) <= tolerance:
                self.n_iterative += 1
                return self._keep(values, X, tau)
        return None

    def _estimate_lower(self, M: Reals) -> None:
        """Estimate the least eigenvalue of P M P from below, and keep it below the basis' values.

        Lanczos' method continues from its last vector for the last matrix. It starts again if that
        fails: matrices change fast at first.
        """
        if self.lowest is not None:
            self.lower = self._least_eigenvalue(M, self.lowest, FOLLOWING_STEPS)
        if self.lowest is None or self.lower >= self.upper:
            start = np.random.default_rng(0).normal(size=len(M))
            self.lower = self._least_eigenvalue(M, start, FIRST_STEPS)
        norm = float(np.linalg.norm(M))
        if self.lower >= self.upper - ROUNDING * norm:  # nearly all eigenvalues are equal
            self.lower = self.upper - NARROWEST * norm

    def _least_eigenvalue(self, M: Reals, v: Reals, steps: int) -> float:
        value, error, self.lowest = _least_ritz_pair(
            lambda x: self._times(M, x[:, None])[:, 0], v - self.u * (self.u @ v), steps
        )
        return value - error

    def _first_basis(self, M: Reals) -> Reals:
        """Return columns near the eigenvectors of the largest eigenvalues of M, a few."""
        m, wanted = len(self.u), math.ceil(self.trace) + 2 * BUFFER
        rng = np.random.default_rng(0)
        columns = self._times(M, rng.normal(size=(m, wanted)))
        # Orthogonal to u even if the columns are almost dependent.
        X = np.linalg.qr(np.column_stack([self.u, columns]))[0][:, 1:]
        self.upper = float(np.linalg.eigvalsh(_gram(X, self._times(M, X)))[0])
        return X

    def _widened(self, X: Reals) -> Reals:
        """Return the basis with random columns more, if it is smaller than wanted.

        The filter turns them into eigenvectors before they are needed.
        """
        missing = self._carried() - X.shape[1]
        if missing <= 0:
            return X
        rng = np.random.default_rng(X.shape[1])
        columns = rng.normal(size=(len(X), missing))
        columns -= self.u[:, None] * (self.u @ columns)
        columns -= X @ (X.T @ columns)
        return np.concatenate([X, columns], axis=1)

    def _degrees(self, n_columns: int) -> list[int]:
        """Return the degrees of the filters to try, in less time than LAPACK takes.

        If the first fails, eigenvalues are close to each other, and a higher degree gains more than
        another Rayleigh-Ritz step.
        """
        n_more = min(4, max(1, len(self.u) // (4 * n_columns)))
        return [DEGREE, *[2 * DEGREE] * n_more]

    def _times(self, M: Floats, X: Floats) -> Floats:
        """Return P M P X for X orthogonal to u."""
        MX = _product(M, X)
        MX -= self.u[:, None] * (self.u @ MX)
        return MX

    def _filtered(
        self, M: Reals, single: NDArray[np.float32] | None, X: Reals, degree: int
    ) -> Reals:
        """Return the filtered basis, in single precision if given and if nothing overflows."""
        if single is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                found = self._filter(single, X.astype(np.float32), degree).astype(np.float64)
            if np.isfinite(found).all():
                return found
        return self._filter(M, X, degree)

    def _filter(self, M: Floats, X: Floats, degree: int) -> Floats:
        """Return T_degree((P M P - centre) / half) X, up to scale.

        It grows only above [lower, upper].
        """
        centre = 0.5 * (self.upper + self.lower)
        half = 0.5 * (self.upper - self.lower)
        before = X
        X = self._times(M, X)
        X -= centre * before
        X /= half
        for _ in range(degree - 1):
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
        if not np.isfinite(X).all():
            return None
        try:
            factor = cholesky(_gram(X, X), lower=False, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        solved: Reals = solve_triangular(factor, X.T, trans="T", lower=False, check_finite=False)
        return solved.T
