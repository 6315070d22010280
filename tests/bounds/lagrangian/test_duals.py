"""Dual values of the master programme: what they prove, and those from the relaxation's."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.bound import scatter_bound
from sdpbb.bounds.lagrangian.duals import (
    is_proof_of_infeasibility,
    lagrangian_bound,
    whole_prices,
)
from sdpbb.bounds.lagrangian.sdp_dual import master_dual, single_cluster_cuts
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.problem import Instance
from tests.bounds.nodes import PAIRS, RELAXED, contracted, nodes, relaxed
from tests.enumeration import ExactSquares
from tests.examples import examples

FLOATS = st.floats(-1e9, 1e9)


@given(st.lists(FLOATS, min_size=4, max_size=4), FLOATS, st.integers(1, 4))
def test_the_bound_is_below_the_exact_sum_and_close_to_it(prices, least, k):
    contraction = contracted(np.arange(4.0)[:, None], k)
    exact = sum(map(Fraction, prices)) + k * Fraction(least)
    bound = Fraction(lagrangian_bound(contraction, np.array(prices), least).value)
    size = abs(sum(map(Fraction, prices))) + abs(k * Fraction(least))
    assert exact - Fraction(1, 10**15) * size <= bound <= exact


def test_prices_that_cancel_are_summed_exactly():
    contraction = contracted(np.arange(3.0)[:, None], 1)
    assert 0.9 < lagrangian_bound(contraction, np.array([1e17, 1.0, -1e17]), 0.0).value <= 1.0
    for price, least in ((np.inf, 0.0), (np.nan, 0.0), (1.0, np.inf)):
        with pytest.raises(ValueError, match="finite"):
            lagrangian_bound(contraction, np.array([1.0, 1.0, price]), least)


@given(st.integers(0, 10**6), st.sampled_from([1e-9, 1.0, 1e9]), st.sampled_from([0.0, 1e6]))
def test_the_scatter_inside_blocks_is_a_bound(seed, factor, offset):
    points = np.random.default_rng(seed).normal(size=(9, 2)) * factor + offset
    contraction = contracted(points, 2, [(0, 1), (2, 3), (3, 4), (5, 8)])
    # The coordinates of the problem are those rounded when they were centred.
    exact = ExactSquares(Instance(points, 2).centred).of(contraction.block_of)
    bound = Fraction(scatter_bound(contraction).value)
    assert bound <= exact
    assert exact - bound <= Fraction(1, 10**13) * exact + Fraction(1e-30) * Fraction(offset) ** 2


@given(st.lists(st.floats(0.0, 1e12), min_size=1, max_size=50))
def test_whole_prices_keep_the_ratios_from_below(prices):
    rounded = whole_prices(np.array(prices))
    assert (rounded >= 0).all()
    assert (rounded == np.rint(rounded)).all()
    if max(prices) > 0.0:
        unit = Fraction(max(prices)) / 2**40
        for price, whole in zip(prices, rounded.tolist(), strict=True):
            # One unit from rounding down, and the rounding of the ratio itself.
            assert abs(Fraction(price) - Fraction(whole) * unit) <= unit * Fraction(1001, 1000)
    many = whole_prices(np.ones(10_000))
    assert many.min() > 2**38
    assert float(many.sum()) == sum(map(int, many.tolist())) < 2**53


def test_an_odd_cycle_of_cannot_links_is_proven_to_need_three_clusters():
    assert is_proof_of_infeasibility(np.ones(5), least=-2.0, k=2)
    assert not is_proof_of_infeasibility(np.ones(5), least=-2.0, k=3)
    # As floats, both sums would be 2^54.
    large = np.array([2.0**54, 2.0, -1.0])
    assert is_proof_of_infeasibility(large, least=-(2.0**53), k=2)


def of_single_clusters(relaxation: Relaxation, dual: DualPoint) -> float:
    """The bound without a kernel, and the cuts that only hold for all clusters together."""
    kept = single_cluster_cuts(dual.cuts)
    bare = replace(relaxation)
    bare.__dict__["kernel"] = np.empty((relaxation.m, 0))
    dual = DualPoint(dual.N, dual.cuts.select(kept), dual.multipliers[kept])
    return safe_bound(bare, dual).value


SPREADS = st.sampled_from([0.0, 1e-6, 0.05, 1.0, 30.0])


@given(nodes(*RELAXED, n=(3, 8), k=(2, 4), where=relaxed), SPREADS, st.booleans())
@examples(80)
def test_no_cluster_has_a_negative_reduced_cost_at_the_relaxations_dual_values(
    node, spread, is_solved
):
    """So no clustering costs less than their value."""
    contraction, relaxation = node.contraction, node.relaxation
    dual = node.drawn_dual(node.rng(), spread)
    if is_solved:
        run = SdpBounding().start(contraction, None)
        for _ in range(3):
            run.advance(np.inf)
        dual = run.dual_point()
    found = master_dual(contraction, relaxation, dual)
    assert found.sigma >= 0
    assert not contraction.is_monotone or (found.prices >= 0).all()
    unit = relaxation.scale * (1.0 + np.abs(dual.N).sum()) + contraction.total
    rounding = 1e-9 * (unit + np.abs(dual.multipliers).sum() * relaxation.scale)
    assert node.values(found.prices).min(initial=np.inf) + found.sigma >= -rounding
    paid = contraction.soft.constant
    assert found.value(contraction.k) + paid <= node.optimum + contraction.k * rounding


@given(nodes(*PAIRS, n=(3, 8), k=(2, 4), where=relaxed), SPREADS)
def test_their_value_is_what_the_relaxation_proves(node, spread):
    relaxation, m = node.relaxation, node.relaxation.m
    drawn = node.drawn_dual(node.rng(), spread)
    # With enough of N on the diagonal no eigenvalue that counts is negative.
    dual = replace(drawn, N=drawn.N + 30.0 * spread * m**2 * np.eye(m))
    value = master_dual(node.contraction, relaxation, dual).value(relaxation.k)
    rounding = 1e-9 * relaxation.scale * (1.0 + spread) * m**3
    assert value >= of_single_clusters(relaxation, dual) - rounding


@pytest.mark.parametrize(("clusters", "n_links"), [(2, 0), (5, 0), (5, 25), (12, 25)])
def test_after_some_iterations_the_value_is_the_methods_bound(clusters, n_links):
    """All that may be missing is in cliques and pentagons, and in the kernel for two clusters."""
    rng = np.random.default_rng(clusters)
    points = rng.normal(size=(50, 3)) + 2.0 * rng.integers(0, clusters, size=(50, 1))
    links = rng.permutation(50)[: 2 * n_links].reshape(-1, 2)
    contraction = contracted(points, clusters, [], links)
    run = SdpBounding().start(contraction, None)
    for _ in range(5):
        bound = run.advance(np.inf).bound.value
    value = master_dual(contraction, run.relaxation, run.dual_point()).value(clusters)
    assert value >= bound - 0.01 * bound
    proven = of_single_clusters(run.relaxation, run.dual_point())
    assert value >= proven - 1e-9 * run.relaxation.total
