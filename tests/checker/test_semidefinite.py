from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.safe_bound import safe_bound
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.templates import Cliques, Templates, Vectors
from sdpbb.checker.kernel.dual import Semidefinite, dual_bound
from sdpbb.checker.kernel.evidence import scatter_bound
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.problem import Contraction, Instance, contract
from tests.checker.block_rules import of_blocks
from tests.checker.duals import (
    evidence_of,
    random_evidence,
    solved,
    zero_evidence,
)
from tests.checker.exact import Costs, Problem, random_problem

seeds = st.integers(0, 10**6)
scales = st.sampled_from([1e-90, 1e-6, 1.0, 1e6, 1e90])
offsets = st.sampled_from([0.0, 0.0, 1e3])  # in units of the scale


def bound_of(problem: Problem, evidence: Semidefinite) -> float:
    return evidence.bound(problem.contracted, of_blocks(problem.k, problem.adjacency))


def two_clusters(rng: np.random.Generator, n: int, pairs: int) -> Instance:
    """Two clusters with disjoint cannot-linked pairs."""
    order = rng.permutation(n)
    links = order[: 2 * pairs].reshape(-1, 2)
    return Instance(rng.normal(size=(n, 2)), 2, cannot_link=links)


def contraction_of(problem: Problem) -> Contraction | None:
    """The same blocks, unless the solver merges more of them."""
    first = np.unique(problem.block_of, return_index=True)[1]
    links = [(first[i], first[j]) for i, j in np.argwhere(np.triu(problem.adjacency))]
    must = [(first[b], i) for i, b in enumerate(problem.block_of) if first[b] != i]
    contraction = contract(Instance(problem.points, problem.k, must, links))
    assert isinstance(contraction, Contraction)
    same = np.array_equal(contraction.block_of, problem.block_of)
    return contraction if same and contraction.means.any() else None


@given(seeds, scales, offsets, st.sampled_from([0.0, 1e-3, 0.05, 1.0, 1e6]))
def test_no_dual_values_prove_more_than_the_optimum(seed, scale, offset, spread):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, scale, offset * scale)
    evidence = random_evidence(rng, problem, spread, scale)
    assert Fraction(bound_of(problem, evidence)) <= problem.optimum


@given(seeds, st.sampled_from([1e-6, 1.0, 1e6]), offsets, st.integers(2, 4))
def test_the_dual_values_of_the_solver_prove_no_more_than_the_optimum(seed, scale, offset, k):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, scale, offset * scale, k=k, n_min=k + 1)
    contraction = contraction_of(problem)
    if contraction is None:
        return
    evidence, _ = evidence_of(*solved(contraction, rounds=2))
    assert Fraction(bound_of(problem, evidence)) <= problem.optimum


def test_the_dual_values_of_the_solver_prove_nearly_the_optimum():
    """So the tests above are about bounds that rounding alone keeps from being exact."""
    ratios = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, k=2, n_min=5)
        contraction = contraction_of(problem)
        if contraction is not None and problem.optimum > 0:
            evidence, _ = evidence_of(*solved(contraction, rounds=3))
            ratios.append(bound_of(problem, evidence) / float(problem.optimum))
    assert len(ratios) > 10
    assert np.median(ratios) > 1 - 1e-4


@given(seeds, scales, offsets)
def test_one_cluster_is_proven_without_dual_values(seed, scale, offset):
    """Only the eigenvector of all clusterings counts, so that rounding alone is lost."""
    problem = random_problem(np.random.default_rng(seed), scale, offset * scale, k=1)
    bound = bound_of(problem, zero_evidence(len(problem.adjacency)))
    assert Fraction(bound) <= problem.optimum
    length = float(np.abs(problem.points).max())
    assert bound >= float(problem.optimum) * (1 - 1e-13) - 1e-13 * length**2 * (offset > 0) - 1e-210


@given(seeds, scales, offsets)
def test_a_cluster_for_each_block_is_proven_without_dual_values(seed, scale, offset):
    """Then Y is the identity: the sum of all eigenvalues is a trace."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, scale, offset * scale)
    contracted = problem.contracted
    m = contracted.m
    nothing = np.zeros((m, m), dtype=bool)
    bound = zero_evidence(m).bound(contracted, of_blocks(m, nothing))
    inside = sum(map(Fraction, contracted.scatter.tolist()))
    root = Fraction(np.nextafter(np.sqrt(float(inside)), np.inf)) + Fraction(contracted.error)
    assert Fraction(bound) <= root**2
    total = Geometry.of(problem.points).total()
    assert bound >= float(inside) - 1e-13 * total - 1e-210
    assert bound <= scatter_bound(contracted) + 1e-13 * total + 1e-210


@given(seeds)
def test_large_dual_values_that_cancel_do_not_lift_the_bound(seed):
    """For k = 2 and cannot-linked j, h, a triangle cut and a complement cut are opposites."""
    rng = np.random.default_rng(seed)
    points = np.array([[0.0], [1.0], [2.0], [3.0], [4.2]])
    adjacency = np.zeros((5, 5), dtype=bool)
    adjacency[0, 4] = adjacency[4, 0] = True
    optimum = Costs(points).of(np.array([0, 0, 0, 1, 1]))
    assert float(optimum) == pytest.approx(2.72)  # {0, 1} and {2, 3, 4.2} cost 2.93
    stars = [[i, 0, 4] for i in (1, 2, 3)] + [[i, j] for i in (1, 2, 3) for j in range(5) if i != j]
    complements = [(i, 0, 4) for i in (1, 2, 3)]
    entries = ((0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0))
    groups = (Vectors(3, (-1, 1, 1)), Vectors(12, (-1, 1)), Templates(3, 3, entries, 0.0))
    cuts = Cuts(groups, np.concatenate([*stars, *complements]).astype(np.int32))
    contracted = Geometry.of(points).contracted(np.arange(5))
    for _ in range(20):
        T = 10.0 ** rng.uniform(8, 18)
        small = 10.0 ** rng.uniform(-2, 1) * rng.random(12)
        N = np.zeros((5, 5))
        N[0, 4] = -1.5 * T
        t = np.concatenate([np.full(3, T), small, np.full(3, T)])
        evidence = Semidefinite(1.0, N[np.triu_indices(5)], cuts, t)
        assert Fraction(evidence.bound(contracted, of_blocks(2, adjacency))) <= optimum


@pytest.mark.parametrize("n_must", [0, 20])
def test_it_proves_what_the_solver_does_for_several_clusters(n_must):
    rng = np.random.default_rng(n_must)
    n, k = 110, 3
    centres = 3.0 * rng.normal(size=(k, 4))
    label = rng.integers(k, size=n)
    points = centres[label] + rng.normal(size=(n, 4)) + 100.0
    pairs = rng.integers(n, size=(200, 2))
    apart = [(i, j) for i, j in pairs if label[i] != label[j]][:40]
    together = [(i, j) for i, j in pairs if label[i] == label[j] and i != j][:n_must]
    _assert_as_tight(Instance(points, k, together, apart))


@pytest.mark.parametrize("pairs", [0, 1, 30])
def test_it_proves_what_the_solver_does_for_two_clusters(pairs):
    """With its kernel: without one the bound would be weaker."""
    _assert_as_tight(two_clusters(np.random.default_rng(pairs), 80, pairs))


def _assert_as_tight(instance: Instance) -> None:
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    relaxation, dual = solved(contraction, rounds=6)
    evidence, dual = evidence_of(relaxation, dual)
    expected = safe_bound(relaxation, dual).value
    assert expected > 0.05 * contraction.total
    contracted = Geometry.of(instance.points).contracted(contraction.block_of)
    bound = evidence.bound(contracted, of_blocks(instance.k, contraction.adjacency))
    assert abs(bound - expected) <= 1e-11 * contraction.total
    single = replace(evidence, N=evidence.N.astype(np.float32))
    bound = single.bound(contracted, of_blocks(instance.k, contraction.adjacency))
    assert abs(bound - expected) <= 1e-4 * contraction.total


def test_the_kernel_of_two_clusters_strengthens_the_bound():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(8, 2))
    contracted = Geometry.of(points).contracted(np.arange(8))
    linked = np.zeros((8, 8), dtype=bool)
    linked[0, 1] = linked[2, 3] = linked[4, 5] = True
    linked |= linked.T
    evidence = zero_evidence(8)
    with_kernel = dual_bound(contracted, of_blocks(2, linked), evidence).bound
    assert with_kernel > dual_bound(contracted, of_blocks(2, linked & False), evidence).bound + 0.1


@given(seeds, scales)
def test_the_scatter_inside_blocks_is_a_bound(seed, scale):
    problem = random_problem(np.random.default_rng(seed), scale, 10.0 * scale)
    assert Fraction(scatter_bound(problem.contracted)) <= problem.optimum


def test_points_that_coincide():
    contracted = Geometry.of(np.ones((4, 2))).contracted(np.arange(4))
    none = np.zeros((4, 4), dtype=bool)
    assert zero_evidence(4).bound(contracted, of_blocks(2, none)) == 0.0
    N = np.ones(10)
    assert replace(zero_evidence(4), N=N).bound(contracted, of_blocks(2, none)) == 0.0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"unit": 3.0}, "power of two"),
        ({"unit": 0.0}, "power of two"),
        ({"unit": -2.0}, "power of two"),
        ({"unit": float("nan")}, "power of two"),
        ({"unit": float("inf")}, "power of two"),
        ({"unit": 2.0**-1000}, "power of two"),
        ({"unit": 2.0**800}, "too large"),
        ({"N": np.zeros(9)}, "10 numbers"),
        ({"N": np.zeros((4, 4))}, "10 numbers"),
        ({"N": np.zeros(10, dtype=int)}, "10 numbers"),
        ({"N": np.array([0.0, -1e-300] + [0.0] * 8)}, "negative"),
        ({"N": np.array([-1.0] + [0.0] * 9)}, "negative"),
        ({"N": np.array([0.0, np.nan] + [0.0] * 8)}, "negative"),
        ({"N": np.array([0.0] * 3 + [np.nan] + [0.0] * 6)}, "no number"),  # cannot-linked
        ({"N": np.array([0.0, np.inf] + [0.0] * 8)}, "too large"),
        ({"N": np.array([0.0, 1e300] + [0.0] * 8)}, "too large"),
        ({"multipliers": np.zeros(0)}, "1 cuts"),
        ({"multipliers": np.array([-1.0])}, "negative"),
        ({"multipliers": np.array([np.nan])}, "negative"),
        ({"multipliers": np.array([np.inf])}, "too large"),
        ({"multipliers": np.array([1])}, "multipliers"),
        ({"cuts": Cuts((Cliques(1),), np.array([0, 1, 4], np.int32))}, "outside of"),
    ],
)
def test_evidence_that_makes_no_sense_is_rejected(changes, why):
    contracted = Geometry.of(np.arange(8.0).reshape(4, 2)).contracted(np.arange(4))
    adjacency = np.zeros((4, 4), dtype=bool)
    adjacency[0, 3] = adjacency[3, 0] = True
    cuts = Cuts((Cliques(1),), np.array([0, 1, 2], np.int32))
    evidence = Semidefinite(1.0, np.ones(10), cuts, np.ones(1))
    evidence.bound(contracted, of_blocks(2, adjacency))
    with pytest.raises(Rejected, match=why):
        replace(evidence, **changes).bound(contracted, of_blocks(2, adjacency))


def test_more_clusters_than_blocks_are_rejected():
    contracted = Geometry.of(np.ones((4, 2))).contracted(np.array([0, 0, 1, 1]))
    for k in (0, 3):
        with pytest.raises(Rejected, match=f"{k} clusters of 2 blocks"):
            zero_evidence(2).bound(contracted, of_blocks(k, np.zeros((2, 2), bool)))
    with pytest.raises(Rejected, match="cannot-links of"):
        zero_evidence(2).bound(contracted, of_blocks(1, np.zeros((3, 3), bool)))
