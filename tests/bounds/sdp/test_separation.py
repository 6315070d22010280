from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp import kernels
from sdpbb.bounds.sdp.cuts import ScaledCuts
from sdpbb.bounds.sdp.parameters import SeparationParameters
from sdpbb.bounds.sdp.separation import separate
from sdpbb.errors import ParameterError
from tests.bounds.sdp.problems import small_problem


def random_affinity(rng: np.random.Generator, m: int) -> np.ndarray:
    Z = rng.random((m, m)) * (rng.random((m, m)) < 0.8)
    Z = Z + Z.T
    np.fill_diagonal(Z, rng.random(m) + 0.5)
    return Z


@given(st.integers(0, 10**6))
def test_separated_cuts_are_violated_there_and_hold_at_every_clustering(seed):
    problem = small_problem(seed)
    rng = np.random.default_rng(seed)
    relaxation = problem.relaxation
    roots = np.sqrt(relaxation.sizes)
    Y = random_affinity(rng, relaxation.m) / relaxation.n * roots[:, None] * roots
    cuts = separate(relaxation, Y, SeparationParameters())
    assert (cuts.values(relaxation.to_affinity(Y)) < cuts.rhs).all()
    for Z in problem.matrices():
        assert (cuts.values(Z) >= cuts.rhs - 1e-12).all()
    assert len(np.unique(cuts.keys)) == len(cuts)


@given(st.integers(0, 10**6))
def test_triangles_are_separated_exactly(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 10))
    Z = random_affinity(rng, m)
    r = 1 / np.sqrt(rng.integers(1, 4, size=m))
    ijh, distance = kernels.violated_triangles(Z, r, 1e-9, m)
    found = {(i, *sorted({j, h})): d for (i, j, h), d in zip(ijh.tolist(), distance, strict=True)}
    for i in range(m):
        others = [j for j in range(m) if j != i]
        for leaves in [(j,) for j in others] + list(combinations(others, 2)):
            pairs = sum(Z[j, h] for j, h in combinations(leaves, 2))
            violation = sum(Z[i, j] for j in leaves) - pairs - Z[i, i]
            if violation > 1e-6:
                squares = r[i] ** 4 + 0.5 * sum((r[i] * r[j]) ** 2 for j in leaves)
                squares += 0.5 * sum((r[j] * r[h]) ** 2 for j, h in combinations(leaves, 2))
                assert found[(i, *leaves)] == pytest.approx(violation / np.sqrt(squares))
            elif violation < 0:
                assert (i, *leaves) not in found


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 20))
def test_spread_limits_each_pair(seed, limit, at_most):
    rng = np.random.default_rng(seed)
    ijh = np.array([rng.permutation(6)[:3] for _ in range(30)], np.int32)
    chosen = kernels.spread(rng.permutation(30), ijh, 6, limit, at_most)
    used = np.zeros((6, 6), int)
    for i, j, h in ijh[chosen]:
        for a, b in ((i, j), (i, h), (j, h)):
            used[min(a, b), max(a, b)] += 1
    assert used.max() <= limit
    assert len(set(chosen.tolist())) == len(chosen) <= at_most


def test_a_star_is_found_where_no_triangle_is_violated():
    # Centre 0 with four leaves at 0.4 of Z_00, which share a little: two leaves never suffice.
    Z = np.full((5, 5), 0.05)
    Z[0, 1:] = Z[1:, 0] = 0.4
    np.fill_diagonal(Z, 1.0)
    r = np.ones(5)
    assert len(kernels.violated_triangles(Z, r, 1e-6, 3)[0]) == 0
    centre, n_leaves, leaves, distance = kernels.violated_stars(Z, r, 1e-6, 4, 14)
    best = int(np.argmax(distance))
    assert centre[best] == 0
    assert sorted(leaves[best, : n_leaves[best]]) == [1, 2, 3, 4]
    norm = np.sqrt(1 + 0.5 * (4 + 6))
    assert distance[best] == pytest.approx((4 * 0.4 - 6 * 0.05 - 1) / norm)


def test_distance_is_the_distance_to_the_hyperplane():
    rng = np.random.default_rng(5)
    problem = small_problem(11)
    relaxation = problem.relaxation
    roots = np.sqrt(relaxation.sizes)
    Y = random_affinity(rng, relaxation.m) * roots[:, None] * roots
    Z = relaxation.to_affinity(Y)
    ijh, distance = kernels.violated_triangles(Z, relaxation.inverse_roots, 1e-9, 9)
    from sdpbb.bounds.sdp.cuts import CutSet

    cuts = CutSet.triangles(ijh)
    norm = ScaledCuts.of(cuts, relaxation.inverse_roots).norm
    np.testing.assert_allclose((cuts.rhs - cuts.values(Z)) / norm, distance, rtol=1e-10)


@pytest.mark.parametrize(
    "wrong", [{"triangles_per_block": 0}, {"tolerance": -1.0}, {"star_leaves": 2}]
)
def test_parameters_out_of_their_domain(wrong):
    with pytest.raises(ParameterError):
        SeparationParameters(**wrong)
