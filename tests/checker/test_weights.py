"""Weights of points in the checker: its geometry in rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.checker.kernel.evidence import scatter_bound
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.problem import Instance
from tests.checker.exact import random_problem
from tests.decomposition.test_run import PARAMETERS

seeds = st.integers(0, 10**6)
units = st.sampled_from([1e-12, 0.3, 1.0, 1e12])


def random_weights(rng: np.random.Generator, n: int, unit: float) -> np.ndarray:
    kinds = rng.uniform(0.1, 3.0, n), 10.0 ** rng.uniform(-4.0, 4.0, n), rng.integers(1, 5, n)
    return kinds[rng.integers(3)] * unit


def exact(values: np.ndarray) -> np.ndarray:
    return np.array([Fraction(x) for x in values.ravel().tolist()]).reshape(values.shape)


def exact_cost(points: np.ndarray, weights: np.ndarray, labels: np.ndarray) -> Fraction:
    """Weighted sum of squares around the weighted means of clusters."""
    total = Fraction()
    x, w = exact(points), exact(weights)
    for cluster in np.unique(labels):
        of = labels == cluster
        mean = (w[of, None] * x[of]).sum(axis=0) / w[of].sum()
        total += (w[of, None] * (x[of] - mean) ** 2).sum()
    return total


@given(seeds, units, st.sampled_from([0.0, 1.0, 1e3, 1e8]))
def test_there_are_points_with_these_means_and_weights_that_are_no_more(seed, unit, offset):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 1.0, offset)
    weights = random_weights(rng, len(problem.points), unit)
    geometry = Geometry.of(problem.points, weights)
    contracted = geometry.contracted(problem.block_of)
    assert geometry.weights is not None
    y, r = map(exact, geometry.centred())
    w, distance = exact(geometry.weights), Fraction()
    for b, mean in enumerate(exact(contracted.means)):
        block = problem.block_of == b
        own = w[block, None]
        weight = Fraction(contracted.weights[b])
        assert own.sum() * (1 - Fraction(1, 2**50)) <= weight <= own.sum()
        less = own * weight / own.sum()  # w^
        moved = y[block] - (own * y[block]).sum(axis=0) / own.sum() + mean
        distance += (less * (moved - y[block] - r[block]) ** 2).sum()
        assert Fraction(contracted.scatter[b]) <= (less * (moved - mean) ** 2).sum()
    assert distance <= Fraction(contracted.error) ** 2


@given(seeds, units, st.sampled_from([0.0, 1.0, 1e3, 1e8]))
def test_costs_and_the_scatter_inside_blocks_are_bounds(seed, unit, offset):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 1.0, offset)
    weights = random_weights(rng, len(problem.points), unit)
    geometry = Geometry.of(problem.points, weights)
    costs = [exact_cost(problem.points, weights, row) for row in problem.labels]
    uppers = [geometry.cost_at_most(row) for row in problem.labels]
    scale = float(weights.sum()) * 1e-30 * (1.0 + offset) ** 2
    for cost, upper in zip(costs, uppers, strict=True):
        assert cost <= Fraction(upper)
        assert upper <= float(cost) * (1.0 + 1e-6) + scale
    bound = scatter_bound(geometry.contracted(problem.block_of))
    assert Fraction(bound) <= min(costs)


def test_subsets_have_weights(tmp_path):
    rng = np.random.default_rng(3)
    centres = 8.0 * rng.normal(size=(3, 2))
    points = centres[np.arange(240) % 3] + rng.normal(size=(240, 2))
    instance = Instance(points, 3, weights=10.0 ** rng.uniform(-1.0, 1.0, 240))
    result = sdpbb.solve(instance, PARAMETERS, certificate=tmp_path / "proof")
    verdict = sdpbb.verify_certificate(tmp_path / "proof", instance)
    assert verdict.lower_bound == pytest.approx(result.lower_bound, rel=1e-9)
    assert 0.0 < verdict.lower_bound <= result.objective


@pytest.mark.parametrize(
    "weights", [np.ones(2), np.array([1.0, 0.0, 1.0]), np.array([1.0, np.nan, 1.0]), [1, 1, 1]]
)
def test_what_is_no_weight_is_refused(weights):
    with pytest.raises(Rejected, match="weight"):
        Geometry.of(np.zeros((3, 1)), weights)


def test_points_that_weights_make_too_small_are_refused():
    with pytest.raises(Rejected, match="too large or too small"):
        Geometry.of(np.array([[0.0], [5e-324]]), np.full(2, 1e-50))
