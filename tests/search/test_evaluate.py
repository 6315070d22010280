import pickle

import numpy as np
import pytest

from heuristics.assignment import potts_solver
from heuristics.assignment.steps import PROGRAMME_SHARE
from heuristics.parameters import HeuristicSchedule, MultiStartParameters
from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.staged.methods import ColgenBounding, HybridBounding
from sdpbb.problem import Instance
from sdpbb.search.clocks import Budget
from sdpbb.search.evaluate import EvaluationContext, evaluate
from sdpbb.search.node import Node, NodeStatus
from sdpbb.search.tree import Tolerances, advanced
from tests.heuristics.test_assignment import UNSOLVED


def context_of(instance, bounding, heuristic=None) -> EvaluationContext:
    heuristic = HeuristicSchedule() if heuristic is None else heuristic
    return EvaluationContext(instance, bounding, heuristic, Tolerances(1e-9), seed=0)


@pytest.fixture(scope="module")
def context() -> EvaluationContext:
    instance = Instance(
        np.random.default_rng(3).normal(size=(9, 2)), 3, cannot_link=[(0, 1), (1, 2)]
    )
    return context_of(instance, SdpBounding(SdpParameters(max_iterations=20)))


def test_stopping_leaves_the_parents_bound(context):
    outcome = evaluate(Node(lower=ProvenBound(0.5)), np.inf, context, Budget(0.0))
    assert outcome.status is NodeStatus.UNFINISHED
    assert advanced(Node(lower=ProvenBound(0.5)), outcome).lower == ProvenBound(0.5)
    assert outcome.bounding is None


def test_integer_programmes_of_heuristics_keep_to_the_time_that_is_left(monkeypatch):
    """They get shares of it, and none is begun once the run is to end."""
    seconds = []
    monkeypatch.setattr(
        potts_solver,
        "minimise_by_programme",
        lambda *arguments: seconds.append(arguments[2]) or UNSOLVED,
    )
    rng = np.random.default_rng(2)
    labels, pairs = np.arange(150) % 8, rng.integers(150, size=(500, 2))
    apart = pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]]
    instance = Instance(rng.normal(size=(150, 2)), 8, cannot_link=apart)
    long = MultiStartParameters(assignment_time_limit=1e9)
    context = context_of(instance, SdpBounding(), HeuristicSchedule(before=long))
    budget = Budget(1e4, lambda: len(seconds) == 2)
    outcome = evaluate(Node(), np.inf, context, budget)
    assert outcome.status is NodeStatus.UNFINISHED
    assert len(seconds) == 2
    assert max(seconds) <= PROGRAMME_SHARE * 1e4


@pytest.mark.parametrize("bounding", [SdpBounding, ColgenBounding, HybridBounding])
def test_evaluate_does_not_change_its_node(bounding):
    """Not even the state that its bounding continues from."""
    instance = Instance(np.random.default_rng(5).normal(size=(60, 3)), 4, [(0, 1)], [(1, 2)])
    context = context_of(instance, bounding())
    node, n_slices = Node(), 0
    while True:
        packed = pickle.dumps(node)
        outcome = evaluate(node, np.inf, context, Budget(slice=0.0))
        assert pickle.dumps(node) == packed
        if outcome.status is not NodeStatus.UNFINISHED:
            break
        n_slices += 1
        # As it comes back from another process: pickles show which of its parts are shared.
        node = pickle.loads(pickle.dumps(advanced(node, outcome)))
        node = pickle.loads(pickle.dumps(node))
    assert n_slices > 2
