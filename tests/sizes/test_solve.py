"""Optima of instances with limits on sizes, against enumeration."""

import numpy as np

import sdpbb
from sdpbb.problem import Instance, Partition
from sdpbb.search.result import SolutionStatus


def test_infeasible_limits_are_named():
    points = np.arange(6.0)[:, None]
    instance = Instance(points, 3, must_link=[(0, 1), (1, 2)], sizes=[2, 2, 2])
    result = sdpbb.solve(instance)
    assert result.status is SolutionStatus.INFEASIBLE
    assert {member.text for member in result.conflict.members} == {
        "SIZES 2 2 2",
        "ML 0 1",
        "ML 1 2",
    }


def test_blocks_that_no_bins_hold_are_infeasible():
    points = np.arange(8.0)[:, None]
    pairs = [(0, 1), (1, 2), (3, 4), (4, 5), (6, 7)]
    instance = Instance(points, 2, must_link=pairs, sizes=[4, 4])
    result = sdpbb.solve(instance)
    assert result.status is SolutionStatus.INFEASIBLE
    texts = [member.text for member in result.conflict.members]
    assert "SIZES 4 4" in texts


def test_gap_names_limits_that_labels_do_not_keep():
    points = np.arange(4.0)[:, None]
    report = sdpbb.optimality_gap(points, [0, 0, 0, 1], k=2, sizes=[2, 2])
    assert [violation.kind for violation in report.violations] == ["sizes"]
    assert Partition(report.result.partition.labels).labels.tolist() == [0, 0, 1, 1]
