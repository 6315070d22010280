"""Tests of any executor with two workers, of which a module has the fixture `pool`."""

import pytest

from tests.executors import tasks
from tests.executors.pool import Completion, run_all


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
