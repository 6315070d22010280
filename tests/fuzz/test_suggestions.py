"""Suggested pairs of instances with constraints of every kind, against enumeration."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.problem import Partition
from sdpbb.questions.query_strategy import NoClusteringToAskAbout
from tests.any_instance import any_instance
from tests.contracts.runs import assert_proven
from tests.enumeration import Truth
from tests.examples import examples
from tests.test_suggest import implied, known_answers

INSTANCES = any_instance("equal points", "pairs", "weights", "sizes", "weight limits", "soft pairs")


@examples(60)
@given(INSTANCES, st.integers(0, 999))
def test_suggestions_are_open_and_their_true_answers_keep_the_optimum(instance, seed):
    truth = Truth(instance)
    asked = {"q": 3, "seed": seed}
    if not truth.is_feasible:
        with pytest.raises(NoClusteringToAskAbout):
            sdpbb.suggest_queries(instance, **asked)
        return
    report = sdpbb.suggest_queries(instance, **asked)
    assert Partition(report.labels).is_feasible(instance)
    known, best = implied(instance.n_points, known_answers(instance)), truth.best
    together, apart = instance.must_link.tolist(), instance.cannot_link.tolist()
    for i, j in report.pairs:
        assert known[i, j] == 0
        (together if best[i] == best[j] else apart).append((i, j))
    answered = replace(instance, must_link=together, cannot_link=apart)
    result = sdpbb.solve(answered, sdpbb.SolverParameters(gap=1e-6))
    assert_proven(result, Truth(answered), 1e-6)
    assert Truth(answered).optimum == truth.optimum
