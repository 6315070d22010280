"""Contract of judges: what they prove is true of every clustering, in exact arithmetic.

Nodes have constraints of every kind, in any unit, and groups that are far from each other.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.evidence import checked_cuts
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, pairs_apart, safe_bound
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.templates import Templates, Vectors
from sdpbb.checker.kernel.dual import Semidefinite
from sdpbb.checker.kernel.evidence import Scatter
from sdpbb.checker.kernel.exact import ExactJudge
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.judge import Judge
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.partitions import Enumerated, cluster_costs
from sdpbb.checker.pricing import Lagrangian
from sdpbb.problem import Contraction, Instance, contract
from tests.checker.nodes import STATED, CheckedNode, nodes, random_duals, zero_evidence
from tests.checker.priced import Priced
from tests.enumeration import ExactSquares
from tests.examples import examples

seeds = st.integers(0, 10**6)
NEAR = tuple(part for part in STATED if part != "far groups")
needs_flint = pytest.mark.skipif(find_spec("flint") is None, reason="python-flint is missing")
judges = pytest.mark.parametrize("judge", [Judge, pytest.param(ExactJudge, marks=needs_flint)])


@judges
@given(node=nodes(), seed=seeds, spread=st.sampled_from([0.0, 1e-3, 0.05, 1.0, 1e6]))
@examples(100)
def test_no_dual_values_prove_more_than_the_optimum(judge, node, seed, spread):
    """Exact judges prove no less than others."""
    evidence = random_duals(np.random.default_rng(seed), node, spread)
    asked, other = judge(node.geometry), Judge(node.geometry)
    for each in (evidence, Scatter()):
        bound = asked.bound(each, node.blocks)
        assert Fraction(bound) <= node.optimum
        assert bound >= other.bound(each, node.blocks) * (1.0 - 1e-9)


def cutoffs(rng: np.random.Generator, node: CheckedNode) -> list[float]:
    """Among the costs: just above one, so that the clustering is to be kept, and any number."""
    costs = node.truth.exact_costs
    chosen = [node.optimum, *(costs[rng.integers(len(costs))] for _ in range(2))]
    values = [float(np.nextafter(float(cost), np.inf)) for cost in chosen]
    return [*values, values[0] * (1.0 + rng.random()), values[0] * 0.5, 0.0, np.inf]


@judges
@given(node=nodes(), seed=seeds, spread=st.sampled_from([1e-3, 0.05, 1.0]))
@examples(60)
def test_pairs_are_apart_in_all_cheaper_clusterings(judge, node, seed, spread):
    rng = np.random.default_rng(seed)
    evidence, asked, blocks = random_duals(rng, node, spread), judge(node.geometry), node.blocks
    off_diagonal = ~np.eye(blocks.m, dtype=bool)
    for below in cutoffs(rng, node):
        labels = node.labels_below(below)
        same = (labels[:, :, None] == labels[:, None, :]).any(axis=0) & off_diagonal
        far = asked.far(blocks, below)
        excluded = asked.excluded(evidence, blocks, below)
        for apart in (far, excluded):
            assert (apart == apart.T).all()
            assert not (apart & same).any()
        assert (excluded | ~blocks.adjacency).all()
        assert (far >= Judge(node.geometry).far(blocks, below)).all()


@judges
@given(node=nodes(), seed=seeds)
def test_costs_are_rounded_up_and_hardly(judge, node, seed):
    chosen = np.random.default_rng(seed).integers(len(node.truth.labels), size=20)
    weights = np.ones(1) if node.instance.weights is None else node.instance.weights
    rounding = 1e-30 * float(weights.sum()) * float(np.abs(node.instance.points).max()) ** 2
    for at in chosen.tolist():
        cost, exact = judge(node.geometry).cost_at_most(node.truth.labels[at]), None
        exact = node.truth.exact_costs[at]
        assert Fraction(cost) >= exact
        assert (cost == 0.0) == (exact == 0)
        assert cost <= float(exact) * (1.0 + 1e-12) + rounding


def clusters_of(node: CheckedNode) -> tuple[np.ndarray, np.ndarray]:
    """All sets of blocks (t, m) that the rules allow, and what they cost (t,), hardly rounded."""
    sets = Priced.of(node, np.zeros(node.blocks.m)).sets
    return sets, cluster_costs(node.contracted, sets, node.blocks.adjacency)


@given(nodes(), seeds, st.sampled_from([-1.0, -1e-3, -1e-9, 0.0, 1e-6, 1e-3]))
@examples(150)
def test_no_prices_prove_more_than_the_optimum(node, seed, off):
    """True least values are proven, and no cluster of a smaller value is overlooked."""
    rng, (sets, costs) = np.random.default_rng(seed), clusters_of(node)
    unit = float(costs.max()) / node.blocks.m
    prices = rng.integers(-2, 9, node.blocks.m) * unit * rng.choice([0.1, 0.5, 1.0])
    scale = float(np.abs(prices).sum() + costs.max())
    least = float((costs - sets @ prices).min()) + off * scale
    try:
        bound = Judge(node.geometry).bound(Lagrangian(prices, least), node.blocks)
    except Rejected:
        assert off > -1e-9 or least > 0.0 or scale < 1e-200
        return
    assert off <= 0.0 or scale == 0.0 or least > 0.0  # which counts as 0
    assert Fraction(bound) <= node.optimum


@given(nodes(*NEAR), seeds, st.sampled_from([0.1, 1.0 - 1e-6, 1.0 + 1e-6, 1.5]))
@examples(150)
def test_no_enumerated_clusters_prove_more_than_the_optimum(node, seed, factor):
    """Whatever the prices, penalties and the least value are, and the bound that is claimed."""
    rng, (sets, costs), m = np.random.default_rng(seed), clusters_of(node), node.blocks.m
    unit = float(costs.max()) / m
    prices, shares = (rng.integers(-2, 9, m) * unit for _ in range(2))
    least = float((costs - sets @ prices).min())
    least -= 1e-9 * float(np.abs(prices).sum() + costs.max())
    count = int(rng.integers(0, 4)) if m >= 3 else 0
    triples = np.array([rng.permutation(m)[:3] for _ in range(count)], np.int32).reshape(-1, 3)
    always = node.contracted.with_soft(0.0, node.blocks.adjacency)
    below = factor * float(node.optimum - Fraction(always))
    if not below > max(1e-200, 1e-9 * float(node.optimum)):  # but rounding
        return
    evidence = Enumerated(below, prices, least, shares, triples, rng.exponential(unit, count))
    judge = Judge(node.geometry)
    if factor > 1.0:
        with pytest.raises(Rejected, match="partition"):
            judge.bound(evidence, node.blocks)
        return
    try:
        bound = judge.bound(evidence, node.blocks)
    except Rejected:
        # What is true is proven, as all searches are small, unless prices are above all reason.
        assert np.abs(shares).sum() + evidence.penalties.sum() > 500.0 * below
        return
    assert bound >= below * (1.0 - 1e-6)
    assert Fraction(bound) <= node.optimum


@given(nodes(feasible=False, n=(3, 7), k=(2, 5)), seeds)
@examples(100)
def test_prices_refute_only_what_has_no_clustering(node, seed):
    rng, (sets, _) = np.random.default_rng(seed), clusters_of(node)
    prices = rng.integers(0, 4, node.blocks.m) * rng.choice([1.0, 0.1, 1e9])
    least = -float((sets @ prices).max(initial=0.0)) * rng.choice([0.9, 1.0, 1.0])
    try:
        refuted = Judge(node.geometry).proves_infeasible(Lagrangian(prices, least), node.blocks)
    except Rejected:
        return
    event(f"refuted: {refuted}")
    assert not refuted or not node.truth.is_feasible


def solved(contraction: Contraction, rounds: int) -> tuple[Relaxation, DualPoint]:
    """The dual values of the solver's method after some rounds of cuts; pentagons left out."""
    run = SdpBounding().start(contraction, None)
    for _ in range(rounds):
        run.advance(np.inf)
    dual = run.admm.dual_point()
    kept = dual.cuts.rhs > -1.0
    cuts = dual.cuts.select(kept)
    return Relaxation.of(contraction), DualPoint(dual.N, cuts, dual.multipliers[kept])


def as_evidence(relaxation: Relaxation, dual: DualPoint) -> tuple[Semidefinite, DualPoint]:
    """The same dual values as evidence, and once more with the signs that it has to have."""
    N = np.where(relaxation.forbidden, dual.N, np.maximum(dual.N, 0.0))
    N = 0.5 * (N + N.T)
    t = np.maximum(dual.multipliers, 0.0)
    unit = float(2.0 ** np.floor(np.log2(relaxation.scale)))
    factor = relaxation.scale / unit
    cuts, order = checked_cuts(dual.cuts.members, relaxation)
    evidence = Semidefinite(unit, N[np.triu_indices(len(N))] * factor, cuts, t[order] * factor)
    return evidence, DualPoint(N, dual.cuts, t)


def instance_of_groups(seed: int, n: int, k: int, n_must: int = 0) -> Instance:
    """Groups that overlap, far from the origin, with pairs that they keep."""
    rng = np.random.default_rng(seed)
    label = rng.integers(k, size=n)
    points = 3.0 * rng.normal(size=(k, 3))[label] + rng.normal(size=(n, 3)) + 100.0
    i, j = rng.integers(n, size=(4 * n, 2)).T
    same, other = label[i] == label[j], i != j
    together = np.column_stack([i, j])[same & other][:n_must]
    return Instance(points, k, together, np.column_stack([i, j])[~same][: n // 3])


def two_clusters(seed: int, n: int, pairs: int) -> Instance:
    """Disjoint cannot-linked pairs."""
    rng = np.random.default_rng(seed)
    links = rng.permutation(n)[: 2 * pairs].reshape(-1, 2)
    return Instance(rng.normal(size=(n, 2)), 2, cannot_link=links)


@judges
@pytest.mark.parametrize(
    "instance",
    [
        instance_of_groups(0, 60, 3),
        instance_of_groups(1, 60, 3, n_must=20),
        *(two_clusters(pairs, 60, pairs) for pairs in (0, 1, 25)),
    ],
)
def test_as_much_is_proven_as_by_the_solver(judge, instance):
    """Bounds, also of single precision, and excluded pairs; for two clusters with the kernel."""
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    relaxation, dual = solved(contraction, rounds=6)
    evidence, dual = as_evidence(relaxation, dual)
    expected = safe_bound(relaxation, dual)
    assert expected.value > 0.05 * contraction.total
    blocks = Blocks(instance.k, contraction.block_of, contraction.adjacency)
    asked = judge(Geometry.of(instance.points))
    assert abs(asked.bound(evidence, blocks) - expected.value) <= 1e-11 * contraction.total
    single = replace(evidence, N=evidence.N.astype(np.float32))
    assert abs(asked.bound(single, blocks) - expected.value) <= 1e-4 * contraction.total
    counts = []
    for gap in (1e-4, 1e-2, 1e-1):
        below = expected.value * (1.0 + gap)
        excluded = asked.excluded(evidence, blocks, below)
        i, j = pairs_apart(relaxation, dual, expected, below).T
        assert excluded[i, j].all()
        counts.append((excluded & ~contraction.adjacency).sum() // 2)
        assert counts[-1] == len(i)
    assert counts[0] >= counts[-1]


@pytest.mark.parametrize("seed", range(30))
def test_large_dual_values_that_cancel_do_not_lift_the_bound(seed):
    """For k = 2 and cannot-linked j, h, a triangle cut and a complement cut are opposites."""
    rng = np.random.default_rng(seed)
    points = np.array([[0.0], [1.0], [2.0], [3.0], [4.2]])
    optimum = ExactSquares(points).of(np.array([0, 0, 0, 1, 1]))
    assert float(optimum) == pytest.approx(2.72)  # {0, 1} and {2, 3, 4.2} cost 2.93
    stars = [[i, 0, 4] for i in (1, 2, 3)] + [[i, j] for i in (1, 2, 3) for j in range(5) if i != j]
    entries = ((0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0))
    three, two = np.array(stars[:3]), np.array(stars[3:])
    groups = (Vectors(three, (-1, 1, 1)), Vectors(two, (-1, 1)), Templates(three, 3, entries, 0.0))
    cuts = Cuts(groups)
    contracted, linked = Geometry.of(points).contracted(np.arange(5)), np.zeros((5, 5), bool)
    linked[0, 4] = linked[4, 0] = True
    blocks = Blocks(2, np.arange(5), linked)
    for _ in range(20):
        T = 10.0 ** rng.uniform(8, 18)
        small = 10.0 ** rng.uniform(-2, 1) * rng.random(12)
        N = np.zeros((5, 5))
        N[0, 4] = -1.5 * T
        t = np.concatenate([np.full(3, T), small, np.full(3, T)])
        evidence = Semidefinite(1.0, N[np.triu_indices(5)], cuts, t)
        assert Fraction(evidence.bound(contracted, blocks)) <= optimum


def test_far_pairs_of_a_known_cost():
    judge = Judge(Geometry.of(np.array([[0.0], [2.0]])))
    blocks = Blocks(1, np.arange(2), np.zeros((2, 2), bool))
    assert judge.far(blocks, 2.0 * (1 - 1e-13))[0, 1]
    assert not judge.far(blocks, 2.0 * (1 + 1e-15)).any()


def test_coordinates_whose_squares_underflow_exclude_nothing():
    """The unit of dual values is 0 then, in units of the data."""
    judge = Judge(Geometry.of(np.array([[0.0], [1e-170], [3e-170]])))
    linked = np.zeros((3, 3), bool)
    linked[0, 1] = linked[1, 0] = True
    found = judge.excluded(zero_evidence(3, 2.0**-800), Blocks(2, np.arange(3), linked), 1.0)
    assert np.array_equal(found, linked)


@needs_flint
def test_wide_balls_prove_less_and_nothing_false(monkeypatch):
    points = np.random.default_rng(1).normal(size=(7, 2))
    geometry, blocks = Geometry.of(points), Blocks(1, np.arange(7), np.zeros((7, 7), bool))
    bounds = []
    for bits in (54, 256):
        monkeypatch.setattr("sdpbb.checker.kernel.exact._BITS", bits)
        bounds.append(ExactJudge(geometry).bound(zero_evidence(7), blocks))
    assert 0.0 < bounds[0] < bounds[1]
    assert bounds[1] == pytest.approx(float(np.square(points - points.mean(axis=0)).sum()))


@needs_flint
def test_prices_are_not_for_exact_judges():
    """Proofs that the vectors hold have bounds by prices, which are refused, too."""
    blocks, prices = Blocks(2, np.arange(3), np.zeros((3, 3), bool)), Lagrangian(np.zeros(3), 0.0)
    with pytest.raises(Rejected, match="exact mode has not"):
        ExactJudge(Geometry.of(np.arange(3.0)[:, None])).proves_infeasible(prices, blocks)
