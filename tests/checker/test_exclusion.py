from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.safe_bound import far_apart, pairs_apart, safe_bound
from sdpbb.checker.kernel.dual import dual_bound
from sdpbb.checker.kernel.exclusion import excluded_pairs, far_pairs
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.problem import Contraction, Instance, contract
from tests.checker.block_rules import of_blocks
from tests.checker.duals import evidence_of, random_evidence, solved, zero_evidence
from tests.checker.exact import Costs, Problem, random_problem
from tests.checker.test_semidefinite import contraction_of
from tests.examples import examples

seeds = st.integers(0, 10**6)
scales = st.sampled_from([1e-6, 1.0, 1e6])


def cutoffs(rng: np.random.Generator, problem: Problem) -> list[float]:
    """Among the costs: just above one, so that the clustering is to be kept, and any number."""
    chosen = [problem.costs[rng.integers(len(problem.costs))] for _ in range(3)]
    values = [float(np.nextafter(float(cost), np.inf)) for cost in [problem.optimum, *chosen]]
    return [*values, values[0] * (1.0 + rng.random()), values[0] * 0.5, 0.0, np.inf]


def assert_right(problem: Problem, excluded: np.ndarray, below: float) -> None:
    """No clustering that costs less has an excluded pair in a cluster."""
    assert (excluded == excluded.T).all()
    assert not excluded.diagonal().any()
    first = np.unique(problem.block_of, return_index=True)[1]
    for labels, cost in zip(problem.labels, problem.costs, strict=True):
        if below == np.inf or cost < Fraction(below):
            of_block = labels[first]
            assert not (excluded & (of_block[:, None] == of_block)).any()


@given(seeds, scales, st.sampled_from([0.0, 1e3]), st.sampled_from([1e-3, 0.05, 1.0]))
def test_excluded_pairs_share_no_cluster_of_a_cheaper_clustering(seed, scale, offset, spread):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, scale, offset * scale)
    evidence = random_evidence(rng, problem, spread, scale)
    contracted = problem.contracted
    for below in cutoffs(rng, problem):
        excluded = excluded_pairs(
            contracted, of_blocks(problem.k, problem.adjacency), evidence, below
        )
        assert_right(problem, excluded, below)
        assert (excluded | ~problem.adjacency).all()


@pytest.mark.long
@examples(50)
@given(seeds, scales, st.integers(2, 4))
def test_exclusions_by_the_dual_values_of_the_solver(seed, scale, k):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, scale, scale, k=k, n_min=k + 1)
    contraction = contraction_of(problem)
    if contraction is None:
        return
    evidence, _ = evidence_of(*solved(contraction, rounds=2))
    contracted = problem.contracted
    for below in cutoffs(rng, problem):
        excluded = excluded_pairs(contracted, of_blocks(k, problem.adjacency), evidence, below)
        assert_right(problem, excluded, below)


@pytest.mark.parametrize("k", [2, 3])
def test_it_finds_what_the_solver_finds(k):
    rng = np.random.default_rng(k)
    label = rng.integers(k, size=60)
    points = 3.0 * rng.normal(size=(k, 3))[label] + rng.normal(size=(60, 3))
    pairs = rng.integers(60, size=(60, 2))
    apart = [(i, j) for i, j in pairs if label[i] != label[j]][:15]
    contraction = contract(Instance(points, k, cannot_link=apart))
    assert isinstance(contraction, Contraction)
    relaxation, dual = solved(contraction, rounds=6)
    evidence, dual = evidence_of(relaxation, dual)
    bound = safe_bound(relaxation, dual)
    contracted = Geometry.of(points).contracted(contraction.block_of)
    numbers = []
    for gap in (1e-4, 1e-3, 1e-2, 1e-1):
        below = bound.value * (1.0 + gap)
        excluded = excluded_pairs(contracted, of_blocks(k, contraction.adjacency), evidence, below)
        i, j = pairs_apart(relaxation, dual, bound, below).T
        assert excluded[i, j].all()
        numbers.append((excluded & ~contraction.adjacency).sum() // 2)
        assert numbers[-1] == len(i)
    assert numbers[0] > numbers[-1]


def test_pairs_are_found_one_after_the_other():
    """Blocks that are apart do not help each other: the test by itself, by brute force."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        problem = random_problem(rng, n_min=5)
        m, k = len(problem.adjacency), problem.k
        N = rng.exponential(0.3, size=m * (m + 1) // 2) * (rng.random(m * (m + 1) // 2) < 0.7)
        evidence = replace(zero_evidence(m), N=N)
        contracted = problem.contracted
        proven = dual_bound(contracted, of_blocks(k, problem.adjacency), evidence)
        below = max(proven.bound, 0.0) + rng.exponential(1.0)
        excluded = excluded_pairs(contracted, of_blocks(k, problem.adjacency), evidence, below)
        budget = (below - proven.bound) / proven.unit
        np.testing.assert_array_equal(
            excluded, by_definition(proven.N, contracted.weights, budget, problem.adjacency)
        )


def by_definition(N: np.ndarray, e: np.ndarray, budget: float, adjacency: np.ndarray) -> np.ndarray:
    apart = adjacency.copy()
    m = len(e)
    while True:
        before = apart.sum()
        for i in range(m):
            for j in range(m):
                if i != j and not apart[i, j]:
                    least = N[i, i] + N[j, j] + 2.0 * N[i, j] - budget * (e[i] + e[j])
                    for p in set(range(m)) - {i, j}:
                        if not (apart[i, p] or apart[j, p]):
                            own = N[p, p] + 2.0 * (N[i, p] + N[j, p]) - budget * e[p]
                            least += min(0.0, own)
                    if least >= 0.0:
                        apart[i, j] = apart[j, i] = True
        if apart.sum() == before:
            return apart


def test_below_the_bound_all_pairs_are_excluded():
    contracted = Geometry.of(np.arange(6.0)[:, None]).contracted(np.arange(6))
    none = np.zeros((6, 6), dtype=bool)
    evidence = zero_evidence(6)
    assert dual_bound(contracted, of_blocks(1, none), evidence).bound == pytest.approx(17.5)
    excluded = excluded_pairs(contracted, of_blocks(1, none), evidence, 17.4)
    np.testing.assert_array_equal(excluded, ~np.eye(6, dtype=bool))
    assert not excluded_pairs(contracted, of_blocks(1, none), evidence, 17.6).any()


@given(seeds, st.sampled_from([1e-90, 1e-6, 1.0, 1e6, 1e90]), st.sampled_from([0.0, 1e3]))
def test_far_pairs_share_no_cluster_of_a_cheaper_clustering(seed, scale, offset):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, scale, offset * scale)
    for below in cutoffs(rng, problem):
        assert_right(problem, far_pairs(problem.contracted, below), below)


def test_far_pairs_are_those_of_the_solver():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3))
    points[:4] *= 30.0
    contraction = contract(Instance(points, 3, must_link=[(0, 5), (6, 7)], cannot_link=[(1, 2)]))
    assert isinstance(contraction, Contraction)
    contracted = Geometry.of(points).contracted(contraction.block_of)
    for below in (100.0, 1000.0, 3000.0):
        i, j = far_apart(contraction, below).T
        expected = np.zeros_like(contraction.adjacency)
        expected[i, j] = expected[j, i] = True
        far = far_pairs(contracted, below)
        assert expected.any()
        np.testing.assert_array_equal(far & ~contraction.adjacency, expected)


def test_two_points_are_far_apart_up_to_what_they_cost():
    contracted = Geometry.of(np.array([[0.0], [2.0]])).contracted(np.arange(2))
    assert far_pairs(contracted, 2.0 * (1 - 1e-13))[0, 1]
    assert not far_pairs(contracted, 2.0 * (1 + 1e-15)).any()
    assert not far_pairs(contracted, np.inf).any()


@pytest.mark.parametrize("outlier", [0.0, 1e9])
def test_two_points_are_never_far_apart_for_what_they_cost(outlier):
    """Nor with a third one that takes the last digits of the centred coordinates."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        points = rng.normal(size=(2 + (outlier > 0), 30))
        points[2:] += outlier
        cost = Costs(points).of(np.arange(len(points)) // 2)
        below = float(cost)
        while Fraction(below) <= cost:
            below = float(np.nextafter(below, np.inf))
        contracted = Geometry.of(points).contracted(np.arange(len(points)))
        assert not far_pairs(contracted, below)[0, 1]


def test_nan_is_rejected():
    contracted = Geometry.of(np.array([[0.0], [2.0]])).contracted(np.arange(2))
    with pytest.raises(Rejected, match="nan"):
        far_pairs(contracted, np.nan)
    with pytest.raises(Rejected, match="nan"):
        excluded_pairs(contracted, of_blocks(1, np.zeros((2, 2), bool)), zero_evidence(2), np.nan)


def test_coordinates_whose_squares_underflow_exclude_nothing():
    """The unit of dual values is 0 then, in units of the data."""
    points = np.array([[0.0], [1e-170], [3e-170]])
    contracted = Geometry.of(points).contracted(np.arange(3))
    adjacency = np.zeros((3, 3), bool)
    adjacency[0, 1] = adjacency[1, 0] = True
    evidence = zero_evidence(3, unit=2.0**-800)
    found = excluded_pairs(contracted, of_blocks(2, adjacency), evidence, 1.0)
    assert (found == adjacency).all()
