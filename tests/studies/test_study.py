"""A study comes to its end whatever its jobs do."""

import os
import threading
import time
from functools import partial

import pytest

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.questions.study import Failure, JobPutBack, Outcome, Study
from sdpbb.run.parameters import SolverParameters
from sdpbb.search.events import Compiling
from tests.studies import misbehaving

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers are ended by signals")


@pytest.fixture(autouse=True)
def without_engine(monkeypatch):
    monkeypatch.setattr("sdpbb.questions.study.prepare", misbehaving.prepare)
    monkeypatch.setattr("sdpbb.questions.study.GRACE", 1.0)


class Done:
    """Jobs that are named by what they do, as a study has done them.

    outcomes : by job; events : what the observer received, with the ends of jobs as their names
    """

    def __init__(self, folder, *jobs, interrupt=None, workers=1, limit=60.0, here=False, **asked):
        self.outcomes, self.events = {}, []
        study = Study(
            SolverParameters(workers=workers, time_limit=limit),
            observer=self.events.append,
            **{"reads_files": True, **asked},
        )

        def take(job, outcome):
            self.outcomes[job] = outcome
            self.events.append(job)

        def work():
            def begin(job, seconds, stop):
                return partial(misbehaving.act, folder / f"{job}.txt")

            return study.run(jobs, begin, take, needs_processes=not here)

        stop = threading.Event() if interrupt is None else interrupt
        self.left = study.conduct(stop, work)

    def failures(self):
        return {job: outcome.failure for job, outcome in self.outcomes.items()}


def test_whatever_happens_to_one_is_its_outcome(tmp_path):
    jobs = ("fine-1", "bad", "backend", "memory", "internal", "exits", "segfault", "hang", "fine-2")
    done = Done(tmp_path, *jobs, workers=2, time_limit_each=0.5)
    assert done.left == []
    assert {job: (end.failure, end.message) for job, end in done.outcomes.items()} == {
        "fine-1": (None, ""),
        "bad": (Failure.BAD_INPUT, "it is bad"),
        "backend": (Failure.FAILED, "the solver stopped"),
        "memory": (Failure.FAILED, "memory ran out"),
        "internal": (Failure.FAILED, "internal error: ZeroDivisionError: a b"),
        "exits": (
            Failure.CRASHED,
            "worker process ended with exit status 3: the reason, both times",
        ),
        "segfault": (Failure.CRASHED, done.outcomes["segfault"].message),
        "hang": (
            Failure.TIMED_OUT,
            "did not end within 1 s after its time limit of 0.5 s, and was killed",
        ),
        "fine-2": (None, ""),
    }
    assert "SIGSEGV" in done.outcomes["segfault"].message
    assert [done.outcomes[job].attempts for job in ("exits", "fine-1", "hang")] == [2, 1, 1]


@pytest.mark.parametrize(
    ("job", "error"), [("bad", InstanceError), ("internal", ZeroDivisionError)]
)
def test_what_concerns_all_jobs_is_raised(tmp_path, job, error):
    with pytest.raises(error):
        Done(tmp_path, "backend", "memory", job, here=True, reads_files=False)


def test_a_worker_that_was_killed_costs_no_answer(tmp_path):
    done = Done(tmp_path, "once", "fine-1", "fine-2")
    assert set(done.failures().values()) == {None}
    assert {job: outcome.attempts for job, outcome in done.outcomes.items()} == {
        "once": 2,
        "fine-1": 1,
        "fine-2": 1,
    }
    (put_back,) = (event for event in done.events if isinstance(event, JobPutBack))
    assert str(put_back).startswith("once: worker process was ended by SIGKILL")


def test_two_deaths_of_different_kinds_are_both_told(tmp_path):
    assert Done(tmp_path, "worse").outcomes["worse"].message == (
        "worker process was ended by SIGKILL (by somebody, or by the system if memory ran out); on "
        "retry: ended with exit status 3: the reason"
    )


def test_the_observer_hears_of_compilation(tmp_path, monkeypatch):
    assert Compiling() not in Done(tmp_path, "fine").events
    monkeypatch.setattr("sdpbb.questions.study.prepare", misbehaving.prepare_slowly)
    assert Done(tmp_path, "fine").events.count(Compiling()) == 1


def test_an_interrupt_keeps_what_was_found(tmp_path):
    interrupt = threading.Event()

    def stop():
        deadline = time.monotonic() + 60
        paths = [tmp_path / "waits.txt", tmp_path / "hang.txt"]
        while not all(path.exists() for path in paths) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        interrupt.set()

    thread = threading.Thread(target=stop)
    thread.start()
    jobs = ("fine", "waits", "hang", "fine-later")
    done = Done(tmp_path, *jobs, workers=2, interrupt=interrupt)
    thread.join()
    assert done.outcomes.keys() == {"fine", "waits"}
    assert done.outcomes["waits"].value["termination"] == "interrupted"
    assert done.left == ["fine-later"]


@pytest.mark.parametrize("here", [True, False])
def test_nothing_begins_after_an_interrupt_or_the_time_limit(tmp_path, here):
    interrupt = threading.Event()
    interrupt.set()
    done = Done(tmp_path, "fine", interrupt=interrupt, here=here)
    assert (done.left, done.events) == (["fine"], [])
    done = Done(tmp_path, "fine", limit=1e-9, here=here)
    assert (done.left, done.outcomes) == (["fine"], {})


@pytest.mark.parametrize("needs_processes", [False, True])
def test_jobs_begin_from_what_is_known_by_then(needs_processes):
    study, known = Study(SolverParameters()), []

    def work():
        def take(job, outcome):
            known.append(outcome.value)

        begin = lambda job, seconds, stop: partial(Outcome, (job, len(known), stop is None))  # noqa: E731
        study.run("abc", begin, take, needs_processes=needs_processes)

    study.conduct(threading.Event(), work)
    # Other processes have an interrupt of their own.
    assert known == [(job, number, needs_processes) for number, job in enumerate("abc")]


def test_nothing_to_do_starts_no_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "sdpbb.runtime.executors.processes._start_process", lambda errors: pytest.fail("a process")
    )
    assert Done(tmp_path).left == []


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_the_time_limit_for_each_is_above_zero(limit):
    with pytest.raises(ParameterError, match=r"^time_limit_each = .*: expected seconds > 0$"):
        Study(SolverParameters(), time_limit_each=limit)
