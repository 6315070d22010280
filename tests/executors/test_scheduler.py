"""The rules of the scheduler, with an executor whose workers die on command."""

import math
from collections import Counter
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import BackendFailure
from sdpbb.runtime.executors.scheduler import (
    DEATHS,
    Scheduler,
    SerialExecutor,
    Task,
    TaskExecutor,
    TaskOverdue,
    WorkerDied,
    source_of,
)
from tests.examples import examples
from tests.executors import tasks
from tests.executors.pool import Completion, TaskPool

DIED = WorkerDied("died")


class Puppet(TaskExecutor):
    """Futures end when the test says so."""

    def __init__(self, n_workers=3):
        self.n = n_workers
        self.under_way, self.seconds = {}, {}
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
        if self.n == 0:
            raise BackendFailure("all gone")

    def interrupt(self):
        self.is_interrupted = True
        return self.can_interrupt

    def kill(self):
        self.under_way.clear()


def pool_with(*names, n_workers=3):
    executor = Puppet(n_workers)
    pool = TaskPool(executor)
    for key, name in enumerate(names):
        pool.submit(key, print, name)
    return pool, executor


@given(st.data(), st.integers(1, 3), st.integers(1, 6))
@examples(200)
def test_each_task_ends_once_and_suspects_run_alone(data, n_workers, n_tasks):
    """However workers die."""
    ended, suspects, deaths, started = {}, [], Counter(), Counter()

    class Watched(Puppet):
        def submit(self, function, seconds=math.inf):
            future = super().submit(function, seconds)
            (key,) = function.args
            started[key] += 1
            assert started[key] == deaths[key] + 1
            assert not deaths[key] or [*self.under_way] == [key]
            assert deaths[key] or all(suspect in ended for suspect in suspects)
            return future

    executor = Watched(n_workers)
    scheduler = Scheduler(executor, on_death=lambda key, _: suspects.append(key))
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
        waits_for_suspects = any(key not in ended for key in suspects)
        assert 0 < len(running) <= n_workers
        is_full = len(running) == n_workers or len(started) == n_tasks
        assert is_full or waits_for_suspects
        key = data.draw(st.sampled_from(running))
        end = data.draw(st.sampled_from([key, DIED, DIED, TaskOverdue()]))
        executor.end(key, end)
        deaths[key] += end is DIED
    assert [*sorted(ended)] == [*range(n_tasks)]
    for key, done in ended.items():
        assert done.lost == (deaths[key] == DEATHS)
        assert done.deaths == ("died",) * deaths[key]
        assert done.value == (None if done.lost or done.overdue else key)
    assert Counter(suspects) == Counter(key for key in deaths if deaths[key])


def test_completions_come_once_in_the_order_of_submission():
    pool, executor = pool_with("a", "b", "c")
    executor.end("c", 3)
    executor.end("a", 1)
    assert pool.wait() == [Completion(0, 1), Completion(2, 3)]
    assert pool.wait(0) == []
    executor.end("b", 2)
    assert pool.wait() == [Completion(1, 2)]
    assert pool.wait() == []  # nothing is under way, so nothing to wait for


def test_after_an_interrupt_only_values_come_back():
    pool, executor = pool_with("a", "b", "c")
    executor.end("a", DIED)
    assert pool.wait(0) == []
    pool.interrupt()
    assert executor.is_interrupted
    executor.end("b", 2)
    executor.end("c", TaskOverdue())
    assert pool.wait() == [Completion(1, 2)]
    assert (pool.wait(), pool.is_idle, executor.under_way) == ([], True, {})


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


def test_without_workers_one_task_can_wait_to_be_told_so():
    pool, _ = pool_with("a", n_workers=0)
    with pytest.raises(BackendFailure, match="all gone"):
        pool.wait(0.05)


def test_leaving_the_pool_ends_its_executor():
    pool, executor = pool_with("a")
    with pool:
        pass
    assert not executor.under_way
    assert pool.is_idle


def test_tasks_of_this_process_run_when_they_are_submitted():
    done = []
    with TaskPool(SerialExecutor()) as pool:
        for key in range(5):
            pool.submit(key, done.append, key)
            assert done[-1] == key
            assert pool.wait(0) == [Completion(key, None)]


def test_errors_come_from_wait_and_the_pool_goes_on():
    with TaskPool(SerialExecutor()) as pool:
        pool.submit(7, tasks.boom, "of task seven")
        with pytest.raises(ValueError, match="of task seven") as raised:
            pool.wait()
        assert "boom" in [entry.name for entry in raised.traceback]
        pool.submit(7, tasks.square, 3)
        assert pool.wait() == [Completion(7, 9)]


def test_an_interrupt_in_this_process_is_not_kept_for_later():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SerialExecutor().submit(interrupt)
