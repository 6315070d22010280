from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sdpbb.bounds.colgen.partitioning.exact_cover import (
    as_words,
    cheapest_exact_cover,
    reduced_costs,
    violated_triples,
)


def random_sets(rng: np.random.Generator, t: int, m: int) -> np.ndarray:
    """(t, m) different non-empty sets, small ones more often than large ones."""
    members = rng.random((t, m)) < rng.choice([0.2, 0.4], size=(t, 1))
    members[np.arange(t), rng.integers(0, m, size=t)] = True
    return np.unique(members, axis=0)


def search(members, gains, costs, k, budget, target, shift=0, effort=10**9):
    sets = csr_array(members.astype(np.int8))
    start, block = sets.indptr.astype(np.int64), sets.indices.astype(np.int64)
    words = as_words(sets)
    m = members.shape[1]
    kind, n_of_kind = np.zeros(len(members), np.int64), np.array([k])
    return cheapest_exact_cover(
        start, block, words, gains, costs, m, k, budget, target, shift, effort, kind, n_of_kind
    )


def covers(members: np.ndarray, k: int) -> list[list[int]]:
    """All choices of k sets that hold each block once."""
    return [
        list(chosen)
        for chosen in combinations(range(len(members)), k)
        if (members[list(chosen)].sum(axis=0) == 1).all()
    ]


@given(st.integers(0, 10**6), st.sampled_from([0, 3]))
def test_the_cheapest_cover_within_the_budget(seed, shift):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 8))
    k = int(rng.integers(1, min(m, 4) + 1))
    members = random_sets(rng, int(rng.integers(1, 25)), m)
    costs = rng.integers(0, 50, size=len(members))
    gains = rng.integers(0, 20, size=len(members))
    # Every partition costs at least `low` and its gains, as reduced costs promise.
    possible = covers(members, k)
    low = min((int(costs[c].sum() - gains[c].sum()) for c in possible), default=0)
    target = int(rng.integers(0, 120))
    best = min((int(costs[c].sum()) for c in possible), default=target)
    chosen, found, n_nodes, finished = search(
        members, gains >> shift, costs, k, ((target - low) >> shift) + 1, target, shift
    )
    assert finished
    assert found == min(best, target)
    if best < target:
        assert (members[chosen].sum(axis=0) == 1).all()
        assert len(chosen) == k
        assert costs[chosen].sum() == best
    else:
        assert (chosen == -1).all()
    assert n_nodes >= 1


def test_gains_beyond_the_budget_are_not_looked_at():
    members = np.eye(3, dtype=bool)
    gains, costs = np.array([1, 1, 1]), np.array([5, 5, 5])
    assert search(members, gains, costs, 3, 4, 100)[1] == 15
    assert (search(members, gains, costs, 3, 3, 100)[0] == -1).all()


def test_little_effort_is_not_a_proof():
    members = np.eye(3, dtype=bool)
    zero = np.zeros(3, np.int64)
    chosen, target, n_nodes, finished = search(members, zero, zero, 3, 1, 1, effort=2)
    assert not finished
    assert n_nodes == 0
    assert target == 1
    assert (chosen == -1).all()
    assert search(members, zero, zero, 3, 1, 1, effort=6)[3]


def test_more_blocks_than_a_word_has_bits():
    m = 150
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(m) % 10)
    members = np.concatenate([labels == np.arange(10)[:, None], random_sets(rng, 300, m)])
    costs = np.concatenate([np.full(10, 7), np.full(len(members) - 10, 6)])
    zero = np.zeros(len(members), np.int64)
    chosen, target, _, finished = search(members, zero, costs, 10, 1, 1000)
    assert finished
    assert target == 70
    assert sorted(chosen) == list(range(10))


@given(st.integers(0, 10**6))
def test_words_hold_a_bit_for_each_block(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 200))
    members = random_sets(rng, 5, m)
    words = as_words(csr_array(members.astype(np.int8)))
    bits = [[int(word[i // 64]) >> (i % 64) & 1 for i in range(m)] for word in words]
    np.testing.assert_array_equal(bits, members)


@given(st.integers(0, 10**6))
def test_reduced_costs_of_blocks_and_triples(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 9))
    members = random_sets(rng, 20, m)
    sets = csr_array(members.astype(np.int8))
    triples = np.array([rng.permutation(m)[:3] for _ in range(4)])
    costs, prices = rng.integers(0, 2**54, size=len(members)), rng.integers(-(2**54), 2**54, size=m)
    penalties = rng.integers(0, 2**54, size=4)
    held = members[:, triples].sum(axis=2) >= 2
    expected = costs - members @ prices + held @ penalties
    found = reduced_costs(sets.indptr, sets.indices, costs, prices, triples, penalties)
    np.testing.assert_array_equal(found, expected)


@given(st.integers(0, 10**6))
def test_all_violated_triples_are_found(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 8))
    members = random_sets(rng, 12, m)
    x = rng.random(len(members)) * rng.choice([0.3, 0.6])
    sets = csr_array(members.astype(np.int8))
    sums = {S: x[members[:, list(S)].sum(axis=1) >= 2].sum() for S in combinations(range(m), 3)}
    found = violated_triples(sets, x, 0.01, 1000, 1000)
    rows = [tuple(sorted(row)) for row in found.tolist()]
    assert set(rows) == {S for S, total in sums.items() if total > 1.01}
    order = [sums[S] for S in rows]
    assert (np.diff(order) <= 1e-12).all()
    few = violated_triples(sets, x, 0.01, 3, 1)
    assert len(few) <= 3
    assert np.bincount(few.ravel(), minlength=1).max() <= 1
    assert bool(len(few)) == bool(len(found))
