"""Weights of points in the checker: its geometry in rational arithmetic, and certificates."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.checker.kernel.evidence import scatter_bound
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.errors import CertificateError
from sdpbb.problem import Instance
from tests.checker.corrupted import changed_claim
from tests.checker.exact import random_problem
from tests.decomposition.test_run import PARAMETERS
from tests.enumeration import optimum, random_instance, weighted

seeds = st.integers(0, 10**6)
units = st.sampled_from([1e-12, 0.3, 1.0, 1e12])
BOUNDINGS = ("sdp", "colgen", "hybrid")


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


def check_certificate(path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = weighted(random_instance(rng, n_max=8), rng)
    parameters = sdpbb.SolverParameters(bounding=BOUNDINGS[seed % 3], gap=1e-5)
    result = sdpbb.solve(instance, parameters, certificate=path)
    verdict = sdpbb.verify_certificate(path, instance)
    assert verdict.status == result.status.value
    least = optimum(instance)
    if least is None:
        assert verdict.status == "infeasible"
        return
    scale = float(instance.weights @ np.square(instance.points).sum(axis=1))
    assert verdict.status == "optimal"
    assert verdict.cost == pytest.approx(least, rel=2e-5, abs=1e-12 * scale)
    assert verdict.lower_bound <= least * (1.0 + 1e-12) + 1e-14 * scale


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 120, 10))
def test_certificates_of_weighted_runs_are_verified(tmp_path, first):
    for seed in range(first, first + 10):
        check_certificate(tmp_path / "proof", seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_certificates_of_weighted_runs_are_verified_at_length(tmp_path, first):
    for seed in range(first, first + 100):
        check_certificate(tmp_path / "proof", seed)


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "proof"
    rng = np.random.default_rng(0)
    instance = Instance(
        rng.normal(size=(30, 3)), 3, [(0, 1)], [(2, 3)], weights=rng.uniform(0.1, 3.0, 30)
    )
    result = sdpbb.solve(instance, sdpbb.SolverParameters(bounding="sdp"), certificate=path)
    return instance, result, path


def test_a_certificate_is_about_one_set_of_weights(certified):
    instance, result, path = certified
    assert sdpbb.verify_certificate(path, instance).lower_bound == pytest.approx(
        result.lower_bound, rel=1e-9
    )
    tampered = instance.weights.copy()
    tampered[7] = np.nextafter(tampered[7], 0.0)
    for weights in (tampered, None, 2.0 * instance.weights):
        with pytest.raises(CertificateError, match="is about other weights of points"):
            sdpbb.verify_certificate(path, replace(instance, weights=weights))


def test_weights_that_are_left_out_of_the_file_or_changed_in_it_are_noticed(certified):
    instance, _, path = certified

    def left_out(document):
        del document["weights"]

    def another(document):
        document["weights"] = "0" * 64

    def none(document):
        document["weights"] = 3

    for change in (left_out, another, none):
        changed = path.with_name("changed")
        changed.write_bytes(changed_claim(path.read_bytes(), change))
        with pytest.raises(CertificateError, match="weights"):
            sdpbb.verify_certificate(changed, instance)


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
