from collections.abc import Callable
from itertools import permutations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.cuts import cliques, separate, stars
from sdpbb.bounds.sdp.cuts.cliques import ComplementCuts, complement_cuts
from sdpbb.bounds.sdp.cuts.pentagons import tied_groups, violated_pentagons
from sdpbb.bounds.sdp.cuts.stars import (
    StarCuts,
    TriangleCuts,
    nearest,
    spread,
    triangles_of_arms,
    violated_stars,
    violated_triangles,
)
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.sdp.problems import two_clusters


def random_affinity(rng: np.random.Generator, m: int) -> np.ndarray:
    Z = rng.random((m, m)) * (rng.random((m, m)) < 0.8)
    Z = Z + Z.T
    np.fill_diagonal(Z, rng.random(m) + 0.5)
    return Z


def all_triangles(Z: np.ndarray, r: np.ndarray, tolerance: float, per_arm: int):
    return violated_triangles(Z, np.argsort(-Z, axis=1), r, tolerance, per_arm, 0, len(Z))


def triangles_of_all_arms(Z: np.ndarray, r: np.ndarray, tolerance: float, per_arm: int):
    return triangles_of_arms(Z, r, tolerance, per_arm, len(Z), 0, len(Z))


def random_shares(rng: np.random.Generator, m: int) -> np.ndarray:
    shares = rng.random((m, 6)) ** 4
    return shares @ shares.T


@pytest.mark.parametrize("m", [64, 65, 150])
@pytest.mark.parametrize("separate", [all_triangles, triangles_of_all_arms])
def test_the_most_violated_triangles_of_each_arm(separate: Callable, m: int):
    rng = np.random.default_rng(m)
    Z = random_shares(rng, m)
    r = 1 / np.sqrt(rng.integers(1, 4, size=m))
    ijh, distance = separate(Z, r, 1e-9, 2)
    expected = {}
    for i in range(m):
        for j in np.flatnonzero(2 * Z[i] > Z[i, i]):
            v = Z[i, j] + Z[i] - Z[i, i] - Z[j]
            squares = r[i] ** 4 + 0.5 * (r[i] * r[j]) ** 2 + 0.5 * (r[i] ** 2 + r[j] ** 2) * r**2
            far = v / np.sqrt(squares)
            found = [h for h in np.argsort(-far) if Z[i, h] < Z[i, j] and v[h] > 1e-9 * Z[i, i]]
            expected |= {(i, j, h): far[h] for h in found[:2] if j != i != h}
            if Z[i, j] > Z[i, i] and j != i:
                norm = np.sqrt(r[i] ** 4 + 0.5 * (r[i] * r[j]) ** 2)
                expected[i, j, j] = (Z[i, j] - Z[i, i]) / norm
    assert len(expected) > 1000
    assert dict(zip(map(tuple, ijh.tolist()), distance, strict=True)) == pytest.approx(expected)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 20))
def test_spread_limits_each_pair(seed, limit, at_most):
    rng = np.random.default_rng(seed)
    ijh = np.array([rng.permutation(6)[:3] for _ in range(30)], np.int32)
    chosen = spread(rng.permutation(30), ijh, 6, limit, at_most)
    used = np.zeros((6, 6), int)
    for i, j, h in ijh[chosen]:
        for a, b in ((i, j), (i, h), (j, h)):
            used[min(a, b), max(a, b)] += 1
    assert used.max() <= limit
    assert len(set(chosen.tolist())) == len(chosen) <= at_most


def test_where_some_arms_hold_no_cut_all_are_looked_at(monkeypatch):
    # The first arm of centre 0 makes none, its second one makes the only one.
    Z = np.eye(4)
    Z[0, 1:] = Z[1:, 0] = (0.9, 0.8, 0.7)
    Z[1, 2] = Z[2, 1] = 0.7
    Z[1, 3] = Z[3, 1] = 0.6
    Z[2, 3] = Z[3, 2] = 0.3
    relaxation = Relaxation.of(contract(Instance([[0.0], [1.0], [3.0], [7.0]], 2)))
    everything = TriangleCuts().separate(Z, relaxation)
    monkeypatch.setattr(stars, "ARMS", 1)
    few = TriangleCuts().separate(Z, relaxation)
    assert few.members.blocks.tolist() == [0, 2, 3]
    assert few.keys.tolist() == everything.keys.tolist()


@pytest.mark.parametrize("m", [20, 64, 65, 150])
def test_stars_take_the_leaf_of_the_largest_gain(m: int):
    rng = np.random.default_rng(m)
    Z = random_shares(rng, m)
    near = nearest(Z, 5, 0, m)
    for i in range(m):
        others = np.delete(np.arange(m), i)
        assert near[i].tolist() == others[np.argsort(-Z[i, others])][:5].tolist()
    found = violated_stars(Z, near, np.ones(m), 1e-9, 5, 6, 0, m)
    grown = {(i, *row[:n]) for i, n, row in zip(*map(np.ndarray.tolist, found[:3]), strict=True)}
    expected = set()
    for i in range(m):
        for first in near[i]:
            star, gain = [i, first], Z[i] - Z[first]
            while len(star) < 7:
                gain[star] = -np.inf
                best = int(gain.argmax())
                if gain[best] <= 1e-9 * Z[i, i]:
                    break
                star.append(best)
                gain -= Z[best]
            leaves = star[1:]
            violation = Z[i, leaves].sum() - np.triu(Z[np.ix_(leaves, leaves)], 1).sum() - Z[i, i]
            if len(star) > 3 and violation > 1e-9 * Z[i, i]:
                expected.add(tuple(map(int, star)))
    assert len(expected) > m // 2
    assert grown == expected


def test_where_some_starts_make_no_star_all_are_tried(monkeypatch):
    Z = np.full((5, 5), 0.05)  # the nearest block of centre 0 shares with all of its others
    Z[0, 1:] = Z[1:, 0] = (0.5, 0.4, 0.4, 0.4)
    Z[1, 2:] = Z[2:, 1] = 0.4
    np.fill_diagonal(Z, 1.0)
    relaxation = Relaxation.of(contract(Instance([[0.0], [1.0], [3.0], [7.0], [8.0]], 2)))
    everything = StarCuts().separate(Z, relaxation)
    monkeypatch.setattr(stars, "STARTS", 1)
    few = StarCuts().separate(Z, relaxation)
    assert len(few)
    assert few.keys.tolist() == everything.keys.tolist()


def test_a_star_is_found_where_no_triangle_is_violated():
    # Centre 0 with four leaves at 0.4 of Z_00, which share a little: two leaves never suffice.
    Z = np.full((5, 5), 0.05)
    Z[0, 1:] = Z[1:, 0] = 0.4
    np.fill_diagonal(Z, 1.0)
    r, near = np.ones(5), nearest(Z, 4, 0, 5)
    assert len(all_triangles(Z, r, 1e-6, 3)[0]) == 0
    centre, n_leaves, leaves, distance = violated_stars(Z, near, r, 1e-6, 4, 14, 0, 5)
    best = int(np.argmax(distance))
    assert centre[best] == 0
    assert sorted(leaves[best, : n_leaves[best]]) == [1, 2, 3, 4]
    norm = np.sqrt(1 + 0.5 * (4 + 6))
    assert distance[best] == pytest.approx((4 * 0.4 - 6 * 0.05 - 1) / norm)


def five_groups(size: int) -> np.ndarray:
    """Five blocks of that size; Z is half of each way to pair a block with one of its neighbours in
    a circle. Every cluster is a pair, and each block is in two half clusters, but the five halves
    are not two and a half clusterings."""
    Z = np.zeros((5, 5))
    for i in range(5):
        pair = [i, (i + 1) % 5]
        Z[np.ix_(pair, pair)] += 0.5 / (2.0 * size)
    return Z


def test_a_pentagon_is_found_where_nothing_else_is_violated():
    size = 4.0
    Z = five_groups(size)
    points = np.random.default_rng(0).normal(size=(20, 2))
    chain = [(4 * b + a, 4 * b + a + 1) for b in range(5) for a in range(3)]
    contraction = contract(Instance(points, 2, must_link=chain))
    assert isinstance(contraction, Contraction)
    relaxation = Relaxation.of(contraction)
    np.testing.assert_allclose(Z @ relaxation.weights, 1.0)
    Y = size * Z
    assert len(separate(relaxation, Y, lambda each: not each.is_costly)) == 0
    cuts = separate(relaxation, Y)
    assert len(cuts) == 1
    assert cuts.values(Z)[0] == pytest.approx(-2.5)


@given(st.integers(0, 10**6), st.integers(1, 5))
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


@given(st.integers(0, 10**6))
def test_complement_cuts_hold_and_the_most_violated_is_found(seed):
    problem = two_clusters(seed)
    relaxation = problem.relaxation
    e = relaxation.weights
    Z = np.where(relaxation.forbidden, 0.0, random_affinity(np.random.default_rng(seed), len(e)))
    Y = np.sqrt(e)[:, None] * Z * np.sqrt(e)
    with patch.object(cliques, "PER_PAIR", 2):
        cuts = ComplementCuts().separate(relaxation.to_affinity(Y), relaxation)
    for clustering in problem.matrices():
        assert (cuts.values(clustering) >= cuts.rhs - 1e-12).all()
    lacking = {
        (int(i), int(j), int(h)): 1.0 - (Z[i, j] + Z[i, h]) / Z[i, i]
        for j, h in np.argwhere(np.triu(relaxation.forbidden))
        for i in range(len(e))
    }
    most = max(lacking, key=lambda ijh: lacking[ijh])
    assert (len(cuts) > 0) == (lacking[most] > 1e-4)
    assert len(cuts) <= 2 * relaxation.forbidden.sum() // 2
    if len(cuts):
        assert complement_cuts(np.array([most], np.int32)).keys[0] in cuts.keys


def test_nothing_is_lacking_where_the_diagonal_is_zero():
    relaxation = two_clusters(0).relaxation
    Z = np.full((relaxation.m,) * 2, 20.0)
    Z[0, 0] = 0.0
    cuts = ComplementCuts().separate(Z, relaxation)
    assert 0 not in cuts.row[cuts.start[:-1]]


def test_groups_hold_blocks_of_the_same_clusters():
    Z = np.kron(np.array([[1.0, 0.4], [0.4, 1.0]]), np.ones((3, 3)))[:5, :5]
    firsts, first_of = tied_groups(Z, np.array([1.0, 1.0, 1.0, 2.0, 2.0]), 0.9, 9)
    assert firsts.tolist() == [3, 0]
    assert first_of.tolist() == [0, 0, 0, 3, 3]
    assert tied_groups(Z, np.ones(5), 0.9, 1)[0].tolist() == [0]
