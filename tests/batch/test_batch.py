"""Rows of a batch: a job each, and a batch goes on where it was left."""

import csv
import json
import os
import threading
import time
from dataclasses import replace

import pytest

from sdpbb.errors import ParameterError
from sdpbb.questions.batch.batch import BatchParameters, run_batch
from sdpbb.questions.batch.manifest import Job
from sdpbb.search.events import Compiling
from tests.studies import misbehaving

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers are ended by signals")


@pytest.fixture(autouse=True)
def without_engine(monkeypatch):
    monkeypatch.setattr("sdpbb.questions.study.prepare", misbehaving.prepare)
    monkeypatch.setattr("sdpbb.questions.batch.batch.evaluate", misbehaving.evaluate)
    monkeypatch.setattr("sdpbb.questions.study.GRACE", 0.3)


@pytest.fixture
def run(tmp_path):
    """Run jobs that are named by what they do."""

    def run(*actions, resume=False, interrupt=None, **asked):
        jobs = [
            Job.from_keys({"data": str(tmp_path / f"{action}.txt"), "name": action, **asked})
            for action in actions
        ]
        parameters = BatchParameters(resume=resume)
        events = []
        result = run_batch(
            jobs,
            tmp_path / "out",
            parameters,
            events.append,
            interrupt,
            on_row=lambda row, left: events.append((row.name, left)),
        )
        return result, events

    return run


def done(events):
    """The names of the jobs with a row of this run."""
    return [event[0] for event in events if isinstance(event, tuple)]


def test_each_job_is_a_row(run, tmp_path):
    actions = (
        *("fine-1", "bad", "internal", "once", "worse", "exits"),
        *("hang", "limited", "infeasible", "fine-2"),
    )
    result, events = run(*actions, time_limit=0.5)
    assert {row.name: (row.status.value, row.message, row.attempts) for row in result.rows} == {
        "fine-1": ("optimal", "", 1),
        "bad": ("bad_input", "it is bad", 1),
        "internal": ("failed", "internal error: ZeroDivisionError: a b", 1),
        "once": ("optimal", "", 2),
        "worse": (
            "crashed",
            "worker process was ended by SIGKILL (by somebody, or by the system if memory ran "
            "out); on retry: ended with exit status 3: the reason",
            2,
        ),
        "exits": ("crashed", "worker process ended with exit status 3: the reason, both times", 2),
        "hang": (
            "timed_out",
            "did not end within 0.3 s after its time limit of 0.5 s, and was killed",
            1,
        ),
        "limited": ("feasible", "", 1),
        "infeasible": ("infeasible", "no way", 1),
        "fine-2": ("optimal", "", 1),
    }
    assert [row.name for row in result.rows] == list(actions)
    rows = {row.name: row for row in result.rows}
    assert {name for name, row in rows.items() if row.succeeded} == {
        *("fine-1", "once", "infeasible", "fine-2")
    }
    out = tmp_path / "out"
    lines = (out / "results.jsonl").read_text().splitlines()
    assert {row["name"]: row for row in map(json.loads, lines)} == {
        name: row.to_row() for name, row in rows.items()
    }
    with open(out / "results.csv", newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == list(actions)
    assert (out / "labels" / "fine-1.csv").read_text() == "id,cluster\n0,0\n1,1\n2,1\n"
    assert sorted(os.listdir(out / "labels")) == [
        *("fine-1.csv", "fine-2.csv", "limited.csv", "once.csv")
    ]
    assert (rows["fine-1"].labels, rows["infeasible"].labels) == ("labels/fine-1.csv", None)
    assert [event[1] for event in events if isinstance(event, tuple)] == [*range(9, -1, -1)]


def test_the_observer_hears_of_compilation(run, monkeypatch):
    assert Compiling() not in run("fine")[1]
    monkeypatch.setattr("sdpbb.questions.study.prepare", misbehaving.prepare_slowly)
    assert run("fine", resume=True, gap=0.5)[1].count(Compiling()) == 1


def test_resume_does_what_has_no_answer_again(run, tmp_path):
    first, _ = run("fine", "bad", "exits", "limited", "infeasible", time_limit=5.0)
    again, events = run("fine", "bad", "exits", "limited", "infeasible", resume=True, time_limit=5)
    assert [row.status for row in again.rows] == [row.status for row in first.rows]
    assert set(done(events)) == {"bad", "exits"}
    more, events = run("limited", resume=True, time_limit=6.0)
    assert done(events) == ["limited"]
    (row,) = more.rows
    assert row.time_limit == 6.0


def test_resume_does_what_has_changed_again(run, tmp_path):
    assert run("fine", resume=True)[0].succeeded  # there is nothing to resume
    (tmp_path / "fine.txt").write_text("2")
    assert done(run("fine", resume=True)[1]) == ["fine"]
    assert done(run("fine", resume=True, gap=1e-6)[1]) == ["fine"]
    assert done(run("fine", resume=True, gap=1e-6)[1]) == []
    assert done(run("fine", resume=True)[1]) == ["fine"]  # the last row of a name counts


def test_labels_of_before_do_not_outlive_their_row(run, tmp_path):
    run("limited")
    labels = tmp_path / "out" / "labels" / "limited.csv"
    assert labels.exists()
    bad = Job(str(tmp_path / "bad.txt"), "limited")
    run_batch([bad], tmp_path / "out", BatchParameters(resume=True))
    assert not labels.exists()


def test_interrupted_jobs_are_to_be_done_again(run, tmp_path, monkeypatch):
    interrupt, begun = threading.Event(), tmp_path / "waits.txt"

    def stop():
        while not begun.exists():
            time.sleep(0.05)
        interrupt.set()

    monkeypatch.setattr("sdpbb.questions.study.GRACE", 60.0)
    threading.Thread(target=stop, daemon=True).start()
    result, events = run("fine", "waits", "fine-later", interrupt=interrupt)
    assert (result.interrupted, result.n_missing) == (True, 1)
    assert [row.was_interrupted for row in result.rows] == [False, True]
    assert [left for _, left in events] == [2, 2]
    assert "Not done" in str(result)
    _, events = run("fine", "fine-later", resume=True)
    assert done(events) == ["fine-later"]


def test_names_are_different(tmp_path):
    job = Job("a.txt", "a")
    with pytest.raises(
        ParameterError, match=r"^name = 'a': two jobs have this name; expected different"
    ):
        run_batch([job, replace(job, k=1)], tmp_path)
