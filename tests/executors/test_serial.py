import pytest

from sdpbb.runtime.executors.scheduler import SerialExecutor
from tests.executors import tasks
from tests.executors.pool import Completion, TaskPool


def test_tasks_run_when_they_are_submitted():
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


def test_an_interrupt_is_not_kept_for_later():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SerialExecutor().submit(interrupt)
