"""In how many dimensions blocks lie, and what that says of pricing."""

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
from sdpbb.bounds.lagrangian.sets.problem import PricingProblem
from tests.bounds.nodes import contracted
from tests.examples import examples


def with_an_outlier(factor: float) -> np.ndarray:
    """Ten points that span nine of 31 dimensions; one is farther away by this factor."""
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
        assert dimension >= 1.0 - 1e-9 or not m > d > 0
    turned = neighbour_dimension(means @ np.linalg.qr(rng.normal(size=(d, d)))[0], sizes, 3)
    assert turned == pytest.approx(neighbour_dimension(means, sizes, 3))
    for points in (np.zeros((m, d)), np.zeros((0, d))):
        assert effective_dimension(points, sizes[: len(points)]) == 0.0
        assert neighbour_dimension(points, sizes[: len(points)], 2) == 0.0


def test_outliers_and_far_groups_hide_no_dimensions():
    """Nor does a block of many points."""
    square = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert effective_dimension(square, np.ones(4)) == pytest.approx(2.0)
    for factor in (1.0, 1e2, 1e6):
        assert effective_dimension(with_an_outlier(factor), np.ones(10)) > 5.0
        assert neighbour_dimension(with_an_outlier(factor), np.ones(10), 2) > 5.0
    assert effective_dimension(with_an_outlier(1.0), np.append(np.ones(9), 1e6)) > 5.0
    # Clusters have the dimensions of their group.
    assert effective_dimension(two_groups(60, 15), np.ones(60)) < 2.0
    assert neighbour_dimension(two_groups(60, 15), np.ones(60), 6) > 10.0


@pytest.mark.parametrize(
    ("points", "k"), [(with_an_outlier(1e2), 5), (two_groups(40, 9), 8), (two_groups(60, 15), 10)]
)
def test_clusters_in_many_dimensions_do_not_count_as_small(points, k):
    assert not is_small(contracted(points, k))


@pytest.mark.parametrize("d", [2, 4])
def test_what_column_generation_begins_with_stays_easy(d):
    contraction = contracted(np.random.default_rng(d).random((100, d)), 20)
    assert is_easy_to_price(contraction)
    assert is_small(contraction)
    assert PricingProblem.of(contraction).data.boxes == (d == 2)
