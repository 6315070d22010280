"""Optima with soft pairs, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest

import sdpbb
from sdpbb.problem import Instance, Partition
from tests.soft.instances import least_cost, random_soft_instance

GAP = 1e-6


def check_optimum(instance: Instance, bounding: str) -> None:
    truth = least_cost(instance)
    parameters = sdpbb.SolverParameters(bounding=bounding, gap=GAP, workers=1)
    result = sdpbb.solve(instance, parameters)
    if truth is None:
        assert result.status is sdpbb.SolutionStatus.INFEASIBLE
        return
    assert result.status is sdpbb.SolutionStatus.OPTIMAL
    assert result.partition.is_feasible(instance)
    assert result.objective == result.partition.cost(instance)
    assert result.lower_bound <= truth * (1.0 + 1e-12)
    assert truth * (1.0 - 1e-12) <= result.objective <= truth * (1.0 + 2.0 * GAP)


@pytest.mark.long
@pytest.mark.parametrize("bounding", ["sdp", "hybrid"])
@pytest.mark.parametrize("batch", range(8))
def test_the_optimum_is_the_one_of_enumeration(bounding, batch):
    for number in range(20):
        rng = np.random.default_rng([18, batch, number])
        check_optimum(random_soft_instance(rng, n_max=8), bounding)


@pytest.mark.slow
@pytest.mark.parametrize("bounding", ["sdp", "hybrid"])
@pytest.mark.parametrize("batch", range(25))
def test_the_optimum_is_the_one_of_enumeration_at_length(bounding, batch):
    for number in range(100):
        rng = np.random.default_rng([1800, batch, number])
        check_optimum(random_soft_instance(rng, n_max=10), bounding)


def test_soft_pairs_beside_limits_on_sizes():
    for number in range(25):
        rng = np.random.default_rng([1801, number])
        instance = random_soft_instance(rng, n_max=7)
        most = sdpbb.MaximumSize(int(rng.integers(1, instance.n_points + 1)))
        check_optimum(replace(instance, cluster_constraints=[most]), "hybrid")


def test_a_heavy_pair_is_kept_and_a_light_one_is_violated():
    points = [[0.0], [0.1], [10.0], [10.1]]
    for weight, together in ((1.0, False), (1e4, True)):
        instance = Instance(points, 2, soft_must_link=[(0, 2, weight)])
        labels = sdpbb.solve(instance).partition.labels
        assert (labels[0] == labels[2]) == together


def test_equal_points_that_soft_pairs_tell_apart():
    instance = Instance(np.zeros((4, 1)), 2, soft_cannot_link=[(0, 1, 1.0), (2, 3, 2.0)])
    result = sdpbb.solve(instance)
    assert result.objective == 0.0
    assert Partition(np.array([0, 0, 1, 1])).cost(instance) == 3.0
