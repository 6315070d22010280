import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.sdp.admm_run import AdmmRun
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.fixing import (
    far_apart,
    pairs_apart,
)
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.sdp.problems import SmallProblem, small_problem
from tests.bounds.sdp.test_safe_bound import random_dual


def check(problem: SmallProblem, pairs: np.ndarray, cutoff: float) -> None:
    """No clustering cheaper than cutoff puts one of the pairs together."""
    i, j = pairs.T
    assert (i < j).all()
    assert not problem.relaxation.forbidden[i, j].any()
    cheaper = problem.labels[problem.costs < cutoff]
    assert (cheaper[:, i] != cheaper[:, j]).all()


def cutoffs(problem: SmallProblem, bound: ProvenBound) -> list[float]:
    """Costs of clusterings and a value beside each: ties are where rounding would show."""
    costs = np.unique(np.concatenate([problem.costs, np.nextafter(problem.costs, np.inf)]))
    return [float(cost) for cost in costs if cost > bound.value][:8]


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-3, 0.1, 1.0, 10.0]))
def test_random_duals_fix_nothing_wrong(seed, spread):
    problem = small_problem(seed)
    rng = np.random.default_rng(seed)
    dual = random_dual(rng, problem.relaxation, spread)
    # Dual values that are large on a few entries come nearest to wrong fixings.
    few = rng.random(dual.N.shape) < 0.2
    for N in (dual.N, np.where(few | few.T, dual.N, 0.0)):
        point = DualPoint(N, dual.cuts, dual.multipliers)
        bound = safe_bound(problem.relaxation, point)
        for cutoff in cutoffs(problem, bound):
            check(problem, pairs_apart(problem.relaxation, point, bound, cutoff), cutoff)


def dual_after(contraction: Contraction, n_bounds: int) -> tuple[Relaxation, DualPoint]:
    run = SdpBounding(SdpParameters()).start(contraction, None)
    assert isinstance(run, AdmmRun)
    for _ in range(n_bounds):
        run.advance(np.inf)
    warm = run.warm_start()
    return Relaxation.of(contraction), warm.dual


def two_heaps() -> Contraction:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(40, 2)) + np.repeat([[0.0, 0.0], [6.0, 0.0]], 20, axis=0)
    contraction = contract(Instance(points, 2))
    assert isinstance(contraction, Contraction)
    return contraction


def test_blocks_of_clusters_far_apart_are_found():
    contraction = two_heaps()
    relaxation, dual = dual_after(contraction, 5)
    bound = safe_bound(relaxation, dual)
    cost = contraction.cost(np.repeat([0, 1], 20))
    pairs = pairs_apart(relaxation, dual, bound, 1.01 * cost)
    assert len(pairs) > 300
    assert (pairs[:, 0] < 20).all()
    assert (pairs[:, 1] >= 20).all()
    more = pairs_apart(relaxation, dual, bound, 1.005 * cost)
    assert {*map(tuple, pairs)} <= {*map(tuple, more)}


def test_the_pair_alone_proves_less():
    """The bound by one entry of N, 2 N_ij / n, never proves a pair that the test does not."""
    contraction = two_heaps()
    relaxation, dual = dual_after(contraction, 5)
    bound = safe_bound(relaxation, dual)
    cutoff = 1.001 * contraction.cost(np.repeat([0, 1], 20))
    alone = bound.value + relaxation.scale * 2.0 * dual.N / relaxation.n > cutoff
    found = {*map(tuple, pairs_apart(relaxation, dual, bound, cutoff))}
    assert {*map(tuple, np.argwhere(np.triu(alone, 1)))} < found


@pytest.mark.parametrize("cutoff", [-1.0, 0.0, np.inf])
def test_nothing_is_fixed_without_an_incumbent_or_in_a_closed_node(cutoff):
    problem = small_problem(5)
    m = problem.relaxation.m
    dual = DualPoint(np.zeros((m, m)), CutSet.empty(), np.zeros(0))
    assert pairs_apart(problem.relaxation, dual, ProvenBound(0.0), cutoff).shape == (0, 2)


@given(st.integers(0, 10**6))
def test_far_apart_is_true_of_every_cheaper_clustering(seed):
    problem = small_problem(seed)
    for cutoff in cutoffs(problem, ProvenBound(-np.inf)):
        check(problem, far_apart(problem.contraction, cutoff), cutoff)


def outliers(distance: float) -> Instance:
    points = np.random.default_rng(1).normal(size=(30, 2))
    return Instance(np.vstack([points, [[distance, 0.0], [distance + 1.0, 0.0]]]), 5)


@pytest.mark.parametrize("distance", [1e2, 1e4, 1e7])
def test_outliers_are_far_apart(distance):
    instance = outliers(distance)
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    pairs = far_apart(contraction, 100.0)
    expected = [(i, j) for i in range(30) for j in (30, 31)]
    assert {*map(tuple, pairs.tolist())} >= {*expected}
