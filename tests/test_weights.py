"""Weights of points: every part minimises the weighted sum of squares."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import sdpbb
from heuristics.result import centres_of
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.errors import InstanceError
from sdpbb.plots import plot_clusters
from sdpbb.plots.pages.clusters import _within
from sdpbb.problem import Contraction, Instance, Partition, contract
from sdpbb.problem.coordinates import weight_exponent
from tests.enumeration import (
    clusterings,
    sums_of_squares,
    weighted,
)

BOUNDINGS = ("sdp", "colgen", "hybrid")


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1.0, 7.3, 1e12])
def test_costs_are_weighted_and_in_the_users_units(unit):
    rng = np.random.default_rng(0)
    points, weights = rng.normal(size=(7, 2)) + 1e3, unit * rng.uniform(0.1, 3.0, 7)
    instance = Instance(points, 3, must_link=[(0, 1), (1, 2)], weights=weights)
    labels = clusterings(7, 3)
    expected = sums_of_squares(points, labels, weights)
    costs = [Partition(row).cost(instance) for row in labels]
    np.testing.assert_allclose(costs, expected, rtol=1e-8)
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    assert 0.5 <= contraction.weights.sum() / 7 < 2.0
    for row in labels[(labels[:, 0] == labels[:, 1]) & (labels[:, 1] == labels[:, 2])]:
        of_blocks = row[contraction.representatives]
        cost = Partition(row).cost(instance)
        assert contraction.cost(of_blocks) == pytest.approx(cost, rel=1e-10)


@pytest.mark.parametrize("factor", [2.0**-40, 1e-12, 1 / 3, 1e12])
@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_a_factor_of_the_weights_is_one_of_cost_and_bound(factor, bounding):
    rng = np.random.default_rng(1)
    instance = Instance(rng.normal(size=(25, 3)), 3, weights=rng.uniform(0.2, 4.0, 25))
    parameters = sdpbb.SolverParameters(bounding=bounding, gap=1e-5)
    one = sdpbb.solve(instance, parameters)
    other = sdpbb.solve(replace(instance, weights=factor * instance.weights), parameters)
    assert one.partition == other.partition
    assert other.objective == pytest.approx(factor * one.objective, rel=1e-12)
    assert other.lower_bound == pytest.approx(factor * one.lower_bound, rel=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_whole_weights_are_points_that_are_repeated(seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, 14)
    points = rng.normal(size=(14, 2))
    of_each = np.repeat(np.arange(14), weights)
    first = np.concatenate([[0], np.cumsum(weights)[:-1]])
    pairs = [(0, 1), (2, 3)]
    instance = Instance(points, 3, cannot_link=pairs, weights=weights)
    together = np.column_stack([first[of_each], np.arange(len(of_each))])
    repeated = Instance(
        points[of_each],
        3,
        must_link=together[together[:, 0] != together[:, 1]],
        cannot_link=[(first[i], first[j]) for i, j in pairs],
    )
    parameters = sdpbb.SolverParameters(bounding="sdp", gap=1e-7)
    one, other = (sdpbb.solve(of, parameters) for of in (instance, repeated))
    assert one.objective == pytest.approx(other.objective, rel=1e-10)
    np.testing.assert_array_equal(one.partition.labels[of_each], other.partition.labels)


def test_whole_weights_have_the_relaxation_of_repeated_points():
    rng = np.random.default_rng(5)
    weights, points = rng.integers(1, 6, 10), rng.normal(size=(10, 2))
    of_each = np.repeat(np.arange(10), weights)
    first = np.concatenate([[0], np.cumsum(weights)[:-1]])
    together = np.column_stack([first[of_each], np.arange(len(of_each))])
    pairs = together[together[:, 0] != together[:, 1]]
    one, other = (
        Relaxation.of(contract(of))
        for of in (
            Instance(points, 3, weights=weights),
            Instance(points[of_each], 3, must_link=pairs),
        )
    )
    np.testing.assert_allclose(one.u, other.u, atol=1e-12)
    np.testing.assert_allclose(one.K, other.K, atol=1e-12)
    assert one.scale == pytest.approx(other.scale, rel=1e-12)
    assert one.total == pytest.approx(other.total, rel=1e-12)


@pytest.mark.parametrize("exponent", range(-60, 60, 7))
def test_the_mean_weight_is_near_one_in_units_of_a_power_of_four(exponent):
    rng = np.random.default_rng(abs(exponent))
    weights = 2.0**exponent * rng.uniform(0.01, 5.0, 9)
    mean = 4.0 ** -weight_exponent(weights) * weights.mean()
    assert 0.5 <= mean < 2.0


def test_the_heaviest_cluster_holds_all_but_the_lightest_blocks():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        instance = weighted(Instance(rng.normal(size=(6, 2)), 3), rng)
        relaxation = Relaxation.of(contract(instance))
        heaviest = max(
            np.bincount(row, relaxation.weights).max() for row in clusterings(6, instance.k)
        )
        assert heaviest <= relaxation.heaviest_cluster
        if not relaxation.has_whole_weights:
            assert relaxation.heaviest_cluster <= heaviest * (1.0 + 1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"weights: an array of shape \(2,\); expected \(3,\)"),
        ([1.0, 0.0, 2.0], r"weights\[1\] is 0.0; every weight must be positive"),
        ([1.0, 2.0, -1.0], r"weights\[2\] is -1.0"),
        ([np.nan, 2.0, 1.0], r"weights\[0\] is nan"),
        ([1.0, np.inf, 1.0], r"weights\[1\] is inf"),
        ([1.0, "a", 1.0], "weights: text; expected a positive number"),
        ([1e-5, 1.0, 1e5], "weights: from 1e-05 to 100000; expected a ratio of at most"),
        ([1e101, 1e101, 1e101], r"weights\[0\] is 1.0e\+101, and sums of squares may overflow"),
        ([1e-101, 1e-101, 1e-101], r"weights\[0\] is 1.0e-101, and sums of squares may"),
    ],
)
def test_weights_that_are_none_are_named(weights, message):
    with pytest.raises(InstanceError, match=message):
        Instance([[0.0], [1.0], [2.0]], 2, weights=weights)


def test_weights_with_which_squares_overflow_are_refused():
    with pytest.raises(InstanceError, match="overflow; rescale the weights or the points"):
        Instance([[0.0], [1e90]], 1, weights=[1e90, 1e90])
    with pytest.raises(InstanceError, match="underflow; rescale the weights or the points"):
        Instance([[0.0], [1e-90]], 1, weights=[1e-90, 1e-90])


def test_no_weights_are_none():
    assert Instance([[0.0], [1.0]], 1).weights is None
    assert Instance([[0.0], [1.0]], 1, weights=[1, 2]).weights.dtype == np.float64


def test_checkpoints_hold_weights(tmp_path):
    rng = np.random.default_rng(8)
    instance = Instance(rng.normal(size=(40, 2)), 4, [(0, 1)], weights=rng.uniform(0.1, 5.0, 40))
    parameters = sdpbb.SolverParameters(gap=1e-7, time_limit=0.02)
    path = tmp_path / "run"
    sdpbb.solve(instance, parameters, checkpoint=path)
    result = sdpbb.resume(path, time_limit=60.0)
    assert result.status == sdpbb.SolutionStatus.OPTIMAL
    whole = sdpbb.solve(instance, replace(parameters, time_limit=np.inf))
    assert result.objective == whole.objective


def test_pictures_and_reports_show_weighted_means_and_sums():
    rng = np.random.default_rng(1)
    instance = Instance(rng.normal(size=(12, 2)), 3, weights=rng.uniform(0.1, 9.0, 12))
    result = sdpbb.solve(instance)
    within = _within(instance, result.partition)
    assert within.sum() == pytest.approx(result.objective, rel=1e-12)
    ax = plot_clusters(instance, result.partition)
    (drawn,) = [c for c in ax.collections if c.get_label() == "means of the 3 clusters"]
    np.testing.assert_allclose(drawn.get_offsets(), centres_of(instance, result.partition.labels))
    plt.close(ax.figure)
