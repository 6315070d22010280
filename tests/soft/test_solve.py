"""Optima with soft pairs, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.problem import Instance, Partition, SoftPairs
from sdpbb.run.decomposition.parameters import DecompositionParameters
from tests.examples import examples
from tests.soft.instances import least_cost, random_mixture, random_soft_instance

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
@pytest.mark.parametrize("bounding", ["sdp", "hybrid", "colgen"])
@pytest.mark.parametrize("batch", range(5))
def test_the_optimum_is_the_one_of_enumeration(bounding, batch):
    for number in range(20):
        rng = np.random.default_rng([18, batch, number])
        check_optimum(random_soft_instance(rng, n_max=8), bounding)


@pytest.mark.slow
@pytest.mark.parametrize("bounding", ["sdp", "hybrid", "colgen"])
@pytest.mark.parametrize("batch", range(25))
def test_the_optimum_is_the_one_of_enumeration_at_length(bounding, batch):
    for number in range(100):
        rng = np.random.default_rng([1800, batch, number])
        check_optimum(random_soft_instance(rng, n_max=10), bounding)


@pytest.mark.long
@pytest.mark.parametrize("bounding", ["sdp", "hybrid"])
@given(seed=st.integers(0, 2**32 - 1))
@examples(30)
def test_the_optimum_of_every_mixture_is_the_one_of_enumeration(bounding, seed):
    check_optimum(random_mixture(seed), bounding)


@pytest.mark.slow
@pytest.mark.parametrize("bounding", ["sdp", "hybrid"])
@pytest.mark.parametrize("batch", range(5))
def test_the_optimum_of_every_mixture_at_length(bounding, batch):
    for seed in range(1000 * batch, 1000 * batch + 200):
        check_optimum(random_mixture(seed, 9), bounding)


def test_soft_pairs_beside_limits_on_sizes():
    for number in range(25):
        rng = np.random.default_rng([1801, number])
        instance = random_soft_instance(rng, n_max=7)
        n, k = instance.n_points, instance.k
        limits = (
            {"cluster_constraints": [sdpbb.MaximumSize(int(rng.integers(1, n + 1)))]},
            {"min_size": int(rng.integers(1, n // k + 1))},
            {"sizes": (rng.multinomial(n - k, np.ones(k) / k) + 1).tolist()},
        )[number % 3]
        for bounding in ("hybrid", "colgen"):
            check_optimum(replace(instance, **limits), bounding)


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


def clouds(seed: int) -> Instance:
    """Three clouds of 20 points, and pairs at random."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 2))
    points[:20] += 3.0
    points[20:40, 0] -= 3.0

    def pairs() -> list[tuple[int, int, float]]:
        drawn = (rng.choice(60, 2, replace=False).tolist() for _ in range(12))
        return [(i, j, float(rng.choice([0.1, 1.0, 5.0]))) for i, j in drawn]

    return Instance(points, 3, soft_must_link=pairs(), soft_cannot_link=pairs())


def test_runs_that_begin_with_subsets():
    instance = clouds(0)
    subsets = DecompositionParameters(least_blocks=10, smallest=15, per_cluster=1)
    parameters = sdpbb.SolverParameters(bounding="decomposition", decomposition=subsets, workers=1)
    whole = sdpbb.solve(instance, sdpbb.SolverParameters(workers=1))
    result = sdpbb.solve(instance, parameters)
    assert result.statistics.n_subsets > 1
    assert result.status is sdpbb.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(whole.objective, rel=2e-4)
    assert result.lower_bound <= whole.objective * (1.0 + 1e-12)


def test_a_run_that_was_cut_short_goes_on_to_the_same_end(tmp_path):
    instance = clouds(4)
    whole = sdpbb.solve(instance, sdpbb.SolverParameters(workers=1, bounding="sdp"))
    assert whole.statistics.n_nodes > 1
    path = tmp_path / "run.ckpt"
    parameters = sdpbb.SolverParameters(workers=1, bounding="sdp", node_limit=1)
    begun = sdpbb.solve(instance, parameters, checkpoint=path)
    assert begun.status is sdpbb.SolutionStatus.FEASIBLE
    ended = sdpbb.resume(path, node_limit=1000)
    assert ended.status is sdpbb.SolutionStatus.OPTIMAL
    assert ended.objective == whole.objective
    assert ended.soft == whole.soft


@pytest.mark.parametrize("exponent", [-290, 290])
def test_units_change_nothing(exponent):
    """The same instance in other units: coordinates times 2^e, weights times 4^e."""
    instance, unit = clouds(0), 2.0**exponent
    other = Instance(
        instance.points * unit,
        instance.k,
        soft_must_link=SoftPairs(
            instance.soft_must_link.pairs, instance.soft_must_link.weights * unit**2
        ),
        soft_cannot_link=SoftPairs(
            instance.soft_cannot_link.pairs, instance.soft_cannot_link.weights * unit**2
        ),
    )
    result, moved = (
        sdpbb.solve(each, sdpbb.SolverParameters(workers=1)) for each in (instance, other)
    )
    assert moved.status is sdpbb.SolutionStatus.OPTIMAL
    assert moved.partition == result.partition
    assert moved.objective == pytest.approx(result.objective * unit**2, rel=1e-12)


def test_limits_on_sizes_beside_soft_pairs():
    for number in range(25):
        rng = np.random.default_rng([1802, number])
        instance = random_soft_instance(rng, n_max=7)
        least = int(rng.integers(1, instance.n_points // instance.k + 1))
        check_optimum(replace(instance, min_size=least), "hybrid")
