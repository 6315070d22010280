"""The rules of the scheduler, with an executor whose workers die on command."""

import math
from concurrent.futures import Future

import pytest

from sdpbb.errors import BackendFailure
from sdpbb.runtime.executors.executor import TaskDropped, TaskExecutor, TaskOverdue, WorkerDied
from sdpbb.runtime.executors.scheduler import Scheduler, Task, source_of
from tests.executors.pool import Completion, Ending, TaskPool

DIED, DROPPED = WorkerDied("died"), TaskDropped("dropped by the test")


class Puppet(TaskExecutor):
    """Futures end when the test says so."""

    def __init__(self, n_workers=3):
        self.n = n_workers
        self.under_way, self.seconds = {}, {}
        self.n_checks = 0
        self.can_interrupt = True

    @property
    def n_workers(self):
        return self.n

    def submit(self, function, seconds=math.inf):
        (name,) = function.args
        self.under_way[name] = Future()
        self.seconds[name] = seconds
        return self.under_way[name]

    def end(self, name, value):
        future = self.under_way.pop(name)
        if isinstance(value, Exception):
            future.set_exception(value)
        else:
            future.set_result(value)

    def check(self):
        self.n_checks += 1
        if self.n == 0:
            raise BackendFailure("all gone")

    def interrupt(self):
        self.is_interrupted = True
        return self.can_interrupt

    def kill(self):
        self.under_way.clear()


def pool_with(*names, n_workers=3, **options):
    executor = Puppet(n_workers)
    pool = TaskPool(executor, **options)
    for key, name in enumerate(names):
        pool.submit(key, print, name)
    return pool, executor


def test_completions_come_once_in_the_order_of_submission():
    pool, executor = pool_with("a", "b", "c")
    executor.end("c", 3)
    executor.end("a", 1)
    assert pool.wait() == [Completion(0, 1), Completion(2, 3)]
    assert pool.wait(0) == []
    executor.end("b", 2)
    assert pool.wait() == [Completion(1, 2)]
    assert pool.wait() == []  # nothing is under way, so nothing to wait for


def test_no_more_tasks_than_workers():
    pool, executor = pool_with("a", "b")
    assert pool.n_free == 1
    pool.submit(2, print, "c")
    assert pool.n_free == 0
    assert pool.round(lambda: pytest.fail("no worker is free"), 0.0) == []
    executor.end("a", 1)
    pool.wait()
    assert (pool.n_free, pool.n_under_way) == (1, 2)


def test_a_suspect_runs_alone():
    pool, executor = pool_with("a", "b", "c")
    executor.end("b", DIED)
    assert pool.wait(0) == []
    assert (set(executor.under_way), pool.n_free) == ({"a", "c"}, 0)
    executor.end("a", 1)
    assert pool.wait(0) == [Completion(0, 1)]
    assert (set(executor.under_way), pool.n_free) == ({"c"}, 0)
    executor.end("c", 3)
    assert pool.wait(0) == [Completion(2, 3)]
    assert (set(executor.under_way), pool.n_free) == ({"b"}, 0)
    executor.end("b", 2)
    assert pool.wait(0) == [Completion(1, 2, reasons=("died",))]
    assert (pool.n_free, pool.n_deaths) == (3, 1)


def test_suspects_run_one_at_a_time_and_only_those_that_kill_again_are_lost():
    pool, executor = pool_with("a", "b", "c")
    for name in "abc":
        executor.end(name, DIED)
    completions = []
    for name, value in (("a", 1), ("b", DIED), ("c", 3)):
        completions += pool.wait(0)
        assert (list(executor.under_way), pool.n_free) == ([name], 0)
        executor.end(name, value)
    completions += pool.wait(0)
    assert completions == [
        Completion(0, 1, reasons=("died",)),
        Completion(1, None, Ending.LOST, ("died", "died")),
        Completion(2, 3, reasons=("died",)),
    ]
    assert [completion.lost for completion in completions] == [False, True, False]
    assert (pool.n_free, pool.n_deaths) == (3, 4)


def test_a_completed_task_is_no_suspect_any_more():
    pool, executor = pool_with("a")
    for value in (DIED, 1):
        executor.end("a", value)
        completions = pool.wait(0)
    assert completions == [Completion(0, 1, reasons=("died",))]
    pool.submit(0, print, "a")  # the same key
    pool.submit(1, print, "b")
    executor.end("a", DIED)
    assert pool.wait(0) == []
    executor.end("b", 2)
    assert pool.wait(0) == [Completion(1, 2)]
    executor.end("a", 1)
    assert pool.wait(0) == [Completion(0, 1, reasons=("died",))]


def test_a_dropped_task_starts_again_in_company_and_is_not_to_blame():
    pool, executor = pool_with("a", "b")
    executor.end("b", DROPPED)
    assert pool.wait(0) == []
    assert (set(executor.under_way), pool.n_free, pool.n_deaths) == ({"a", "b"}, 1, 0)
    executor.end("b", DIED)  # the first time, so not lost
    executor.end("a", 1)
    assert pool.wait(0) == [Completion(0, 1)]
    executor.end("b", 2)
    assert pool.wait(0) == [Completion(1, 2, reasons=("died",))]


def test_a_dropped_task_waits_for_a_suspect_that_runs_alone():
    pool, executor = pool_with("a", "b")
    executor.end("a", DIED)
    executor.end("b", DROPPED)
    assert pool.wait(0) == []
    assert set(executor.under_way) == {"a"}
    executor.end("a", 1)
    assert pool.wait(0) == [Completion(0, 1, reasons=("died",))]
    assert set(executor.under_way) == {"b"}


def test_suspects_can_wait_for_what_the_source_still_has():
    told = []
    executor = Puppet(1)
    scheduler = Scheduler(
        executor,
        suspects_last=True,
        on_start=lambda key, attempt: told.append((key, attempt)),
        on_death=lambda key, reason: told.append((key, reason)),
    )

    def ended(tasks):
        return [Completion.of(task) for task in tasks]

    source = source_of(*(Task(key, print, (name,)) for key, name in enumerate("abc")))
    assert scheduler.round(source, 0.0) == []
    executor.end("a", DIED)
    assert scheduler.round(source, 0.0) == []
    for key, name in ((1, "b"), (2, "c")):
        assert scheduler.round(source, 0.0) == []
        assert list(executor.under_way) == [name]
        executor.end(name, key)
        assert ended(scheduler.round(source, 0.0)) == [Completion(key, key)]
    assert scheduler.round(source, 0.0) == []
    executor.end("a", 1)
    assert ended(scheduler.round(source, 0.0)) == [Completion(0, 1, reasons=("died",))]
    assert scheduler.round(source, 0.0) is None
    assert told == [(0, 1), (0, "died"), (1, 1), (2, 1), (0, 2)]


def test_dropped_tasks_start_before_suspects_that_wait_for_the_last():
    executor = Puppet()
    scheduler = Scheduler(executor, suspects_last=True)
    source = source_of(Task(0, print, ("a",)), Task(1, print, ("b",)))
    scheduler.round(source, 0.0)
    executor.end("a", DIED)
    executor.end("b", DROPPED)
    for _ in range(2):
        assert scheduler.round(source, 0.0) == []
    assert set(executor.under_way) == {"b"}


def test_an_overdue_task_is_given_back():
    pool, executor = pool_with()
    pool.submit(0, print, "a", seconds=5.0)
    assert executor.seconds == {"a": 5.0}
    executor.end("a", TaskOverdue())
    assert pool.wait() == [Completion(0, None, Ending.OVERDUE)]
    assert pool.n_deaths == 0


def test_after_an_interrupt_only_values_come_back():
    pool, executor = pool_with("a", "b", "c")
    executor.end("a", DIED)
    assert pool.wait(0) == []
    pool.interrupt()
    assert executor.is_interrupted
    executor.end("b", 2)
    executor.end("c", TaskOverdue())
    assert pool.wait() == [Completion(1, 2)]
    assert (pool.wait(), pool.n_under_way, executor.under_way) == ([], 0, {})


def test_nobody_waits_for_what_cannot_be_interrupted():
    pool, executor = pool_with("a", "b")
    executor.can_interrupt = False
    pool.interrupt()
    pool.interrupt()
    assert pool.round(lambda: pytest.fail("nothing is begun"), 60.0) is None
    assert all(future.cancelled() for future in executor.under_way.values())


def test_an_executor_that_only_drops_tasks_is_given_up():
    pool, executor = pool_with("a")
    for _ in range(2):
        executor.end("a", DROPPED)
        assert pool.wait(0) == []
    executor.end("a", DROPPED)
    with pytest.raises(BackendFailure, match="dropped by the test"):
        pool.wait(0)


def test_an_error_costs_no_other_task_its_completion():
    pool, executor = pool_with("a", "b", "c")
    executor.end("a", 1)
    executor.end("b", ValueError("a bug"))
    executor.end("c", 3)
    with pytest.raises(ValueError, match="a bug"):
        pool.wait()
    assert pool.wait() == [Completion(0, 1), Completion(2, 3)]


def test_without_workers_one_task_can_wait_to_be_told_so(monkeypatch):
    monkeypatch.setattr("sdpbb.runtime.executors.scheduler.CHECK_SECONDS", 0.01)
    pool, _ = pool_with(n_workers=0)
    assert pool.n_free == 1
    pool.submit(0, print, "a")
    with pytest.raises(BackendFailure, match="all gone"):
        pool.wait(20)


def test_a_timeout_holds_while_workers_are_checked(monkeypatch):
    monkeypatch.setattr("sdpbb.runtime.executors.scheduler.CHECK_SECONDS", 0.01)
    pool, executor = pool_with("a")
    assert pool.wait(0.05) == []
    assert 1 <= executor.n_checks <= 6


def test_leaving_the_pool_ends_its_executor():
    pool, executor = pool_with("a")
    with pool:
        pass
    assert not executor.under_way
    assert (pool.n_under_way, pool.n_free) == (0, 3)
