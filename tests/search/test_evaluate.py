import pickle

import numpy as np
import pytest

from sdpbb.bounds.bound import SafeBound
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.problem import Instance, contract
from sdpbb.search.evaluate import EvaluationContext, evaluate, has_one_cost
from sdpbb.search.node import Node, NodeStatus
from sdpbb.search.parameters import HeuristicSchedule
from sdpbb.search.stop import Limits
from sdpbb.search.tolerances import Tolerances
from tests.enumeration import feasible_clusterings, sums_of_squares


@pytest.fixture(scope="module")
def context() -> EvaluationContext:
    instance = Instance(
        np.random.default_rng(3).normal(size=(9, 2)), 3, cannot_link=[(0, 1), (1, 2)]
    )
    return EvaluationContext(
        instance=instance,
        bounding=SdpBounding(SdpParameters(max_iterations=20)),
        schedule=HeuristicSchedule(),
        tolerances=Tolerances.of(1e-9, contract(instance)),
        seed=0,
    )


def truth(context: EvaluationContext, node: Node) -> float:
    instance = context.instance
    decided = Instance(
        instance.points,
        instance.k,
        np.concatenate([instance.must_link, np.array(node.must_link).reshape(-1, 2)]).astype(int),
        np.concatenate([instance.cannot_link, np.array(node.cannot_link).reshape(-1, 2)]).astype(
            int
        ),
    )
    labels = feasible_clusterings(decided)
    return float(sums_of_squares(instance.points, labels).min()) if len(labels) else np.inf


def test_a_whole_tree_by_hand(context):
    """Every node's bound holds for its clusterings, children never fall below their parent, and
    tasks and outcomes survive pickling."""
    best, pending, statuses = np.inf, [Node()], []
    while pending:
        node = pickle.loads(pickle.dumps(pending.pop()))
        outcome = pickle.loads(pickle.dumps(evaluate(node, best, context)))
        statuses.append(outcome.status)
        assert outcome.lower >= node.lower
        if outcome.status is NodeStatus.INFEASIBLE:
            assert truth(context, node) == np.inf
            continue
        assert outcome.lower.value <= truth(context, node) * (1 + 1e-12)
        if outcome.labels is not None:
            cost = sums_of_squares(context.instance.points, outcome.labels[None])[0]
            assert outcome.cost == pytest.approx(cost)
        best = min(best, outcome.cost)
        if outcome.status is NodeStatus.BRANCH:
            for ml, cl in (((outcome.pair,), ()), ((), (outcome.pair,))):
                pending.append(
                    Node(
                        number=node.number + len(pending) + 1,
                        must_link=node.must_link + ml,
                        cannot_link=node.cannot_link + cl,
                        blocks=outcome.blocks,
                        lower=outcome.lower,
                        warm_start=outcome.warm_start,
                    )
                )
    assert best == pytest.approx(truth(context, Node()))
    assert statuses.count(NodeStatus.BRANCH) >= 1


def test_contradicting_decisions(context):
    node = Node(must_link=((0, 1),), lower=SafeBound(1.0))
    assert evaluate(node, np.inf, context).status is NodeStatus.INFEASIBLE
    triangle = Node(cannot_link=((0, 2), (0, 3), (1, 3), (2, 3)))
    assert evaluate(triangle, np.inf, context).status is NodeStatus.INFEASIBLE


def test_a_node_with_one_clustering_is_closed_without_iterations(context):
    links = tuple((3, j) for j in range(4, 9))
    node = Node(must_link=((0, 2), *links), cannot_link=((0, 3), (1, 3)))
    outcome = evaluate(node, np.inf, context)
    assert outcome.status is NodeStatus.CLOSED
    assert outcome.n_iterations == 0
    assert outcome.cost == pytest.approx(truth(context, node))


def test_stopping_leaves_the_parents_bound(context):
    outcome = evaluate(Node(lower=SafeBound(0.5)), np.inf, context, Limits(time_limit=0.0))
    assert outcome.status is NodeStatus.STOPPED
    assert outcome.lower == SafeBound(0.5)


@pytest.mark.parametrize(
    ("points", "k", "one"),
    [(np.zeros((4, 1)), 2, True), (np.arange(4.0)[:, None], 4, True), (np.eye(4), 3, False)],
)
def test_has_one_cost(points, k, one):
    assert has_one_cost(contract(Instance(points, k))) is one
