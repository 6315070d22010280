"""Suggested pairs of instances with constraints of every kind, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.problem import Instance, Partition
from sdpbb.questions.queries.standing import NoClusteringToAskAbout
from tests.enumeration import feasible_clusterings, random_instance
from tests.examples import examples
from tests.queries.test_suggest import implied, known_answers
from tests.sizes.instances import sized_instance
from tests.soft.instances import least_cost, random_mixture, random_soft_instance, weighted_mixture

INSTANCES = (
    lambda rng: random_instance(rng, n_max=8, n_min=2),
    lambda rng: sized_instance(int(rng.integers(2**31)), 8),
    lambda rng: random_soft_instance(rng, 8),
    lambda rng: random_mixture(int(rng.integers(2**31))),
    lambda rng: weighted_mixture(int(rng.integers(2**31))),
)


def best_of(instance: Instance) -> np.ndarray:
    """Labels of a cheapest clustering."""
    every = feasible_clusterings(instance)
    return every[np.argmin([Partition(labels).cost(instance) for labels in every])]


@examples(60)
@given(st.integers(0, 2**32), st.sampled_from(["covariance", "cost"]))
def test_suggestions_are_open_and_their_true_answers_keep_the_optimum(seed, memberships):
    rng = np.random.default_rng([seed, 6])
    instance = INSTANCES[rng.integers(len(INSTANCES))](rng)
    truth = least_cost(instance)
    if truth is None:
        with pytest.raises(NoClusteringToAskAbout):
            sdpbb.suggest_queries(instance, q=3, memberships=memberships, seed=seed % 1000)
        return
    report = sdpbb.suggest_queries(instance, q=3, memberships=memberships, seed=seed % 1000)
    found = Partition(report.labels)
    assert found.is_feasible(instance)
    assert found.cost(instance) >= truth * (1 - 1e-9)
    known = implied(instance.n_points, known_answers(instance))
    best = best_of(instance)
    together, apart = instance.must_link.tolist(), instance.cannot_link.tolist()
    for i, j in report.pairs:
        assert known[i, j] == 0
        (together if best[i] == best[j] else apart).append((i, j))
    answered = replace(instance, must_link=together, cannot_link=apart)
    result = sdpbb.solve(answered, sdpbb.SolverParameters(gap=1e-6))
    assert result.status.value == "optimal"
    assert result.objective == pytest.approx(truth, rel=2e-6, abs=1e-9)
    assert result.lower_bound <= truth * (1 + 1e-9) + 1e-12
