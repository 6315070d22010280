"""Bounds of more clusters as bounds of fewer: where the constraints allow it, and elsewhere not."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.bounds.bound import ProvenBound
from sdpbb.problem import ClusterConstraint, Instance, Partition
from sdpbb.problem.graph import connected_components
from sdpbb.run.checkpoint import RunState
from sdpbb.run.run import concluded
from sdpbb.search.node import Node, NodeResult, NodeStatus
from sdpbb.search.result import bound_below
from sdpbb.search.tree import Search, Tolerances, Tree
from tests.any_instance import any_instance, drawn_instance
from tests.enumeration import optimum
from tests.examples import examples

EXACT = sdpbb.SolverParameters(gap=0.0)
TWO_GROUPS = [[0.0], [0.0], [0.0], [10.0], [10.0], [10.0]]


@dataclass(frozen=True)
class AtMostShare(ClusterConstraint):
    """A user's own that depends on k: no cluster has more than n / k points, rounded up."""

    def allows(self, instance: Instance, members: np.ndarray) -> bool:
        return len(members) <= -(-instance.n_points // instance.k)


PARTS = (
    *("pairs", "constraints", "own constraints", "weights"),
    *("sizes", "weight limits", "soft pairs"),
)


def is_for_any_k(instance: Instance) -> bool:
    return instance.sizes is None


INSTANCES = any_instance(*PARTS).filter(is_for_any_k)


def least_costs(instance: Instance) -> dict[int, float | None]:
    ks = range(1, instance.n_points + 1)
    return {k: optimum(replace(instance, k=k)) for k in ks}


def not_above(one: float, other: float) -> bool:
    return one <= other * (1.0 + 1e-9) + 1e-300


def test_draws_are_of_both_kinds():
    """Else the property above says nothing."""
    counts = Counter()
    for instance in filter(is_for_any_k, (drawn_instance(Random(s), *PARTS) for s in range(80))):
        costs = [cost for cost in least_costs(instance).values() if cost is not None]
        rises = any(later > before * 1.001 for before, later in pairwise(costs))
        counts[instance.is_monotone, rises] += 1
    assert counts[True, False] > 20
    assert counts[False, True] > 2
    assert counts[True, True] == 0


@pytest.mark.parametrize(
    "rules",
    [
        {"min_size": 2},
        {"min_weight": 2},
        {"min_weight": 4.0, "weights": [2.0] * 6},
        {"min_size": 3, "max_size": 3},
        {"soft_must_link": [(0, 1, 80.0), (1, 2, 80.0), (3, 4, 80.0), (4, 5, 80.0)]},
        {"cluster_constraints": [AtMostShare()]},
    ],
)
def test_rules_under_which_more_clusters_may_cost_more(rules):
    instance = Instance(TWO_GROUPS, 2, **rules)
    assert not instance.is_monotone
    costs = least_costs(instance)
    assert costs[2] == 0.0
    assert costs[3] is None or costs[3] > 1.0 or "cluster_constraints" in rules
    report = sdpbb.sweep(instance, [2, 3], EXACT)
    assert report[2].lower_bound == report[2].objective == 0.0
    assert report[2].status == "optimal"


@pytest.mark.long
@given(INSTANCES, st.sampled_from([0.0, 0.5]))
@examples(60)
def test_bounds_of_a_sweep_are_bounds(instance, gap):
    """With a wide gap, too, where the bounds of other k are often nearer.

    Where the constraints are monotone, more clusters cost no more, up to as many as components.
    """
    parameters = sdpbb.SolverParameters(gap=gap)
    report = sdpbb.sweep(instance, range(1, instance.n_points + 1), parameters)
    assert report.is_complete
    costs = least_costs(instance)
    n_components = int(connected_components(instance.n_points, instance.must_link).max()) + 1
    for k in range(1, n_components if instance.is_monotone else 0):
        assert costs[k] is None or not_above(costs[k + 1], costs[k])
    for k, least in costs.items():
        entry = report[k]
        assert (entry.status == "infeasible") == (least is None)
        if least is None:
            assert entry.objective is entry.lower_bound is entry.labels is None
            continue
        assert not_above(entry.lower_bound, least)
        assert not_above(least, entry.objective)
        assert entry.lower_bound <= entry.objective
        assert (sum(entry.sizes), len(entry.sizes)) == (instance.n_points, k)
        if gap == 0.0:
            assert not_above(entry.objective, least)


def test_a_bound_above_a_cost_is_an_internal_error(monkeypatch):
    """Were the constraints wrongly taken for monotone, a sweep would end, and print nothing."""
    monkeypatch.setattr(Instance, "is_monotone", True)
    with pytest.raises(AssertionError, match=r"lower bound .* above the cost 0.0"):
        sdpbb.sweep(Instance(TWO_GROUPS, 2, min_weight=2), [2, 3], EXACT)


def test_bounds_within_rounding_are_lowered_to_the_cost():
    assert bound_below(1.0 + 1e-12, 1.0) == 1.0
    assert bound_below(0.5, 1.0) == 0.5
    with pytest.raises(AssertionError):
        bound_below(1.0 + 1e-6, 1.0)


def test_a_search_whose_nodes_are_all_above_the_incumbent_has_no_result():
    instance = Instance(TWO_GROUPS, 2)
    labels = np.array([0, 0, 1, 1, 1, 1])
    tree = Tree(Node(), Tolerances(0.0))
    tree.offer(labels, Partition(labels).cost(instance), "start")
    bounded = NodeResult(NodeStatus.CLOSED, ProvenBound(100.0))
    tree.apply(tree.select().number, bounded)
    assert tree.is_closed
    with pytest.raises(AssertionError, match="above the cost"):
        concluded(RunState(instance, EXACT, search=Search(tree)), None, 0.0, 6)
