from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.spectrum import CAP, SpectralProjector, simplex_threshold
from sdpbb.runtime.cores import LARGE


def unit(rng: np.random.Generator, m: int) -> np.ndarray:
    u = np.sqrt(rng.integers(1, 4, size=m).astype(float))
    return u / np.linalg.norm(u)


def symmetric(rng: np.random.Generator, m: int) -> np.ndarray:
    M = rng.normal(size=(m, m))
    return M + M.T


def projected(M: np.ndarray, u: np.ndarray, trace: float) -> np.ndarray:
    """The projection, through an explicit basis of the complement of u."""
    basis = np.linalg.qr(np.column_stack([u, np.eye(len(u))[:, 1:]]))[0][:, 1:]
    values, vectors = np.linalg.eigh(basis.T @ M @ basis)
    tau = simplex_threshold(values[::-1], trace, CAP)
    vectors = basis @ vectors
    return (vectors * np.clip(values - tau, 0, CAP)) @ vectors.T + np.outer(u, u)


def following(rng, m, n, change):
    """Matrices with some large eigenvalues, each a little different from the one before."""
    values = np.concatenate([np.linspace(3, 2, 6), np.linspace(0.3, -0.3, m - 6)])
    Q = np.linalg.qr(rng.normal(size=(m, m)))[0]
    M = (Q * values) @ Q.T
    for _ in range(n):
        M = M + symmetric(rng, m) * change
        yield M


def project_all(projector: SpectralProjector, matrices: Iterable, atol: float) -> None:
    """Project matrices in turn, each accurately enough."""
    for M in matrices:
        out = np.zeros_like(M)
        projector.project(M, 1e-3, out)
        out = np.triu(out) + np.triu(out, 1).T
        expected = projected(M, projector.u, projector.trace)
        np.testing.assert_allclose(out, expected, atol=atol)


@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=20),
    st.floats(0.01, 10),
    st.floats(0.0, 1.0),
)
def test_simplex_threshold(values, total, share):
    ordered = np.sort(values)[::-1]
    cap = 1.01 * total / len(values) + share * total
    tau = simplex_threshold(ordered, total, cap)
    assert np.clip(ordered - tau, 0, cap).sum() == pytest.approx(total)
    head = ordered[: len(ordered) // 2 + 1]
    if len(head) * cap >= total and (short := simplex_threshold(head, total, cap)) > head[-1]:
        assert short == pytest.approx(tau)


def growing_ranks(rng, m):
    """Matrices of 6 to 39 large eigenvalues."""
    Q = np.linalg.qr(rng.normal(size=(m, m)))[0]
    values = np.linspace(0.3, -0.3, m)
    for rank in range(6, 40):
        values[:rank] = np.linspace(1.1, 1.0, rank)
        yield (Q * values) @ Q.T


@pytest.mark.long
@pytest.mark.parametrize(
    ("m", "sequence", "n_exact"),
    [
        (120, lambda rng, m: following(rng, m, 30, 1e-4), 9),
        (LARGE, lambda rng, m: following(rng, m, 12, 1e-4), 0),
        (LARGE, growing_ranks, 1),
        (100, lambda rng, m: (symmetric(rng, m) for _ in range(6)), 6),
    ],
    ids=["slowly changing", "large from the first one on", "of growing rank", "jumps"],
)
def test_a_sequence_is_followed_to_the_asked_accuracy(m, sequence, n_exact):
    """Mostly without LAPACK."""
    rng = np.random.default_rng(3)
    projector, u = SpectralProjector(), unit(rng, m)
    matrices = list(sequence(rng, m))
    project_all(projector.attach(u, 4.0), matrices, 2e-3)
    assert projector.n_exact <= n_exact
    assert projector.n_exact + projector.n_iterative == len(matrices)


@pytest.mark.long
@pytest.mark.parametrize("share", [1e-4, 0.003])
def test_all_eigenvalues_may_be_equal_but_a_few(share: float):
    """As of the method's first matrix, where the interval that the filter damps is empty."""
    rng, m = np.random.default_rng(2), 600
    u, X = np.ones(m) / np.sqrt(m), rng.normal(size=(m, 5))
    X /= np.linalg.norm(X)
    X -= u[:, None] * (u @ X)
    M = (1.0 - share) * np.outer(u, u) + share * np.eye(m) + 3.0 * X @ X.T
    projector = SpectralProjector().attach(u, 2.0)
    project_all(projector, [M], 2e-3)
    assert projector.n_exact == 0


def test_an_eigenvalue_that_overflows_single_precision_is_filtered_in_double():
    rng = np.random.default_rng(8)
    u = unit(rng, LARGE)
    projector = SpectralProjector().attach(u, 4.0)
    out = np.zeros((LARGE, LARGE))
    for M in following(rng, LARGE, 2, 1e-4):
        projector.project(M, 1.0, out)
    far = rng.normal(size=LARGE)
    far -= u * (u @ far)
    projector.project(M + 1e14 * np.outer(far, far), 1.0, out)
    assert np.isfinite(np.triu(out)).all()
    assert np.trace(out) == pytest.approx(5.0, abs=1e-3)
