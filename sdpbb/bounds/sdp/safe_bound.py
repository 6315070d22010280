"""Proofs by dual values: the safe bound at any multipliers, and fixing by reduced costs.

The safe bound is the value of the dual function less a margin for rounding. Fixing finds pairs of
blocks that are apart in all clusterings below the cutoff.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sdpbb.bounds.bound import EPS, ProvenBound
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.cuts.soft_pairs import multiplier_caps
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.runtime.archive import stored
from sdpbb.runtime.arrays import Booleans, Reals
from sdpbb.runtime.jit import njit


@stored
@dataclass(frozen=True, eq=False)
class DualPoint:
    """Dual values of a node, in units of its relaxation's scale.

    N : (m, m) symmetric, for Z_ij >= 0 (any sign where i and j are cannot-linked)
    cuts, multipliers : valid inequalities and their multipliers >= 0

    Both are in the coordinates of Z, so that children can use them.
    """

    N: NDArray[np.float64]
    cuts: CutSet
    multipliers: NDArray[np.float64]

    def merged(self, block_of: NDArray[np.intp], m: int) -> DualPoint:
        """Return the dual point of a child of m blocks: block i is part of its block block_of[i].

        With E the merging, Z_old = E' Z_new E, so <N, Z_old> = <E N E', Z_new>: entries add up.
        Its bound for the child is at least the bound for the parent. Equal cuts become one with the
        sum of their multipliers; cuts without terms are dropped.
        """
        E = np.zeros((m, len(block_of)))
        E[block_of, np.arange(len(block_of))] = 1.0
        cuts = self.cuts.merged(block_of)
        _, first, inverse = np.unique(cuts.keys, return_index=True, return_inverse=True)
        multipliers = np.zeros(len(first))
        np.add.at(multipliers, inverse.reshape(-1), self.multipliers)
        has_terms = np.diff(cuts.start)[first] > 0
        return DualPoint(E @ self.N @ E.T, cuts.select(first[has_terms]), multipliers[has_terms])

    def scaled(self, factor: float) -> DualPoint:
        """Return the same dual values in units that are 1/factor of the present ones."""
        return DualPoint(self.N * factor, self.cuts, self.multipliers * factor)


@dataclass(frozen=True, eq=False)
class DualFunction:
    """Dual function at a dual point, up to its eigenvalues.

    For N >= 0 (free on cannot-links), multipliers t >= 0 of valid inequalities <B_c, Y> >= b_c and
    S = -K - N - sum_c t_c B_c,

        min <S, Y> + b't  over  Y = u u' + R,  0 <= R <= I (semidefinite), R [u V] = 0, tr R = k - 1

    is b't + u'S u + (the sum of the k - 1 smallest eigenvalues of S on the complement of u and of
    the relaxation's kernel V). The bound is total plus scale times this number. Every clustering
    matrix is such a Y, satisfies the inequalities and has <N, Y> >= 0, so it costs at least that.
    No dual feasibility is assumed: entries of N and multipliers of the wrong sign are set to 0
    first. Terms of soft pairs may be violated at a price, which is part of the cost. The price caps
    their multipliers (`cuts.soft_pairs`); larger ones are cut off first.

    restricted : (m, m) S on that complement, with all other eigenvalues moved above its own
    constant : b't + u'S u
    margin : for rounding
    """

    relaxation: Relaxation
    restricted: NDArray[np.float64]
    constant: float
    margin: float

    @classmethod
    def at(cls, relaxation: Relaxation, dual: DualPoint) -> DualFunction:
        """Return the dual function at a dual point."""
        m, k, u = relaxation.m, relaxation.k, relaxation.u
        t = np.clip(dual.multipliers, 0.0, multiplier_caps(relaxation, dual.cuts))
        r, N = relaxation.inverse_roots, nonnegative_part(relaxation, dual)
        S, terms = cut_sums(dual.cuts, t, m)  # terms: sums of absolute values
        # S = -K - D^-1/2 (N + the sum of the cuts) D^-1/2
        np.subtract(-N, S, out=S)
        terms += np.abs(N)
        for A in (S, terms):
            A *= r[:, None]
            A *= r
        S -= relaxation.K
        terms += np.abs(relaxation.K)
        Su = S @ u
        uSu = float(u @ Su)
        # No eigenvalue of S is above its Frobenius norm.
        magnitude = float(np.linalg.norm(S))
        # P S P for P = I - u u', with the eigenvalue of u moved above all others.
        moved = Su - (0.5 * (uSu + magnitude)) * u
        S -= np.outer(u, moved)
        S -= np.outer(moved, u)
        rhs_terms = float(np.abs(dual.cuts.rhs) @ t)
        return cls(
            relaxation=relaxation,
            restricted=relaxation.deflated(S, magnitude),
            constant=float(dual.cuts.rhs @ t) + uSu,
            margin=EPS * ((4 * k + 8) * m * float(np.linalg.norm(terms)) + 16 * rhs_terms),
        )

    def bound(self) -> ProvenBound:
        """Return the value, less the margin.

        LAPACK's symmetric eigenvalues are backward stable: each is off by at most a small multiple
        of m eps ||S||. The entries of S lose a small multiple of eps times the sums of the absolute
        values of their terms. These can be far larger than S if cuts and entries of N cancel.
        """
        eigenvalues = smallest_eigenvalues(self.restricted, self.relaxation.k - 1)
        return ProvenBound(self._value(float(eigenvalues.sum())))

    def estimate(self, X: NDArray[np.float64]) -> float:
        """Return an upper estimate of the bound, near it if X (m, columns) spans the eigenvectors.

        By the Rayleigh-Ritz method, as in Krylov methods. It proves nothing.
        """
        Q = np.linalg.qr(X)[0]
        values = np.linalg.eigvalsh(Q.T @ (self.restricted @ Q))
        return self._value(float(values[: self.relaxation.k - 1].sum()))

    def _value(self, eigenvalues: float) -> float:
        relaxation = self.relaxation
        value = self.constant + eigenvalues - self.margin
        return relaxation.total + relaxation.scale * value - relaxation.rounding


def safe_bound(relaxation: Relaxation, dual: DualPoint) -> ProvenBound:
    """Return the value of the dual function at a dual point, less a margin for rounding."""
    return DualFunction.at(relaxation, dual).bound()


def nonnegative_part(relaxation: Relaxation, dual: DualPoint) -> NDArray[np.float64]:
    """Return the N (m, m) that `safe_bound` uses: symmetric, and >= 0 off the cannot-links."""
    part = np.where((dual.N < 0.0) & ~relaxation.forbidden, 0.0, dual.N)
    part += part.T.copy()
    part *= 0.5
    return part


def smallest_eigenvalues(A: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the `count` smallest eigenvalues of a symmetric matrix, by LAPACK."""
    if count == 0:
        return np.empty(0)
    values: NDArray[np.float64] = eigh(
        A,
        eigvals_only=True,
        subset_by_index=(0, count - 1),
        driver="evr",
        check_finite=False,
        overwrite_a=True,
    )
    return values


def cut_sums(
    cuts: CutSet, t: NDArray[np.float64], m: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sum_c t_c B_c (m, m) in the coordinates of Z, and the sum of the absolute values."""
    i, j, values = cuts.row.astype(np.int64), cuts.column, cuts.coefficient * t[cuts.owner]
    both = i != j
    values[both] *= 0.5
    position = np.concatenate([i * m + j, (j * m + i)[both]])
    values = np.concatenate([values, values[both]])
    total, absolute = np.zeros((m, m)), np.zeros((m, m))
    np.add.at(total.reshape(-1), position, values)
    np.add.at(absolute.reshape(-1), position, np.abs(values))
    return total, absolute


def pairs_apart(
    relaxation: Relaxation, dual: DualPoint, bound: ProvenBound, cutoff: float
) -> NDArray[np.intp]:
    """Return the pairs of blocks that share a cluster in no clustering that costs less than cutoff.

    dual, bound : dual values and `safe_bound` of them, for this relaxation

    A clustering with matrix Z costs at least bound + scale <N, Z>. Every cluster C contributes a
    nonnegative part to <N, Z>. So in a clustering cheaper than cutoff each cluster has, with
    budget = (cutoff - bound) / scale,

        sum of N_pq over p, q in C < budget |C|.

    i and j are apart if no C with both satisfies this. Without the entries of N between two other
    blocks, the best C has the others p with a negative part:

        N_ii + N_jj + 2 N_ij - budget (e_i + e_j)
            + sum over p of min(0, N_pp + 2 N_ip + 2 N_jp - budget e_p).

    The sum is over the blocks p that may join both. As pairs found exclude more pairs, the test
    repeats until it finds none. (The part of the pair alone, 2 N_ij / (n - k + 1), is hundreds of
    times weaker: a block pays for all members of a wrong cluster.)

    No eigenvalue problem is solved. Returns (number, 2) pairs i < j, sorted, without cannot-linked
    pairs; no pairs if the bound closes the node.
    """
    budget = (cutoff - bound.value) / relaxation.scale
    # The bound's margin does not cover the rounding of the subtraction and the division.
    budget += 4.0 * EPS * (abs(cutoff) + abs(bound.value)) / relaxation.scale
    if not 0.0 < budget < np.inf:
        return np.empty((0, 2), np.intp)
    N = nonnegative_part(relaxation, dual)
    apart = relaxation.forbidden.copy()
    _exclude_pairs(N, relaxation.weights, budget, apart)
    return np.argwhere(np.triu(apart & ~relaxation.forbidden)).astype(np.intp)


@njit(cache=True)
def _exclude_pairs(N: Reals, weights: Reals, budget: float, apart: Booleans) -> int:
    """Set apart[i, j] for all pairs that `pairs_apart` excludes; return their number.

    Passes over the pairs repeat until one finds no more. N : (m, m) symmetric, >= 0 if not apart.
    """
    m = len(weights)
    # Relative rounding error of a sum of m terms.
    rounding = 4.0 * (m + 4) * np.finfo(np.float64).eps
    near = np.empty(m, np.int64)
    total = 0
    while True:
        found = 0
        for i in range(m):
            reach = 0
            for p in range(m):
                own = N[p, p] + 2.0 * N[i, p] - budget * weights[p]
                # With room for rounding.
                if p != i and own < rounding * budget * weights[p] and not apart[i, p]:
                    near[reach] = p
                    reach += 1
            for j in range(i):
                if apart[i, j]:
                    continue
                paid = N[i, i] + N[j, j] + 2.0 * N[i, j]
                spent = budget * (weights[i] + weights[j])
                for a in range(reach):
                    if not paid - spent > rounding * (paid + spent):
                        break
                    p = near[a]
                    if p == j or apart[j, p]:
                        continue
                    others = N[p, p] + 2.0 * (N[i, p] + N[j, p])
                    if others < budget * weights[p]:
                        paid += others
                        spent += budget * weights[p]
                if paid - spent > rounding * (paid + spent):
                    apart[i, j] = apart[j, i] = True
                    found += 1
        total += found
        if found == 0:
            return total
