"""In how many dimensions blocks lie."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.lagrangian.reach import (
    effective_dimension,
    is_easy_to_price,
    is_small,
    neighbour_dimension,
)
from sdpbb.bounds.lagrangian.sets.problem import FEW_BLOCKS, PricingProblem
from sdpbb.bounds.lagrangian.sets.search import ClusterSearch, SoughtClusters
from sdpbb.problem import Instance, contract
from tests.examples import examples


def with_an_outlier(factor: float) -> np.ndarray:
    """Ten points in 31 dimensions, of which they span nine; one is so many times as far away."""
    points = np.random.default_rng(0).normal(size=(10, 31))
    points[9] *= factor
    return points


def two_groups(m: int, d: int) -> np.ndarray:
    points = np.random.default_rng(1).normal(size=(m, d))
    points[: m // 2, 0] += 100.0
    return points


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 6), st.sampled_from([1e-200, 1.0]))
@examples(60, derandomize=True)
def test_at_most_as_many_as_there_are_whatever_the_unit_and_the_axes(seed, m, d, unit):
    rng = np.random.default_rng(seed)
    means, sizes = rng.normal(size=(m, d)), rng.integers(1, 9, m).astype(float)
    for dimension in (
        effective_dimension(unit * means, sizes),
        neighbour_dimension(unit * means, sizes, 3),
    ):
        assert 0.0 <= dimension <= d * (1 + 1e-9)
        if m > d > 0:
            assert dimension >= 1.0 - 1e-9
    turned = means @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    assert neighbour_dimension(turned, sizes, 3) == pytest.approx(
        neighbour_dimension(means, sizes, 3)
    )


def test_effective_dimension_of_equal_and_of_no_deviations():
    square = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert effective_dimension(square, np.ones(4)) == pytest.approx(2.0)
    assert effective_dimension(square[:, :1], np.ones(4)) == pytest.approx(1.0)
    for dimension in (effective_dimension, lambda *blocks: neighbour_dimension(*blocks, 2)):
        assert dimension(np.zeros((4, 2)), np.ones(4)) == 0.0
        assert dimension(np.zeros((4, 0)), np.ones(4)) == 0.0
        assert dimension(np.zeros((0, 2)), np.ones(0)) == 0.0


@pytest.mark.parametrize("factor", [1.0, 1e2, 1e6])
def test_an_outlier_is_not_all_that_counts(factor):
    points, sizes = with_an_outlier(factor), np.ones(10)
    assert effective_dimension(points, sizes) > 5.0
    assert neighbour_dimension(points, sizes, 2) > 5.0
    # Nor is a block of many points.
    assert effective_dimension(with_an_outlier(1.0), np.append(np.ones(9), 1e6)) > 5.0


def test_clusters_have_the_dimensions_of_their_group():
    points, sizes = two_groups(60, 15), np.ones(60)
    assert effective_dimension(points, sizes) < 2.0
    assert neighbour_dimension(points, sizes, 6) > 10.0


@pytest.mark.parametrize(
    ("points", "k"), [(with_an_outlier(1e2), 5), (two_groups(40, 9), 8), (two_groups(60, 15), 10)]
)
def test_clusters_in_many_dimensions_do_not_count_as_small(points, k):
    assert not is_small(contract(Instance(points, k)))


def test_what_column_generation_begins_with_stays_easy():
    """Points in the unit square and in four dimensions."""
    for d in (2, 4):
        points = np.random.default_rng(d).random((100, d))
        contraction = contract(Instance(points, 20))
        assert is_easy_to_price(contraction)
        assert is_small(contraction)
        assert PricingProblem.of(contraction).data.boxes == (d == 2)


def test_few_blocks_are_priced_without_boxes_in_few_nodes():
    """Halving boxes takes 200,000 nodes and more at these prices."""
    contraction = contract(Instance(with_an_outlier(1e2), 5))
    problem = PricingProblem.of(contraction)
    by_sets_alone = replace(problem, data=problem.data._replace(by_size=False))
    for tried in (problem, by_sets_alone):
        search = ClusterSearch.begin(tried, SoughtClusters(np.full(10, 30.0), 0.0))
        search.run(2**11)
        assert search.is_finished
    for m in (FEW_BLOCKS, FEW_BLOCKS + 1):
        points = np.random.default_rng(2).random((m, 2))
        problem = PricingProblem.of(contract(Instance(points, 3)))
        assert problem.data.boxes == (m > FEW_BLOCKS)
