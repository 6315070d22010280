"""A scheduler for tests that submit tasks one at a time, and tests of any executor.

These are for an executor with two workers, of which a module has the fixture `pool`.
"""

import math
import time
from collections import namedtuple

import pytest

from sdpbb.runtime.executors.scheduler import Scheduler, Task, source_of
from tests.executors import tasks


class Completion(namedtuple("Completion", "key value lost overdue deaths")):
    """What can be compared of a task that has ended."""

    def __new__(cls, key, value, lost=False, overdue=False, deaths=()):
        return super().__new__(cls, key, value, lost, overdue, deaths)

    @classmethod
    def of(cls, task):
        return cls(task.key, task.value, task.is_lost, task.is_overdue, tuple(task.deaths))


class TaskPool(Scheduler):
    """Its source is the test itself."""

    def __init__(self, executor):
        super().__init__(executor, on_death=lambda key, reason: self.suspected.append(key))
        self.suspected = []

    def submit(self, key, function, *args, seconds=math.inf):
        task = self._next(source_of(Task(key, function, args, seconds)))
        assert task is not None, "the pool does not accept tasks now"
        self._start(task)

    def wait(self, timeout=math.inf):
        """The next completions; none after some seconds, or if nothing is under way."""
        deadline = time.monotonic() + timeout
        while True:
            done = self.round(source_of(), max(0.0, deadline - time.monotonic()))
            if done or done is None or time.monotonic() >= deadline:
                return [Completion.of(task) for task in done or []]


def run_all(pool, calls):
    """What came of (function, *args): values by key, keys of lost tasks."""
    source = source_of(*(Task(key, call[0], call[1:]) for key, call in enumerate(calls)))
    values, lost = {}, set()
    while (done := pool.round(source)) is not None:
        values |= {task.key: task.value for task in done}
        lost |= {task.key for task in done if task.is_lost}
    return values, lost


def test_a_worker_that_dies_once_costs_no_task(pool, tmp_path):
    calls = [(tasks.die_unless_marked, tmp_path / "marker", "value"), (tasks.nap, 0.5, "other")]
    assert run_all(pool, calls) == ({0: "value", 1: "other"}, set())
    assert pool.suspected == [0]


def test_a_task_that_kills_every_worker_is_lost_and_no_other(pool):
    calls = [(tasks.square, key) if key != 1 else (tasks.die_after, 0.1) for key in range(6)]
    assert run_all(pool, calls) == ({0: 0, 1: None, 2: 4, 3: 9, 4: 16, 5: 25}, {1})
    assert pool.suspected == [1]


def test_errors_are_raised_with_the_traceback_of_the_worker(pool):
    pool.submit(3, tasks.boom, "a bug")
    with pytest.raises(ValueError, match="a bug") as raised:
        pool.wait()
    assert "in boom" in str(raised.value.__cause__)
    pool.submit(3, tasks.out_of_memory)
    with pytest.raises(MemoryError, match="no more"):
        pool.wait()
    pool.submit(3, tasks.unreadable)
    with pytest.raises(TypeError):
        pool.wait()
    pool.submit(3, tasks.square, 4)
    assert pool.wait() == [Completion(3, 16)]
