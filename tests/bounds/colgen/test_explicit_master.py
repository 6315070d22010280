from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from sdpbb.bounds.colgen.partitioning.explicit_master import (
    ARTIFICIAL,
    ExplicitMaster,
    Multipliers,
    best_partition,
)
from tests.bounds.colgen.test_exact_cover import covers, random_sets


def reference(members: np.ndarray, costs: np.ndarray, k: int, triples: np.ndarray) -> float:
    """The value of the programme by scipy."""
    m = members.shape[1]
    rows = np.concatenate([members.T, np.ones((1, len(members)))]).astype(float)
    missed = np.eye(m + 1)
    held = members[:, triples].sum(axis=2).T >= 2
    solution = linprog(
        np.concatenate([costs, np.full(2 * (m + 1), ARTIFICIAL)]),
        A_eq=np.concatenate([rows, missed, -missed], axis=1),
        b_eq=np.concatenate([np.ones(m), [k]]),
        A_ub=np.concatenate([held, np.zeros((len(triples), 2 * (m + 1)))], axis=1),
        b_ub=np.ones(len(triples)),
    )
    return float(solution.fun)


@given(st.integers(0, 10**6))
def test_multipliers_are_optimal_while_columns_come_and_go(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 9))
    k = int(rng.integers(1, m + 1))
    members = random_sets(rng, 30, m)
    costs = rng.integers(0, 1000, size=len(members)).astype(float)
    triples = np.array([rng.permutation(m)[:3] for _ in range(rng.integers(0, 4))], np.int64)
    triples = triples.reshape(-1, 3)
    master = ExplicitMaster(m, k, triples)
    held: list[int] = []
    for part in np.array_split(rng.permutation(len(members)), 3):
        held += part.tolist()
        master.add(part, csr_array(members[part].astype(np.int8)), costs[part])
        vertex = master.solve()
        assert master.columns.tolist() == held
        value = vertex.prices.sum() - k * vertex.sigma - vertex.penalties.sum()
        assert value == pytest.approx(reference(members[held], costs[held], k, triples), abs=1e-5)
        assert (vertex.penalties >= -1e-6).all()
        twice = members[held][:, triples].sum(axis=2) >= 2
        reduced = costs[held] - members[held] @ vertex.prices + vertex.sigma
        reduced += twice @ vertex.penalties
        assert (reduced >= -1e-6).all()
        assert reduced @ vertex.x == pytest.approx(0.0, abs=1e-4)
        keep = rng.random(len(held)) < 0.7
        master.keep(keep)
        held = [number for number, kept in zip(held, keep, strict=True) if kept]


def test_a_vertex_that_is_a_partition_says_so():
    members = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1]], np.int8)
    master = ExplicitMaster(3, 2, np.empty((0, 3), np.int64))
    master.add(np.arange(2, 4), csr_array(members[1:]), np.ones(2))
    assert not master.solve().is_partition  # block 1 is missing
    master.add(np.arange(1), csr_array(members[:1]), np.ones(1))
    vertex = master.solve()
    assert vertex.is_partition
    assert sorted(master.columns[vertex.x > 0.5]) == [0, 2]


def test_triangles_of_pairs_are_cut_off_by_their_triple():
    """Two triangles of blocks, and three clusters: half of each pair inside of a triangle covers
    all of them. One pair of each triangle leaves two blocks for a pair across."""
    pairs = list(combinations(range(6), 2))
    members = np.zeros((len(pairs), 6), np.int8)
    for row, pair in zip(members, pairs, strict=True):
        row[list(pair)] = 1
    costs = np.array([1.0 if i // 3 == j // 3 else 100.0 for i, j in pairs])
    values = []
    for triples in (np.empty((0, 3), np.int64), np.array([[0, 1, 2], [3, 4, 5]])):
        master = ExplicitMaster(6, 3, triples)
        master.add(np.arange(len(pairs)), csr_array(members), costs)
        vertex = master.solve()
        values.append(vertex.prices.sum() - 3 * vertex.sigma - vertex.penalties.sum())
    assert values == pytest.approx([3.0, 102.0])


@given(st.integers(0, 10**6), st.sampled_from([1e3, 1e9, 1e30]))
def test_rounded_multipliers(seed, size):
    rng = np.random.default_rng(seed)
    prices, penalties = rng.normal(size=6) * size, rng.normal(size=2) * size
    triples = np.array([[0, 1, 2], [3, 4, 5]])
    by = Multipliers.rounded(prices, triples, penalties, 2.0**40)
    assert (by.penalties >= 0).all()
    assert np.abs(by.prices).sum() + by.penalties.sum() <= 2.0**40 + 8
    assert by.constant == sum(by.prices.tolist()) - sum(by.penalties.tolist())
    if size < 1e9:
        np.testing.assert_allclose(by.prices, prices, atol=0.5)
    ratio = by.prices / prices
    if size > 1e9:
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


@given(st.integers(0, 10**6))
def test_the_integer_programme_finds_the_cheapest_partition(seed):
    rng = np.random.default_rng(seed)
    members = random_sets(rng, 15, 5)
    costs = rng.integers(1, 100, size=len(members)).astype(float)
    possible = covers(members, 3)
    chosen = best_partition(csr_array(members.astype(np.int8)), costs, 3, 60.0)
    if not possible:
        assert chosen is None
    else:
        assert chosen is not None
        assert costs[chosen].sum() == min(costs[c].sum() for c in possible)
        assert sorted(chosen.tolist()) in possible
