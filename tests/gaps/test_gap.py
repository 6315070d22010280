import math
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import InstanceError, InstanceNote
from sdpbb.problem import Instance, MaximumSize, Partition
from sdpbb.problem.partition import Violation
from sdpbb.questions.gaps.gap import optimality_gap
from sdpbb.questions.gaps.report import GapReport, LabelVerdict
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.search.events import Compiling, Finished, Progress, Started
from sdpbb.search.result import Result, SolutionStatus, Termination
from tests.enumeration import (
    clusterings,
    feasible_clusterings,
    optimum,
    random_instance,
    sums_of_squares,
)
from tests.examples import examples
from tests.test_result import INFEASIBLE, OPTIMAL, UNKNOWN

# Nodes are given up at once, and there is one: what is proven is weak, and must hold all the same.
HASTY = SolverParameters(sdp=SdpParameters(max_iterations=20), node_limit=1, gap=1e-9)


def any_labels(instance: Instance, rng: np.random.Generator) -> np.ndarray:
    """Labels with any number of clusters; every other time some that keep the constraints."""
    candidates = feasible_clusterings(instance)
    if not len(candidates) or rng.random() < 0.5:
        candidates = clusterings(instance.n_points, int(rng.integers(1, instance.n_points + 1)))
    labels = candidates[rng.integers(len(candidates))]
    return rng.permutation(100)[labels]


def assert_true(report: GapReport, instance: Instance, labels: np.ndarray) -> None:
    """What the report says agrees with full enumeration."""
    truth = optimum(instance)
    canonical = Partition(labels).labels
    cost = sums_of_squares(instance.points, canonical[None])[0]
    rounding = 1e-12 * ((instance.points - instance.points.mean(axis=0)) ** 2).sum()
    assert report.objective == pytest.approx(cost, abs=rounding)
    assert (report.k, report.n_clusters) == (instance.k, len(np.unique(labels)))
    comparable = (feasible_clusterings(instance) == canonical).all(axis=1).any()
    assert report.is_comparable == comparable
    if truth is None:
        assert report.verdict in (LabelVerdict.INFEASIBLE, LabelVerdict.NOT_COMPARABLE)
        return
    assert report.lower_bound <= truth + rounding
    assert report.difference == pytest.approx(cost - report.lower_bound, abs=rounding)
    if not comparable:
        assert (report.verdict, report.gap, report.saving) == (
            LabelVerdict.NOT_COMPARABLE,
            None,
            None,
        )
        return
    assert report.gap * cost >= cost - truth - rounding
    assert report.saving * cost <= cost - truth + rounding
    if report.proven_optimal:
        assert cost <= truth * (1 + 1e-8) + rounding
    if report.verdict is LabelVerdict.NOT_OPTIMAL:
        assert cost > truth


@pytest.mark.long
@given(st.integers(0, 10**9))
@examples(100)
def test_enumeration_agrees(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, n_max=8)
    labels = any_labels(instance, rng)
    report = optimality_gap(instance, labels, parameters=SolverParameters(gap=1e-9))
    assert_true(report, instance, labels)
    truth = optimum(instance)
    if truth is None:
        assert report.verdict is LabelVerdict.INFEASIBLE
        return
    assert report.result.status is SolutionStatus.OPTIMAL
    if report.is_comparable:
        # Nothing is left open without a limit.
        cost = report.objective
        rounding = 1e-11 * ((instance.points - instance.points.mean(axis=0)) ** 2).sum()
        assert report.gap * cost <= cost - truth + 1e-8 * truth + rounding
        assert report.verdict in (LabelVerdict.OPTIMAL, LabelVerdict.NOT_OPTIMAL)
        if cost <= truth:
            assert report.proven_optimal


@given(st.integers(0, 10**9))
@examples(60)
def test_enumeration_agrees_at_a_limit(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, n_max=8, n_min=5)
    labels = any_labels(instance, rng)
    assert_true(optimality_gap(instance, labels, parameters=HASTY), instance, labels)


def test_points_and_constraints_are_an_instance():
    points = np.random.default_rng(5).normal(size=(12, 2))
    labels = np.arange(12) % 3
    limit = [MaximumSize(3)]
    instance = Instance(points, 3, [(0, 3)], [(1, 2), (0, 6)], cluster_constraints=limit)
    parameters = SolverParameters(bounding="colgen")
    one = optimality_gap(instance, labels, parameters=parameters)
    pairs = {"must_link": [(0, 3)], "cannot_link": [(1, 2), (0, 6)]}
    other = optimality_gap(
        points, labels, **pairs, cluster_constraints=limit, parameters=parameters
    )
    assert [(v.kind, v.points) for v in one.violations] == [
        ("cannot-link", (0, 6)),
        ("MaximumSize", (0, 3, 6, 9)),
    ]
    assert one.violations == other.violations
    assert one.result.status is SolutionStatus.INFEASIBLE  # 9 places for 12 points
    assert str(one.result.infeasibility) == str(other.result.infeasibility)


def test_k_is_the_number_of_labels_unless_it_is_given():
    points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    labels = ["a", "a", "b", "b", "c"]
    assert optimality_gap(points, labels).proven_optimal
    report = optimality_gap(points, labels, k=2)
    assert (report.k, report.n_clusters) == (2, 3)
    assert report.verdict is LabelVerdict.NOT_COMPARABLE
    assert report.difference < 0
    assert report.result.partition.n_clusters == 2


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


def test_limits_and_interrupts():
    points = np.random.default_rng(2).normal(size=(150, 3))
    labels = np.arange(150) % 9
    report = optimality_gap(points, labels, time_limit=1e-3)
    assert report.result.termination is Termination.TIME_LIMIT
    assert report.result.parameters["time_limit"] == 1e-3
    assert report.verdict in (LabelVerdict.UNDECIDED, LabelVerdict.NOT_OPTIMAL)
    assert 0.0 < report.gap <= 1.0
    interrupt = threading.Event()
    interrupt.set()
    report = optimality_gap(points, labels, interrupt=interrupt)
    assert report.result.termination is Termination.INTERRUPTED


def test_rows_of_a_frame_are_called_by_its_index():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [0.0, 0.1, 5.0, 5.1]}, index=["ann", "bob", "cyn", "dan"])
    labels = pandas.Series(["l", "l", "r", "r"], index=frame.index)
    together, apart = [("ann", "dan")], [("cyn", "dan"), ("bob", "ann")]
    report = optimality_gap(frame, labels, must_link=together, cannot_link=apart)
    assert list(map(str, report.violations)) == [
        "must-link ann dan",
        "cannot-link cyn dan",
        "cannot-link ann bob",
    ]
    assert report.result.partition.labels.tolist() == [0, 1, 1, 0]
    impossible = optimality_gap(frame, labels, must_link=together, cannot_link=together)
    assert impossible.verdict is LabelVerdict.INFEASIBLE
    assert str(impossible.result.infeasibility).endswith("(points ann, dan)")
    assert "CL ann dan" in str(impossible)
    with pytest.raises(
        InstanceError, match=r"^must_link\[0\]: no row has the name 'an'; did you mean '"
    ):
        optimality_gap(frame, labels, must_link=[("an", "dan")])


def test_a_series_of_labels_goes_by_its_index():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [0.0, 5.0, 0.1, 5.1]}, index=["ann", "bob", "cyn", "dan"])
    labels = pandas.Series({"dan": "r", "cyn": "l", "ann": "l", "bob": "r"})
    for points in (frame, Instance.from_frame(frame, 2), Instance(frame, 2)):
        report = optimality_gap(points, labels)
        assert report.partition.labels.tolist() == [0, 1, 0, 1]
        assert report.proven_optimal
        assert not optimality_gap(points, labels.to_numpy()).proven_optimal
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


def test_labels_of_an_index_that_repeats_names_beside_rows_that_are_left_out():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [0.0, None, 5.0, 0.1]}, index=["a", "a", "b", "b"])
    labels = pandas.Series([0, 7, 1, 0], index=frame.index)
    with pytest.warns(InstanceNote):
        report = optimality_gap(frame, labels, missing="drop-rows")
    assert report.partition.labels.tolist() == [0, 1, 0]


def test_points_are_read_as_for_solve():
    pandas = pytest.importorskip("pandas")
    columns = {"who": list("abcd"), "x": [0.0, 1.0, 5.0, 6.0], "y": [0.0, 0.0, 9e9, 9e9]}
    frame = pandas.DataFrame(columns | {"mass": [1, 1, 1, 2]})
    asked = {"index_column": "who", "standardize": True, "weight_column": "mass"}
    apart = [("a", "c")]
    report = optimality_gap(frame, [0, 0, 1, 1], cannot_link=apart, gap=1e-6, **asked)
    solved = solve(frame, 2, cannot_link=apart, **asked)
    assert report.proven_optimal
    assert report.objective == pytest.approx(solved.objective)
    assert report.result.parameters["gap"] == 1e-6
    assert report.result.origin.row_names == tuple("abcd")


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
    values = {"k": 2, "violations": ()} | changes
    return GapReport(
        partition=partition,
        objective=cost,
        gap=gap,
        saving=saving,
        result=Result(**fields),
        **values,
    )


FEASIBLE = OPTIMAL | {
    "status": SolutionStatus.FEASIBLE,
    "termination": Termination.NODE_LIMIT,
    "lower_bound": 1.0,
    "gap": 0.5,
}
VIOLATED = tuple(Violation("cannot-link", i, (i, i + 1), (str(i), str(i + 1))) for i in range(7))
REPORTS = {
    LabelVerdict.OPTIMAL: (
        a_report(OPTIMAL, 2.0, 4.99e-5, 0.0),
        "Your labels cost 2. They are proven optimal within 0.01%: none is more than "
        "0.0050% better.",
    ),
    LabelVerdict.NOT_OPTIMAL: (
        a_report(OPTIMAL, 2.5, 0.2000331, 0.2),
        "Your labels cost 2.5. A clustering that costs 2 exists (20.0000% less); none is more "
        "than 20.0034% better.",
    ),
    LabelVerdict.UNDECIDED: (
        a_report(FEASIBLE, 2.0, 0.5, 0.0),
        "Your labels cost 2. No better clustering was found; none is more than 50.0000% better. "
        "The run was stopped by the node limit.",
    ),
    LabelVerdict.NOT_COMPARABLE: (
        a_report(UNKNOWN, 1.5, None, None, k=4, violations=VIOLATED),
        "Your labels have 2 clusters instead of k = 4 and violate 7 constraints, so they have no "
        "gap. They cost 1.5. Every clustering into 4 clusters that satisfies the constraints costs "
        "at least 1.9999. The run was stopped by the time limit.",
    ),
    LabelVerdict.INFEASIBLE: (
        a_report(INFEASIBLE, 1.5, None, None, violations=VIOLATED[:1]),
        "Proven: no clustering satisfies the constraints: more than k blocks that are all "
        "cannot-linked to each other (points 0, 1, 2).",
    ),
}


@pytest.mark.parametrize("verdict", REPORTS)
def test_what_a_report_says_of_itself(verdict):
    report, sentence = REPORTS[verdict]
    assert report.verdict is verdict
    assert report.proven_optimal == (verdict is LabelVerdict.OPTIMAL)
    lines = str(report).splitlines()
    assert lines[0] == f"Verdict         {sentence}"
    assert f"Sum of squares  {report.objective:g}" in lines
    assert ("Violated        and 2 more" in lines) == (len(report.violations) == 7)
    assert repr(report).startswith(
        f"<GapReport: {verdict.value.replace('_', ' ')}, sum of squares "
    )


def verdict_of(fields: dict, cost: float, gap: float, saving: float, **changes) -> str:
    lines = str(a_report(OPTIMAL | fields, cost, gap, saving, **changes)).splitlines()
    return lines[0].removeprefix("Verdict").strip()


def test_a_verdict_is_rounded_so_that_it_stays_true():
    fields = {"objective": 5980.5949, "lower_bound": 5980.1}
    gap, saving = (6672.2 - 5980.1) / 6672.2, (6672.2 - 5980.5949) / 6672.2
    assert verdict_of(fields, 6672.2, gap, saving) == (
        "Your labels cost 6672.2. A clustering that costs 5980.5949 exists (10.3654% less); none "
        "is more than 10.3729% better."
    )
    fields = {"objective": 78.85144142, "lower_bound": 78.8514}
    assert verdict_of(fields, 78.85145, 1.2e-3, 1.088e-7) == (
        "Your labels cost 78.85145. A clustering that costs 78.85144142 exists (1.0e-05% less); "
        "none is more than 0.1200% better."
    )


def test_verdicts_within_a_large_gap():
    wide = {"objective": 96.9, "lower_bound": 95.8, "gap": 0.012, "parameters": {"gap": 0.05}}
    assert verdict_of(wide, 100.0, 0.042, 0.031) == (
        "Your labels cost 100. A clustering that costs 96.9 exists (3.0999% less); none is more "
        "than 4.2001% better. They are proven optimal within 5%, the gap requested."
    )
    assert verdict_of({"gap": 0.0}, 2.0, 0.0, 0.0) == (
        "Your labels cost 2. They are proven optimal: no clustering is better."
    )
    nothing = FEASIBLE | {"lower_bound": 0.0, "gap": 1.0}
    assert verdict_of(nothing, 2.0, 1.0, 0.0) == (
        "Your labels cost 2. No better clustering was found; no lower bound above 0 is proven. The "
        "run was stopped by the node limit."
    )


def test_the_verdict_on_labels_with_another_k():
    assert verdict_of({}, 1e6 / 3, None, None, k=4) == (
        "Your labels have 2 clusters instead of k = 4, so they have no gap. They cost "
        "333333.333333. Every clustering into 4 clusters costs at least 1.9999; one that costs 2 "
        "exists."
    )


@pytest.mark.parametrize("verdict", REPORTS)
def test_rows(verdict):
    report, _ = REPORTS[verdict]
    row = report.to_row()
    assert row["verdict"] == verdict.value
    assert row["n_violations"] == len(report.violations)
    assert row["best_status"] == report.result.status.value
    assert not any(isinstance(value, (list, dict)) for value in row.values())


def test_clusters_in_pandas():
    pytest.importorskip("pandas")
    report, _ = REPORTS[LabelVerdict.OPTIMAL]
    rows = report.to_pandas()
    assert rows["given"].tolist() == report.partition.labels.tolist()
    assert rows["best"].tolist() == report.result.partition.labels.tolist()
    without_best, _ = REPORTS[LabelVerdict.NOT_COMPARABLE]
    assert list(without_best.to_pandas().columns) == ["given"]


def test_a_gap_within_the_precision_of_numbers_is_none():
    report, _ = REPORTS[LabelVerdict.OPTIMAL]
    exact = replace(report, result=Result(**OPTIMAL | {"gap": 0.0, "parameters": {"gap": 0.0}}))
    assert not exact.proven_optimal
    assert replace(exact, gap=1e-13).proven_optimal
