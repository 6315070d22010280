import pytest

from sdpbb.runtime.executors.executor import SerialExecutor
from tests.executors import tasks
from tests.executors.pool import Completion, TaskPool


def run_one_after_the_other():
    order = []

    def evaluate(x):
        order.append(x)
        return x * x

    completions = []
    with TaskPool(SerialExecutor()) as pool:
        for key in range(5):
            assert pool.n_free == pool.n_workers == 1
            pool.submit(key, evaluate, key)
            assert pool.n_free == 0
            assert order[-1] == key  # evaluated by submit, not by wait
            completions += pool.wait(0)
    return order, completions


def test_tasks_run_at_submit_in_the_same_order_every_time():
    order, completions = run_one_after_the_other()
    assert order == [0, 1, 2, 3, 4]
    assert completions == [Completion(key, key * key) for key in range(5)]
    assert (order, completions) == run_one_after_the_other()


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
