"""Limits on the weights of clusters: what they mean, and what follows."""

import math
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from heuristics.assignment.steps import repaired_labels
from heuristics.best_of import BestOf
from sdpbb.checker.kernel.cuts.inequalities import WeightBounds
from sdpbb.checker.kernel.rules import Measure
from sdpbb.checker.kernel.sizes import SizeLimits, StatedMeasure, WeightUnits
from sdpbb.problem import Contraction, Instance, Partition, contract
from sdpbb.problem.feasibility import packed_exactly, packed_greedily
from sdpbb.search.result import SolutionStatus
from tests.constants import TINY_SUBSETS
from tests.enumeration import (
    clusterings,
    optimum,
)

POSITIVE = st.floats(1e-3, 1e3)


@given(st.lists(POSITIVE, min_size=1, max_size=12), st.integers(-200, 200))
def test_units_are_the_weights(weights, exponent):
    weights = np.ldexp(np.array(weights), exponent)
    units = WeightUnits.of(weights, len(weights))
    assert units.total < 2**52
    total = Fraction(math.fsum(weights))
    for unit, weight in zip(units.units.tolist(), weights.tolist(), strict=True):
        assert abs(unit * Fraction(units.unit) - Fraction(weight)) <= total / 2**50


@given(st.lists(st.integers(1, 50), min_size=2, max_size=10), st.integers(-60, 60))
def test_whole_weights_are_small_units(weights, exponent):
    units = WeightUnits.of(np.ldexp(np.array(weights, float), exponent), len(weights))
    factor = math.gcd(*weights)
    assert units.units.tolist() == [weight // factor for weight in weights]
    assert units.unit == math.ldexp(factor, exponent)


def test_limits_are_kept_to_within_their_tolerance():
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    for max_weight, keeps in ((0.6, True), (0.6 - 1e-12, True), (0.6 - 1e-8, False)):
        instance = Instance(np.arange(4.0)[:, None], 2, weights=weights, max_weight=max_weight)
        assert Partition(np.array([0, 0, 0, 1])).is_feasible(instance) is keeps
    for min_weight, keeps in ((0.4, True), (0.4 + 1e-12, True), (0.4 + 1e-8, False)):
        instance = Instance(np.arange(4.0)[:, None], 2, weights=weights, min_weight=min_weight)
        assert Partition(np.array([0, 0, 0, 1])).is_feasible(instance) is keeps


@given(st.lists(st.floats(2e-9, 1.0), min_size=2, max_size=8), st.data())
def test_whatever_is_within_a_limit_keeps_it(weights, data):
    """However small a part of all weights the limit is."""
    units = WeightUnits.of(np.array(weights), len(weights))
    chosen = np.array([data.draw(st.booleans()) for _ in weights])
    chosen[data.draw(st.integers(0, len(weights) - 1))] = True
    exact = sum(Fraction(weight) for weight in np.array(weights)[chosen].tolist())
    least, most = float(exact), float(exact)
    least = least if Fraction(least) <= exact else math.nextafter(least, 0.0)
    most = most if Fraction(most) >= exact else math.nextafter(most, math.inf)
    held = int(units.units[chosen].sum())
    assert units.least(least) <= held <= units.most(most)


def test_weights_of_points_without_any_are_their_numbers():
    points = np.arange(6.0)[:, None]
    instance = Instance(points, 2, min_weight=1.5, max_weight=4.2)
    assert instance.size_limits == Instance(points, 2, min_size=2, max_size=4).size_limits
    assert not instance.limits_weight
    assert contract(Instance(points, 2, max_weight=0.5)).kind.name == "TOO_MUCH_FOR_K"


def test_limits_that_say_nothing_are_none():
    instance = Instance(
        np.arange(4.0)[:, None], 2, weights=np.arange(1.0, 5.0), max_weight=10, min_weight=1
    )
    assert not instance.limits_weight
    assert not instance.rules.go_beyond_pairs


@pytest.mark.parametrize(
    "limits", [{"max_weight": 1.5e7}, {"min_weight": 10}, {"min_weight": 2e3, "max_weight": 1.6e7}]
)
def test_memory_of_a_greedy_packing_is_that_of_the_points(limits):
    """Room is counted in units of weight, a billion of them maybe: no array has one entry each."""
    weights = [1e7, 1e7, 1000, 1000, 1000, 1, 1, 1]
    instance = Instance(np.arange(8.0)[:, None], 2, weights=weights, **limits)
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    tracemalloc.start()
    try:
        labels = packed_greedily(contraction, np.arange(8) % 2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    assert labels is not None
    assert Partition(labels).keeps_sizes(instance)


@pytest.mark.parametrize("seed", range(20))
def test_repairs_are_within_limits(seed):
    rng = np.random.default_rng(seed)
    m, k, q = int(rng.integers(2, 9)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    amounts = rng.integers(1, 5, (m, q)).T
    most = np.tile((amounts.sum(axis=1) // k + rng.integers(0, 4))[:, None], k)
    least = np.tile(rng.integers(0, 3, q)[:, None], k)
    labels = repaired_labels(rng.random((m, k)), amounts, least, most)
    if labels is not None:
        sums = np.array([np.bincount(labels, each, k) for each in amounts])
        assert ((sums >= least) & (sums <= most)).all()


@given(
    st.lists(st.tuples(st.floats(0.1, 10.0), st.integers(1, 9)), min_size=2, max_size=7),
    st.data(),
)
def test_weight_bounds_hold_for_all_clusters(blocks, data):
    weights, counts = (np.array(column) for column in zip(*blocks, strict=True))
    least = data.draw(st.integers(1, int(counts.sum())))
    most = data.draw(st.integers(least, int(counts.sum())))
    sizes = Measure.of(counts, SizeLimits(int(counts.sum()), 2, least, most))
    bounds = WeightBounds.of(weights, [sizes])
    for chosen in map(np.array, product([False, True], repeat=len(counts))):
        if least <= counts[chosen].sum() <= most:
            assert bounds.least <= sum(map(Fraction, weights[chosen])) <= bounds.most


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_what_is_a_unit_beyond_a_limit_is_told(seed, tmp_path):
    rng = np.random.default_rng(seed)
    weights = rng.integers(10**9, 10**10, 12).astype(float)
    loads = [np.bincount(row, weights, 3).max() for row in clusterings(12, 3)]
    least = min(loads)
    points, path = rng.normal(size=(12, 2)), str(tmp_path / "unit.cert")
    for units, is_feasible in ((least + 0.5, True), (least - 0.5, False)):
        most = units / (1.0 + 1e-9)  # to the unit, with the tolerance of limits
        instance = Instance(points, 3, weights=weights, max_weight=most)
        report = sdpbb.check_constraints(instance)
        assert report.is_feasible is is_feasible
        assert report.conflict is None or report.conflict.is_exact
        result = sdpbb.solve(instance, certificate=path)
        assert (result.status is SolutionStatus.INFEASIBLE) is not is_feasible
        verdict = sdpbb.verify_certificate(path, instance)
        assert verdict.status == ("optimal" if is_feasible else "infeasible")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("most", [None, 1.1])
def test_columns_settle_least_weights_at_the_root(seed, most):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2.0, 12)
    mean = weights.sum() / 3
    limits = {"min_weight": 0.8 * mean, "max_weight": most and most * mean}
    instance = Instance(rng.normal(size=(12, 2)), 3, weights=weights, **limits)
    result = sdpbb.solve(instance)
    assert result.statistics.n_nodes == 1
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(optimum(instance))


def test_labels_that_break_limits_are_rejected_by_the_checker():
    from sdpbb.checker.kernel.rules import broken_clusters

    labels = np.array([0, 0, 1, 1])
    units = np.array([1, 2, 3, 4])
    for least, most, broken in ((4, 7, [True, False]), (1, 6, [False, True]), (3, 7, [False] * 2)):
        rule = StatedMeasure(least, most, units=units)
        assert broken_clusters((rule,), labels, 2).tolist() == broken


@pytest.mark.parametrize("argument", ["max_weight", "min_weight"])
def test_packings_have_no_empty_cluster(argument):
    """A unit of weight, the least of a cluster, may be less than what a programme can tell."""
    weights = np.array([2.69124282, 2.55189613, 4.45486495, 1.1601199, 1.41200704])
    limit = {"max_weight": 5.4, "min_weight": 1e-9}[argument]
    instance = Instance(np.eye(5), 4, weights=weights, **{argument: limit, "max_weight": 5.4})
    contraction = contract(instance)
    dear = np.zeros((5, 4))
    dear[:, 3] = 1.0
    labels = packed_exactly(contraction, dear).labels
    assert len(np.unique(labels)) == 4
    assert contraction.keeps(labels)


def test_best_of_repairs_where_there_are_many_blocks():
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, 1200)
    mean = weights.sum() / 6
    limits = {"min_weight": 0.95 * mean, "max_weight": 1.05 * mean}
    instance = Instance(rng.normal(size=(1200, 2)), 6, weights=weights, **limits)
    found = BestOf(n_runs=1, n_starts=2, n_relocations=0).run(instance, 0)
    assert Partition(found.labels).is_feasible(instance)
    free = BestOf(n_runs=1, n_starts=2, n_relocations=0).run(
        replace(instance, min_weight=None, max_weight=None), 0
    )
    assert found.sum_of_squares < 1.3 * free.sum_of_squares


@pytest.mark.long
def test_certified_subsets_leave_weights_out(tmp_path):
    rng = np.random.default_rng(3)
    weights, path = rng.uniform(0.5, 2.0, 60), str(tmp_path / "subsets.cert")
    mean = weights.sum() / 3
    limits = {"min_weight": 0.97 * mean, "max_weight": 1.03 * mean}
    instance = Instance(rng.normal(size=(60, 2)), 3, weights=weights, **limits)
    parameters = sdpbb.SolverParameters(
        bounding="decomposition", decomposition=TINY_SUBSETS, node_limit=1
    )
    result = sdpbb.solve(instance, parameters, certificate=path)
    verdict = sdpbb.verify_certificate(path, instance)
    assert result.lower_bound is not None
    assert 0.0 < verdict.lower_bound <= result.objective
    assert result.partition.is_feasible(instance)
