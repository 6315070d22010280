"""Soft pairs inside of subsets, whose bounds add up to one of the whole."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.subsets import Subsets
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.checker_rules import CheckedConstraints, checked_soft_pairs
from sdpbb.run.decomposition.dealing import subset_tree
from sdpbb.run.decomposition.restriction import Restriction
from sdpbb.run.decomposition.subsets import subsets_at
from tests.decomposition.test_bound import random_tree
from tests.soft.instances import least_cost, random_soft_instance

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_the_sum_over_subsets_is_at_most_the_optimum(seed):
    rng = np.random.default_rng(seed)
    instance = random_soft_instance(rng, 8)
    contraction, truth = contract(instance), least_cost(instance)
    if truth is None or not isinstance(contraction, Contraction):
        return
    restriction, tree = Restriction(instance, contraction), random_tree(rng, contraction.n_blocks)
    total = 0.0
    for subset in subsets_at(tree.depth):
        blocks = tree.blocks(subset)
        if len(blocks) < instance.k:
            continue
        least = least_cost(restriction.instance(blocks, restriction.rows(blocks)))
        assert least is not None
        total += least
    assert total <= truth * (1.0 + 1e-9) + 1e-12


def test_soft_must_links_count_only_where_subsets_can_be_divided_for_nothing():
    """One cluster of the optimum is the subset, in which two would have to pay."""
    points = np.array([[0.0], [0.0], [0.0], [9.0]])
    soft = {"soft_must_link": [(0, 1, 5.0), (1, 2, 5.0)], "soft_cannot_link": [(0, 2, 1.0)]}
    instance = Instance(points, 2, **soft)
    assert least_cost(instance) == 1.0
    restriction = Restriction(instance, contract(instance))
    part = restriction.instance(np.arange(3), np.arange(3))
    assert (len(part.soft_must_link), len(part.soft_cannot_link)) == (0, 1)
    whole = restriction.instance(np.arange(4), np.arange(4))
    assert (len(whole.soft_must_link), len(whole.soft_cannot_link)) == (2, 1)


def test_the_checker_counts_the_same_soft_pairs():
    rng = np.random.default_rng(7)
    n_used = 0
    for _ in range(60):
        instance = random_soft_instance(rng, 9)
        contraction = contract(instance)
        rows = np.flatnonzero(rng.random(instance.n_points) < 0.7)
        if not isinstance(contraction, Contraction) or len(rows) < instance.k:
            continue
        whole, soft = CheckedConstraints.of(instance), checked_soft_pairs(instance)
        pairs = (whole.must_link, whole.cannot_link)
        subsets = Subsets([rows], instance.n_points, *pairs, whole.rules, soft)
        of_engine = checked_soft_pairs(Restriction(instance, contraction).stated(rows))
        found = subsets.soft(0, instance.k)
        for one, other in (
            (found.must_link, of_engine.must_link),
            (found.cannot_link, of_engine.cannot_link),
        ):
            assert sorted(zip(one.pairs.tolist(), one.weights.tolist(), strict=True)) == sorted(
                zip(other.pairs.tolist(), other.weights.tolist(), strict=True)
            )
            n_used += len(one)
    assert n_used > 50


def test_soft_pairs_stay_together():
    rng = np.random.default_rng(1)
    points, labels = rng.normal(size=(200, 2)), np.arange(200) % 3
    pairs = [(i, i + 3, 1.0) for i in range(0, 150, 4)]
    contraction = contract(Instance(points, 3, soft_must_link=pairs))
    subset_of = subset_tree(contraction, labels, 2, 8).subset_of(2)
    assert all(subset_of[i] == subset_of[j] for i, j, _ in pairs)
