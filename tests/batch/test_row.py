import json
from dataclasses import replace

import pytest

from sdpbb.questions.batch.job import Job
from sdpbb.questions.batch.outcome import ANSWERS, STOPPED, Row, RowStatus
from sdpbb.search.result import SolutionStatus, Termination
from tests.batch.rows import failed, infeasible, interrupted, limited, row

JOB = Job("a.txt", "a")


def job(**values):
    return Job.from_keys({"data": "a.txt", "name": "a", **values})


def test_what_is_proven_is_called_as_in_results():
    assert {status.value for status in ANSWERS | STOPPED} == {s.value for s in SolutionStatus}


def test_answers_succeed():
    assert row().succeeded
    assert infeasible().succeeded
    assert not limited().succeeded
    assert not any(failed(status).succeeded for status in RowStatus if status not in ANSWERS)


def test_rows_come_back():
    original = row(message="a\nb", labels="labels/a.txt")
    assert Row.from_dict(json.loads(json.dumps(original.to_dict()))) == original


@pytest.mark.parametrize(
    "values", [{}, {**row().to_dict(), "status": "solved"}, {**row().to_dict(), "x": 1}]
)
def test_what_is_no_row_is_refused(values):
    with pytest.raises((KeyError, TypeError, ValueError)):
        Row.from_dict(values)


def test_answers_settle_whatever_the_limits():
    assert row(time_limit=1.0).settles(JOB)
    assert infeasible(time_limit=1.0).settles(JOB)


@pytest.mark.parametrize("name", ["time_limit", "node_limit", "memory_limit"])
def test_what_was_stopped_is_settled_unless_a_limit_is_higher(name):
    stopped = limited(**{name: 5})
    assert stopped.settles(job(**{name: 5}))
    assert stopped.settles(job(**{name: 4}))
    assert not stopped.settles(job(**{name: 6}))
    assert not stopped.settles(JOB)
    assert limited().settles(JOB)


def test_what_failed_or_was_interrupted_is_not_settled():
    assert not interrupted().settles(JOB)
    assert not replace(limited(), termination=Termination.WORKERS_LOST.value).settles(JOB)
    for status in (RowStatus.BAD_INPUT, RowStatus.FAILED, RowStatus.CRASHED, RowStatus.TIMED_OUT):
        assert not failed(status).settles(JOB)
