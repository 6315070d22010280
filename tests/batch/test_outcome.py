import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.questions.batch.outcome import (
    MEANINGS,
    BatchResult,
    Means,
    RowStatus,
    shifted_geometric_mean,
    summary,
)
from tests.batch.rows import failed, infeasible, limited, row

ALL = BatchResult(
    (
        row(name="a", wall_seconds=3.0, n_nodes=10),
        infeasible(name="b", wall_seconds=0.0, n_nodes=0),
        limited(
            name="c", wall_seconds=15.0, n_nodes=70, objective=1.0, lower_bound=2 / 3, gap=1 / 3
        ),
        failed(name="d", attempts=2, status=RowStatus.CRASHED, message="its process died"),
    ),
    n_jobs=5,
    wall_seconds=2.0,
)


@given(st.lists(st.floats(0.0, 1e6), min_size=1), st.floats(0.1, 100.0))
def test_the_mean_lies_between_the_least_and_the_largest(values, shift):
    mean = shifted_geometric_mean(values, shift)
    slack = 1e-9 * (max(values) + shift)
    assert min(values) - slack <= mean <= max(values) + slack


def test_the_mean_of_some_numbers():
    assert shifted_geometric_mean([0.0, 3.0, 15.0], 1.0) == pytest.approx(3.0)  # (1 4 16)^(1/3) - 1
    assert shifted_geometric_mean([7], 10.0) == pytest.approx(7.0)
    assert math.isnan(shifted_geometric_mean([], 1.0))


def test_what_counts_as_what():
    assert ALL.counts == {
        RowStatus.OPTIMAL: 1,
        RowStatus.INFEASIBLE: 1,
        RowStatus.FEASIBLE: 1,
        RowStatus.CRASHED: 1,
    }
    assert [one.name for one in ALL.stopped] == ["c"]
    assert [one.name for one in ALL.failed] == ["d"]
    assert ALL.n_missing == 1
    assert ALL.means_of_answers().seconds == pytest.approx(1.0)  # (4 1)^(1/2) - 1
    assert ALL.means_of_runs().seconds == pytest.approx(3.0)
    assert ALL.means_of_runs().nodes == pytest.approx((20 * 10 * 80) ** (1 / 3) - 10)
    assert Means.of([]).to_dict() == {"instances": 0, "seconds": None, "nodes": None}


@pytest.mark.parametrize(
    ("rows", "n_jobs", "succeeded"),
    [
        ((), 0, True),
        ((row(),), 1, True),
        ((row(), infeasible()), 2, True),
        ((row(),), 2, False),
        ((row(), limited()), 2, False),
        ((row(), failed()), 2, False),
    ],
)
def test_only_answers_for_all_are_a_success(rows, n_jobs, succeeded):
    assert BatchResult(rows, n_jobs, 1.0).succeeded is succeeded


def test_the_summary_says_it_all():
    lines = summary(ALL).splitlines()
    words = [line.split() for line in lines]
    assert lines[0].startswith("sdpbb ")
    assert "Status          2 of 5 instances are proven" in lines
    for status, count in ALL.counts.items():
        assert [status.value, str(count), *MEANINGS[status].split()] in words
    assert "not done 1 --resume continues with them" in [" ".join(line) for line in words]
    assert ["optimal", "or", "infeasible", "2", "1.000", "4.14"] in words
    assert ["these", "and", "the", "stopped", "ones", "3", "3.000", "15.20"] in words
    failures, stopped = words[lines.index("Failed:") + 2], words[lines.index("Stopped:") + 2]
    assert " ".join(failures) == "d crashed its process died tried 2 times"
    assert stopped[0] == "c"
    figures = "feasible, time limit 1 0.666666666666 33.3334% 15.00 s"  # the bound is rounded down
    assert " ".join(stopped).endswith(figures)


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (row(), "a: optimal, cost 0.5, gap 0.0000%, 0.25 s"),
        (row(message="odd"), "a: optimal, cost 0.5, gap 0.0000%, 0.25 s, odd"),
        (infeasible(), "a: infeasible, 0.25 s, no way"),
        (
            limited(status=RowStatus.UNKNOWN, objective=None, gap=None),
            "a: unknown, time limit, 0.25 s",
        ),
        (failed(), "a: bad input, it is bad"),
        (failed(name="ä\n"), "'\\xe4\\n': bad input, it is bad"),
        (failed(message="\x1b[1m"), "a: bad input, '\\x1b[1m'"),
    ],
)
def test_a_row_on_one_line(one, line):
    assert str(one) == line
