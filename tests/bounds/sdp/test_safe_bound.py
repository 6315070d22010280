from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.cuts.complements import complement_cuts
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.cuts.triangles import triangle_cuts
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualFunction, DualPoint, safe_bound
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.sdp.problems import small_problem, two_clusters
from tests.bounds.sdp.test_cuts import random_cuts
from tests.enumeration import optimum


def random_dual(rng: np.random.Generator, relaxation: Relaxation, spread: float) -> DualPoint:
    """Dual values of any size; N has any sign everywhere, so clipping is tested as well."""
    m = relaxation.m
    N = rng.normal(size=(m, m)) * spread
    cuts = random_cuts(rng, m, relaxation.n, relaxation.k)
    return DualPoint(N + N.T, cuts, rng.exponential(spread, size=len(cuts)))


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-6, 0.1, 1.0, 100.0]))
def test_any_dual_values_give_a_lower_bound(seed, spread):
    problem = small_problem(seed)
    dual = random_dual(np.random.default_rng(seed), problem.relaxation, spread)
    assert safe_bound(problem.relaxation, dual).value <= problem.optimum


@given(st.integers(0, 10**6), st.integers(0, 8))
def test_an_estimate_of_the_bound_is_never_below_it(seed, n_columns):
    problem = small_problem(seed)
    relaxation = problem.relaxation
    rng = np.random.default_rng(seed)
    function = DualFunction.at(relaxation, random_dual(rng, relaxation, 0.1))
    bound = function.bound().value
    rounding = 1e-12 * relaxation.scale * np.linalg.norm(function.restricted) * relaxation.m
    m, k = relaxation.m, relaxation.k
    columns = min(m, k - 1 + n_columns)
    assert function.estimate(rng.normal(size=(m, columns))) >= bound - rounding
    eigenvectors = np.linalg.eigh(function.restricted)[1][:, : k - 1]
    assert abs(function.estimate(eigenvectors) - bound) <= rounding


@pytest.mark.long
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-6, 0.1, 1.0, 100.0]))
def test_any_dual_values_give_a_lower_bound_with_a_kernel(seed, spread):
    problem = two_clusters(seed)
    dual = random_dual(np.random.default_rng(seed), problem.relaxation, spread)
    assert safe_bound(problem.relaxation, dual).value <= problem.optimum
    run = SdpBounding().start(problem.contraction, None)
    for _ in range(5):
        assert run.advance(np.inf).bound.value <= problem.optimum


def test_large_dual_values_that_cancel_do_not_lift_the_bound():
    """For k = 2 and cannot-linked j, h, a triangle cut and a complement cut are opposites."""
    instance = Instance(np.array([[0.0], [1.0], [2.0], [3.0], [4.2]]), 2, cannot_link=[(0, 4)])
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    relaxation = Relaxation.of(contraction)
    rng = np.random.default_rng(0)
    opposite = np.array([(i, 0, 4) for i in (1, 2, 3)], np.int32)
    pairs = np.array([(i, j, j) for i in (1, 2, 3) for j in range(5) if i != j], np.int32)
    cuts = triangle_cuts(opposite) + triangle_cuts(pairs) + complement_cuts(opposite)
    for _ in range(1000):
        T = 10.0 ** rng.uniform(13, 18)
        small = 10.0 ** rng.uniform(-2, 1) * rng.random(len(pairs))
        N = np.zeros((5, 5))
        N[0, 4] = N[4, 0] = -1.5 * T
        dual = DualPoint(N, cuts, np.concatenate([np.full(3, T), small, np.full(3, T)]))
        assert safe_bound(relaxation, dual).value <= optimum(instance)


def test_the_kernel_strengthens_the_bound():
    gains = []
    for seed in range(10):
        relaxation = two_clusters(seed).relaxation
        dual = DualPoint(np.zeros((relaxation.m, relaxation.m)), CutSet.empty(), np.zeros(0))
        without = replace(relaxation, forbidden=np.zeros_like(relaxation.forbidden))
        gains.append(safe_bound(relaxation, dual).value - safe_bound(without, dual).value)
    assert min(gains) > -1e-12
    assert max(gains) > 0.1


@given(st.integers(0, 10**6))
def test_a_childs_bound_is_at_least_its_parents(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 2))
    instance = Instance(points, int(rng.integers(2, 5)), cannot_link=[(0, 1), (2, 3)])
    parent = contract(instance)
    assert isinstance(parent, Contraction)
    drawn = random_dual(rng, Relaxation.of(parent), 0.3)
    # The theorem is about dual values that need no clipping.
    N = np.where(parent.adjacency, drawn.N, np.abs(drawn.N))
    dual = DualPoint(N, drawn.cuts, drawn.multipliers)
    bound = safe_bound(Relaxation.of(parent), dual).value
    i, j = sorted(rng.permutation(12)[:2].tolist())
    for decision in ({"must_link": [(i, j)]}, {"cannot_link": [(i, j)]}):
        child = contract(instance, **decision)
        if isinstance(child, Contraction):
            block_of = child.block_of[parent.representatives]
            relaxation = Relaxation.of(child)
            ratio = Relaxation.of(parent).scale / relaxation.scale
            inherited = dual.scaled(ratio).merged(block_of, child.n_blocks)
            rounding = 1e-11 * (relaxation.total + np.abs(dual.N).sum() * relaxation.scale)
            assert safe_bound(relaxation, inherited).value >= bound - rounding


@given(st.integers(0, 10**6), st.sampled_from([1e-99, 1e-9, 1e-3, 1e5, 1e99]))
def test_the_bound_scales_with_the_data(seed, factor):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(10, 2))
    bounds = []
    for scaled in (points, points * factor):
        contraction = contract(Instance(scaled, 3))
        relaxation = Relaxation.of(contraction)
        N = np.abs(np.random.default_rng(seed).normal(size=(10, 10))) * 1e-2
        dual = DualPoint(N + N.T, CutSet.empty(), np.zeros(0))
        bounds.append(safe_bound(relaxation, dual).value)
    assert abs(bounds[1] / factor**2 - bounds[0]) <= 1e-11 * abs(bounds[0]) + 1e-12


def test_rounding_in_large_blocks_never_lifts_the_bound_above_the_truth():
    """Against exact rational arithmetic: a must-link block of many points and three equal ones."""
    for n_pairs in (1, 50, 5000):
        values = [0.36, -0.36] * n_pairs + [0.1] * 3
        n = len(values)
        chain = [(i, i + 1) for i in range(n - 4)]
        instance = Instance(np.array(values)[:, None], 2, must_link=chain)
        exact = [Fraction(v) for v in values]
        labels = [[0] * (n - 3) + [1] * 3, [0] * (n - 1) + [1], [0] * (n - 2) + [1] * 2]
        truth = min(exact_cost(exact, row) for row in labels)
        run = SdpBounding().start(contract(instance), None)
        for _ in range(5):
            assert Fraction(run.advance(np.inf).bound.value) <= truth


def exact_cost(values: list[Fraction], labels: list[int]) -> Fraction:
    total = Fraction(0)
    for cluster in set(labels):
        members = [v for v, c in zip(values, labels, strict=True) if c == cluster]
        mean = sum(members) / len(members)
        total += sum((v - mean) ** 2 for v in members)
    return total


def test_merging_adds_up_equal_cuts_and_drops_empty_ones():
    triangles = np.array([[0, 2, 3], [1, 2, 3], [0, 1, 1]], np.int32)
    dual = DualPoint(np.eye(4), triangle_cuts(triangles), np.array([1.0, 2.0, 4.0]))
    merged = dual.merged(np.array([0, 0, 1, 2]), 3)
    assert len(merged.cuts) == 1
    assert merged.multipliers.tolist() == [3.0]
    np.testing.assert_array_equal(merged.N, np.diag([2.0, 1.0, 1.0]))
