"""A scheduler for tests that submit tasks one at a time."""

import math
import time
from collections import namedtuple

from sdpbb.runtime.executors.scheduler import Scheduler, Task, source_of


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
