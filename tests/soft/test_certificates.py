"""Soft pairs in the checker and in certificates."""

from dataclasses import replace

import numpy as np
import pytest

import sdpbb
from sdpbb.checker.command import main
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.inequalities import NodeFacts
from sdpbb.checker.kernel.cuts.lifted import SoftTerms
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.soft import CheckedSoftPairs, PricedPairs, SoftPrices
from sdpbb.checker.reading import read_constraints
from sdpbb.problem import Instance, Partition
from tests.checker.drawn_cuts import joined

POINTS = np.array([[0.0], [0.1], [10.0], [10.1]])
SOFT = Instance(
    POINTS, 2, soft_must_link=[(0, 2, 1.0), (0, 1, 2.0)], soft_cannot_link=[(2, 3, 0.5)]
)


def test_terms_in_two_groups_do_not_pay_twice():
    """Each group knows of its own terms alone: they would share the price of a pair twice."""
    prices = SoftPrices(np.ones((3, 3)) - np.eye(3), np.zeros((3, 3)))
    node = NodeFacts(2, np.ones(3), np.zeros((3, 3), bool), None, prices)
    one = Cuts((SoftTerms(1, "cannot"),), np.array([0, 1, 2], np.int32))
    two = Cuts((SoftTerms(2, "cannot"),), np.array([0, 1, 2] * 2, np.int32))
    matrices = [cuts.sums(np.full(len(cuts), 9.0), node).matrix for cuts in (one, two)]
    assert matrices[0] == pytest.approx(matrices[1])
    with pytest.raises(Rejected, match="two groups of soft pairs"):
        joined(one, one).sums(np.full(2, 9.0), node)


LINES = "SML 0 2\nSML 1 0 2  # twice\nSCL 3 2 0.5\nSCL 0 1 0\nML 0 1\nSCL 1 2 inf\n"


def test_the_checker_reads_the_same_soft_pairs(tmp_path):
    path = tmp_path / "soft.txt"
    path.write_text(LINES)
    (tmp_path / "points.txt").write_text("4 1\n0.0\n0.1\n10.0\n10.1\n")
    stated = read_constraints(str(path), POINTS)
    instance = Instance.from_files(tmp_path / "points.txt", k=2, constraints=path)
    for read, expected in (
        (stated.soft.must_link, instance.soft_must_link),
        (stated.soft.cannot_link, instance.soft_cannot_link),
    ):
        assert read.pairs.tolist() == expected.pairs.tolist()
        assert read.weights.tolist() == expected.weights.tolist()
    assert stated.cannot_link.tolist() == [[1, 2]]
    proof = tmp_path / "soft.cert"
    sdpbb.solve(instance, certificate=str(proof))
    arguments = [str(proof), str(tmp_path / "points.txt"), "--constraints", str(path)]
    assert main(arguments) == 0
    path.write_text(LINES.replace("0.5", "0.4"))
    assert main(arguments) == 1
    path.write_text("SML 0 2 -1\n")
    assert main(arguments) == 2


def test_gaps_and_checks_leave_certificates(tmp_path):
    path = tmp_path / "gap.cert"
    labels = np.array([0, 0, 1, 1])
    report = sdpbb.optimality_gap(SOFT, labels, certificate=path)
    verdict = sdpbb.verify_certificate(path, SOFT)
    assert verdict.cost == pytest.approx(Partition(labels).cost(SOFT))
    assert verdict.lower_bound == pytest.approx(report.lower_bound, rel=1e-9)
    impossible = replace(SOFT, must_link=[(0, 1)], cannot_link=[(0, 1)])
    sdpbb.check_constraints(impossible, certificate=tmp_path / "check.cert")
    assert sdpbb.verify_certificate(tmp_path / "check.cert", impossible).status == "infeasible"


def test_equal_points_that_soft_pairs_name_are_not_joined():
    blocks = Blocks.of(4, 2, np.empty((0, 2), np.int64), np.empty((0, 2), np.int64))
    points, pair = np.zeros((4, 1)), np.array([[0, 1]])
    assert blocks.with_equal_linked(points, pair, []).m == 3
    for named in ([1], [2, 3]):  # of the pair; of the blocks that may take its place
        with pytest.raises(Rejected, match="equal"):
            blocks.with_equal_linked(points, pair, named)


@pytest.mark.parametrize(
    ("pairs", "weights"),
    [([[0, 4]], [1.0]), ([[0, 0]], [1.0]), ([[0, 1]], [-1.0]), ([[0, 1]], [np.inf])],
)
def test_what_are_no_soft_pairs(pairs, weights):
    with pytest.raises(ValueError, match="soft: expected"):
        PricedPairs.of(pairs, weights, 4, "soft")


def test_weights_that_cannot_be_added_up():
    heavy = CheckedSoftPairs(PricedPairs.of([[0, 1]], [1e300], 4, "soft"))
    with pytest.raises(Rejected, match="above 1e"):
        Geometry.of(POINTS, None, heavy)
