"""Lower bounds on sums of the smallest eigenvalues."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.arithmetic import sum_of_smallest
from sdpbb.checker.kernel.rejection import Rejected

seeds = st.integers(0, 10**6)


def random_symmetric(rng: np.random.Generator, m: int) -> np.ndarray:
    """Ordinary, of low rank, with close eigenvalues, with entries of all sizes, or diagonal."""
    A = rng.normal(size=(m, m))
    kind = rng.integers(5)
    if kind == 1:
        A = np.outer(A[0], A[0]) * rng.choice([-1, 1])
    elif kind == 2:
        A = 1e-9 * A + np.eye(m)
    elif kind == 3:
        A *= 10.0 ** rng.uniform(-12, 12, size=(m, m))
    elif kind == 4:
        A = np.diag(np.round(A[0]))
    return A + A.T


def orthogonal(power: int) -> np.ndarray:
    """(4^power, 4^power) symmetric and orthogonal, of whole numbers over 2^power."""
    block = np.eye(4) - 0.5
    result = np.eye(1)
    for _ in range(power):
        result = np.kron(result, block)
    return result


def is_sum_of_smallest_at_least(M: np.ndarray, k: int, bound: float) -> bool:
    """Whether the sum of the k smallest eigenvalues of a symmetric matrix (m, m) is at least bound,
    decided exactly: sums of k eigenvalues are the eigenvalues of the additive compound matrix."""
    sets = list(combinations(range(len(M)), k))
    compound = [[_compound_entry(M, row, column) for column in sets] for row in sets]
    for row in range(len(sets)):
        compound[row][row] -= Fraction(bound)
    return _is_positive_semidefinite(compound)


def _compound_entry(M: np.ndarray, row: tuple[int, ...], column: tuple[int, ...]) -> Fraction:
    if row == column:
        return sum((Fraction(float(M[i, i])) for i in row), Fraction())
    only_row, only_column = set(row) - set(column), set(column) - set(row)
    if len(only_row) > 1:
        return Fraction()
    (i,), (j,) = only_row, only_column
    return Fraction(float(M[i, j])) * (-1) ** (row.index(i) + column.index(j))


def _is_positive_semidefinite(A: list[list[Fraction]]) -> bool:
    """By elimination: a pivot is not negative, and the rest of its row is 0 where it is 0."""
    for p in range(len(A)):
        pivot, row = A[p][p], A[p][p + 1 :]
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        if pivot:
            for i in range(p + 1, len(A)):
                factor = A[i][p] / pivot
                if factor:
                    for j in range(p + 1, len(A)):
                        A[i][j] -= factor * A[p][j]
    return True


@given(seeds, st.sampled_from([1e-290, 1e-150, 1e-6, 1.0, 1e6, 1e150, 1e280]))
def test_it_is_never_above_the_exact_sum(seed, scale):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 6))
    M = random_symmetric(rng, m) * scale
    k = int(rng.integers(0, m + 1))
    bound = sum_of_smallest(M, k)
    assert is_sum_of_smallest_at_least(M, k, bound) if k else bound == 0.0


@given(seeds, st.integers(1, 3), st.sampled_from([1, 5, 1000, 10**9]))
def test_it_is_below_and_next_to_sums_that_are_known(seed, power, spread):
    """Eigenvalues repeated, far from each other and close to each other."""
    rng = np.random.default_rng(seed)
    Q = orthogonal(power)
    m = len(Q)
    L = rng.integers(-spread, spread + 1, size=m) + int(rng.choice([0, 10**9, -(10**9)]))
    M = (Q * L) @ Q  # every sum is one of whole numbers over 4^power below 2^53: exact
    for k in {1, 2, m // 2, m}:
        exact = int(np.sort(L)[:k].sum())
        bound = sum_of_smallest(M, k)
        assert Fraction(bound) <= exact
        assert exact - bound <= 4e-14 * np.sqrt(k) * m * max(1, np.abs(L).max())


def test_no_eigenvalues_and_no_matrix():
    assert sum_of_smallest(np.zeros((3, 3)), 2) == 0.0
    with pytest.raises(Rejected, match="finite"):
        sum_of_smallest(np.array([[np.nan]]), 1)
    with pytest.raises(Rejected, match="finite"):
        sum_of_smallest(np.array([[np.inf]]), 1)


def test_an_untrue_decomposition_only_weakens_the_bound(monkeypatch):
    """Nothing is taken on trust from LAPACK."""
    rng = np.random.default_rng(0)
    M = random_symmetric(rng, 5)
    exact = np.linalg.eigvalsh(M)[:2].sum()
    honest = np.linalg.eigh

    def wrong(A):
        L, V = honest(A)
        return L + rng.normal(size=5), V + 0.3 * rng.normal(size=(5, 5))

    monkeypatch.setattr(np.linalg, "eigh", wrong)
    for _ in range(100):
        assert sum_of_smallest(M, 2) < exact
