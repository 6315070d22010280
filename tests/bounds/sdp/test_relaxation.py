import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds.sdp.problems import small_problem, two_clusters


@given(st.integers(0, 10**6))
def test_every_clustering_is_feasible_and_its_value_is_its_cost(seed):
    problem = small_problem(seed)
    r = problem.relaxation
    roots = np.sqrt(r.weights)
    for Z, cost in zip(problem.matrices(), problem.costs, strict=True):
        Y = roots[:, None] * Z * roots
        np.testing.assert_allclose(Y @ r.u, r.u, atol=1e-12)
        assert abs(np.trace(Y) - r.k) < 1e-12
        assert not Y[r.forbidden].any()
        assert abs(r.total - r.scale * (r.K * Y).sum() - cost) <= 1e-10 * r.total
        np.testing.assert_allclose(r.to_affinity(Y), Z, atol=1e-12)


@given(st.integers(0, 10**6))
def test_the_data_are_centred_and_scaled(seed):
    r = small_problem(seed).relaxation
    np.testing.assert_allclose(r.K @ r.u, 0, atol=1e-12 * np.linalg.norm(r.K))
    assert np.linalg.norm(r.K) >= 0.1  # around 1; larger only with outliers


@given(st.integers(0, 10**6))
def test_every_clustering_has_the_kernel(seed):
    problem = two_clusters(seed)
    r = problem.relaxation
    V = r.kernel
    assert V.shape[1] >= 1
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-14)
    np.testing.assert_allclose(V.T @ r.u, 0.0, atol=1e-14)
    roots = np.sqrt(r.weights)
    for Z in problem.matrices():
        np.testing.assert_allclose((roots[:, None] * Z * roots) @ V, 0.0, atol=1e-14)


@given(st.integers(0, 10**6))
def test_deflated_has_the_kernel_for_eigenvectors(seed):
    r = two_clusters(seed).relaxation
    V = r.kernel
    M = np.random.default_rng(seed).normal(size=(r.m, r.m))
    M = M + M.T
    P = np.eye(r.m) - V @ V.T
    np.testing.assert_allclose(r.deflated(M, 3.0), P @ M @ P + 3.0 * V @ V.T, atol=1e-12)


@given(st.integers(0, 10**6))
def test_no_kernel_beyond_two_clusters_and_of_less_than_two_pairs(seed):
    r = small_problem(seed).relaxation
    if r.k != 2 or np.triu(r.forbidden).sum() < 2:
        assert r.kernel.shape == (r.m, 0)
        assert r.deflated(r.K, 1.0) is r.K
