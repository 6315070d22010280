"""Coordinates are exact numbers: no size of other ones makes a cost count as nothing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb import Instance, SolverParameters, solve, verify_certificate
from sdpbb.errors import CertificateError
from sdpbb.problem import Partition
from tests.checker.parts import Parts
from tests.enumeration import feasible_clusterings
from tests.examples import examples
from tests.oracles.exact import Exact, least_cost
from tests.oracles.far_groups import SOLVED, random_far_groups

BOUNDINGS = ("sdp", "colgen", "hybrid")


@pytest.mark.parametrize("bounding", BOUNDINGS)
@pytest.mark.parametrize("gap", [1e-4, 1e-9])
def test_a_far_block_excuses_no_cost(bounding, gap):
    near = np.array([7, 9, 8, 5, 9, 9, 9, 0, 4, 6, 2, 3.0])[:, None]
    instance = Instance(np.r_[[[2.0**51]] * 2, near], 5, must_link=[(0, 1)])
    result = solve(instance, SolverParameters(gap=gap, bounding=bounding))
    assert result.status.value == "optimal"
    assert result.objective == pytest.approx(4.8, rel=gap)


@pytest.mark.parametrize(("far", "step"), [(2.0**51, 1.0), (1e10, 1e-6), (1e16, 1e-9)])
@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_a_far_pair_certifies_nothing_wrong(bounding, far, step, tmp_path):
    instance = Instance([[far], [far], [0.0], [step], [2 * step], [3 * step]], 3)
    parameters = SolverParameters(gap=1e-9, bounding=bounding)
    path = tmp_path / "proof"
    result = solve(instance, parameters, start=[0, 0, 1, 2, 1, 2], certificate=path)
    verdict = verify_certificate(path, instance)
    assert result.status.value == verdict.status == "optimal"
    assert result.objective == pytest.approx(step**2, rel=1e-9)
    assert verdict.cost == pytest.approx(step**2, rel=1e-9)


@pytest.mark.parametrize("exponent", [2, 4, 6, 9, 15])
@pytest.mark.parametrize("k", [3, 5])
def test_outliers_close_as_other_data_do(exponent, k, tmp_path):
    rng = np.random.default_rng(exponent)
    points = rng.normal(size=(30, 2))
    points[:3] += 10.0**exponent * rng.normal(size=(3, 2))
    parameters = SolverParameters(gap=1e-9, bounding="sdp" if k == 5 else "hybrid")
    result = solve(Instance(points, k), parameters, certificate=tmp_path / "proof")
    assert result.status.value == "optimal"
    assert verify_certificate(tmp_path / "proof", Instance(points, k)).status == "optimal"


@pytest.mark.parametrize("far", [30.0, 1e4, 1e8])
@pytest.mark.parametrize("size", [1, 20])
def test_more_far_blocks_than_clusters_close_as_fast(far, size):
    """They are nearly all of the cost, whatever the others are."""
    rng = np.random.default_rng(0)
    blocks = far * (3.0 + rng.normal(size=(6 if size == 1 else 4, 4)))
    points = np.concatenate([np.repeat(blocks, size, axis=0), rng.normal(size=(120, 4))])
    first = np.repeat(np.arange(len(blocks)) * size, size - 1)
    links = np.column_stack([first, first + np.tile(np.arange(1, size), len(blocks))])
    parameters = SolverParameters(bounding="sdp", node_limit=1)
    result = solve(Instance(points, 3, must_link=links), parameters)
    assert result.status.value == "optimal"


@pytest.mark.parametrize("far", [1e3, 1e16])
def test_clusters_of_equal_points_cost_exactly_nothing(far, tmp_path):
    points = np.repeat([[0.1, far], [0.3, 0.7], [far, 0.3]], [4, 2, 3], axis=0)
    for k in range(3, 10):
        path = tmp_path / f"{k}"
        result = solve(Instance(points, k), SolverParameters(gap=1e-9), certificate=path)
        assert (result.status.value, result.objective, result.gap) == ("optimal", 0.0, 0.0)
        verdict = verify_certificate(path, Instance(points, k))
        assert (verdict.status, verdict.cost, verdict.gap) == ("optimal", 0.0, 0.0)


@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_a_must_link_between_far_groups_is_most_of_the_cost(k):
    """The gap is relative to all of the cost, which is that of the link."""
    points = np.array([[0.0], [1.0], [3.0], [1e13], [1e13 + 1], [1e13 + 4]])
    for links in ([(0, 3)], [(0, 3), (1, 4)]):
        if len(points) - len(links) < k:
            continue
        instance = Instance(points, k, must_link=links)
        result = solve(instance, SolverParameters(gap=1e-9))
        exact = Exact.of(instance.points)
        least = least_cost(exact, k, instance.must_link, instance.cannot_link)
        assert result.status.value == "optimal"
        assert result.objective == pytest.approx(float(least), rel=2e-9)
        assert result.lower_bound <= float(least) * (1 + 1e-12)


@pytest.mark.parametrize("bounding", BOUNDINGS)
@pytest.mark.parametrize("certify", [False, True])
def test_more_components_than_clusters_are_none_that_is_better(bounding, certify, tmp_path):
    """Any two of the points cost more than the best clustering less its gap."""
    points = 7.0 ** np.arange(16)[:, None]
    instance = Instance(points, 15)
    parameters = SolverParameters(gap=1e-9, bounding=bounding)
    path = tmp_path / "proof" if certify else None
    result = solve(instance, parameters, start=[0, 0, *range(1, 15)], certificate=path)
    assert (result.status.value, result.objective) == ("optimal", 18.0)
    if path is not None:
        assert verify_certificate(path, instance).status == "optimal"


@pytest.mark.long
@examples(25)
@given(st.integers(0, 2**32), st.sampled_from(BOUNDINGS), st.booleans())
def test_far_groups_are_solved_to_the_truth(tmp_path_factory, seed, bounding, certify):
    instance, ratio = random_far_groups(np.random.default_rng(seed))
    path = tmp_path_factory.mktemp("far") / "proof" if certify else None
    parameters = SolverParameters(gap=1e-6, bounding=bounding, time_limit=30.0)
    result = solve(instance, parameters, certificate=path)
    exact = Exact.of(instance.points)
    cost = None if result.partition is None else exact.cost_of(result.partition.labels)
    least = least_cost(exact, instance.k, instance.must_link, instance.cannot_link, cost)
    if least is None:
        assert result.status.value == "infeasible"
        return
    assert result.lower_bound <= float(least) * (1 + 1e-12)
    assert result.objective == pytest.approx(float(cost), rel=1e-12, abs=0.0)
    assert result.status.value == "optimal" or ratio > SOLVED
    assert result.status.value != "optimal" or cost - least <= cost * 1e-6
    if path is not None:
        assert verify_certificate(path, instance).status == result.status.value


@given(st.integers(0, 2**32))
def test_costs_are_relative_to_themselves(seed):
    rng = np.random.default_rng(seed)
    instance, _ = random_far_groups(rng)
    labels = rng.integers(0, instance.k, instance.n_points)
    exact = float(Exact.of(instance.points).cost_of(labels))
    cost = Partition(labels).sum_of_squares(instance.points)
    assert cost == pytest.approx(exact, rel=1e-13, abs=0.0)


@pytest.mark.long
@given(st.integers(0, 2**32))
def test_no_other_clustering_is_certified_by_the_same_proof(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    instance, _ = random_far_groups(rng)
    path = tmp_path_factory.mktemp("forged") / "proof"
    result = solve(instance, SolverParameters(gap=1e-6, time_limit=30.0), certificate=path)
    others = feasible_clusterings(instance) if instance.n_points <= 8 else []
    if result.partition is None or len(others) == 0:
        return
    labels = others[rng.integers(len(others))]
    exact = Exact.of(instance.points)
    cost = exact.cost_of(labels)
    parts = Parts.of(path)
    parts.labels = labels.astype(np.int32)
    parts.claim |= {"cost": float(cost), "status": "optimal"}
    path.write_bytes(parts.data)
    try:
        verdict = verify_certificate(path, instance)
    except CertificateError:
        return
    least = least_cost(exact, instance.k, instance.must_link, instance.cannot_link, cost)
    assert Fraction(verdict.lower_bound) <= least <= Fraction(verdict.cost)
    if verdict.status == "optimal":
        assert Fraction(verdict.cost) - least <= Fraction(verdict.cost) * Fraction(1.001e-6)


@given(st.integers(0, 2**32))
def test_the_reference_is_that_of_enumeration(seed):
    instance, _ = random_far_groups(np.random.default_rng(seed))
    if instance.n_points > 6:
        return
    exact = Exact.of(instance.points)
    links = instance.must_link, instance.cannot_link
    least = min(map(exact.cost_of, feasible_clusterings(instance)), default=None)
    assert least_cost(exact, instance.k, *links) == least
    assert least_cost(exact, instance.k, *links, least) == least
