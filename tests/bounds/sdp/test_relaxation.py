import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds.sdp.problems import small_problem


@given(st.integers(0, 10**6))
def test_every_clustering_is_feasible_and_its_value_is_its_cost(seed):
    problem = small_problem(seed)
    r = problem.relaxation
    roots = np.sqrt(r.sizes)
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
