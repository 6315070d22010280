"""Separation finds what there is to find; tests/contracts have that cuts are valid."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.cuts import separate
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, ScaledCuts
from sdpbb.bounds.sdp.cuts.pentagons import violated_pentagons
from sdpbb.bounds.sdp.cuts.stars import (
    LEAVES,
    nearest,
    separate_stars,
    separate_triangles,
    triangle_cuts,
    violated_stars,
)
from sdpbb.bounds.sdp.relaxation import Relaxation
from tests.bounds.nodes import contracted
from tests.constants import constants

AT = "bounds.sdp.cuts.stars."
# No limit on what a round returns; and few candidates.
ALL = {f"{AT}TRIANGLES_PER_BLOCK": 10**4, f"{AT}PER_PAIR": 10**4, f"{AT}PER_ARM": 10**3}
FEW = {f"{AT}ARMS": 1, f"{AT}STARTS": 1}
SEEDS = st.integers(0, 10**6)


def shared(rng: np.random.Generator, m: int) -> np.ndarray:
    """Affinities of blocks that have random shares of six clusters."""
    shares = rng.random((m, 6)) ** 4
    return shares @ shares.T


def relaxation_of(m: int, rng: np.random.Generator) -> Relaxation:
    """Of m blocks of one to three points."""
    sizes = rng.integers(1, 4, m)
    chain = [(i, i + 1) for i in range(sizes.sum() - 1) if i + 1 not in np.cumsum(sizes)]
    return Relaxation.of(contracted(rng.normal(size=(sizes.sum(), 3)), 2, chain))


def distances(cuts: CutSet, Z: np.ndarray, relaxation: Relaxation) -> np.ndarray:
    """From Y to the hyperplanes of the cuts, in the norm of the method."""
    norms = ScaledCuts.of(cuts, relaxation.inverse_roots, relaxation.forbidden).norm
    return (cuts.rhs - cuts.values(Z)) / norms


@pytest.mark.parametrize("m", [5, 12, 40, 70])
def test_all_violated_triangles_are_found_the_farthest_first(m):
    """By all arms; and one at least by any few of them."""
    rng = np.random.default_rng(m)
    relaxation, Z = relaxation_of(m, rng), shared(rng, m)
    ijh = np.array(
        [
            (i, j, h)
            for i in range(m)
            for j, h in combinations(range(m), 2)
            if i not in (j, h) and Z[i, j] + Z[i, h] > Z[i, i]
        ]
        + [(i, j, j) for i, j in permutations(range(m), 2)],
        np.int32,
    )
    every = triangle_cuts(ijh)
    far = distances(every, Z, relaxation)
    violated = every.select((every.rhs - every.values(Z)) > 1e-5 * np.diag(Z)[ijh[:, 0]])
    with constants({f"{AT}ARMS": m}):
        best = separate_triangles(Z, relaxation)
        with constants(ALL):
            found = separate_triangles(Z, relaxation)
    assert set(found.keys.tolist()) == set(violated.keys.tolist())
    assert len(found) == len(violated) > m
    assert (np.diff(distances(found, Z, relaxation)) < 1e-12).all()
    assert distances(best, Z, relaxation)[0] == pytest.approx(far.max())
    pairs = np.sort(np.column_stack([best.row, best.column]), axis=1)
    assert np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0, return_counts=True)[1].max() <= 12
    with constants(FEW):
        few = separate_triangles(Z, relaxation)
    assert len(few) > 0
    assert set(few.keys.tolist()) <= set(violated.keys.tolist())


def test_where_some_candidates_make_no_cut_all_are_looked_at():
    """The first arm of centre 0 makes no triangle, and its nearest block no star."""
    Z = np.eye(4)
    Z[0, 1:] = Z[1:, 0] = (0.9, 0.8, 0.7)
    Z[1, 2:] = Z[2:, 1] = (0.7, 0.6)
    Z[2, 3] = Z[3, 2] = 0.3
    star = np.full((5, 5), 0.05)
    star[0, 1:] = star[1:, 0] = (0.5, 0.4, 0.4, 0.4)
    star[1, 2:] = star[2:, 1] = 0.4
    np.fill_diagonal(star, 1.0)
    for family, matrix in ((separate_triangles, Z), (separate_stars, star)):
        relaxation = Relaxation.of(contracted(np.arange(float(len(matrix)))[:, None] ** 2, 2))
        everything = family(matrix, relaxation)
        with constants(FEW):
            few = family(matrix, relaxation)
        assert len(few)
        assert few.keys.tolist() == everything.keys.tolist()


@pytest.mark.parametrize("m", [20, 64, 65, 150])
def test_no_further_leaf_would_add_to_a_star(m):
    Z = shared(np.random.default_rng(m), m)
    near = nearest(Z, 5, 0, m)
    for i in range(m):
        others = np.delete(np.arange(m), i)
        assert near[i].tolist() == others[np.argsort(-Z[i, others])][:5].tolist()
    found = violated_stars(Z, near, np.ones(m), 1e-9, 5, LEAVES, 0, m)
    for centre, n_leaves, row, distance in zip(*found, strict=True):
        leaves = row[:n_leaves]
        assert leaves[0] in near[centre]
        assert len({centre, *leaves}) == n_leaves + 1 > 3
        between = np.triu(Z[np.ix_(leaves, leaves)], 1).sum()
        violation = Z[centre, leaves].sum() - between - Z[centre, centre]
        norm = np.sqrt(1.0 + 0.5 * (n_leaves + n_leaves * (n_leaves - 1) / 2))
        assert distance == pytest.approx(violation / norm)
        gain = Z[centre] - Z[leaves].sum(axis=0)
        gain[[centre, *leaves]] = 0.0
        assert n_leaves == LEAVES or gain.max() <= 1e-9 * Z[centre, centre]
    assert len(found[0]) > m // 3


def test_stars_and_pentagons_are_found_where_nothing_else_is_violated():
    """Four leaves at 0.4 of Z_00, which share a little: two never suffice. And five blocks, of
    which each is half in the pair with either neighbour in a circle: five halves are not two
    and a half clusterings."""
    Z = np.full((5, 5), 0.05)
    Z[0, 1:] = Z[1:, 0] = 0.4
    np.fill_diagonal(Z, 1.0)
    relaxation = Relaxation.of(contracted(np.arange(5.0)[:, None], 2))
    assert len(separate_triangles(Z, relaxation)) == 0
    found = separate_stars(Z, relaxation)
    assert [0, 1, 2, 3, 4] in np.sort(found.members.block.reshape(len(found), -1)).tolist()
    chain = [(4 * b + a, 4 * b + a + 1) for b in range(5) for a in range(3)]
    points = np.random.default_rng(0).normal(size=(20, 2))
    relaxation, around = Relaxation.of(contracted(points, 2, chain)), np.roll(np.eye(5), 1, axis=1)
    Z = (np.eye(5) + 0.5 * (around + around.T)) / 8.0
    assert len(separate(relaxation, 4.0 * Z, 0)) == 0
    cuts = separate(relaxation, 4.0 * Z)
    assert len(cuts) == 1
    assert cuts.values(Z)[0] == pytest.approx(-2.5)


@given(SEEDS, st.integers(1, 5))
def test_the_most_violated_pentagons_are_found(seed, at_most):
    rng = np.random.default_rng(seed)
    g = int(rng.integers(5, 8))
    lower = rng.random((g, g)) * (rng.random((g, g)) < 0.7)
    lower = np.minimum(lower + lower.T, 1.0)
    upper = np.maximum(lower, rng.random() * (lower > 0))
    costs = {}
    for cycle in permutations(range(g), 5):
        edges = sum(lower[cycle[a], cycle[a - 1]] for a in range(5))
        chords = sum(upper[cycle[a], cycle[a - 2]] for a in range(5))
        if cycle[0] == min(cycle) and cycle[1] < cycle[4] and edges - chords > 2.02:
            costs[cycle] = edges - chords
    found = violated_pentagons(lower, upper, 0.02, at_most)
    assert len({*map(tuple, found.tolist())}) == len(found) == min(at_most, len(costs))
    expected = sorted(costs.values(), reverse=True)[:at_most]
    np.testing.assert_allclose([costs[tuple(cycle)] for cycle in found.tolist()], expected)
