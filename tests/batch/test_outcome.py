"""Rows of a batch and what they come to: statuses, settlement, counts, means, summaries."""

from dataclasses import replace

import pytest

from sdpbb.questions.batch.manifest import Job
from sdpbb.questions.batch.outcome import BatchResult
from sdpbb.questions.study import Failure
from sdpbb.search.result import SolutionStatus, Termination
from tests.batch.rows import failed, infeasible, interrupted, limited, row

JOB = Job("a.txt", "a")
ALL = BatchResult(
    (
        row(name="a", wall_seconds=3.0, n_nodes=10),
        infeasible(name="b", wall_seconds=0.0, n_nodes=0),
        limited(
            name="c", wall_seconds=15.0, n_nodes=70, objective=1.0, lower_bound=2 / 3, gap=1 / 3
        ),
        failed(name="d", attempts=2, status=Failure.CRASHED, message="its process died"),
    ),
    n_jobs=5,
    wall_seconds=2.0,
)


@pytest.mark.parametrize("name", ["time_limit", "node_limit", "memory_limit"])
def test_rows_settle_their_job_unless_a_limit_is_higher(name):
    def job(limit):
        return Job.from_keys({"data": "a.txt", "name": "a", name: limit})

    stopped = limited(**{name: 5})
    assert [stopped.settles(job(limit)) for limit in (4, 5, 6)] == [True, True, False]
    assert not stopped.settles(JOB)
    assert limited().settles(JOB)
    for answer in (row, infeasible):
        assert answer(**{name: 5}).settles(JOB)
    lost = replace(limited(), termination=Termination.WORKERS_LOST.value)
    for other in (interrupted(), lost, *map(failed, Failure)):
        assert not other.settles(JOB)


def test_what_counts_as_what():
    assert ALL.counts == {
        SolutionStatus.OPTIMAL: 1,
        SolutionStatus.INFEASIBLE: 1,
        SolutionStatus.FEASIBLE: 1,
        Failure.CRASHED: 1,
    }
    lists = (ALL.answered, ALL.stopped, ALL.failed)
    assert ["".join(one.name for one in rows) for rows in lists] == ["ab", "c", "d"]
    assert (ALL.n_missing, ALL.succeeded) == (1, False)
    assert replace(ALL, rows=ALL.rows[:2], n_jobs=2).succeeded


def test_the_summary_says_it_all():
    lines = [" ".join(line.split()) for line in str(ALL).splitlines()]
    assert lines[0] == "Status 2 of 5 instances are proven"
    assert "Not done 1; --resume continues with them" in lines
    assert lines[lines.index("Failed:") + 2] == "d crashed its process died"
    # The bound is rounded down.
    stopped = lines[lines.index("Stopped:") + 2]
    assert stopped == "c 3 2 feasible, time limit 1 0.666666666666 33.3334% 15.00 s"


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (row(message="odd"), "a: optimal, cost 0.5, gap 0.0000%, 0.25 s, odd"),
        (infeasible(), "a: infeasible, 0.25 s, no way"),
        (
            limited(status=SolutionStatus.UNKNOWN, objective=None, gap=None),
            "a: unknown, time limit, 0.25 s",
        ),
        (failed(name="ä\n"), "'\\xe4\\n': bad input, it is bad"),
        (failed(message="\x1b[1m"), "a: bad input, '\\x1b[1m'"),
    ],
)
def test_a_row_on_one_line(one, line):
    assert str(one) == line
