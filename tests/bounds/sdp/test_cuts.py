import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.cuts.cliques import clique_cuts
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, ScaledCuts
from sdpbb.bounds.sdp.cuts.pentagons import pentagon_cuts, sharpest_pentagons, together_estimates
from sdpbb.bounds.sdp.cuts.stars import star_cuts, triangle_cuts
from sdpbb.bounds.sdp.relaxation import Relaxation
from tests.bounds.sdp.problems import small_problem


def random_cuts(rng: np.random.Generator, m: int, n: int, k: int) -> CutSet:
    """Cuts of all families but pentagons on random blocks."""
    ijh = np.array([rng.permutation(m)[:3] for _ in range(6)], dtype=np.int32)
    ijh[:2, 2] = ijh[:2, 1]
    cuts = triangle_cuts(ijh)
    if m > k:
        members = np.sort([rng.permutation(m)[: k + 1] for _ in range(4)], axis=1)
        cuts = cuts + clique_cuts(members.astype(np.int32), n - k + 1)
    if m > 3:
        leaves = np.array([rng.permutation(m) for _ in range(6)], dtype=np.int32)
        size = rng.integers(3, m, size=6).astype(np.int32)
        cuts = cuts + star_cuts(leaves[:, 0], leaves[:, 1:], size)
    return cuts


def random_pentagons(rng: np.random.Generator, relaxation: Relaxation, Z: np.ndarray) -> CutSet:
    """Pentagon cuts through random blocks, with the estimates that are sharpest at Z."""
    cycles = np.array([rng.permutation(relaxation.m)[:5] for _ in range(4)])
    pentagons = sharpest_pentagons(Z, relaxation, cycles)
    return pentagon_cuts(pentagons, relaxation.weights, relaxation.forbidden)


def dense(cuts: CutSet, m: int) -> np.ndarray:
    """The symmetric matrices B with <B, Z> the left-hand side, (number, m, m)."""
    B = np.zeros((len(cuts), m, m))
    for c in range(len(cuts)):
        for p in range(cuts.start[c], cuts.start[c + 1]):
            i, j = cuts.row[p], cuts.column[p]
            B[c, i, j] += cuts.coefficient[p] / 2
            B[c, j, i] += cuts.coefficient[p] / 2
    return B


@given(st.integers(0, 10**6))
def test_estimates_are_those_that_the_terms_write(seed):
    rng = np.random.default_rng(seed)
    relaxation = small_problem(seed, at_least=5).relaxation
    m, e, forbidden = relaxation.m, relaxation.weights, relaxation.forbidden
    Z = rng.random((m, m)) / relaxation.n
    Z = np.where(forbidden, 0.0, Z + Z.T)
    lower, upper = together_estimates(Z, e, forbidden, np.arange(m))
    cycle = rng.permutation(m)[:5]
    cut = pentagon_cuts(sharpest_pentagons(Z, relaxation, cycle[None]), e, forbidden)
    edges = sum(lower[cycle[a], cycle[(a + 1) % 5]] for a in range(5))
    chords = sum(upper[cycle[a], cycle[(a + 2) % 5]] for a in range(5))
    assert cut.values(Z)[0] == pytest.approx(chords - edges)


@given(st.integers(0, 10**6))
def test_values_and_scaling_agree_with_dense_matrices(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(4, 9))
    cuts = random_cuts(rng, m, m + 5, 2)
    Z = rng.normal(size=(m, m))
    Z = Z + Z.T
    B = dense(cuts, m)
    np.testing.assert_allclose(cuts.values(Z), (B * Z).sum(axis=(1, 2)), atol=1e-12)
    inverse_roots = 1 / np.sqrt(rng.integers(1, 5, size=m))
    forbidden = rng.random((m, m)) < 0.3
    scaled = ScaledCuts.of(cuts, inverse_roots, forbidden)
    np.testing.assert_array_equal(scaled.position, cuts.row.astype(int) * m + cuts.column)
    assert np.all(np.diff(scaled.touched) > 0)
    root = np.where(cuts.row == cuts.column, 1.0, np.sqrt(2.0))
    np.testing.assert_array_equal(scaled.root[scaled.place], root)
    free = ~forbidden[cuts.row, cuts.column]
    np.testing.assert_allclose(scaled.term, np.where(free, root * scaled.entry, 0.0), atol=1e-15)
    for c in range(len(cuts)):
        terms = slice(cuts.start[c], cuts.start[c + 1])
        upper = np.zeros(m * m)
        upper[scaled.position[terms]] = scaled.entry[terms]
        matrix = upper.reshape(m, m)
        matrix = matrix + np.triu(matrix, 1).T
        expected = inverse_roots[:, None] * B[c] * inverse_roots
        np.testing.assert_allclose(matrix * scaled.norm[c], expected, atol=1e-12)
        assert abs(np.linalg.norm(matrix) - 1) < 1e-12


def test_keys_do_not_depend_on_the_order_of_leaves_and_differ_between_cuts():
    one = star_cuts(*(np.array(a, np.int32) for a in ([0], [[1, 2, 3]], [3])))
    same = star_cuts(*(np.array(a, np.int32) for a in ([0], [[3, 1, 2]], [3])))
    other = star_cuts(*(np.array(a, np.int32) for a in ([1], [[0, 2, 3]], [3])))
    assert one.keys == same.keys
    assert one.keys != other.keys
