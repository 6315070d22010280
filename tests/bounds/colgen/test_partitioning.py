from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.partitioning import Partitioning, cheapest_partition
from sdpbb.bounds.colgen.partitioning import cheapest as partitioning
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.colgen.brute_force import all_columns
from tests.bounds.colgen.test_certain_costs import exact_cost
from tests.bounds.colgen.test_exact_cover import covers
from tests.bounds.sdp.problems import small_problem
from tests.constants import constants

AT = "bounds.colgen.partitioning.cheapest."
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
    assert len(found.remaining) == len(columns)


@pytest.mark.long
def test_what_a_cheaper_partition_is_made_of_remains():
    """Left without effort, the clusters that are not excluded have all of the cheap partitions."""
    remaining = []
    for seed in range(10):
        points = np.random.default_rng(seed).normal(size=(7, 4))
        contraction, columns = small_clusters(points, 3, 3)
        possible = covers(columns.members, 3)
        costs = np.array([contraction.cost(labels_of(columns, chosen)) for chosen in possible])
        cutoff = float(np.sort(costs)[5])
        with constants({**ROWS_ALONE, **NO_ROWS}):
            found = cheapest_partition(contraction, columns, cutoff)
        remaining.append(len(found.remaining))
        reached = cutoff if found.labels is None else contraction.cost(found.labels)
        for chosen, cost in zip(possible, costs, strict=True):
            if cost < reached * (1.0 - 1e-12):
                assert np.isin(chosen, found.remaining).all()
    assert max(remaining) > 0
    assert min(remaining) < 10


def test_subset_rows_close_what_the_linear_programme_does_not():
    contraction, columns = two_triangles()
    optimum = cheapest_partition(contraction, columns, np.inf)
    assert optimum.labels is not None
    cost = contraction.cost(optimum.labels)
    assert cost > 700.0  # a pair of two triangles
    with constants(ROWS_ALONE):
        found = cheapest_partition(contraction, columns, cost * (1.0 - 1e-9))
    assert found.n_cuts > 0
    assert found.n_nodes == 0
    assert found.is_finished
    assert found.labels is None
    assert found.bound.value == cost * (1.0 - 1e-9)


def test_the_integer_programme_proves_nothing(monkeypatch):
    contraction, columns = two_triangles()
    plain = cheapest_partition(contraction, columns, np.inf)
    for claim in (None, np.array([0, 1]), np.array([0, 0, 1])):
        monkeypatch.setattr(partitioning, "best_partition", lambda *_, c=claim: c)
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


def test_the_same_arguments_give_the_same_result():
    rng = np.random.default_rng(1)
    contraction, columns = small_clusters(rng.normal(size=(15, 2)), 5, 3)
    one, two = (cheapest_partition(contraction, columns, np.inf) for _ in range(2))
    assert isinstance(one, Partitioning)
    assert one.bound == two.bound
    assert (one.n_nodes, one.n_cuts) == (two.n_nodes, two.n_cuts)
    np.testing.assert_array_equal(one.labels, two.labels)


def test_a_cutoff_that_nothing_is_below():
    contraction, columns = two_triangles()
    for cutoff in (0.0, -1.0):
        found = cheapest_partition(contraction, columns, cutoff)
        assert found.labels is None
        assert found.bound.value == cutoff


def test_equal_points_cost_nothing():
    contraction = contract(Instance(np.full((4, 2), 3.0), 2))
    assert isinstance(contraction, Contraction)
    found = cheapest_partition(contraction, all_columns(contraction), np.inf)
    assert found.labels is not None
    assert found.bound.value == 0.0


def test_arguments_out_of_their_domain():
    contraction, columns = two_triangles()
    with pytest.raises(ParameterError, match="cutoff"):
        cheapest_partition(contraction, columns, np.nan)
    with pytest.raises(ParameterError, match="prices: expected 6 finite numbers"):
        cheapest_partition(contraction, columns, 1.0, np.ones(5))
    with pytest.raises(ParameterError, match="prices"):
        cheapest_partition(contraction, columns, 1.0, np.full(6, np.inf))
