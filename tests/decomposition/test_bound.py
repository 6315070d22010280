"""The sum of the optima of subsets is at most the optimum, and so is what the engine proves."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdpbb.problem import (
    Contraction,
    Infeasibility,
    Instance,
    Partition,
    SoftCannotLinks,
    contract,
)
from sdpbb.run.decomposition.dealing import features, subset_tree
from sdpbb.run.decomposition.subsets import (
    Subset,
    SubsetBounds,
    SubsetTree,
    bound_subset,
    level_of,
    restricted,
    restricted_costs,
    rows_of,
    subsets_at,
)
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.search.clocks import Budget
from sdpbb.search.events import SubsetsBounded, SubsetsChosen
from sdpbb.search.result import SolutionStatus
from tests.any_instance import any_instance
from tests.constants import TINY_SUBSETS
from tests.enumeration import Truth, canonical, random_instance
from tests.examples import examples
from tests.search.test_evaluate import context_of
from tests.search.test_without_incumbent import Blind

SEEDS = st.integers(0, 2**32 - 1)
PARAMETERS = SolverParameters(bounding="decomposition", decomposition=TINY_SUBSETS, gap=1e-6)


CLOUD = Instance(np.random.default_rng(0).normal(size=(60, 2)), 3)


def random_tree(rng: np.random.Generator, m: int) -> SubsetTree:
    depth = int(rng.integers(0, 3))
    cuts = np.sort(rng.integers(0, m + 1, 2**depth - 1))
    return SubsetTree(rng.permutation(m), np.concatenate([[0], cuts, [m]]).astype(np.intp))


@given(any_instance("equal points", "pairs", "constraints", "own constraints", "soft pairs"), SEEDS)
@examples(60)
def test_the_sum_over_subsets_is_at_most_the_optimum(instance, seed):
    """A clustering keeps the constraints of each subset, of which none costs less than its own."""
    contraction, truth = contract(instance), Truth(instance)
    assume(isinstance(contraction, Contraction) and truth.is_feasible)
    firsts = truth.labels[:, contraction.representatives]
    labels = truth.labels[(truth.labels == firsts[:, contraction.block_of]).all(axis=1)]
    tree = random_tree(np.random.default_rng(seed), contraction.n_blocks)
    total = 0.0
    for subset in subsets_at(tree.depth):
        blocks = tree.blocks(subset)
        if len(rows := rows_of(contraction, blocks)) < instance.k:
            continue
        part = restricted(instance, rows)
        truths = {k: Truth(replace(part, k=k)) for k in range(1, instance.k + 1)}
        for row in labels[:30]:
            inside = canonical(row[rows])
            assert truths[inside.max() + 1].has(inside)
        least = min(each.optimum for each in truths.values() if each.is_feasible)
        if len(blocks) >= instance.k:
            exactly = truths[instance.k].optimum
            assert instance.has_soft_constraints or exactly <= least + 1e-9 * (1.0 + least)
            least = exactly
        total += least
    assert total <= truth.optimum + 1e-9 * (1.0 + truth.optimum)


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
    levels = range(tree.depth + 1)
    of_levels = [restricted_costs(contraction, labels, tree.subset_of(level)) for level in levels]
    for subset in range(1, 2 << tree.depth):
        costs = of_levels[level_of(subset)]
        blocks = tree.blocks(subset)
        if not len(blocks):
            assert costs[subset] == 0.0
            continue
        rows = rows_of(contraction, blocks)
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
    i, j = contraction.cannot_link.T
    assert 0 < (subset_of[i] != subset_of[j]).sum() <= 4
    assert sorted(tree.order) == list(range(200))


def test_a_subset_that_has_no_clustering_is_a_proof():
    """Nothing more is bounded, not even the other subsets of its level."""
    points, events = np.random.default_rng(0).normal(size=(14, 2)), []
    # Four points or more have two of these pairs, and a cluster may hold one.
    pairs = [(i, j) for i in range(14) for j in range(i) if (i + j) % 2 == 0]
    instance = Instance(points, 2, cluster_constraints=[SoftCannotLinks(pairs, 1)])
    parameters = replace(PARAMETERS, decomposition=replace(TINY_SUBSETS, smallest=7))
    result = solve(instance, parameters, events.append)
    assert result.status is SolutionStatus.INFEASIBLE
    kinds = [type(event) for event in events]
    assert (kinds.count(SubsetsChosen), kinds.count(SubsetsBounded)) == (1, 0)
    assert (result.statistics.n_nodes, result.statistics.n_subsets) == (1, 0)


def test_a_subset_that_would_be_branched_is_left_with_its_bound():
    whole = context_of(CLOUD, Blind())
    done = bound_subset(Subset.of(1, CLOUD, np.arange(60) % 3, Blind(), 0.0, whole), Budget())
    assert (done.tree.n_open, done.lower) == (0, 0.0)
    assert done.tree.upper < done.restricted_cost


def test_units_of_other_clusters_do_not_all_go_to_one_half():
    """Chains of cannot-links in eight pairs of far clusters: a half would have had none."""
    rng, size = np.random.default_rng(0), 12
    pair, place = np.repeat(np.arange(32) % 8, size), np.tile(np.arange(size), 32)
    labels = 2 * pair + place % 2
    points = rng.normal(size=(len(pair), 2)) + np.column_stack([1000 * pair, 20 * (place % 2)])
    links = [(i, i + 1) for i in range(len(pair) - 1) if place[i + 1]]
    _, tree = dealt(Instance(points, 16, cannot_link=links), labels, 3, most=size)
    assert tree.n_blocks(3).min() >= 24


def test_soft_must_links_count_only_where_subsets_can_be_divided_for_nothing():
    """One cluster of the optimum is the subset, in which two would have to pay."""
    points = np.array([[0.0], [0.0], [0.0], [9.0]])
    soft = {"soft_must_link": [(0, 1, 5.0), (1, 2, 5.0)], "soft_cannot_link": [(0, 2, 1.0)]}
    instance = Instance(points, 2, **soft)
    assert Truth(instance).optimum == 1.0
    part = restricted(instance, np.arange(3))
    assert (len(part.soft_must_link), len(part.soft_cannot_link)) == (0, 1)
    whole = restricted(instance, np.arange(4))
    assert (len(whole.soft_must_link), len(whole.soft_cannot_link)) == (2, 1)


def test_soft_pairs_stay_together():
    rng = np.random.default_rng(1)
    points, labels = rng.normal(size=(200, 2)), np.arange(200) % 3
    pairs = [(i, i + 3, 1.0) for i in range(0, 150, 4)]
    contraction = contract(Instance(points, 3, soft_must_link=pairs))
    subset_of = subset_tree(contraction, labels, 2, 8).subset_of(2)
    assert all(subset_of[i] == subset_of[j] for i, j, _ in pairs)


def test_features_of_points_that_are_far_apart_are_finite():
    contraction = contract(Instance([[0.0], [1.0], [1e99], [-1e99], [3.0]], 2))
    assert np.isfinite(features(contraction, np.array([0, 0, 1, 1, 0]))).all()


def test_subsets_of_skew_data_cost_nearly_the_same():
    rng = np.random.default_rng(0)
    contraction = contract(Instance(rng.exponential(size=(6400, 3)), 4))
    bounds = np.quantile(contraction.means, [0.1, 0.4, 0.7, 0.9])
    labels = np.argmin(np.abs(contraction.means[:, :1] - bounds), 1)
    tree = subset_tree(contraction, labels, 5, 1)
    at_random = SubsetTree(rng.permutation(6400), tree.bounds)
    spread = [
        np.std(restricted_costs(contraction, labels, each.subset_of(5))[32:])
        for each in (tree, at_random)
    ]
    assert spread[0] < 0.6 * spread[1]
