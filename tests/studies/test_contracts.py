"""Promises of batches, sweeps and prices alike: a failure costs its own job alone."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

import sdpbb
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance
from sdpbb.problem.formats import write_points
from sdpbb.questions.batch.manifest import Job
from sdpbb.questions.study import Outcome
from tests.studies import misbehaving

# Two groups of four, and constraints against them: each has a price.
POINTS = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [11.0], [12.0], [13.0]])
WRONG = [(0, 4), (1, 5), (2, 6)]
KINDS = ("batch", "sweep", "price")


class Ended(NamedTuple):
    """What a study of three jobs came to.

    n_done : jobs with an answer; text : what a person reads
    """

    n_done: int
    n_left: int
    interrupted: bool
    text: str


def batch(folder, second, on_job, patch, workers=1, time_limit=None, interrupt=None, **asked):
    if second is not None:
        evaluate = partial(misbehaving.evaluate_or_act, folder / second)
        patch.setattr("sdpbb.questions.batch.batch.evaluate", evaluate)
    write_points(folder / "points.txt", POINTS)
    limit = {} if time_limit is None else {"time_limit": time_limit}
    data = str(folder / "points.txt")
    jobs = [Job.from_keys({"data": data, "name": str(k), "k": k, **limit}) for k in (2, 3, 4)]
    result = sdpbb.run_batch(
        jobs,
        folder / "out",
        sdpbb.BatchParameters(workers=workers),
        interrupt=interrupt,
        on_row=lambda *_: on_job(),
        **asked,
    )
    n_done = sum(row.objective is not None for row in result.rows)
    text = " ".join(row.message for row in result.rows)
    return Ended(n_done, result.n_missing, result.interrupted, text)


def sweep(folder, second, on_job, patch, **asked):
    if second is not None:
        solve = partial(misbehaving.solve_or_act, folder / second)
        patch.setattr("sdpbb.questions.sweep.solve_job", solve)
    out = folder / "out"
    report = sdpbb.sweep(POINTS, [2, 3, 4], folder=out, on_entry=lambda *_: on_job(), **asked)
    n_done = sum(entry.objective is not None for entry in report.entries)
    return Ended(n_done, len(report.left), report.interrupted, str(report))


def price(folder, second, on_job, patch, **asked):
    if second is not None:
        solve = partial(misbehaving.solve_or_act, folder / second)
        patch.setattr("sdpbb.questions.price.solve_job", solve)
    patch.setattr("sdpbb.questions.price.bound_job", lambda *_: Outcome())  # finds nothing
    instance = Instance(POINTS, 2, must_link=WRONG)
    report = sdpbb.constraint_prices(instance, on_price=lambda *_: on_job(), **asked)
    n_left = len(report.unpriced) - len(report.problems)
    return Ended(len(report.prices), n_left, report.interrupted, str(report))


@pytest.fixture(params=[batch, sweep, price], ids=KINDS)
def run(request, tmp_path, monkeypatch):
    """Run a study of three jobs, the second of which does what is said."""

    def run(second=None, on_job=lambda: None, **asked):
        return request.param(tmp_path, second, on_job, monkeypatch, **asked)

    return run


@pytest.mark.parametrize(
    ("second", "message"), [("backend", "the solver stopped"), ("memory", "memory ran out")]
)
def test_a_job_that_fails_costs_itself_alone(run, second, message):
    ended = run(second)
    assert ended[:3] == (2, 0, False)
    assert message in ended.text


@pytest.mark.skipif(os.name != "posix", reason="workers are ended by signals")
def test_a_job_that_kills_its_workers_costs_itself_alone(run):
    ended = run("exits", workers=2)
    assert ended[:3] == (2, 0, False)
    assert "worker process ended with exit status 3: the reason, both times" in ended.text


def test_an_interrupt_leaves_what_is_known(run):
    stop = threading.Event()
    ended = run(on_job=stop.set, interrupt=stop)
    assert ended[:3] == (1, 2, True)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_beyond_this_machine_do_the_same(run, workers):
    with ThreadPoolExecutor(workers) as executor:
        assert run(executor=executor)[:3] == (3, 0, False)


def test_executors_have_their_own_workers(run):
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ParameterError, match=r"^executor = ThreadPoolExecutor: expected None with"),
    ):
        run(executor=executor, workers=2)


@pytest.mark.parametrize("study", [sweep, price], ids=KINDS[1:])
def test_without_time_nothing_is_begun(study, tmp_path, monkeypatch):
    ended = study(tmp_path, None, lambda: None, monkeypatch, time_limit=1e-9)
    assert (ended.n_done, ended.interrupted) == (0, False)
    assert "the time was over" in ended.text


@pytest.mark.parametrize("study", [batch, sweep], ids=KINDS[:2])
def test_after_an_interrupt_nothing_is_begun(study, tmp_path, monkeypatch):
    stop = threading.Event()
    stop.set()
    assert study(tmp_path, None, lambda: None, monkeypatch, interrupt=stop)[:3] == (0, 3, True)


def test_the_run_with_less_constraints_begins_from_the_best_clustering(monkeypatch):
    starts = []

    def solve(instance, parameters, stop, start):
        starts.append(start.tolist())
        return Outcome(sdpbb.solve(instance, start=start))

    monkeypatch.setattr("sdpbb.questions.price.solve_job", solve)
    sdpbb.constraint_prices(Instance(POINTS, 2, must_link=WRONG))
    assert len(starts) == 3
    assert all(len(set(start)) == 2 for start in starts)
