"""Dual values, whatever they are, prove what is true of all clusterings: bounds and fixed pairs."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.cuts.soft_pairs import multiplier_caps
from sdpbb.bounds.sdp.cuts.stars import triangle_cuts
from sdpbb.bounds.sdp.first_duals import clustering_affinity, clustering_dual
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import (
    DualFunction,
    DualPoint,
    nonnegative_part,
    pairs_apart,
    safe_bound,
)
from sdpbb.problem import Instance, Partition, contract
from tests.bounds.nodes import RELAXED, contracted, nodes, relaxed
from tests.enumeration import ExactSquares, Truth, clustering_matrix
from tests.examples import examples


def feasible(*parts, n=(3, 7), k=(2, 4)):
    return nodes(*(parts or RELAXED), n=n, k=k, where=relaxed)


def cutoffs(node, bound):
    """Costs of clusterings and a value near each: rounding would show at ties."""
    costs = node.truth.costs
    values = np.unique(np.concatenate([costs, costs * (1.0 + 1e-9)]))
    return [float(value) for value in values if value > bound.value][:8]


def assert_fixed(node, pairs, cutoff):
    """No clustering cheaper than cutoff puts one of the pairs together."""
    i, j = pairs.T
    assert (i < j).all()
    assert not node.relaxation.forbidden[i, j].any()
    cheaper = node.labels[node.truth.costs < cutoff * (1.0 - 1e-11)]
    assert (cheaper[:, i] != cheaper[:, j]).all()


@given(feasible(), st.sampled_from([0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0, 100.0]))
@examples(150)
def test_any_dual_values_prove_what_is_true(node, spread):
    """Also stated twice, and in a child, where at least as much is proven as in its parent if no
    dual value needs clipping."""
    rng, relaxation, truth = node.rng(), node.relaxation, node.truth
    dual = node.drawn_dual(rng, spread)
    bound = safe_bound(relaxation, dual)
    assert bound.value <= truth.optimum * (1.0 + 1e-12)
    twice = DualPoint(dual.N, dual.cuts + dual.cuts, np.tile(dual.multipliers, 2))
    assert safe_bound(relaxation, twice).value <= truth.optimum * (1.0 + 1e-12)
    for cutoff in cutoffs(node, bound):
        pairs = pairs_apart(relaxation, dual, bound, cutoff)
        assert_fixed(node, pairs, cutoff)
        assert plainly_apart(relaxation, dual, bound, cutoff) <= {*map(tuple, pairs.tolist())}
    i, j = sorted(rng.permutation(node.instance.n_points)[:2].tolist())
    plain = replace(dual, N=np.where(relaxation.forbidden, dual.N, np.abs(dual.N)))
    least = safe_bound(relaxation, plain).value
    for child, costs in node.children(i, j):
        for each in (dual, plain):
            inherited = safe_bound(Relaxation.of(child), in_child(each, node, child)).value
            assert inherited <= costs.min(initial=np.inf) * (1.0 + 1e-12)
        if node.instance.stated_limits or node.instance.has_soft_constraints:
            continue  # the child knows other limits, or caps multipliers
        of_child = Relaxation.of(child)
        rounding = 1e-11 * (of_child.total + np.abs(dual.N).sum() * of_child.scale)
        assert inherited >= least - rounding


def plainly_apart(relaxation, dual, bound, cutoff):
    """Pairs whose best cluster cannot pay, whichever of all other blocks join it."""
    N, e = nonnegative_part(relaxation, dual), relaxation.weights
    budget, m = (cutoff - bound.value) / relaxation.scale * e, range(len(e))
    pays = np.diag(N) + 2.0 * (N[:, None] + N) - budget  # by a third block with each pair
    pays[[*m], :, [*m]] = pays[:, [*m], [*m]] = 0.0
    both = np.diag(N)[:, None] + np.diag(N) + 2.0 * N - budget[:, None] - budget
    apart = both + np.minimum(pays, 0.0).sum(axis=2) > 1e-9 * (np.abs(N).sum() + budget.sum())
    return {*map(tuple, np.argwhere(np.triu(apart & ~relaxation.forbidden, 1)).tolist())}


def in_child(dual, node, child):
    """The dual values of a parent in the units and blocks of its child."""
    ratio = node.relaxation.scale / Relaxation.of(child).scale
    block_of = child.block_of[node.contraction.representatives]
    return dual.scaled(ratio).merged(block_of, child.n_blocks)


@given(feasible(), st.integers(0, 8))
def test_an_estimate_of_the_bound_is_never_below_it(node, n_columns):
    relaxation, rng = node.relaxation, node.rng()
    function = DualFunction.at(relaxation, node.drawn_dual(rng, 0.1))
    bound, m, k = function.bound().value, relaxation.m, relaxation.k
    rounding = 1e-12 * relaxation.scale * np.linalg.norm(function.restricted) * m
    columns = min(m, k - 1 + n_columns)
    assert function.estimate(rng.normal(size=(m, columns))) >= bound - rounding
    eigenvectors = np.linalg.eigh(function.restricted)[1][:, : k - 1]
    assert abs(function.estimate(eigenvectors) - bound) <= rounding


@given(feasible(k=(2, 3)))
def test_every_clustering_is_feasible_and_its_value_is_its_cost(node):
    """With the price of the terms of soft pairs that it violates, and the kernel."""
    r, contraction, terms = node.relaxation, node.contraction, node.soft_terms
    caps, roots, V = multiplier_caps(r, terms), np.sqrt(r.weights), r.kernel
    assert np.linalg.norm(r.K @ r.u) <= 1e-12 * np.linalg.norm(r.K)
    if node.instance.weights is None:
        assert np.linalg.norm(r.K) >= 0.1  # around 1; larger with outliers alone
    has_kernel = r.k == 2 and np.triu(r.forbidden).sum() > 1
    assert V.shape[1] > 0 if has_kernel else V.shape[1] == 0
    M, P = node.drawn_dual(node.rng(), 1.0).N, np.eye(r.m) - V @ V.T
    np.testing.assert_allclose(r.deflated(M, 3.0), P @ M @ P + 3.0 * V @ V.T, atol=1e-11)
    for row, cost in zip(node.labels[:20], node.truth.costs, strict=False):
        Z = clustering_matrix(row, r.weights)
        Y = roots[:, None] * Z * roots
        np.testing.assert_allclose(Y @ r.u, r.u, atol=1e-12)
        assert abs(np.trace(Y) - r.k) < 1e-12
        assert not Y[r.forbidden].any()
        np.testing.assert_allclose(r.to_affinity(Y), Z, rtol=1e-12, atol=1e-12 * Z.max())
        np.testing.assert_allclose(Y @ V, 0.0, atol=1e-14)
        price, soft = caps @ np.maximum(terms.rhs - terms.values(Z), 0.0) * r.scale, 0.0
        if contraction.soft is not None:
            soft = Partition(contraction.lift(row)).penalty(node.instance)
            heaviest = np.abs(contraction.soft.weights).max(initial=0.0)
            assert abs(contraction.soft.constant + price - soft) <= 1e-9 * (soft + heaviest)
        squares = r.scale * (r.K * Y).sum()
        constant = 0.0 if contraction.soft is None else contraction.soft.constant
        error = 1e-9 * (r.total + cost + soft)
        assert abs(r.total - squares + soft - constant - cost) <= error


def test_the_kernel_strengthens_the_bound():
    """Points in two clusters, and cannot-links between neighbours."""
    gains = []
    for n in range(4, 10):
        points = np.random.default_rng(n).normal(size=(n, 2))
        relaxation = Relaxation.of(contracted(points, 2, [], [(0, 1), (2, 3)]))
        dual = DualPoint(np.zeros((n, n)), CutSet.empty(), np.zeros(0))
        without = replace(relaxation, forbidden=np.zeros_like(relaxation.forbidden))
        gains.append(safe_bound(relaxation, dual).value - safe_bound(without, dual).value)
    assert min(gains) > -1e-12
    assert max(gains) > 0.1


def test_large_dual_values_that_cancel_do_not_lift_the_bound():
    """For k = 2 and cannot-linked j, h, the opposites of triangle cuts are valid."""
    instance = Instance(np.array([[0.0], [1.0], [2.0], [3.0], [4.2]]), 2, cannot_link=[(0, 4)])
    relaxation, rng = Relaxation.of(contract(instance)), np.random.default_rng(0)
    opposite = np.array([(i, 0, 4) for i in (1, 2, 3)], np.int32)
    pairs = np.array([(i, j, j) for i in (1, 2, 3) for j in range(5) if i != j], np.int32)
    inverse = ((0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0))
    cuts = triangle_cuts(opposite) + triangle_cuts(pairs)
    cuts = cuts + CutSet.of_rows("vectors", opposite, inverse)
    for _ in range(1000):
        T = 10.0 ** rng.uniform(13, 18)
        small = 10.0 ** rng.uniform(-2, 1) * rng.random(len(pairs))
        N = np.zeros((5, 5))
        N[0, 4] = N[4, 0] = -1.5 * T
        dual = DualPoint(N, cuts, np.concatenate([np.full(3, T), small, np.full(3, T)]))
        assert safe_bound(relaxation, dual).value <= Truth(instance).optimum


def test_rounding_in_large_blocks_never_lifts_the_bound_above_the_truth():
    """Against exact rational arithmetic: a must-link block of many points and three equal ones."""
    for n_pairs in (1, 50, 5000):
        points = np.array([0.36, -0.36] * n_pairs + [0.1] * 3)[:, None]
        n = len(points)
        instance = Instance(points, 2, must_link=[(i, i + 1) for i in range(n - 4)])
        labels = [np.arange(n) >= n - size for size in (1, 2, 3)]
        truth = min(map(ExactSquares(points).of, labels))
        run = SdpBounding().start(contract(instance), None)
        for _ in range(5):
            assert Fraction(run.advance(np.inf).bound.value) <= truth


@given(feasible("pairs", "weights", "units"))
def test_dual_values_of_any_clustering(node):
    row = np.unique(node.labels[node.seed % len(node.labels)], return_inverse=True)[1]
    dual = clustering_dual(node.contraction, node.relaxation, row)
    assert np.array_equal(dual.N, dual.N.T)
    assert (dual.N[~node.relaxation.forbidden] >= 0).all()
    assert safe_bound(node.relaxation, dual).value <= node.optimum * (1 + 1e-12)
    Z = clustering_affinity(node.contraction, row)
    expected = clustering_matrix(row, node.contraction.weights)
    np.testing.assert_allclose(Z, expected, rtol=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_of_far_clusters_is_their_cost(seed):
    """Clusters of different sizes that are far apart; the root that knows them takes no step."""
    rng = np.random.default_rng(seed)
    k = 2 + seed % 4
    labels = np.repeat(np.arange(k), rng.integers(4, 12, size=k))
    points = rng.normal(size=(len(labels), 1 + seed % 3)) + 100.0 * labels[:, None]
    first = np.unique(labels, return_index=True)[1].tolist()
    must_link = [(first[0], first[0] + 1), (first[1], first[1] + 2)]
    contraction = contract(Instance(points, k, must_link, [(first[0], first[1])]))
    of_blocks, relaxation = labels[contraction.representatives], Relaxation.of(contraction)
    dual, cost = clustering_dual(contraction, relaxation, of_blocks), contraction.cost(of_blocks)
    assert cost * (1 - 1e-6) <= safe_bound(relaxation, dual).value <= cost
    between = of_blocks[:, None] != of_blocks
    assert (dual.N[between & ~relaxation.forbidden] > 0).all()
    run = SdpBounding().start(contraction, None, of_blocks)
    progress = run.advance(cost * (1 - 1e-5))
    assert run.n_iterations == 0
    assert cost * (1 - 1e-5) <= progress.bound.value <= cost
    assert progress.bound.evidence is not None
