"""Branch and bound over clusters against all of them, one by one."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from sdpbb.bounds.colgen.columns import cluster_costs
from sdpbb.bounds.colgen.pricing.problem import (
    PricingProblem,
    clique_numbers,
    principal_coordinates,
    squared_distances,
)
from sdpbb.bounds.colgen.pricing.search import ClusterSearch
from sdpbb.bounds.colgen.pricing.sought import SoughtClusters
from sdpbb.problem import Contraction, Instance, MaximumSize, contract
from tests.bounds.colgen.brute_force import all_columns
from tests.constrained import (
    COMPILED,
    all_of,
    allowed_sets,
    constrained_instance,
    first_contraction,
    maximum_overlap,
    maximum_size,
    scaled,
    soft_cannot_links,
    some_pairs,
)
from tests.examples import examples

SEEDS = st.integers(0, 10**6)
SETTINGS = st.sampled_from([(False, False), (False, True), (True, False), (True, True)])
# Budgets of all forms; two at once, one of which counts pairs.
KINDS = st.sampled_from(
    [
        (),
        (maximum_size,),
        (maximum_overlap,),
        (soft_cannot_links,),
        (all_of,),
        (maximum_size, soft_cannot_links),
    ]
)
EVERYTHING = 10**9


def drawn(seed: int, kinds=(), m_max: int = 9) -> tuple[Instance, Contraction]:
    """The first instance from this seed on that is not refused, of two blocks or more, in up to six
    dimensions."""
    rng = np.random.default_rng(seed)
    instances = (
        constrained_instance(rng, kinds, n_min=2, n_max=m_max + 2, d_max=6) for _ in range(1000)
    )
    # With one cluster all points are one block, and nothing is left to be looked for.
    return first_contraction((x for x in instances if x.k > 1), m_max)


def problem_of(contraction: Contraction, forced: tuple[bool, bool], **more) -> PricingProblem:
    """With boxes and sizes on or off, whatever the dimension."""
    problem = PricingProblem.of(contraction, **more)
    data = problem.data._replace(boxes=forced[0], by_size=forced[1])
    return PricingProblem(problem.order, data, problem.scatter, problem.rounding, problem.reach)


def random_prices(contraction: Contraction, seed: int) -> np.ndarray:
    """From hardly any cluster worth its cost to all, some prices negative."""
    rng = np.random.default_rng([seed, 1])
    m = contraction.n_blocks
    unit = contraction.total / m * rng.choice([0.05, 0.3, 1.0, 3.0])
    prices = unit * rng.uniform(-0.2, 1.5, m)
    if rng.random() < 0.3:
        prices = np.full(m, unit)  # ties
    return prices


def target_for(values: np.ndarray, seed: int) -> float:
    """0, or something about the least value, not above 0."""
    least = float(values.min())
    drawn = [0.0, 0.5 * least, 0.999 * least, least, 1.5 * least]
    return min(0.0, drawn[np.random.default_rng([seed, 2]).integers(len(drawn))])


def in_slices(problem: PricingProblem, sought: SoughtClusters, seed: int):
    """The clusters met when a search is left again and again, each time after a few nodes."""
    rng = np.random.default_rng([seed, 3])
    search, met = ClusterSearch(problem, sought), []
    while not search.is_finished:
        before = search.n_nodes
        slice_ = int(rng.integers(1, 6))
        met.append(search.run(slice_))
        assert before < search.n_nodes <= before + slice_ or search.is_finished
        state = pickle.loads(pickle.dumps(search.state))
        search = ClusterSearch(problem, sought, state)
    return search, np.concatenate(met)


def assert_least(problem, contraction, sets, prices, seed) -> None:
    """Search(optimal_only) meets the least value of these sets, in one go and in slices."""
    values = cluster_costs(contraction, sets) - sets @ prices
    target, margin = target_for(values, seed), problem.margin(prices)
    sought = SoughtClusters(prices, target)
    search = ClusterSearch(problem, sought)
    assert search.upper == target
    met = search.run(EVERYTHING)
    assert search.is_finished
    assert search.upper == pytest.approx(min(target, values.min()), rel=0, abs=margin)
    known = {row.tobytes() for row in sets}
    assert all(row.tobytes() in known for row in met)
    costs = cluster_costs(contraction, met) - met @ prices
    assert (costs < target + margin).all()
    assert (np.diff(costs) < 2 * margin).all()
    if len(met):
        assert costs[-1] == pytest.approx(search.upper, rel=0, abs=margin)
    else:
        assert search.upper == target
    again, met_again = in_slices(problem, sought, seed)
    assert again.upper == search.upper
    assert again.n_nodes == search.n_nodes
    assert np.array_equal(met_again, met)


def assert_all_below(problem, contraction, sets, prices, seed) -> None:
    """Search of all clusters meets all of these sets below a threshold of either sign."""
    values = cluster_costs(contraction, sets) - sets @ prices
    rng = np.random.default_rng([seed, 4])
    share = float(rng.choice([0.0, 0.1, 0.5, 0.9, 1.1]))
    threshold = float(np.quantile(values, min(share, 1.0)) + (share - 0.5) * 1e-3 * np.ptp(values))
    margin = problem.margin(prices)
    sought = SoughtClusters(prices, threshold, optimal_only=False)
    search = ClusterSearch(problem, sought)
    met = search.run(EVERYTHING)
    assert search.is_finished
    found = {row.tobytes() for row in met}
    known = {row.tobytes(): value for row, value in zip(sets, values, strict=True)}
    assert found <= known.keys()
    assert {key for key, value in known.items() if value < threshold - margin} <= found
    assert all(known[key] < threshold + margin for key in found)
    again, met_again = in_slices(problem, sought, seed)
    assert again.n_nodes == search.n_nodes
    assert np.array_equal(met_again, met)


@pytest.mark.long
@given(SEEDS, KINDS, SETTINGS)
@examples(120, derandomize=True)
def test_the_least_value_is_that_of_all_clusters(seed, kinds, forced):
    instance, contraction = drawn(seed, kinds)
    sets = allowed_sets(instance, contraction)
    prices = random_prices(contraction, seed)
    assert_least(problem_of(contraction, forced), contraction, sets, prices, seed)


@pytest.mark.long
@given(SEEDS, KINDS, SETTINGS)
@examples(120, derandomize=True)
def test_all_clusters_below_a_threshold_are_met(seed, kinds, forced):
    instance, contraction = drawn(seed, kinds)
    sets = allowed_sets(instance, contraction)
    prices = random_prices(contraction, seed)
    assert_all_below(problem_of(contraction, forced), contraction, sets, prices, seed)


@pytest.mark.long
@given(SEEDS, st.sampled_from([1e-6, 1.0, 1e6]), st.sampled_from([0.0, 1.0, 1e4]), SETTINGS)
@examples(60, derandomize=True)
def test_whatever_the_units_and_the_origin(seed, factor, offset, forced):
    instance, _ = drawn(seed, (maximum_size,))
    instance = scaled(instance, factor, offset * factor)
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    sets = allowed_sets(instance, contraction)
    prices = random_prices(contraction, seed)
    problem = problem_of(contraction, forced)
    assert_least(problem, contraction, sets, prices, seed)
    assert_all_below(problem, contraction, sets, prices, seed)


@pytest.mark.long
@given(SEEDS, SETTINGS)
@examples(40, derandomize=True)
def test_points_that_coincide_and_ties(seed, forced):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    points = rng.integers(0, 3, size=(n, int(rng.integers(1, 4)))).astype(float)
    instance = Instance(points, 2, cannot_link=some_pairs(rng, n, int(rng.integers(0, 3))))
    contraction = contract(instance)
    if not isinstance(contraction, Contraction):
        return
    sets = allowed_sets(instance, contraction)
    prices = rng.integers(0, 4, contraction.n_blocks).astype(float)
    problem = problem_of(contraction, forced)
    assert_least(problem, contraction, sets, prices, seed)
    assert_all_below(problem, contraction, sets, prices, seed)


def exact_values(instance, contraction, sets, prices) -> list[Fraction]:
    """c(X) - prices(X) of the points as they are given: sum |p|^2 - |sum p|^2 / number."""
    sums, squares, counts = [], [], []
    for block in range(contraction.n_blocks):
        points = [
            [Fraction(float(x)) for x in point]
            for point in instance.points[contraction.block_of == block]
        ]
        sums.append([sum(column, Fraction()) for column in zip(*points, strict=True)])
        squares.append(sum(x * x for point in points for x in point))
        counts.append(len(points))
    values = []
    for members in sets:
        inside = np.flatnonzero(members)
        total = [sum(column) for column in zip(*(sums[b] for b in inside), strict=True)]
        moment = sum(x * x for x in total) / sum(counts[b] for b in inside)
        paid = sum(Fraction(float(prices[b])) for b in inside)
        values.append(sum(squares[b] for b in inside) - moment - paid)
    return values


@given(SEEDS, SETTINGS, st.sampled_from([(1e-6, 0.0), (1.0, 1e3), (1e6, 0.0), (1.0, 1e6)]))
@examples(60, derandomize=True)
def test_less_the_margin_it_is_a_bound_in_exact_arithmetic(seed, forced, place):
    instance = scaled(drawn(seed, m_max=6)[0], place[0], place[1])
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    sets = allowed_sets(instance, contraction)
    prices = random_prices(contraction, seed)
    problem = problem_of(contraction, forced)
    search = ClusterSearch(problem, SoughtClusters(prices, 0.0))
    search.run(EVERYTHING)
    least = min(exact_values(instance, contraction, sets, prices))
    margin = problem.margin(prices)
    assert Fraction(search.upper) - Fraction(margin) <= min(least, 0)
    # And no more is taken off than rounding is worth.
    assert margin <= 1e-11 * (np.abs(prices).sum() + contraction.total)


@pytest.mark.long
@given(SEEDS, KINDS)
@examples(60, derandomize=True)
def test_without_costs_it_is_the_heaviest_set_to_the_last_unit(seed, kinds):
    instance, contraction = drawn(seed, kinds)
    sets = allowed_sets(instance, contraction)
    weights = np.random.default_rng(seed).integers(0, 2**40, contraction.n_blocks)
    problem = PricingProblem.of(contraction, without_costs=True)
    most = int((sets.astype(np.int64) @ weights).max())
    prices = weights.astype(float)
    assert problem.margin(prices) == 0.0
    for target in (0, -most // 2, 1 - most, -most):
        search = ClusterSearch(problem, SoughtClusters(prices, float(target)))
        met = search.run(EVERYTHING)
        assert search.upper == -most
        assert len(met) == 0 if target == -most else int(met[-1] @ weights) == most


@pytest.mark.long
@given(SEEDS, SETTINGS)
@examples(40, derandomize=True)
def test_no_cluster_holds_all_of_a_forbidden_set(seed, forced):
    instance, contraction = drawn(seed, COMPILED[:1])
    m = contraction.n_blocks
    rng = np.random.default_rng(seed)
    rows = rng.random((int(rng.integers(1, 4)), m)) < 0.5
    rows = rows[rows.any(axis=1)]
    sets = allowed_sets(instance, contraction)
    sets = sets[~((sets[:, None] & rows) == rows).all(axis=2).any(axis=1)]
    if not len(sets):
        return
    problem = problem_of(contraction, forced, forbidden=rows)
    prices = random_prices(contraction, seed)
    assert_least(problem, contraction, sets, prices, seed)
    assert_all_below(problem, contraction, sets, prices, seed)


def test_more_clusters_than_are_handed_over_at_once():
    contraction = contract(Instance(np.random.default_rng(0).normal(size=(12, 2)), 3))
    assert isinstance(contraction, Contraction)
    problem = PricingProblem.of(contraction)
    prices = np.zeros(12)
    sought = SoughtClusters(prices, 1e6, optimal_only=False)
    search = ClusterSearch(problem, sought)
    met = search.run(EVERYTHING)
    assert len(np.unique(met, axis=0)) == 2**12 - 1
    _, again = in_slices(problem, sought, 0)
    assert np.array_equal(again, met)


def test_a_box_of_no_extent_holds_its_mean():
    contraction = contract(Instance(np.arange(5.0)[:, None], 1))
    assert isinstance(contraction, Contraction)
    place = next(x for x in np.arange(1, 100) / 7.0 if 5.0 * x / 5.0 != x)
    contraction = replace(contraction, means=np.array([[place]]))
    problem = PricingProblem.of(contraction)
    search = ClusterSearch(problem, SoughtClusters(contraction.scatter, 1.0, optimal_only=False))
    assert len(search.run(EVERYTHING)) == 1


@pytest.mark.parametrize("seed", [2, 3])
def test_few_blocks_with_a_budget_take_few_nodes(seed):
    """At the dual values of the master programme, where clusters tie."""
    points = np.random.default_rng(seed).normal(size=(8, 2))
    contraction = contract(Instance(points, 3, cluster_constraints=[MaximumSize(4)]))
    assert isinstance(contraction, Contraction)
    columns = all_columns(contraction)
    matrix = np.column_stack([columns.members.astype(float), -np.ones(len(columns))])
    dual = linprog(np.append(-np.ones(8), 3.0), A_ub=matrix, b_ub=columns.costs).x
    search = ClusterSearch(
        PricingProblem.of(contraction), SoughtClusters(dual[:8], -dual[8] * (1 + 1e-9))
    )
    search.run(EVERYTHING)
    assert search.n_nodes <= 2**8


def test_a_search_with_nothing_to_look_for_ends_at_once():
    contraction = contract(Instance(np.arange(6.0)[:, None], 2))
    assert isinstance(contraction, Contraction)
    search = ClusterSearch(PricingProblem.of(contraction), SoughtClusters(np.full(6, -1.0), 0.0))
    assert len(search.run(EVERYTHING)) == 0
    assert search.is_finished
    assert search.upper == 0.0
    assert search.n_nodes == 1


@given(SEEDS)
@examples(40, derandomize=True)
def test_cliques_are_neighbours_and_mutually_cannot_linked(seed):
    rng = np.random.default_rng(seed)
    adjacency = np.triu(rng.random((10, 10)) < rng.choice([0.0, 0.3, 0.9]), 1)
    adjacency |= adjacency.T
    clique = clique_numbers(adjacency)
    same = clique[:, None] == clique
    np.fill_diagonal(same, False)
    assert adjacency[same].all()
    assert sorted(set(clique)) == list(range(clique.max() + 1))


@given(SEEDS)
@examples(40, derandomize=True)
def test_principal_coordinates_keep_distances(seed):
    _, contraction = drawn(seed)
    means, sizes = contraction.means, contraction.weights
    principal = principal_coordinates(means, sizes)
    scale = contraction.total
    assert np.allclose(squared_distances(principal), squared_distances(means), atol=1e-13 * scale)
    moments = (principal * sizes[:, None]).T @ principal
    assert np.allclose(moments, np.diag(np.diag(moments)), atol=1e-12 * scale)
