import io
import math
from dataclasses import replace

import numpy as np
import pytest

from sdpbb.problem import Instance, MaximumOverlap
from sdpbb.run.report import (
    HEADING,
    LEGEND,
    ProgressTable,
    progress_line,
    summary,
)
from sdpbb.search.events import (
    CheckpointFailed,
    Compiling,
    Finished,
    NodeEnd,
    NodeLeft,
    Progress,
    Started,
    SubsetLost,
    WorkerCrashed,
)
from sdpbb.search.result import Result, Statistics
from tests.test_result import OPTIMAL

IRIS = Instance(
    np.random.default_rng(0).normal(size=(150, 4)),
    3,
    must_link=[(i, i + 1) for i in range(19)],
    cannot_link=[(i, i + 1) for i in range(100, 118)],
    name="iris",
)
STARTED = Started(IRIS, 131, 17)


def of(**stated) -> Started:
    """The beginning of a run on an instance of which something else is stated."""
    return replace(STARTED, instance=replace(IRIS, **stated))


def progress(seconds: float, source: str = "", **changes) -> Progress:
    values = {"n_nodes": 1, "n_open": 1, "lower": 78.0, "upper": 79.0, "gap": 0.0127, "n_cuts": 12}
    return Progress(seconds=seconds, source=source, **values | changes)


def log(*events) -> list[str]:
    stream = io.StringIO()
    table = ProgressTable(stream, "1.2.3")
    for event in events:
        table(event)
    return stream.getvalue().splitlines()


def test_the_heading_of_the_table_comes_with_its_first_row():
    """A run that ends before it has bounds shows none."""
    lines = log(STARTED)
    assert lines[1] == "iris: 150 points, 4 features, k = 3, 19 must-links, 18 cannot-links"
    assert len(lines) == 3
    lines = log(STARTED, Compiling(), progress(1.0), progress(2.0))
    assert lines[3] == "Compiling kernels: once per machine and version"
    assert lines[4:7] == [LEGEND, "", HEADING]
    assert len(lines) == 9


def test_one_of_a_kind_is_no_plural():
    one = of(must_link=[(0, 1)], cannot_link=None)
    lines = log(replace(one, n_cannot_link=1))
    assert lines[1].endswith("k = 3, 1 must-link, 0 cannot-links")
    assert lines[2].endswith(", 1 cannot-link between them")
    assert "must-linked points and 1 equal point: " in log(replace(STARTED, n_equal=1))[2]
    equal = log(replace(STARTED, n_equal=19))[2]
    assert equal.startswith("after merging 19 equal points: 131 blocks (points or groups), ")


def test_constraints_on_clusters_are_counted():
    for n, text in ((1, ", 1 constraint on clusters"), (2, ", 2 constraints on clusters")):
        constraints = [MaximumOverlap([0, 1], 1)] * n
        assert log(of(cluster_constraints=constraints))[1] == log(STARTED)[1] + text


def test_trouble_is_one_line_each():
    assert log(WorkerCrashed("was ended by SIGKILL")) == [
        "a worker crashed (was ended by SIGKILL); what it evaluated is evaluated again"
    ]
    assert log(NodeLeft(7, 1.0, NodeEnd.LOST)) == [
        "node 7: two workers crashed; node abandoned, its bound stays valid"
    ]
    assert log(SubsetLost(150)) == [
        "subset of 150 blocks: two workers crashed; subset abandoned, its bound stays valid"
    ]
    assert log(CheckpointFailed("a\nb", "full", False)) == [
        r"checkpoint 'a\nb' not written (full); the run will try again"
    ]


def test_a_name_of_two_lines_is_shown_on_one():
    assert log(of(name="a\nb"))[1].startswith(r"'a\nb': 150 points")
    assert log(of(name=""))[1].startswith("unnamed: 150 points")


@pytest.mark.parametrize(
    ("source", "letter"),
    [
        ("", " "),
        ("start", "L"),
        ("k-means++", "K"),
        ("sdp", "S"),
        ("bounding", "B"),
        ("colouring", "H"),
    ],
)
def test_the_first_column_names_where_a_clustering_came_from(source, letter):
    assert progress_line(progress(1.0, source))[0] == letter
    assert source == "" or f"{letter} " in LEGEND


def test_no_more_is_printed_than_is_proven():
    line = progress_line(progress(1.0, lower=78.123456789, upper=79.1, gap=0.01234561))
    assert line.split()[2:5] == ["78.123456", "79.1", "1.2346%"]
    statistics = Statistics(0.5, 3, root_gap=1.23e-6, root_seconds=0.2)
    lines = summary(Result(**OPTIMAL | {"gap": 4.91e-5, "statistics": statistics})).splitlines()
    assert "Gap             0.0050%" in lines
    assert "Root            0.20 s, gap 0.0002%" in lines


def test_columns_stand_under_their_headings():
    usual = progress_line(progress(1.25))
    assert len(usual) == len(HEADING)
    for name, value in (("lower", "78"), ("upper", "79"), ("cuts", "12"), ("time", "1.2s")):
        end = HEADING.index(name) + len(name)
        assert usual[:end].endswith(value)
    start = progress_line(progress(0.0, lower=-math.inf, upper=math.inf, gap=math.inf))
    assert len(start) == len(HEADING)
    assert start.split() == ["1", "1", "-", "-", "-", "12", "0.0s"]
    assert "5.0e-08%" in progress_line(progress(1.0, gap=4.99e-10))


def test_at_most_two_lines_a_second_and_every_new_clustering():
    events = [progress(0.01 * step) for step in range(200)]
    assert len(log(*events)) == 4
    assert len(log(*(progress(0.01 * step, "sdp") for step in range(20)))) == 20


def test_every_line_is_flushed():
    class Stream(io.StringIO):
        unflushed = 0

        def write(self, text):
            self.unflushed += 1
            return super().write(text)

        def flush(self):
            self.unflushed = 0

    stream = Stream()
    table = ProgressTable(stream, "")
    for event in (STARTED, progress(0.0), Finished(Result(**OPTIMAL))):
        table(event)
        assert not stream.unflushed
