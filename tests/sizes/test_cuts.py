"""Cuts where sizes are limited: valid for all clusterings, the same in the checker."""

import numpy as np
import pytest

import sdpbb
from sdpbb.bounds.sdp.cuts.sizes import SizeCuts
from sdpbb.bounds.sdp.evidence import checked_cuts
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.checker.rejection import Rejected
from sdpbb.checker.sizes import CheckedSizes
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.result import SolutionStatus
from tests.enumeration import clustering_matrix, feasible_clusterings
from tests.sizes.instances import sized_instance


def limits_of(contraction: Contraction) -> CheckedSizes:
    own = contraction.size_limits
    return CheckedSizes(own.n, own.k, own.least, own.most, own.listed)


def sized_contraction(seed: int) -> tuple[Instance, Contraction] | None:
    instance = sized_instance(seed)
    contraction = contract(instance)
    if not isinstance(contraction, Contraction) or contraction.size_limits is None:
        return None
    return instance, contraction


@pytest.mark.parametrize("first", range(0, 400, 40))
def test_cuts_hold_for_all_clusterings(first):
    rng, count = np.random.default_rng(first), 0
    for seed in range(first, first + 40):
        found = sized_contraction(seed)
        if found is None:
            continue
        instance, contraction = found
        relaxation, m = Relaxation.of(contraction), contraction.n_blocks
        Z = np.diag(rng.random(m) ** 3)
        cuts = SizeCuts().separate(Z, relaxation)
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
        sums = theirs.sums(t[order], relaxation.weights, relaxation.forbidden)[0]
        values = np.zeros((m, m))
        np.add.at(values, (cuts.row, cuts.column), t[cuts.owner] * cuts.coefficient)
        assert sums == pytest.approx(values)
        side = theirs.right_hand_side(t[order], relaxation.weights, relaxation.k, limits)
        assert side == pytest.approx(cuts.rhs @ t, rel=1e-12)
        assert side <= cuts.rhs @ t + 1e-12 * np.abs(cuts.rhs) @ t
        if len(cuts):
            with pytest.raises(Rejected, match="sizes"):
                theirs.check(relaxation.k, relaxation.weights, relaxation.forbidden)
    assert count > 0


def test_cuts_of_listed_sizes_hold_after_blocks_are_merged():
    points = np.arange(7.0)[:, None]
    limits = {"sizes": [1, 2, 4]}
    before = contract(Instance(points, 3, **limits))
    cuts = SizeCuts().separate(np.diag(np.full(7, 0.3)), Relaxation.of(before))
    assert len(cuts) > 0
    merged = Instance(points, 3, must_link=[(0, 3), (5, 6)], **limits)
    after = contract(merged)
    children = cuts.merged(after.block_of)
    for labels in feasible_clusterings(merged):
        Z = clustering_matrix(labels[after.representatives], after.weights)
        assert (children.values(Z) >= children.rhs - 1e-12).all()
    theirs = checked_cuts(children.members, 3)
    theirs.check(3, after.weights, after.adjacency, limits_of(after))


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
