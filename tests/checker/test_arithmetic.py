from fractions import Fraction
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.arithmetic import (
    difference_and_error,
    down,
    gamma,
    norm_up,
    sum_down,
    sum_of_smallest,
    sum_up,
    up,
)
from sdpbb.checker.kernel.rejection import Rejected

floats = st.floats(-1e100, 1e100)
lists = st.lists(floats, max_size=20)


@given(st.integers(0, 2**50))
def test_gamma_is_not_below_its_definition(n):
    u = Fraction(1, 2**53)
    exact = n * u / (1 - n * u)
    assert exact <= Fraction(gamma(n)) <= exact * (1 + 20 * u)


def test_gamma_refuses_too_many_operations():
    with pytest.raises(ValueError, match="too many"):
        gamma(2.0**52)
    with pytest.raises(ValueError, match="too many"):
        gamma(float("nan"))


@given(lists)
def test_sums_enclose_the_exact_sum_and_are_neighbours(values):
    exact = sum(map(Fraction, values), Fraction())
    assert Fraction(sum_down(values)) <= exact <= Fraction(sum_up(values))
    assert up(up(sum_down(values))) >= sum_up(values)
    assert (sum_down(values) == sum_up(values)) == (exact == 0)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_up_and_down_are_next_to_a_number(x):
    assert (up(x), down(x)) == (nextafter(x, inf), nextafter(x, -inf))


@given(lists, st.sampled_from([1e-200, 1e-100, 1.0, 1e100, 1e200]))
def test_norms_are_not_below_the_exact_ones_and_tight(values, scale):
    values = np.array(values, dtype=float) / 1e100 * scale
    squares = sum((Fraction(x) ** 2 for x in values.tolist()), Fraction())
    bound = Fraction(norm_up(values))
    assert squares <= bound**2
    assert bound**2 <= squares * (1 + Fraction(1, 10**13)) or abs(values).max() < 1e-290


@given(floats, floats)
def test_a_difference_and_its_error_are_exact(a, b):
    d, r = difference_and_error(np.array([a]), np.array([b]))
    assert Fraction(a) - Fraction(b) == Fraction(float(d[0])) + Fraction(float(r[0]))


def orthogonal(power: int) -> np.ndarray:
    """(4^power, 4^power) symmetric and orthogonal, of whole numbers over 2^power."""
    block = np.eye(4) - 0.5
    result = np.eye(1)
    for _ in range(power):
        result = np.kron(result, block)
    return result


@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.sampled_from([1, 5, 1000, 10**9]),
    st.sampled_from([0, -950, 900]),
)
def test_sums_of_the_smallest_eigenvalues_are_below_and_next_to_known_ones(seed, power, spread, e):
    """Eigenvalues repeated, far from each other and close to each other, in any unit."""
    rng = np.random.default_rng(seed)
    Q = orthogonal(power)
    m = len(Q)
    L = rng.integers(-spread, spread + 1, size=m) + int(rng.choice([0, 10**9, -(10**9)]))
    M = (Q * L) @ Q  # every sum is one of whole numbers over 4^power below 2^53: exact
    for k in {1, 2, m // 2, m}:
        exact = int(np.sort(L)[:k].sum())
        bound = np.ldexp(sum_of_smallest(np.ldexp(M, e), k), -e)
        assert Fraction(float(bound)) <= exact
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
    A = rng.normal(size=(5, 5))
    M = A + A.T
    exact = np.linalg.eigvalsh(M)[:2].sum()
    honest = np.linalg.eigh

    def wrong(A):
        L, V = honest(A)
        return L + rng.normal(size=5), V + 0.3 * rng.normal(size=(5, 5))

    monkeypatch.setattr(np.linalg, "eigh", wrong)
    for _ in range(100):
        assert sum_of_smallest(M, 2) < exact
