"""Terms of soft pairs: their sums are the prices of clusterings, and their caps make bounds."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.cuts import soft_pairs
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.cuts.soft_pairs import SoftPairTerms, multiplier_caps
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.problem import Contraction, Partition, contract
from tests.enumeration import clustering_matrix, feasible_clusterings
from tests.soft.instances import random_soft_instance

seeds = st.integers(0, 10**6)


def contracted(rng: np.random.Generator):
    """An instance that has a clustering, its contraction, and labels of the blocks."""
    while True:
        instance = random_soft_instance(rng, 7)
        contraction = contract(instance)
        if not isinstance(contraction, Contraction):
            continue
        labels = feasible_clusterings(instance)
        if len(labels):
            return instance, contraction, labels[:, contraction.representatives]


def all_terms(relaxation: Relaxation) -> CutSet:
    """All terms of all pairs: those that are violated at random symmetric matrices."""
    found, rng = CutSet.empty(), np.random.default_rng(0)
    for _ in range(40):
        Z = rng.random((relaxation.m, relaxation.m))
        with patch.object(soft_pairs, "PER_BLOCK", 10**6):
            cuts = SoftPairTerms().separate(Z + Z.T, relaxation)
        found = found + cuts.select(~np.isin(cuts.keys, found.keys))
    return found


@given(seeds)
def test_the_prices_of_violated_terms_add_up_to_those_of_violated_pairs(seed):
    instance, contraction, labels = contracted(np.random.default_rng(seed))
    relaxation = Relaxation.of(contraction)
    terms = all_terms(relaxation)
    caps = multiplier_caps(relaxation, terms)
    for row in labels[:50]:
        Z = clustering_matrix(row, contraction.weights)
        price = caps @ np.maximum(terms.rhs - terms.values(Z), 0.0) * relaxation.scale
        expected = Partition(contraction.lift(row)).penalty(instance)
        heaviest = np.abs(contraction.soft.weights).max(initial=0.0)
        slack = 1e-9 * (expected + heaviest)
        assert abs(contraction.soft.constant + price - expected) <= slack


@given(seeds)
def test_no_multipliers_raise_the_bound_above_a_cost(seed):
    rng = np.random.default_rng(seed)
    instance, contraction, labels = contracted(rng)
    relaxation = Relaxation.of(contraction)
    costs = [Partition(contraction.lift(row)).cost(instance) for row in labels]
    costs_of_blocks = [contraction.cost(row) for row in labels]
    assert np.allclose(costs, costs_of_blocks, rtol=1e-9, atol=1e-9)
    terms = all_terms(relaxation)
    for scale in (0.0, 0.1, 1.0, 100.0):
        N = scale * rng.random((relaxation.m, relaxation.m))
        t = scale * rng.exponential(size=len(terms)) * (rng.random(len(terms)) < 0.5)
        bound = safe_bound(relaxation, DualPoint(N + N.T, terms, t))
        assert bound.value <= min(costs) * (1.0 + 1e-12)
        # Stated twice, they are worth no more.
        twice = DualPoint(N + N.T, terms + terms, np.concatenate([t, t]))
        assert safe_bound(relaxation, twice).value <= min(costs) * (1.0 + 1e-12)


@given(seeds)
def test_terms_of_a_parent_are_worth_no_more_in_a_child(seed):
    rng = np.random.default_rng(seed)
    instance, contraction, _ = contracted(rng)
    relaxation = Relaxation.of(contraction)
    terms = all_terms(relaxation)
    t = rng.exponential(size=len(terms)) * np.minimum(multiplier_caps(relaxation, terms), 1e9)
    i, j = rng.choice(instance.n_points, 2, replace=False).tolist()
    for more in ({"must_link": [(i, j)]}, {"cannot_link": [(i, j)]}):
        child = contract(instance, **more, blocks=contraction.block_of)
        if not isinstance(child, Contraction):
            continue
        merged = DualPoint(np.zeros((relaxation.m, relaxation.m)), terms, t)
        merged = merged.merged(child.block_of[contraction.representatives], child.n_blocks)
        its_own = Relaxation.of(child)
        bound = safe_bound(its_own, merged.scaled(relaxation.scale / its_own.scale))
        kept = [
            Partition(labels).cost(instance)
            for labels in feasible_clusterings(instance)
            if (labels[i] == labels[j]) == ("must_link" in more)
        ]
        assert bound.value <= min(kept, default=np.inf) * (1.0 + 1e-12)
