"""Processes of a run: no more of them, and no earlier, than they are called for."""

from sdpbb.executors.serial import SerialExecutor
from sdpbb.search.processes import RunProcesses


class Workers(SerialExecutor):
    """So many workers, in name only."""

    def __init__(self, n_workers):
        self._n_workers = n_workers
        self.is_alive = True

    @property
    def n_workers(self):
        return self._n_workers

    def kill(self):
        self.is_alive = False


def recorded(n_workers, is_cluster=False):
    """Processes, and the executors that they have made so far."""
    made = []

    def make(most):
        made.append(Workers(most))
        return made[-1]

    return RunProcesses(make, n_workers, is_cluster), made


def test_workers_begin_when_they_are_called_for_and_end_with_the_run():
    processes, made = recorded(3)
    with processes:
        assert processes.has_several_workers
        assert processes.n_cores == 3
        assert processes.local_pool.n_workers == 1
        assert made == []
        assert processes.worker_pool is processes.worker_pool
        assert [executor.n_workers for executor in made] == [3]
        assert made[0].is_alive
    assert not made[0].is_alive


def test_fewer_workers_are_other_ones():
    processes, made = recorded(3)
    processes.allow_workers(5)
    first = processes.worker_pool
    processes.allow_workers(3)
    assert processes.worker_pool is first
    processes.allow_workers(1)
    assert not made[0].is_alive
    assert not processes.has_several_workers
    assert processes.n_cores == 3  # that the one may use
    assert processes.worker_pool.n_workers == 1


def test_a_cluster_has_several_workers_whatever_is_asked_for():
    assert recorded(1, is_cluster=True)[0].has_several_workers
    assert not recorded(1)[0].has_several_workers
