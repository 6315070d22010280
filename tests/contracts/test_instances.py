"""Contract of instances: labels are feasible, and cost, what the definitions say."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.rules import Measure
from sdpbb.checker.packing import ClusterByCluster, is_packable
from sdpbb.problem import Contraction, Infeasibility, Partition, contract
from sdpbb.problem.feasibility import ClusterPacking, find_feasible, packed_exactly, packed_greedily
from tests.any_instance import PARTS, any_instance, drawn_instance
from tests.enumeration import Truth, clusterings
from tests.examples import examples


@given(any_instance(), st.data())
def test_labels_are_feasible_and_cost_what_the_definitions_say(instance, data):
    truth = Truth(instance)
    every = clusterings(instance.n_points, instance.k)
    labels = every[data.draw(st.integers(0, len(every) - 1))]
    assert Partition(labels).is_feasible(instance) == truth.has(labels)
    if truth.is_feasible:
        labels = truth.labels[data.draw(st.integers(0, len(truth.labels) - 1))]
        cost = Partition(labels).cost(instance)
        assert cost == pytest.approx(truth.cost_of(labels), rel=1e-9, abs=0)


@given(
    st.one_of(
        any_instance("pairs", "weights", always=["sizes"]),
        any_instance("sizes", always=["pairs", "weight limits"], n=(4, 8), k=(2, 4)),
        any_instance("pairs", always=["sizes", "weight limits"], n=(4, 8), k=(2, 4)),
    )
)
@examples(300)
def test_packings_are_found_or_proven_not_to_be(instance):
    truth, contraction = Truth(instance), contract(instance)
    if isinstance(contraction, Infeasibility):
        return
    found = find_feasible(contraction)
    assert isinstance(found, np.ndarray) == truth.is_feasible
    if not contraction.has_limits:
        return
    labels, is_infeasible, _ = packed_exactly(contraction)
    assert is_infeasible is not truth.is_feasible
    if truth.is_feasible:
        greedy = packed_greedily(contraction, found)
        for packed in (found, labels, greedy):
            assert packed is greedy is None or truth.has(contraction.lift(packed))
    adjacency, amounts = contraction.adjacency, contraction.limited_amounts
    measures = [Measure.of(each.linear, each.limits) for each in amounts]
    assert is_packable(adjacency, contraction.k, measures) is truth.is_feasible
    assert ClusterByCluster(measures, adjacency).succeeds() is truth.is_feasible
    searched = ClusterPacking(amounts, adjacency).labels()
    assert (searched is not None) is truth.is_feasible
    assert searched is None or truth.has(contraction.lift(searched))


@pytest.mark.parametrize("part", PARTS)
def test_every_part_occurs_and_has_clusterings(part):
    instances = [drawn_instance(Random(seed), always=[part]) for seed in range(20)]
    assert any(Truth(instance).is_feasible for instance in instances)
    assert all(isinstance(contract(x), (Contraction, Infeasibility)) for x in instances)
