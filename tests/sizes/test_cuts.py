"""Cuts where sizes are limited: valid for all clusterings, the same in the checker."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.bounds.sdp.cuts.listed_cliques import ListedCliqueCuts
from sdpbb.bounds.sdp.cuts.size_pairs import SizePairCuts
from sdpbb.bounds.sdp.cuts.sizes import SizeCuts
from sdpbb.bounds.sdp.evidence import checked_cuts
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.checker.cuts.listed_cliques import SmallestCliques
from sdpbb.checker.cuts.size_pairs import difference_down
from sdpbb.checker.rejection import Rejected
from sdpbb.checker.sizes import SizeLimits
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.search.result import SolutionStatus
from tests.enumeration import clustering_matrix, feasible_clusterings
from tests.sizes.instances import sized_instance


def limits_of(contraction: Contraction) -> SizeLimits:
    own = contraction.size_limits
    return SizeLimits(own.n, own.k, own.least, own.most, own.listed)


def sized_contraction(seed: int) -> tuple[Instance, Contraction] | None:
    instance = sized_instance(seed)
    contraction = contract(instance)
    if not isinstance(contraction, Contraction) or contraction.size_limits is None:
        return None
    return instance, contraction


@pytest.mark.parametrize("family", [SizeCuts(), SizePairCuts(), ListedCliqueCuts()])
@pytest.mark.parametrize("first", range(0, 400, 40))
def test_cuts_hold_for_all_clusterings(first, family):
    rng, count = np.random.default_rng(first), 0
    for seed in range(first, first + 40):
        found = sized_contraction(seed)
        if found is None:
            continue
        instance, contraction = found
        relaxation, m = Relaxation.of(contraction), contraction.n_blocks
        Z = np.diag(rng.random(m) ** 3) + 0.1 * rng.random((m, m)) * (rng.random((m, m)) < 0.3)
        Z = np.where(relaxation.forbidden, 0.0, np.maximum(Z, Z.T))
        cuts = family.separate(Z, relaxation)
        count += len(cuts)
        assert (cuts.values(Z) < cuts.rhs).all()
        for labels in feasible_clusterings(instance):
            of_blocks = labels[contraction.representatives]
            assert (
                cuts.values(clustering_matrix(of_blocks, contraction.weights)) >= cuts.rhs - 1e-12
            ).all()
        theirs = checked_cuts(cuts.members, relaxation.k)
        limits = limits_of(contraction)
        theirs.check(relaxation.k, relaxation.weights, relaxation.forbidden, limits)
        t = rng.random(len(cuts))
        order = np.argsort(cuts.members.kind, kind="stable")
        sums = theirs.sums(t[order], relaxation.weights, relaxation.forbidden, limits)[0]
        values = np.zeros((m, m))
        np.add.at(values, (cuts.row, cuts.column), t[cuts.owner] * cuts.coefficient)
        values = 0.5 * (values + values.T)
        assert sums == pytest.approx(values)
        side = theirs.right_hand_side(t[order], relaxation.weights, relaxation.k, limits)
        assert side == pytest.approx(cuts.rhs @ t, rel=1e-12)
        assert side <= cuts.rhs @ t + 1e-12 * np.abs(cuts.rhs) @ t
        if len(cuts):
            with pytest.raises(Rejected, match="sizes"):
                theirs.check(relaxation.k, relaxation.weights, relaxation.forbidden)
    assert count > 0


@pytest.mark.parametrize("family", [SizeCuts(), SizePairCuts(), ListedCliqueCuts()])
@pytest.mark.parametrize("sizes", [[1, 2, 4], [2, 2, 3], [1, 3, 3]])
def test_cuts_of_listed_sizes_hold_after_blocks_are_merged(family, sizes):
    points = np.arange(7.0)[:, None]
    before = contract(Instance(points, 3, sizes=sizes))
    Z = np.diag([0.2, 0.9, 0.3, 0.3, 0.1, 0.3, 0.6]) + 0.05
    cuts = family.separate(Z, Relaxation.of(before))
    assert len(cuts) > 0
    merged = Instance(points, 3, must_link=[(0, 3), (5, 6)], sizes=sizes)
    after = contract(merged)
    children = cuts.merged(after.block_of)
    count = 0
    for labels in feasible_clusterings(merged):
        Z = clustering_matrix(labels[after.representatives], after.weights)
        assert (children.values(Z) >= children.rhs - 1e-12).all()
        count += 1
    assert count > 0
    theirs, limits = checked_cuts(children.members, 3), limits_of(after)
    theirs.check(3, after.weights, after.adjacency, limits)
    t = np.arange(1.0, 1.0 + len(children))
    values = np.zeros((after.n_blocks, after.n_blocks))
    np.add.at(values, (children.row, children.column), t[children.owner] * children.coefficient)
    order = np.argsort(children.members.kind, kind="stable")
    sums = theirs.sums(t[order], after.weights, after.adjacency, limits)[0]
    assert sums == pytest.approx(0.5 * (values + values.T))


@pytest.mark.parametrize(
    ("blocks", "listed", "message"),
    [
        ([[0, 1]], (2, 2, 2), "none that differ"),
        ([[0, 1, 2]], (1, 2, 3), "3 blocks, not 2"),
        ([[0, 1]], (1, 1, 4), "2 blocks, not 3"),
    ],
)
def test_cliques_of_listed_sizes_have_one_block_more_than_clusters(blocks, listed, message):
    blocks = np.array(blocks, np.int32)
    start = np.array([0, blocks.size], np.int64)
    limits = SizeLimits(6, 3, listed[0], listed[-1], listed)
    with pytest.raises(Rejected, match=message):
        SmallestCliques(start, blocks.ravel()).check(3, np.ones(6), np.zeros((6, 6), bool), limits)


def test_a_cut_is_rejected_where_sizes_are_more_than_it_says():
    """That limits matter: the cuts of narrow ones do not hold for wider ones."""
    points = np.arange(6.0)[:, None]
    narrow = contract(Instance(points, 3, sizes=[1, 2, 3]))
    wide = Instance(points, 3)
    for family in (SizePairCuts(), ListedCliqueCuts()):
        cuts = family.separate(
            np.diag([0.2, 0.9, 0.3, 0.3, 0.2, 0.6]) + 0.02, Relaxation.of(narrow)
        )
        broken = [
            (cuts.values(clustering_matrix(labels, np.ones(6))) < cuts.rhs - 1e-12).any()
            for labels in feasible_clusterings(wide)
        ]
        assert any(broken)


@pytest.mark.parametrize(
    ("limits", "objective"),
    [
        ({"sizes": [50, 50, 50]}, 81.2778),
        ({"min_size": 50}, 81.2778),
        ({"sizes": [45, 50, 55]}, None),
        ({"min_size": 45, "max_size": 58}, None),
    ],
)
def test_iris_is_proven_at_the_root(limits, objective):
    points = Instance.from_files("instances/iris.txt").points
    result = sdpbb.solve(Instance(points, 3, **limits))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.statistics.n_nodes == 1
    assert objective is None or result.objective == pytest.approx(objective, abs=1e-4)
    assert Instance(points, 3, **limits).size_limits.keeps(np.bincount(result.partition.labels))


@given(st.floats(0.0, 1e30), st.floats(0.0, 1e30))
def test_differences_of_limits_are_rounded_down(first, second):
    """Also of whole numbers that are too large for exact differences."""
    most, least = max(first, second), min(first, second)
    assert Fraction(difference_down(most, least)) <= Fraction(most) - Fraction(least)
