"""A batch comes to its end whatever its jobs do, and goes on where it was left."""

import csv
import errno
import json
import os
import threading
import time
from dataclasses import replace

import pytest

from sdpbb.errors import BackendFailure, ParameterError
from sdpbb.questions.batch import BatchParameters, Job, run_batch
from sdpbb.questions.batch.events import (
    AtWork,
    BatchEnded,
    BatchError,
    BatchStarted,
    JobEnded,
    JobPutBack,
    JobStarted,
    Stopping,
)
from sdpbb.questions.batch.results_file import ResultsFile
from sdpbb.questions.batch.row import RowStatus
from sdpbb.runtime import files
from sdpbb.search.events import Compiling
from tests.batch import misbehaving

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers are ended by signals")


@pytest.fixture(autouse=True)
def without_engine(monkeypatch):
    monkeypatch.setattr("sdpbb.questions.batch.coordinator.prepare", misbehaving.prepare)
    monkeypatch.setattr("sdpbb.questions.batch.coordinator.evaluate", misbehaving.evaluate)


@pytest.fixture
def run(tmp_path):
    """Run jobs that are named by what they do."""

    def run(*actions, resume=False, workers=1, observer=None, interrupt=None, grace=0.3, **asked):
        jobs = [
            Job.from_keys({"data": str(tmp_path / f"{action}.txt"), "name": action, **asked})
            for action in actions
        ]
        parameters = BatchParameters(workers=workers, resume=resume, grace=grace)
        events = []
        result = run_batch(jobs, tmp_path / "out", parameters, observer or events.append, interrupt)
        return result, events

    return run


def statuses(result):
    return {row.name: row.status.value for row in result.rows}


def lines(tmp_path):
    text = (tmp_path / "out" / "results.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_whatever_happens_to_one_is_a_row(run, tmp_path):
    actions = ("fine-1", "bad", "exits", "segfault", "hang", "limited", "infeasible", "fine-2")
    result, _ = run(*actions, workers=2, time_limit=0.5, grace=1.0)
    assert statuses(result) == {
        "fine-1": "optimal",
        "bad": "bad_input",
        "exits": "crashed",
        "segfault": "crashed",
        "hang": "timed_out",
        "limited": "feasible",
        "infeasible": "infeasible",
        "fine-2": "optimal",
    }
    assert [row.name for row in result.rows] == list(actions)
    assert {row.name for row in result.rows if row.succeeded} == {"fine-1", "infeasible", "fine-2"}
    rows = {row.name: row for row in result.rows}
    assert rows["exits"].message == (
        "worker process ended with exit status 3: the reason, both times"
    )
    assert (rows["exits"].attempts, rows["fine-1"].attempts, rows["hang"].attempts) == (2, 1, 1)
    assert rows["hang"].message == (
        "did not end within 1 s after its time limit of 0.5 s, and was killed"
    )
    assert rows["bad"].message == "it is bad"
    out = tmp_path / "out"
    assert sorted(row["name"] for row in lines(tmp_path)) == sorted(actions)
    with open(out / "results.csv", newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == list(actions)
    assert (out / "labels" / "fine-1.csv").read_text() == "id,cluster\n0,0\n1,1\n2,1\n"
    assert sorted(os.listdir(out / "labels")) == ["fine-1.csv", "fine-2.csv", "limited.csv"]
    assert rows["fine-1"].labels == "labels/fine-1.csv"
    assert rows["infeasible"].labels is None
    assert "segfault: crashed" in (out / "summary.txt").read_text()


def test_it_is_told_that_a_worker_compiles(run, monkeypatch):
    _, events = run("fine")
    assert Compiling() not in events
    monkeypatch.setattr("sdpbb.questions.batch.coordinator.prepare", misbehaving.prepare_slowly)
    _, events = run("fine", resume=True, gap=0.5)
    assert events.count(Compiling()) == 1


def test_a_worker_that_was_killed_costs_no_answer(run):
    result, events = run("once", "fine-1", "fine-2")
    assert set(statuses(result).values()) == {"optimal"}
    assert {row.name: row.attempts for row in result.rows} == {
        "once": 2,
        "fine-1": 1,
        "fine-2": 1,
    }
    kinds = [type(event) for event in events]
    assert kinds.count(JobPutBack) == 1
    started = [(event.name, event.attempt) for event in events if isinstance(event, JobStarted)]
    assert started[-1] == ("once", 2)  # at the end


def test_two_deaths_of_different_kinds_are_both_told(run):
    result, _ = run("worse")
    assert [row.message for row in result.rows] == [
        "worker process was ended by SIGKILL (by somebody, or by the system if memory ran out); on "
        "retry: ended with exit status 3: the reason"
    ]


def test_a_suspect_is_tried_alone(run, tmp_path):
    running, largest = set(), {}

    def observe(event):
        match event:
            case JobStarted(name, attempt):
                running.add(name)
                largest[name, attempt] = set(running)
            case JobPutBack(name):
                running.discard(name)
            case JobEnded(row):
                running.discard(row.name)

    run("exits-1", "exits-2", *(f"fine-{i}" for i in range(8)), workers=2, observer=observe)
    assert largest["exits-1", 2] == {"exits-1"}
    assert largest["exits-2", 2] == {"exits-2"}
    assert any(len(beside) == 2 for beside in largest.values())


def test_what_the_observer_is_told(run):
    result, events = run("fine", "bad")
    assert events[0] == BatchStarted(2, 0, 1)
    assert [event.name for event in events if isinstance(event, JobStarted)] == ["fine", "bad"]
    ended = [event for event in events if isinstance(event, JobEnded)]
    assert [(e.row, e.n_done, e.n_jobs) for e in ended] == [
        (result.rows[0], 1, 2),
        (result.rows[1], 2, 2),
    ]
    assert events[-1] == BatchEnded(result)


def test_resume_does_what_has_no_answer_again(run, tmp_path):
    first, _ = run("fine", "bad", "exits", "limited", "infeasible", time_limit=5.0)
    again, events = run("fine", "bad", "exits", "limited", "infeasible", resume=True, time_limit=5)
    assert statuses(again) == statuses(first)
    started = {event.name for event in events if isinstance(event, JobStarted)}
    assert started == {"bad", "exits"}
    assert events[0] == BatchStarted(5, 3, 1)
    more, events = run("limited", resume=True, time_limit=6.0)
    assert [event.name for event in events if isinstance(event, JobStarted)] == ["limited"]
    assert [row["name"] for row in lines(tmp_path)].count("limited") == 2
    (row,) = more.rows
    assert row.time_limit == 6.0


def test_resume_does_what_has_changed_again(run, tmp_path):
    (tmp_path / "fine.txt").write_text("1")
    run("fine")
    (tmp_path / "fine.txt").write_text("2")
    _, events = run("fine", resume=True)
    assert any(isinstance(event, JobStarted) for event in events)
    _, events = run("fine", resume=True, gap=1e-6)
    assert any(isinstance(event, JobStarted) for event in events)
    _, events = run("fine", resume=True, gap=1e-6)
    assert not any(isinstance(event, JobStarted) for event in events)
    _, events = run("fine", resume=True)  # the last row of a name counts
    assert any(isinstance(event, JobStarted) for event in events)


def test_resume_of_nothing_begins(run):
    result, _ = run("fine", resume=True)
    assert result.succeeded


def test_nothing_to_do_starts_no_worker(run, monkeypatch, tmp_path):
    run("fine")
    (tmp_path / "out" / "summary.txt").unlink()
    monkeypatch.setattr("sdpbb.questions.batch.coordinator.LocalProcesses", None)
    result, _ = run("fine", resume=True)
    assert result.succeeded
    assert (tmp_path / "out" / "summary.txt").exists()
    empty, _ = run(resume=True)
    assert (empty.rows, empty.succeeded) == ((), True)


def test_results_are_not_overwritten(run):
    run("fine")
    with pytest.raises(BatchError, match="holds results already; resume with --resume, or give a"):
        run("fine")


def test_labels_of_before_do_not_outlive_their_row(run, tmp_path):
    run("limited")
    labels = tmp_path / "out" / "labels" / "limited.csv"
    assert labels.exists()
    bad = Job(str(tmp_path / "bad.txt"), "limited")
    run_batch([bad], tmp_path / "out", BatchParameters(resume=True))
    assert not labels.exists()


def test_without_labels(tmp_path):
    job = Job(str(tmp_path / "fine.txt"), "fine")
    result = run_batch([job], tmp_path / "out", BatchParameters(labels=False))
    assert result.rows[0].labels is None
    assert not (tmp_path / "out" / "labels").exists()


def test_it_is_told_that_work_goes_on(run, monkeypatch):
    monkeypatch.setattr("sdpbb.questions.batch.coordinator.SILENCE", 0.2)
    _, events = run("fine", "hang", time_limit=0.5, grace=1.0)
    (first, *_) = (event for event in events if isinstance(event, AtWork) and event.n_done)
    assert (first.n_running, first.n_done, first.n_jobs) == (1, 1, 2)
    assert first.seconds > 0.2
    assert isinstance(events[-1], BatchEnded)


def test_an_interrupt_keeps_what_was_found(run, tmp_path):
    interrupt = threading.Event()

    def stop():
        deadline = time.monotonic() + 60
        paths = [tmp_path / "waits.txt", tmp_path / "hang.txt"]
        while not all(path.exists() for path in paths) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        interrupt.set()

    events = []
    thread = threading.Thread(target=stop)
    thread.start()
    jobs = ("fine", "waits", "hang", "fine-later")
    result, _ = run(*jobs, workers=2, interrupt=interrupt, observer=events.append, grace=1.0)
    thread.join()
    assert result.interrupted
    assert statuses(result) == {"fine": "optimal", "waits": "feasible"}
    assert result.rows[1].was_interrupted
    assert result.n_missing == 2
    assert Stopping() in events
    ended = [event for event in events if isinstance(event, JobEnded)]
    assert ended[-1].n_done == 1  # an interrupted job is to be done again
    summary = (tmp_path / "out" / "summary.txt").read_text()
    assert "not done" in summary
    _, events = run("fine", "fine-later", resume=True)
    assert [event.name for event in events if isinstance(event, JobStarted)] == ["fine-later"]


def test_an_interrupt_before_the_begin(run):
    interrupt = threading.Event()
    interrupt.set()
    result, events = run("fine", interrupt=interrupt)
    assert (result.rows, result.interrupted) == ((), True)
    assert not any(isinstance(event, JobStarted) for event in events)


def test_a_full_disk_ends_the_batch_with_one_line(run, monkeypatch):
    real = ResultsFile._write

    def full(self, line):
        if self.rows:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(self, line)

    monkeypatch.setattr(ResultsFile, "_write", full)
    with pytest.raises(BatchError, match=r"No space left on device\); the 1 row before is safe"):
        run("fine-1", "fine-2", "fine-3")
    monkeypatch.setattr(ResultsFile, "_write", real)
    result, events = run("fine-1", "fine-2", "fine-3", resume=True)
    assert result.succeeded
    assert events[0].n_done == 1


@pytest.mark.parametrize("name", ["fine.csv", "results.csv", "summary.txt"])
def test_files_that_cannot_be_written_are_named(run, monkeypatch, name, tmp_path):
    real = files.write_atomically

    def full(path, text):
        if os.path.basename(path) == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, text)

    monkeypatch.setattr("sdpbb.questions.batch.folder.write_atomically", full)
    with pytest.raises(BatchError) as caught:
        run("fine")
    assert str(caught.value).endswith(
        f"{name}: could not be written (No space left on device); the rows in results.jsonl are "
        "safe: resume with --resume"
    )
    monkeypatch.setattr("sdpbb.questions.batch.folder.write_atomically", real)
    result, _ = run("fine", resume=True)
    assert result.succeeded


def test_folders_that_cannot_be_used(run, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.touch()
    with pytest.raises(BatchError, match=r"out: is not a folder; expected a folder, or a new name"):
        run("fine")
    out.unlink()
    with pytest.raises(BatchError, match="'': is not the name of a file"):
        run_batch([], "")
    (tmp_path / "file").touch()
    with pytest.raises(BatchError, match=r"file/out: could not be written \(Not a directory\)$"):
        run_batch([], tmp_path / "file" / "out")
    out.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(BatchError, match="out: the folder is not writable"):
        run("fine")


def test_workers_that_cannot_start_end_the_batch(run, monkeypatch, tmp_path):
    monkeypatch.setattr("sdpbb.questions.batch.coordinator.prepare", misbehaving.fail)
    with pytest.raises(BackendFailure, match="cannot start: ModuleNotFoundError: No module named"):
        run("fine")
    monkeypatch.setattr("sdpbb.questions.batch.coordinator.prepare", misbehaving.prepare)
    assert run("fine")[0].succeeded  # there are no results that --resume would be needed for


def test_names_are_different(tmp_path):
    job = Job("a.txt", "a")
    with pytest.raises(
        ParameterError, match=r"^name = 'a': two jobs have this name; expected different"
    ):
        run_batch([job, replace(job, k=1)], tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"workers": 0}, "workers = 0: expected an integer >= 1"),
        ({"workers": 1.5}, "workers = 1.5: expected an integer >= 1"),
        ({"workers": True}, "workers = True: expected an integer >= 1"),
        ({"grace": -1}, "grace = -1: expected seconds >= 0"),
        ({"grace": float("nan")}, "grace = nan: expected seconds >= 0"),
        ({"grace": "x"}, "grace = 'x': expected seconds >= 0"),
    ],
)
def test_parameters_outside_of_their_domain_are_refused(values, message):
    with pytest.raises(ParameterError) as caught:
        BatchParameters(**values)
    assert str(caught.value) == message


def test_statuses_have_different_names():
    assert len({status.value for status in RowStatus}) == len(RowStatus) == 8


def test_a_manifest_is_taken_as_it_is(tmp_path):
    (tmp_path / "fine.txt").touch()
    (tmp_path / "m.toml").write_text('[[instance]]\ndata = "fine.txt"')
    result = run_batch(tmp_path / "m.toml", tmp_path / "out")
    assert statuses(result) == {"fine": "optimal"}
