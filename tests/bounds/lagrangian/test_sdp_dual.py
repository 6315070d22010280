from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sdpbb.bounds.lagrangian.sdp_dual import master_dual, single_cluster_cuts
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.cuts.cliques import clique_cuts, complement_cuts
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.cuts.stars import star_cuts, triangle_cuts
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.lagrangian.brute_force import all_columns, whole_contraction
from tests.bounds.sdp.problems import small_problem, two_clusters
from tests.bounds.sdp.test_cuts import random_cuts, random_pentagons


def random_dual(rng: np.random.Generator, relaxation: Relaxation, spread: float) -> DualPoint:
    m = relaxation.m
    N = rng.normal(size=(m, m)) * spread
    cuts = random_cuts(rng, m, relaxation.n, relaxation.k)
    if m >= 5:
        Z = rng.random((m, m)) / relaxation.n
        cuts = cuts + random_pentagons(rng, relaxation, Z + Z.T)
    if relaxation.k == 2 and relaxation.forbidden.any():
        j, h = np.argwhere(relaxation.forbidden)[0]
        i = next(b for b in range(m) if b not in (j, h))
        cuts = cuts + complement_cuts(np.array([(i, j, h)], np.int32))
    return DualPoint(N + N.T, cuts, rng.exponential(spread, size=len(cuts)))


def of_single_clusters(relaxation: Relaxation, dual: DualPoint) -> DualPoint:
    """Without the cuts that only hold for all clusters together."""
    kept = single_cluster_cuts(dual.cuts)
    return DualPoint(dual.N, dual.cuts.select(kept), dual.multipliers[kept])


def without_kernel(relaxation: Relaxation, dual: DualPoint) -> float:
    bare = replace(relaxation)
    bare.__dict__["kernel"] = np.empty((relaxation.m, 0))
    return safe_bound(bare, dual).value


SPREADS = st.sampled_from([0.0, 1e-6, 0.05, 1.0, 30.0])


@given(st.integers(0, 10**6), SPREADS, st.booleans(), st.sampled_from([1e-6, 1.0, 1e6]))
def test_no_cluster_has_a_negative_reduced_cost(seed, spread, halves, unit):
    problem = two_clusters(seed) if halves else small_problem(seed)
    plain = problem.contraction
    c = replace(plain, means=plain.means * unit, scatter=plain.scatter * unit**2)
    relaxation = Relaxation.of(c)
    given_dual = random_dual(np.random.default_rng(seed), relaxation, spread)
    dual = master_dual(c, relaxation, given_dual)
    assert (dual.prices >= 0).all()
    assert dual.sigma >= 0
    columns = all_columns(c)
    reduced = columns.costs - columns.members @ dual.prices + dual.sigma
    assert reduced.min() >= -1e-9 * (1.0 + spread) * unit**2
    # And so no clustering costs less than the dual objective.
    assert dual.value(c.k) <= problem.optimum * unit**2 + 1e-8 * (1.0 + spread) * unit**2


@given(st.integers(0, 10**6), SPREADS, st.booleans())
def test_the_value_is_what_the_relaxation_proves(seed, spread, halves):
    problem = two_clusters(seed) if halves else small_problem(seed)
    relaxation = problem.relaxation
    rng = np.random.default_rng(seed)
    drawn = random_dual(rng, relaxation, spread)
    # With enough of N on the diagonal no eigenvalue that counts is negative.
    m = relaxation.m
    dual = replace(drawn, N=drawn.N + 30.0 * spread * m**2 * np.eye(m))
    proven = without_kernel(relaxation, of_single_clusters(relaxation, dual))
    scale = relaxation.scale * (1.0 + spread) * m**3
    value = master_dual(problem.contraction, relaxation, dual)
    assert value.value(relaxation.k) >= proven - 1e-9 * scale


@given(st.integers(0, 10**6))
def test_the_value_is_exact_where_no_price_is_negative(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(9, 2)) + 8.0 * rng.integers(0, 3, size=(9, 1))
    contraction = contract(Instance(points, int(rng.integers(2, 6))))
    assert isinstance(contraction, Contraction)
    relaxation = Relaxation.of(contraction)
    N = np.full((9, 9), 0.01)
    dual = DualPoint(N, CutSet.empty(), np.zeros(0))
    master = master_dual(contraction, relaxation, dual)
    proven = safe_bound(relaxation, dual).value
    assert master.value(contraction.k) >= proven - 1e-9 * relaxation.total
    if master.sigma > 0 and master.prices.min() > 0:
        assert master.value(contraction.k) == pytest.approx(proven, abs=1e-9 * relaxation.total)


def test_prices_at_known_dual_values():
    """Points -1, -1, 1, 1 and k = 2: scale M = scale K = c c' has the eigenvalue 4, and K u = 0. So
    sigma = 4, and each price is 1 + 4 / 4."""
    contraction = contract(Instance(np.array([[-1.0], [-1.0], [1.0], [1.0]]), 2))
    assert isinstance(contraction, Contraction)
    dual = DualPoint(np.zeros((4, 4)), CutSet.empty(), np.zeros(0))
    master = master_dual(contraction, Relaxation.of(contraction), dual)
    np.testing.assert_allclose(master.prices, 2.0, rtol=1e-12)
    assert master.sigma == pytest.approx(4.0)
    assert master.value(2) == pytest.approx(0.0, abs=1e-12)


def test_one_block():
    contraction = contract(Instance(np.array([[0.0], [2.0]]), 1))
    assert isinstance(contraction, Contraction)
    dual = DualPoint(np.ones((1, 1)), CutSet.empty(), np.zeros(0))
    master = master_dual(contraction, Relaxation.of(contraction), dual)
    # N = 1 in units of scale = 1 for the single entry 1/2 of Z, given away.
    assert master.value(1) == pytest.approx(2.0 - 0.5)


@pytest.mark.parametrize("clusters", [2, 5, 12])
@pytest.mark.parametrize("n_links", [0, 25])
def test_after_some_iterations_the_value_is_the_methods_bound(clusters, n_links):
    rng = np.random.default_rng(clusters)
    points = rng.normal(size=(50, 3)) + 2.0 * rng.integers(0, clusters, size=(50, 1))
    links = rng.permutation(50)[: 2 * n_links].reshape(-1, 2) if clusters > 2 else []
    contraction = contract(Instance(points, clusters, cannot_link=links))
    assert isinstance(contraction, Contraction)
    run = SdpBounding().start(contraction, None)
    for _ in range(5):
        bound = run.advance(np.inf).bound.value
    relaxation = Relaxation.of(contraction)
    left = run.warm_start().dual
    dual = replace(left, N=left.N.astype(np.float64))
    value = master_dual(contraction, relaxation, dual).value(clusters)
    # All that may be missing is in cliques and pentagons, and in the kernel for two clusters.
    assert value >= bound - 0.01 * bound
    kept = of_single_clusters(relaxation, dual)
    assert value >= without_kernel(relaxation, kept) - 1e-9 * relaxation.total


@given(st.integers(0, 10**6))
def test_the_cuts_that_are_kept_hold_for_every_single_cluster(seed):
    problem = small_problem(seed, at_least=5)
    c, relaxation = problem.contraction, problem.relaxation
    dual = random_dual(np.random.default_rng(seed), relaxation, 1.0)
    block_of = np.random.default_rng(seed).integers(0, c.n_blocks - 1, size=c.n_blocks)
    for cuts in (dual.cuts, dual.cuts.merged(block_of)):
        kept = cuts.select(single_cluster_cuts(cuts))
        m = c.n_blocks
        # Of all sets of blocks: stars need no constraint to hold.
        for size in range(1, m + 1):
            for X in combinations(range(m), size):
                z = np.isin(np.arange(m), X).astype(float)
                assert (kept.values(np.outer(z, z)) >= -1e-12).all()


def test_which_families_hold_for_single_clusters():
    stars = star_cuts(
        np.zeros(2, np.int32), np.array([[1, 2, 3], [1, 2, 4]], np.int32), np.full(2, 3, np.int32)
    )
    triangles = triangle_cuts(np.array([[0, 1, 2], [0, 1, 1]], np.int32))
    complement = complement_cuts(np.array([[0, 1, 2]], np.int32))
    clique = clique_cuts(np.array([[0, 1, 2]], np.int32), 8)
    cuts = triangles + stars + complement + clique
    assert single_cluster_cuts(cuts).tolist() == [True] * 4 + [False] * 2
    assert single_cluster_cuts(CutSet.empty()).tolist() == []


@given(st.integers(0, 10**6))
@example(537)  # clusters of two points, whose parts are columns, too
def test_semidefinite_dual_values_suit_soft_pairs_and_sizes(seed):
    """No cluster has a reduced cost below 0."""
    contraction = whole_contraction(seed)
    if contraction.n_blocks < 3:
        return
    run = SdpBounding().start(contraction, None)
    for _ in range(3):
        run.advance(np.inf)
    dual = master_dual(contraction, run.relaxation, run.dual_point())
    columns = all_columns(contraction)
    values = columns.costs - columns.members @ dual.prices
    if len(values):
        assert values.min() + dual.sigma >= -1e-6 * (1.0 + columns.costs.max())
