"""Cheapest partitions into listed clusters: costs, bounds, search and linear programme."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sdpbb.bounds.lagrangian import partitioning
from sdpbb.bounds.lagrangian.columns import Columns
from sdpbb.bounds.lagrangian.partitioning import certain_costs, cheapest_partition
from sdpbb.bounds.lagrangian.partitioning.exact_cover import (
    as_words,
    cheapest_exact_cover,
    reduced_costs,
)
from sdpbb.bounds.lagrangian.partitioning.explicit_master import Multipliers
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.lagrangian.brute_force import all_columns, optimum, whole_contraction
from tests.bounds.sdp.problems import small_problem
from tests.constants import constants
from tests.enumeration import are_in_ranges

AT = "bounds.lagrangian.partitioning."
UNTRIED = {f"{AT}TRIAL_EFFORT": 0}
ROWS_ALONE = {**UNTRIED, f"{AT}INTEGER_COLUMNS": 1, f"{AT}EFFORT": 1}
NO_ROWS = {f"{AT}CUT_ROUNDS": 0}
# The search alone, rows and search, and rows alone: which parts come into play.
WAYS = st.sampled_from(
    [
        {},
        UNTRIED,
        {**UNTRIED, **NO_ROWS, f"{AT}BATCH": 1},
        {**ROWS_ALONE, f"{AT}EFFORT": 10**6},
    ]
)


def random_sets(rng: np.random.Generator, t: int, m: int) -> np.ndarray:
    """(t, m) different non-empty sets, small ones more often than large ones."""
    members = rng.random((t, m)) < rng.choice([0.2, 0.4], size=(t, 1))
    members[np.arange(t), rng.integers(0, m, size=t)] = True
    return np.unique(members, axis=0)


def search(members, gains, costs, k, budget, target, shift=0, effort=10**9, ranges=()):
    sets = csr_array(members.astype(np.int8))
    start, block = sets.indptr.astype(np.int64), sets.indices.astype(np.int64)
    words = as_words(sets)
    m = members.shape[1]
    kind, n_of_kind = np.zeros(len(members), np.int64), np.array([k])
    columns, sizes = (start, block, words, gains, costs), members.sum(axis=1).astype(np.int64)
    wanted = kind, n_of_kind, sizes, np.array(ranges, np.int64).reshape(-1, 2)
    return cheapest_exact_cover(*columns, m, k, budget, target, shift, effort, *wanted)


def covers(members: np.ndarray, k: int, ranges=()) -> list[list[int]]:
    """All choices of k sets that hold each block once, with sizes in the ranges in some order."""
    sizes = members.sum(axis=1)
    return [
        list(chosen)
        for chosen in combinations(range(len(members)), k)
        if (members[list(chosen)].sum(axis=0) == 1).all()
        and (not ranges or are_in_ranges(sizes[None, list(chosen)], ranges).all())
    ]


def exact_cost(points: np.ndarray, rows: np.ndarray) -> Fraction:
    """The sum of squares of some of the points, in rational numbers."""
    total = Fraction(0)
    for axis in range(points.shape[1]):
        values = [Fraction(float(v)) for v in points[rows, axis]]
        mean = sum(values, Fraction(0)) / len(values)
        total += sum(((v - mean) ** 2 for v in values), Fraction(0))
    return total


def labels_of(columns: Columns, chosen: list[int]) -> np.ndarray:
    return columns.members[chosen].argmax(axis=0)


def small_clusters(points: np.ndarray, k: int, largest: int) -> tuple[Contraction, Columns]:
    """All clusters of few points."""
    contraction = contract(Instance(points, k))
    assert isinstance(contraction, Contraction)
    n = len(points)
    sets = [X for size in range(1, largest + 1) for X in combinations(range(n), size)]
    members = np.zeros((len(sets), n), bool)
    for row, X in zip(members, sets, strict=True):
        row[list(X)] = True
    return contraction, Columns.of(contraction, members)


@given(st.integers(0, 10**6), WAYS, st.sampled_from([1e-6, 1.0, 1e6]))
def test_all_clusters_without_a_cutoff_give_the_optimum(seed, way, unit):
    problem = small_problem(seed)
    plain = problem.contraction
    c = Contraction(
        plain.k,
        plain.block_of,
        plain.weights,
        plain.means * unit,
        plain.scatter * unit**2,
        plain.cannot_link,
    )
    with constants(way):
        found = cheapest_partition(c, all_columns(c), np.inf)
    assert found.is_finished
    assert found.labels is not None
    optimum = problem.optimum * unit**2
    rounding = 1e-12 * c.total
    assert c.cost(found.labels) == pytest.approx(optimum, rel=1e-12, abs=rounding)
    assert optimum - rounding <= found.bound.value <= optimum * (1.0 + 1e-15)
    adjacent = c.adjacency & (found.labels[:, None] == found.labels)
    assert not adjacent.any()
    assert len(np.unique(found.labels)) == c.k


@pytest.mark.long
@given(st.integers(0, 10**6), WAYS, st.sampled_from([0.5, 0.99, 1.0, 1.01, 3.0]))
def test_some_of_the_clusters_and_a_cutoff(seed, way, share):
    """Against all choices of k of the clusters, at any prices."""
    problem = small_problem(seed)
    c = problem.contraction
    rng = np.random.default_rng(seed)
    columns = all_columns(c)
    columns = columns.select(rng.permutation(len(columns))[:18])
    possible = [c.cost(labels_of(columns, chosen)) for chosen in covers(columns.members, c.k)]
    best = min(possible, default=np.inf)
    cutoff = share * (best if possible else problem.optimum)
    prices = rng.normal(size=c.n_blocks) * rng.choice([1e-3, 1.0, 1e6, 1e300])
    with constants(way):
        found = cheapest_partition(c, columns, cutoff, prices)
    assert found.is_finished
    assert found.bound.value <= min(best * (1.0 + 1e-15), cutoff)
    if best < cutoff * (1.0 - 1e-9):
        assert found.labels is not None
        assert c.cost(found.labels) == pytest.approx(best, rel=1e-12, abs=1e-12 * c.total)
        assert found.bound.value >= best - 1e-12 * c.total
    if best > cutoff + 1e-12 * c.total:
        assert found.labels is None
        assert found.bound.value == cutoff


@pytest.mark.long
@given(st.integers(0, 10**6))
def test_the_bound_is_below_the_exact_optimum(seed):
    """In rational numbers, from points far from the origin."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(6, 1)) + 1e4
    contraction = contract(Instance(points, 3, must_link=[(0, 1)]))
    assert isinstance(contraction, Contraction)
    columns = all_columns(contraction)
    exact = [exact_cost(points, np.flatnonzero(X[contraction.block_of])) for X in columns.members]
    best = min(
        sum((exact[t] for t in chosen), Fraction(0)) for chosen in covers(columns.members, 3)
    )
    found = cheapest_partition(contraction, columns, np.inf)
    assert Fraction(found.bound.value) <= best
    assert found.bound.value >= float(best) * (1.0 - 1e-9)


def test_no_partition_at_all_is_proven():
    """Five blocks in pairs make three clusters, not two."""
    contraction, columns = small_clusters(np.arange(5.0)[:, None], 2, 2)
    for cutoff in (np.inf, 7.0):
        found = cheapest_partition(contraction, columns, cutoff)
        assert found.is_finished
        assert found.labels is None
        assert found.bound.value == cutoff
    none = columns.select(np.zeros(len(columns), bool))
    found = cheapest_partition(contraction, none, np.inf)
    assert found.is_finished
    assert found.bound.value == np.inf


def two_triangles() -> tuple[Contraction, Columns]:
    """Six points, four clusters of one or two of them are needed; three would do for halves of
    the pairs inside of two triangles."""
    angles = 2.0 * np.pi * np.arange(3) / 3.0
    triangle = np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.concatenate([triangle, triangle + np.array([40.0, 0.0])])
    return small_clusters(points, 3, 2)


def test_little_effort_leaves_the_bound_of_the_linear_programme():
    contraction, columns = two_triangles()
    with constants({**ROWS_ALONE, **NO_ROWS}):
        found = cheapest_partition(contraction, columns, np.inf)
    assert not found.is_finished
    assert found.labels is None
    # Three halves of pairs of points sqrt(3) apart in each triangle, each half costs 3 / 4.
    assert found.bound.value == pytest.approx(4.5, rel=1e-9)
    assert found.bound.value <= 4.5


def test_subset_rows_close_what_the_linear_programme_does_not():
    contraction, columns = two_triangles()
    optimum = cheapest_partition(contraction, columns, np.inf)
    assert optimum.labels is not None
    cost = contraction.cost(optimum.labels)
    assert cost > 700.0  # a pair of two triangles
    with constants(ROWS_ALONE):
        found = cheapest_partition(contraction, columns, cost * (1.0 - 1e-9))
    assert found.is_finished
    assert found.labels is None
    assert found.bound.value == cost * (1.0 - 1e-9)


def test_the_integer_programme_proves_nothing(monkeypatch):
    contraction, columns = two_triangles()
    plain = cheapest_partition(contraction, columns, np.inf)
    for claim in (None, np.array([0, 1]), np.array([0, 0, 1])):
        monkeypatch.setattr(partitioning, "cheapest_choice", lambda *_, c=claim: c)
        with constants({**UNTRIED, **NO_ROWS}):
            found = cheapest_partition(contraction, columns, np.inf)
        assert found.bound == plain.bound
        assert found.is_finished


@pytest.mark.parametrize("largest", [3, 4])
def test_a_few_thousand_clusters(largest):
    rng = np.random.default_rng(largest)
    contraction, columns = small_clusters(rng.normal(size=(24, 3)), 24 // largest, largest)
    free = cheapest_partition(contraction, columns, np.inf)
    assert free.is_finished
    assert free.labels is not None
    cost = contraction.cost(free.labels)
    assert free.bound.value == pytest.approx(cost, rel=1e-11)
    closed = cheapest_partition(contraction, columns, cost * (1.0 - 1e-10))
    assert closed.labels is None
    assert closed.bound.value == cost * (1.0 - 1e-10)
    wider = cheapest_partition(contraction, columns, cost * 1.05)
    assert wider.bound.value == pytest.approx(cost, rel=1e-12)


def test_arguments_out_of_their_domain():
    contraction, columns = two_triangles()
    with pytest.raises(ParameterError, match="cutoff"):
        cheapest_partition(contraction, columns, np.nan)
    with pytest.raises(ParameterError, match="prices: expected 6 finite numbers"):
        cheapest_partition(contraction, columns, 1.0, np.ones(5))
    with pytest.raises(ParameterError, match="prices"):
        cheapest_partition(contraction, columns, 1.0, np.full(6, np.inf))


@given(st.integers(0, 10**6))
def test_the_cheapest_partition_has_the_sizes_asked_for(seed):
    contraction = whole_contraction(seed)
    found = cheapest_partition(contraction, all_columns(contraction), np.inf)
    best = optimum(contraction)
    assert found.is_finished
    if found.labels is None:
        assert best == np.inf
        return
    assert contraction.keeps(found.labels)
    assert contraction.cost(found.labels) == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert found.bound.value <= best * (1.0 + 1e-12)
    assert found.bound.value >= best * (1.0 - 1e-6) - 1e-9


@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1.0, 1e3]),
    st.sampled_from([1e-3, 1.0]),
    st.sampled_from([1e-90, 1e-20, 1.0, 1e20, 1e90]),
)
def test_certain_costs_are_just_below_the_truth(seed, offset, spread, unit):
    """Far from the origin and in tight groups, with blocks of many points."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    points = rng.normal(size=(n, 2)) * spread + offset + 5.0 * rng.integers(0, 3, size=(n, 1))
    chain = [(i, i + 1) for i in range(int(rng.integers(0, n - 2)))]
    points *= unit
    contraction = contract(Instance(points, 2, must_link=chain))
    assert isinstance(contraction, Contraction)
    columns = Columns.of(contraction, rng.random((20, contraction.n_blocks)) < 0.5)
    certain = certain_costs(contraction, columns)
    squares = float((points**2).sum())
    for members, low in zip(columns.members, certain.tolist(), strict=True):
        exact = exact_cost(points, np.flatnonzero(members[contraction.block_of]))
        assert Fraction(low) <= exact
        crossed = np.sqrt(float(exact)) * np.sqrt(squares)
        assert low >= float(exact) - 1e-13 * (n * float(exact) + crossed)


def test_the_margin_is_small_for_ordinary_data():
    rng = np.random.default_rng(0)
    contraction = contract(Instance(rng.random((200, 2)), 20))
    assert isinstance(contraction, Contraction)
    columns = Columns.of(contraction, rng.random((50, 200)) < 0.05)
    assert certain_costs(contraction, columns) == pytest.approx(columns.costs, rel=1e-13)


@given(st.integers(0, 10**6), st.sampled_from([0, 3]))
def test_the_cheapest_cover_within_the_budget(seed, shift):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 8))
    k = int(rng.integers(1, min(m, 4) + 1))
    members = random_sets(rng, int(rng.integers(1, 25)), m)
    costs = rng.integers(0, 50, size=len(members))
    gains = rng.integers(0, 20, size=len(members))
    ranges = [(each, each + wide) for each, wide in rng.integers((1, 0), (4, 3), (k, 2)).tolist()]
    ranges = ranges if rng.random() < 0.5 else []
    # Every partition costs at least `low` and its gains, as reduced costs promise.
    possible = covers(members, k, ranges)
    low = min((int(costs[c].sum() - gains[c].sum()) for c in possible), default=0)
    target = int(rng.integers(0, 120))
    best = min((int(costs[c].sum()) for c in possible), default=target)
    chosen, found, finished = search(
        members,
        gains >> shift,
        costs,
        k,
        ((target - low) >> shift) + 1,
        target,
        shift,
        ranges=ranges,
    )
    assert finished
    assert found == min(best, target)
    if best < target:
        assert (members[chosen].sum(axis=0) == 1).all()
        assert len(chosen) == k
        assert costs[chosen].sum() == best
    else:
        assert (chosen == -1).all()


def test_little_effort_is_not_a_proof():
    members = np.eye(3, dtype=bool)
    zero = np.zeros(3, np.int64)
    chosen, target, finished = search(members, zero, zero, 3, 1, 1, effort=2)
    assert not finished
    assert target == 1
    assert (chosen == -1).all()
    assert search(members, zero, zero, 3, 1, 1, effort=6)[2]


def test_more_blocks_than_a_word_has_bits():
    m = 150
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(m) % 10)
    members = np.concatenate([labels == np.arange(10)[:, None], random_sets(rng, 300, m)])
    costs = np.concatenate([np.full(10, 7), np.full(len(members) - 10, 6)])
    zero = np.zeros(len(members), np.int64)
    chosen, target, finished = search(members, zero, costs, 10, 1, 1000)
    assert finished
    assert target == 70
    assert sorted(chosen) == list(range(10))


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
