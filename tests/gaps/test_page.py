"""The page on labels."""

import numpy as np
import pytest

from sdpbb.plots.pages.page import page
from sdpbb.problem import Instance, MaximumSize
from sdpbb.questions.gaps.gap import optimality_gap
from sdpbb.questions.gaps.page import MOST_CLUSTERS, MOST_VIOLATIONS, gap_document
from sdpbb.runtime.values import percent_up, rounded_down
from sdpbb.search.trace import Trace
from tests.pages import checked, n_drawings

pytest.importorskip("matplotlib")

POINTS = np.array([[0.0, 0.0], [5.0, 0.0], [5.0, 1.0], [5.0, 2.0]])


def paged(instance: Instance, labels, **options):
    report = optimality_gap(instance, labels, **options)
    html = page(gap_document(instance, report))
    return report, checked(html).text, html


def test_the_best_labels():
    report, text, html = paged(Instance(POINTS, 2), ["x", "y", "y", "y"])
    assert report.proven_optimal
    assert "Proven optimal Your labels cost 2. They are proven optimal" in text
    assert "It is the labels themselves." in text
    assert "Constraints that the labels violate" not in text
    assert n_drawings(html) == 1


def test_worse_labels_beside_the_best_clustering():
    trace = Trace()
    report = optimality_gap(Instance(POINTS, 2), [3, 3, 7, 7], observer=trace)
    text = checked(
        page(gap_document(Instance(POINTS, 2), report, trace), command="sdpbb gap a b")
    ).text
    assert (
        "Not optimal Your labels cost 13. A clustering that costs 2 exists (84.6153% less)" in text
    )
    assert f"Gap {percent_up(report.gap)}" in text
    assert f"Lower bound {rounded_down(report.lower_bound, 12)}" in text
    # Of the labels' first cluster one point is in each of the best two.
    assert "Best 0 Best 1 Cluster 0 1 1 Cluster 1 2" in text
    assert "sdpbb gap a b" in text
    assert "Bounds over time" in text


def test_labels_that_violate_constraints():
    instance = Instance(
        POINTS, 2, cannot_link=[(0, 1)], cluster_constraints=[MaximumSize(3)], min_size=1
    )
    report, text, _ = paged(instance, [0, 0, 0, 0])
    assert report.gap is None
    assert "Not comparable Your labels have 1 cluster instead of k = 2" in text
    assert "so they have no gap" in text
    assert "cannot-link 0, 1" in text
    assert f"{MaximumSize(3)!r} a cluster of 4 points: 0, 1, 2, 3" in text


def test_limits_are_told_with_their_line(tmp_path):
    file = tmp_path / "c.txt"
    file.write_text("MAXWEIGHT 3\n")
    ones = np.ones(len(POINTS))
    _, text, _ = paged(Instance.from_points(POINTS, 2, file, weights=ones), [0, 1, 1, 1])
    assert "max_weight" not in text
    file.write_text("ML 0 1\nMAXWEIGHT 2.5\n")
    _, text, _ = paged(Instance.from_points(POINTS, 2, file, weights=ones), [0, 1, 1, 1])
    listed = "a cluster of 3 points that weighs 3: 1, 2, 3"
    assert f"max_weight = 2.5 {listed} {file}:2" in text


def test_constraints_that_cannot_hold_together():
    instance = Instance(POINTS, 2, must_link=[(0, 1)], cannot_link=[(1, 0)])
    _, text, _ = paged(instance, [0, 0, 1, 1])
    assert "No clustering satisfies the constraints Proven: no clustering" in text
    assert "Why there is no clustering" in text


def test_long_lists_are_cut_and_say_so():
    n = 40
    pairs = [(i, j) for i in range(n) for j in range(i)][: MOST_VIOLATIONS + 5]
    points = np.arange(n, dtype=float)[:, None]
    _, text, _ = paged(Instance(points, 1, cannot_link=pairs), [0] * n)
    assert "5 more are left out. The file of --json has all." in text
    _, text, _ = paged(Instance(points, n - 2), [*range(n - 2), 0, 1])
    assert f"Clusters from {MOST_CLUSTERS} on are left out." in text
