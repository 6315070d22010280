"""Column generation, by each master programme, against the whole programme over all clusters."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdpbb.bounds.lagrangian.columns import allowed
from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.lagrangian.generation import Generation
from sdpbb.bounds.lagrangian.masters.interior import InteriorMaster
from sdpbb.bounds.lagrangian.reach import Reach
from sdpbb.bounds.staged.methods import ColgenBounding
from sdpbb.problem import Contraction, Instance, MaximumSize, SoftCannotLinks, contract
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.search.result import SolutionStatus
from tests.any_instance import ForbiddenSets
from tests.bounds.nodes import (
    PAIRS,
    BruteForcePricer,
    all_columns,
    contracted,
    drawn_node,
    ended,
    master_value,
    nodes,
    optimum,
    scaled,
)
from tests.constants import STAGES, constants
from tests.enumeration import clusterings
from tests.examples import examples

SEEDS = st.integers(0, 10**6)
SCHEMES = ("no prices known", "box", "interior")
FOR_INTERIOR = "bounds.lagrangian.reach.FOR_INTERIOR"


def begun(contraction: Contraction, pricer, scheme: str) -> Generation:
    """Column generation with a scheme, or with the interior method if a clustering is known."""
    price = contraction.total / contraction.n_blocks
    if scheme == "box":
        centre = DualValues(np.full(contraction.n_blocks, price), 0.5 * price)
        return Generation.begin(contraction, pricer, centre=centre)
    if scheme == "no prices known":
        return Generation.begin(contraction, pricer)
    rows = clusterings(contraction.n_blocks, contraction.k)
    labels = next((row for row in rows if contraction.keeps(row)), None)
    with constants({FOR_INTERIOR: Reach(monotone=True)}):
        generation = Generation.begin(contraction, pricer, labels)
    is_interior = isinstance(generation.master, InteriorMaster)
    assert is_interior == (labels is not None and contraction.is_monotone)
    return generation


def precision(scheme: str) -> float:
    return 1e-6 if scheme == "interior" else 1e-8


def assert_solves_the_master(contraction: Contraction, scheme: str, blind: int) -> None:
    """Its bound is the value of the master, and its dual values are feasible."""
    generation = begun(contraction, BruteForcePricer(contraction, blind), scheme)
    step = ended(generation)
    expected, best = master_value(contraction), optimum(contraction)
    scale = contraction.total
    assert step.bound.value <= best + 1e-12 * scale
    labels = generation.clustering()
    if expected is None:
        assert step.bound.value == math.inf
        assert labels is None
        return
    assert step.stalled
    # HiGHS has some 7 digits of prices, which are as large as the weights of soft pairs.
    # The rounding of the interior method is relative to prices, not to the value.
    tolerance = (1e-9 if scheme == "interior" else 1e-11) * scale
    tolerance += 1e-7 * float(np.abs(contraction.soft.weights).sum())
    near = {"rel_tol": precision(scheme), "abs_tol": tolerance}
    assert math.isclose(step.bound.value, expected, **near)
    assert (generation.affinity() @ contraction.weights >= 1 - 1e-3).all()
    columns, duals = all_columns(contraction), generation.duals
    assert (columns.costs - columns.members @ duals.prices >= generation.least).all()
    if labels is not None:
        members = labels == np.arange(contraction.k)[:, None]
        assert members.any(axis=1).all()
        assert allowed(contraction, members).all()
        assert contraction.cost(labels) >= best * (1 - 1e-12)


@pytest.mark.long
@given(nodes(n=(2, 7)), st.sampled_from(SCHEMES), st.sampled_from([0, 1, 3]))
@examples(90)
def test_every_scheme_ends_at_the_value_of_the_whole_master(node, scheme, blind):
    # Relative gaps are gaps to a positive value: no run asks for more where clusterings are free.
    assume(scheme != "interior" or master_value(node.contraction) != node.contraction.soft.constant)
    assert_solves_the_master(node.contraction, scheme, blind)


@pytest.mark.parametrize("seed", [80, 200, 340])
def test_a_second_attempt_of_the_interior_method_is_not_worse_than_the_first(seed):
    """Their clusterings cost almost nothing, and both attempts are imprecise."""
    assert_solves_the_master(drawn_node(seed, n=(2, 7)).contraction, "interior", blind=0)


@given(SEEDS, st.sampled_from(SCHEMES), st.sampled_from([0, 2]))
@examples(60)
def test_feasible_or_not_the_master_is_solved(seed, scheme, blind):
    """Points of a line with cannot-links and a maximum size, added after the contraction."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 8))
    links = [pair for pair in combinations(range(m), 2) if rng.random() < 0.5]
    size = int(rng.integers(2, m + 1))
    constraints = (MaximumSize(size),) if size < m else ()
    free = contracted(np.arange(float(m))[:, None] ** 2, m, cluster_constraints=constraints)
    links = np.array(links, np.intp).reshape(-1, 2)
    assert_solves_the_master(
        replace(free, k=int(rng.integers(1, m)), cannot_link=links), scheme, blind
    )


def costs_something(node) -> bool:
    return 0.0 < node.optimum < math.inf


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scales(scheme):
    """Tolerances are relative to the data."""
    for seed in range(6):
        instance, values = drawn_node(seed, *PAIRS, where=costs_something).instance, []
        for factor in (1.0, 1e-5, 1e12):
            contraction = scaled(instance, factor)
            step = ended(begun(contraction, BruteForcePricer(contraction), scheme))
            values.append(step.bound.value / factor**2)
            assert step.bound.value <= optimum(contraction)
        assert np.allclose(values, values[0], rtol=precision(scheme), atol=1e-10)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", range(10))
def test_points_that_coincide_do_not_upset_the_units_of_the_master(scheme, seed):
    """Their clusters cost rounding errors only, which are useless as a unit of perturbations."""
    points = np.random.default_rng(seed).normal(size=(5, 8))
    points[1] = points[0]
    contraction = contracted(points, 3)
    step = ended(begun(contraction, BruteForcePricer(contraction), scheme))
    assert step.bound.value <= optimum(contraction) + 1e-9
    assert step.bound.value == pytest.approx(master_value(contraction), rel=1e-6)


@given(nodes(*PAIRS, n=(2, 7)), st.sampled_from(SCHEMES))
@examples(60)
def test_a_cutoff_below_the_masters_value_is_reached(node, scheme):
    value = master_value(node.contraction)
    assume(value is not None and value >= 1e-6)
    step = ended(begun(node.contraction, BruteForcePricer(node.contraction), scheme), 0.99 * value)
    assert 0.99 * value <= step.bound.value <= node.optimum


def test_an_integral_master_gives_its_clustering():
    found = 0
    for seed in range(30):
        node = drawn_node(seed, *PAIRS, n=(2, 7))
        value = master_value(node.contraction)
        if value is not None and value >= node.optimum - 1e-9:
            generation = Generation.begin(node.contraction, BruteForcePricer(node.contraction))
            ended(generation)
            cost = node.contraction.cost(generation.clustering())
            assert cost == pytest.approx(node.optimum, rel=1e-9, abs=1e-12)
            found += 1
    assert found > 10


@pytest.mark.long
@given(SEEDS)
@examples(40)
def test_a_child_begins_with_its_parents_clusters_and_prices(seed):
    """And needs less steps than from the beginning."""
    rng = np.random.default_rng(seed)
    instance = Instance(rng.normal(size=(8, 2)), 3)
    parent = contract(instance)
    cold = Generation.begin(parent, BruteForcePricer(parent))
    bound = ended(cold).bound
    again = Generation.begin(parent, BruteForcePricer(parent), None, cold.columns, cold.duals)
    assert ended(again).bound.value == pytest.approx(bound.value, rel=1e-9)
    assert again.n_iterations < max(3, 0.8 * cold.n_iterations)
    warm = cold.warm_start()
    assert len(warm.columns) == min(len(cold.columns), 80)
    i, j = sorted(rng.permutation(8)[:2].tolist())
    for decision in ({"must_link": [(i, j)]}, {"cannot_link": [(i, j)]}):
        child = contract(instance, blocks=parent.block_of, **decision)
        columns, duals = warm.for_child(child)
        every = all_columns(child)
        # The prices prove for the child what they prove for the parent.
        assert (every.costs - every.members @ duals.prices).min() >= -duals.sigma - 1e-9
        assert math.isclose(duals.value(3), bound.value, rel_tol=1e-6)
        went_on = Generation.begin(child, BruteForcePricer(child), None, columns, duals)
        assert ended(went_on).bound.value >= bound.value * (1 - 1e-9)


@pytest.mark.long
def test_both_masters_prove_the_same_of_many_blocks():
    points = np.random.default_rng(3).normal(size=(300, 2))
    contraction = contracted(points, 60)
    labels = np.argsort(np.argsort(points[:, 0])) * 60 // 300
    last = ended(ColgenBounding().start(contraction, None, labels))
    with constants({FOR_INTERIOR: Reach(blocks=1000)}):
        other = ended(ColgenBounding().start(contraction, None, labels))
    assert last.bound.value == pytest.approx(other.bound.value, rel=1e-6)


BLOCKS_OF_THREE = [(i, j) for i in range(15) for j in (3 * (i // 3),) if i != j]
TRIPLES = ForbiddenSets(tuple(map(frozenset, combinations(range(5), 3))))
# Two clusters hold two of five blocks, or points, each: the pairs do not show it.
INFEASIBLE = {
    "size": Instance(
        np.arange(15.0)[:, None], 2, BLOCKS_OF_THREE, cluster_constraints=[MaximumSize(8)]
    ),
    "custom": Instance(np.arange(5.0)[:, None], 2, cluster_constraints=[TRIPLES]),
}


@pytest.mark.parametrize("name", [name for name in STAGES if name.startswith("columns")])
@pytest.mark.parametrize("of", INFEASIBLE)
@pytest.mark.parametrize("cutoff", [math.inf, 10.0])
def test_a_node_without_a_clustering_is_proven_to_have_none(name, of, cutoff):
    with constants(STAGES[name]):
        run = ColgenBounding().start(contract(INFEASIBLE[of]), None)
        assert ended(run, cutoff).bound.value >= cutoff


def test_costs_too_far_apart_for_simplex_do_not_end_the_run():
    # HiGHS ends a master programme as "Unknown": after unscaling, a dual value is out of tolerance.
    rng = np.random.default_rng(40)
    n = int(rng.integers(8, 15))
    points = rng.normal(size=(n, 2))
    points[0] += 10.0 ** rng.integers(6, 15)
    soft = [pair for pair in combinations(range(n), 2) if rng.random() < 0.3]
    instance = Instance(points, 3, cluster_constraints=(SoftCannotLinks(soft, 2),))
    result = solve(instance, SolverParameters(bounding="colgen"))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(solve(instance).objective, rel=1e-9)
