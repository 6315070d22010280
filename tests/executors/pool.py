"""A scheduler for tests that submit tasks one at a time."""

import math
import time
from collections import namedtuple
from enum import Enum

from sdpbb.runtime.executors.scheduler import Scheduler, Task, source_of

Ending = Enum("Ending", ["DONE", "LOST", "OVERDUE"])


class Completion(namedtuple("Completion", "key value ending reasons")):
    """What can be compared of a task that has ended."""

    def __new__(cls, key, value, ending=Ending.DONE, reasons=()):
        return super().__new__(cls, key, value, ending, reasons)

    @property
    def lost(self):
        return self.ending is Ending.LOST

    @classmethod
    def of(cls, task):
        lost = Ending.LOST if task.is_lost else Ending.DONE
        ending = Ending.OVERDUE if task.is_overdue else lost
        return cls(task.key, task.value, ending, tuple(task.deaths))


class TaskPool(Scheduler):
    """Its source is the test itself."""

    @property
    def n_free(self):
        if self._suspects or any(task.deaths for task in self._running.values()):
            return 0
        return max(1, self.n_workers) - len(self._running) - len(self._dropped)

    @property
    def n_under_way(self):
        return len(self.keys)

    def submit(self, key, function, *args, seconds=math.inf):
        task = self._next(source_of(Task(key, function, args, seconds)))
        assert task is not None, "the pool does not accept tasks now"
        self._start(task)

    def wait(self, timeout=math.inf):
        """The next completions; none after some seconds, or if nothing is under way."""
        deadline = time.monotonic() + timeout
        while True:
            done = self.round(source_of(), max(0.0, deadline - time.monotonic()))
            while (task := self._next(source_of())) is not None:  # suspects, and dropped ones
                self._start(task)
            if done or done is None or time.monotonic() >= deadline:
                return [Completion.of(task) for task in done or []]


def run_all(pool, calls):
    """What came of (function, *args): values by key, keys of lost tasks."""
    todo = list(enumerate(calls))[::-1]
    values, lost = {}, set()
    while todo or pool.n_under_way:
        while todo and pool.n_free:
            key, (function, *args) = todo.pop()
            pool.submit(key, function, *args)
        for completion in pool.wait(60):
            values[completion.key] = completion.value
            if completion.lost:
                lost.add(completion.key)
    return values, lost
