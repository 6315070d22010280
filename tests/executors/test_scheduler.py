"""The rules of the scheduler, with an executor whose workers die on command."""

import math
from collections import Counter
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import BackendFailure
from sdpbb.runtime.executors.executor import TaskDropped, TaskExecutor, TaskOverdue, WorkerDied
from sdpbb.runtime.executors.scheduler import DEATHS, DROPS, Scheduler, Task, source_of
from tests.examples import examples
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


@given(st.data(), st.integers(1, 3), st.integers(1, 6), st.booleans())
@examples(200)
def test_each_task_ends_once_and_suspects_run_alone(data, n_workers, n_tasks, suspects_last):
    """However workers die, and drop tasks."""
    executor, ended, told = Puppet(n_workers), {}, []
    deaths, drops, started = Counter(), Counter(), set()

    def waiting():
        return {key for key in deaths if key not in executor.under_way and key not in ended}

    def begins(key, attempt):
        assert attempt == deaths[key] + 1
        suspects = waiting()
        if deaths[key]:
            assert [*executor.under_way] == [key]
            assert len(started) == n_tasks or not suspects_last
        else:
            assert suspects_last or not suspects
        started.add(key)

    scheduler = Scheduler(
        executor,
        suspects_last=suspects_last,
        on_start=begins,
        on_death=lambda key, reason: told.append((key, reason)),
    )
    source = source_of(*(Task(key, print, (key,)) for key in range(n_tasks)))

    def rounds():
        """One takes what has ended, and the next begins others."""
        for _ in range(2):
            tasks = scheduler.round(source, 0.0)
            for task in tasks or []:
                assert task.key not in ended
                ended[task.key] = Completion.of(task)
        return tasks is not None

    while rounds():
        running = [*executor.under_way]
        is_alone = any(deaths[key] for key in running)
        assert 0 < len(running) <= (1 if is_alone else n_workers)
        is_full = len(running) == n_workers or len(started) == n_tasks
        assert is_full or is_alone or waiting()
        key = data.draw(st.sampled_from(running))
        end = data.draw(st.sampled_from([key, DIED, DIED, DROPPED, TaskOverdue()]))
        executor.end(key, end)
        if end is DIED:
            deaths[key] += 1
        if end is DROPPED:
            drops[key] += 1
            if drops[key] == DROPS:
                with pytest.raises(BackendFailure, match="dropped by the test"):
                    scheduler.round(source, 0.0)
                return
    assert [*sorted(ended)] == [*range(n_tasks)]
    for key, done in ended.items():
        assert done.lost == (deaths[key] == DEATHS)
        assert done.reasons == ("died",) * deaths[key]
        assert done.value == (key if done.ending is Ending.DONE else None)
    assert scheduler.n_deaths == deaths.total()
    assert Counter(key for key, _ in told) == Counter([*filter(deaths.get, deaths)])


def test_completions_come_once_in_the_order_of_submission():
    pool, executor = pool_with("a", "b", "c")
    executor.end("c", 3)
    executor.end("a", 1)
    assert pool.wait() == [Completion(0, 1), Completion(2, 3)]
    assert pool.wait(0) == []
    executor.end("b", 2)
    assert pool.wait() == [Completion(1, 2)]
    assert pool.wait() == []  # nothing is under way, so nothing to wait for


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
