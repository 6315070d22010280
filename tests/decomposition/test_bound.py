"""The sum of the optima of subsets is at most the optimum, and so is what the engine proves."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem import Contraction, Infeasibility, Instance, Partition, contract
from sdpbb.run.decomposition.bounds import SubsetBounds, restricted_costs
from sdpbb.run.decomposition.dealing import subset_tree
from sdpbb.run.decomposition.parameters import DecompositionParameters
from sdpbb.run.decomposition.restriction import Restriction
from sdpbb.run.decomposition.subsets import SubsetTree, subsets_at
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.search.result import SolutionStatus
from tests.constrained import KINDS, constrained_instance
from tests.enumeration import (
    clusterings,
    feasible_clusterings,
    holds,
    optimum,
    random_instance,
    sums_of_squares,
)

SEEDS = st.integers(0, 2**32 - 1)
TINY_SUBSETS = DecompositionParameters(least_blocks=2, smallest=2, per_cluster=1)
PARAMETERS = SolverParameters(bounding="decomposition", decomposition=TINY_SUBSETS, gap=1e-6)


CLOUD = Instance(np.random.default_rng(0).normal(size=(60, 2)), 3)


def least_of_k_or_fewer(instance: Instance) -> float:
    """The least cost of a clustering into k clusters or fewer; inf if there is none."""
    least = np.inf
    for k in range(1, instance.k + 1):
        labels = [row for row in clusterings(instance.n_points, k) if keeps(instance, row)]
        if labels:
            least = min(least, sums_of_squares(instance.points, np.array(labels)).min())
    return least


def keeps(instance: Instance, labels: np.ndarray) -> bool:
    i, j = instance.must_link.T
    a, b = instance.cannot_link.T
    on_pairs = (labels[i] == labels[j]).all() and (labels[a] != labels[b]).all()
    clusters = [set(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)]
    rules = instance.cluster_constraints
    return bool(on_pairs) and all(holds(rule, instance, x) for rule in rules for x in clusters)


def random_tree(rng: np.random.Generator, m: int) -> SubsetTree:
    depth = int(rng.integers(0, 3))
    cuts = np.sort(rng.integers(0, m + 1, 2**depth - 1))
    return SubsetTree(rng.permutation(m), np.concatenate([[0], cuts, [m]]).astype(np.intp))


def random_any(rng: np.random.Generator) -> Instance:
    """With or without constraints on clusters."""
    if rng.random() < 0.4:
        return random_instance(rng, n_max=8, n_min=2)
    kinds = [KINDS[at] for at in rng.permutation(len(KINDS))[: int(rng.integers(1, 3))]]
    return constrained_instance(rng, kinds)


@given(SEEDS)
def test_restrictions_of_clusterings_keep_the_constraints_of_subsets(seed):
    rng = np.random.default_rng(seed)
    instance = random_any(rng)
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility):
        return
    labels = [
        row
        for row in feasible_clusterings(instance)
        if np.array_equal(row, contraction.lift(row[contraction.representatives]))
    ]
    restriction, tree = Restriction(instance, contraction), random_tree(rng, contraction.n_blocks)
    for subset in subsets_at(tree.depth):
        blocks = tree.blocks(subset)
        if not len(blocks) or len(rows := restriction.rows(blocks)) < instance.k:
            continue
        part = restriction.instance(blocks, rows)
        for row in labels:
            assert keeps(part, np.unique(row[rows], return_inverse=True)[1])


@given(SEEDS)
def test_the_sum_over_subsets_is_at_most_the_optimum(seed):
    rng = np.random.default_rng(seed)
    instance = random_any(rng)
    contraction = contract(instance)
    truth = optimum(instance)
    if truth is None or isinstance(contraction, Infeasibility):
        return
    restriction, tree = Restriction(instance, contraction), random_tree(rng, contraction.n_blocks)
    total = 0.0
    for subset in subsets_at(tree.depth):
        blocks = tree.blocks(subset)
        if not len(blocks) or len(rows := restriction.rows(blocks)) < instance.k:
            continue
        part = restriction.instance(blocks, rows)
        least = least_of_k_or_fewer(part)
        if len(blocks) >= instance.k:
            exactly = optimum(part)
            assert exactly is not None
            assert exactly <= least + 1e-9 * (1.0 + least)
        total += least
    assert total <= truth + 1e-9 * (1.0 + truth)


@given(SEEDS)
def test_the_total_is_the_best_sum_over_a_partition(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 20)
    bounds = SubsetBounds(tree, tree.depth)
    bounds.proven[1:] = rng.integers(0, 10, len(bounds.proven) - 1)

    def best(subset: int) -> float:
        own = float(bounds.proven[subset])
        return (
            own
            if 2 * subset >= len(bounds.proven)
            else max(own, best(2 * subset) + best(2 * subset + 1))
        )

    assert bounds.of_each()[1] == best(1)
    assert bounds.total() <= best(1)
    assert bounds.total() == pytest.approx(best(1), rel=1e-15)


@given(SEEDS)
def test_costs_of_restrictions(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, n_min=4)
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility):
        return
    tree = random_tree(rng, contraction.n_blocks)
    labels = rng.integers(0, contraction.k, contraction.n_blocks)
    labels[: contraction.k] = np.arange(contraction.k)
    costs = restricted_costs(
        contraction.weights, contraction.means, contraction.scatter, labels, tree
    )
    restriction = Restriction(instance, contraction)
    for subset in range(1, len(costs)):
        blocks = tree.blocks(subset)
        if not len(blocks):
            assert costs[subset] == 0.0
            continue
        rows = restriction.rows(blocks)
        of_rows = np.unique(contraction.lift(labels)[rows], return_inverse=True)[1]
        expected = Partition(of_rows).sum_of_squares(instance.points[rows])
        assert costs[subset] == pytest.approx(expected, abs=1e-9)


def dealt(
    instance: Instance, labels: np.ndarray, depth: int, most: int = 8
) -> tuple[Contraction, SubsetTree]:
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    return contraction, subset_tree(contraction, labels[contraction.representatives], depth, most)


def test_subsets_have_the_means_of_the_clusters():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 400)
    points = rng.normal(size=(1600, 3)) + 4.0 * rng.normal(size=(4, 3))[labels]
    _, tree = dealt(Instance(points, 4), labels, 4)
    assert sorted(tree.order) == list(range(1600))
    whole = Partition(labels).sum_of_squares(points)
    parts = [tree.blocks(subset) for subset in subsets_at(4)]
    assert all(abs(len(part) - 100) <= 8 for part in parts)
    matched = sum(Partition(labels[part]).sum_of_squares(points[part]) for part in parts)
    # Subsets at random lose 1/25 of it.
    assert whole * 0.999 <= matched <= whole


def test_blocks_that_cannot_links_connect_stay_together_if_they_are_few():
    rng = np.random.default_rng(1)
    points, labels = rng.normal(size=(200, 2)), np.arange(200) % 3
    chains = [(i, i + 3) for i in range(0, 150, 4)]  # of two
    path = [(i, i + 1) for i in range(160, 190)]  # of 31
    contraction, tree = dealt(Instance(points, 3, cannot_link=chains + path), labels, 2, most=8)
    subset_of = tree.subset_of(2)
    assert all(subset_of[i] == subset_of[j] for i, j in chains)
    restriction = Restriction(Instance(points, 3, cannot_link=chains + path), contraction)
    assert 0 < restriction.n_dropped(subset_of) <= 4
    assert sorted(tree.order) == list(range(200))


@pytest.mark.parametrize(
    "instance",
    [
        Instance(np.zeros((5000, 2)), 3),
        Instance(np.arange(40.0).reshape(-1, 1), 1),
        Instance(np.arange(12.0).reshape(-1, 1) ** 2, 12),
        Instance(np.arange(40.0).reshape(-1, 1), 2, must_link=[(0, i) for i in range(1, 30)]),
        Instance(
            np.arange(12.0).reshape(-1, 1) ** 2,
            12,
            cannot_link=[(i, j) for i in range(12) for j in range(i)],
        ),
        Instance(
            np.random.default_rng(0).normal(size=(60, 2)),
            5,
            cannot_link=[(0, i) for i in range(1, 60)],
        ),
    ],
    ids=["equal points", "k = 1", "k = n", "large block", "clique", "star"],
)
def test_extremes(instance):
    result = solve(instance, PARAMETERS)
    assert result.status is SolutionStatus.OPTIMAL
    again = solve(instance, replace(PARAMETERS, bounding="hybrid"))
    assert result.objective == pytest.approx(again.objective, rel=1e-6, abs=1e-9)


def test_a_subset_that_has_no_clustering_is_a_proof():
    points = np.random.default_rng(0).normal(size=(60, 2))
    cycle = [(i, (i + 1) % 5) for i in range(5)]
    wheel = [*cycle, *((5, i) for i in range(5))]
    result = solve(Instance(points, 3, cannot_link=wheel), PARAMETERS)
    assert result.status is SolutionStatus.INFEASIBLE


def test_units_of_other_clusters_do_not_all_go_to_one_half():
    """Chains of cannot-links in eight pairs of far clusters: a half would have had none."""
    rng, size = np.random.default_rng(0), 12
    pair, place = np.repeat(np.arange(32) % 8, size), np.tile(np.arange(size), 32)
    labels = 2 * pair + place % 2
    points = rng.normal(size=(len(pair), 2)) + np.column_stack([1000 * pair, 20 * (place % 2)])
    links = [(i, i + 1) for i in range(len(pair) - 1) if place[i + 1]]
    _, tree = dealt(Instance(points, 16, cannot_link=links), labels, 3, most=size)
    assert tree.n_blocks(3).min() >= 24


def test_empty_subsets_have_no_bound():
    instance = CLOUD
    contraction = contract(instance)
    tree = SubsetTree(np.arange(60), np.array([0, 0, 30, 60, 60]))
    bounds = SubsetBounds(tree, 2)
    costs = restricted_costs(
        contraction.weights, contraction.means, contraction.scatter, np.arange(60) % 3, tree
    )
    assert costs[4] == costs[7] == 0.0
    bounds.proven[5:7] = 1.0
    assert bounds.total() == pytest.approx(2.0)
