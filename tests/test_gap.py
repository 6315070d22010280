"""Gaps of labels: true of every clustering, in words that stay true, and on a page."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sdpbb.errors import InstanceError, InstanceNote
from sdpbb.problem import Instance, Partition
from sdpbb.problem.partition import Violation
from sdpbb.questions.gap import (
    GapReport,
    LabelVerdict,
    gap_document,
    optimality_gap,
)
from sdpbb.questions.report import SHOWN
from sdpbb.run.solver import solve
from sdpbb.runtime.values import percent_up, rounded_down
from sdpbb.search.events import Compiling, Finished, Progress, Started, ignore
from sdpbb.search.result import Result, SolutionStatus, Termination
from sdpbb.search.trace import Trace
from tests.pages import checked, n_drawings
from tests.test_result import INFEASIBLE, OPTIMAL, UNKNOWN


def test_the_run_begins_with_the_labels():
    instance = Instance(np.random.default_rng(1).normal(size=(30, 2)), 3)
    best = solve(instance).partition.labels
    events = []
    report = optimality_gap(instance, best, observer=events.append)
    events = [event for event in events if event != Compiling()]
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Finished)
    progress = [event for event in events if isinstance(event, Progress)]
    # Nothing else has to be found.
    assert [event.source for event in progress if event.source] == ["start"]
    assert progress[0].source == "start"
    assert progress[0].upper == report.objective
    assert report.proven_optimal
    assert (report.gap, report.saving) == (report.result.gap, 0.0)


def test_a_series_of_labels_goes_by_its_index():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [0.0, 5.0, 0.1, 5.1]}, index=["ann", "bob", "cyn", "dan"])
    labels = pandas.Series({"dan": "r", "cyn": "l", "ann": "l", "bob": "r"})
    for points in (frame, Instance(frame, 2)):
        assert optimality_gap(points, labels).partition.labels.tolist() == [0, 1, 0, 1]
        with pytest.raises(InstanceError, match=r"^labels: none for 1 \('bob'\) of 4 rows; "):
            optimality_gap(points, labels.drop("bob"))


def test_labels_of_rows_that_are_left_out():
    points = np.array([[0.0], [math.nan], [5.0], [0.1], [5.1]])
    with pytest.warns(InstanceNote, match="1 row of 5 dropped"):
        report = optimality_gap(points, ["a", "only", "b", "a", "b"], missing="drop-rows")
    assert report.k == 2
    assert report.proven_optimal
    with pytest.warns(InstanceNote):
        same = optimality_gap(points, ["a", "b", "a", "b"], missing="drop-rows")
    assert same.partition == report.partition
    with pytest.raises(InstanceError, match=r"^labels: 3 of them"), pytest.warns(InstanceNote):
        optimality_gap(points, ["a", "b", "a"], missing="drop-rows")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_labels_are_no_feature(library):
    frame = pytest.importorskip(library).DataFrame({"x": [0.0, 0.1, 5.0], "group": [1, 1, 2]})
    with pytest.raises(InstanceError, match=r"^points: the labels are their column 'group'; "):
        optimality_gap(frame, frame["group"])
    assert optimality_gap(frame[["x"]], frame["group"]).proven_optimal
    assert optimality_gap(frame, frame["group"], drop=["group"]).proven_optimal
    assert optimality_gap(frame[["x"]], (label for label in "aab")).proven_optimal
    with pytest.raises(InstanceError, match=r"^labels: of type int; expected one"):
        optimality_gap(frame, 5)


def a_report(fields: dict, cost: float, gap: float | None, saving: float | None, **changes):
    partition = Partition(np.array([0, 1, 1]))
    values = {"k": 2, "violations": (), "result": Result(**fields)} | changes
    return GapReport(partition=partition, objective=cost, gap=gap, saving=saving, **values)


FEASIBLE = OPTIMAL | {
    "status": SolutionStatus.FEASIBLE,
    "termination": Termination.NODE_LIMIT,
    "lower_bound": 1.0,
    "gap": 0.5,
}
EMPTY = FEASIBLE | {"lower_bound": 0.0, "gap": 1.0}
VIOLATED = tuple(
    Violation("cannot-link", i, (i, i + 1), (str(i), str(i + 1))) for i in range(SHOWN + 2)
)
CLOSED = a_report(OPTIMAL, 2.0, 4.99e-5, 0.0)
TIGHT = OPTIMAL | {"objective": 5980.5949, "lower_bound": 5980.1}
TIGHTER = OPTIMAL | {"objective": 78.85144142, "lower_bound": 78.8514}
WIDE = OPTIMAL | {"objective": 96.9, "lower_bound": 95.8, "gap": 0.012, "parameters": {"gap": 0.05}}
REPORTS = [
    (
        *(LabelVerdict.OPTIMAL, CLOSED),
        "Your labels cost 2. They are proven optimal within 0.01%: none is more than 0.0050% "
        "better.",
    ),
    (
        *(LabelVerdict.OPTIMAL, a_report(WIDE, 100.0, 0.042, 0.031)),
        "Your labels cost 100. They are proven optimal within 5%: none is more than 4.2001% "
        "better.",
    ),
    (
        *(LabelVerdict.OPTIMAL, a_report(OPTIMAL | {"gap": 0.0}, 2.0, 0.0, 0.0)),
        "Your labels cost 2. They are proven optimal: no clustering is better.",
    ),
    (
        LabelVerdict.NOT_OPTIMAL,
        a_report(TIGHT, 6672.2, (6672.2 - 5980.1) / 6672.2, (6672.2 - 5980.5949) / 6672.2),
        "Your labels cost 6672.2. A clustering that costs 5980.5949 exists (10.3654% less); none "
        "is more than 10.3729% better.",
    ),
    (
        *(LabelVerdict.NOT_OPTIMAL, a_report(TIGHTER, 78.85145, 1.2e-3, 1.088e-7)),
        "Your labels cost 78.85145. A clustering that costs 78.85144142 exists (1.0e-05% less); "
        "none is more than 0.1200% better.",
    ),
    (
        *(LabelVerdict.UNDECIDED, a_report(FEASIBLE, 2.0, 0.5, 0.0)),
        "Your labels cost 2. No better clustering was found; none is more than 50.0000% better. "
        "The run was stopped by the node limit.",
    ),
    (
        *(LabelVerdict.UNDECIDED, a_report(EMPTY, 2.0, 1.0, 0.0)),
        "Your labels cost 2. No better clustering was found; no lower bound above 0 is proven. The "
        "run was stopped by the node limit.",
    ),
    (
        LabelVerdict.NOT_COMPARABLE,
        a_report(UNKNOWN, 1.5, None, None, k=4, violations=VIOLATED),
        "Your labels have 2 clusters instead of k = 4 and violate 22 constraints, so they have no "
        "gap. They cost 1.5. The run was stopped by the time limit.",
    ),
    (
        LabelVerdict.INFEASIBLE,
        a_report(INFEASIBLE, 1.5, None, None, violations=VIOLATED[:1]),
        "Proven: no clustering satisfies the constraints: more than k blocks that are all "
        "cannot-linked to each other (points 0, 1, 2).",
    ),
]


@pytest.mark.parametrize(("verdict", "report", "sentence"), REPORTS)
def test_a_report_says_what_is_true_after_rounding(verdict, report, sentence):
    assert report.verdict is verdict
    assert report.proven_optimal == (verdict is LabelVerdict.OPTIMAL)
    lines = str(report).splitlines()
    assert lines[0] == f"Verdict         {sentence}"
    assert f"Sum of squares  {report.objective:.12g}" in lines
    assert ("Violated        and 2 more" in lines) == (len(report.violations) == len(VIOLATED))
    shown = sum(line.startswith("Violated ") for line in lines)
    assert shown == min(len(report.violations), SHOWN + 1)
    row = report.to_row()
    assert row["verdict"] == verdict.value
    assert row["n_violations"] == len(report.violations)
    assert row["best_status"] == report.result.status.value
    assert not any(isinstance(value, (list, dict)) for value in row.values())


def test_a_gap_within_the_precision_of_numbers_is_none():
    exact = replace(CLOSED, result=Result(**OPTIMAL | {"gap": 0.0, "parameters": {"gap": 0.0}}))
    assert not exact.proven_optimal
    assert replace(exact, gap=1e-13).proven_optimal


POINTS = np.array([[0.0, 0.0], [5.0, 0.0], [5.0, 1.0], [5.0, 2.0]])


def paged(instance: Instance, labels, **observed):
    """The report, the text of its page, and the page."""
    pytest.importorskip("matplotlib")
    from sdpbb.plots.pages import page

    report = optimality_gap(instance, labels, observer=observed.get("trace", ignore))
    html = page(gap_document(instance, report, **observed), command="sdpbb gap a b")
    return report, checked(html).text, html


def test_the_best_labels():
    report, text, html = paged(Instance(POINTS, 2), ["x", "y", "y", "y"])
    assert report.proven_optimal
    assert "Proven optimal Your labels cost 2. They are proven optimal" in text
    assert "The best clustering found" not in text
    assert n_drawings(html) == 1


def test_worse_labels_beside_the_best_clustering():
    report, text, _ = paged(Instance(POINTS, 2), [3, 3, 7, 7], trace=Trace())
    assert (
        "Not optimal Your labels cost 13. A clustering that costs 2 exists (84.6153% less)" in text
    )
    assert f"Gap {percent_up(report.gap)}" in text
    assert f"Lower bound {rounded_down(report.lower_bound, 12)}" in text
    assert "The best clustering found The adjusted Rand index with the labels is 0.000" in text
    assert "sdpbb gap a b" in text
    assert "Bounds over time" in text
