"""Workers of a run: no more of them, and no earlier, than they are called for."""

import math
from concurrent.futures import Future

import pytest

from sdpbb.runtime.executors.scheduler import SerialExecutor
from sdpbb.search.workforce import Workforce


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


@pytest.fixture
def made(monkeypatch):
    """The executors that workforces have made so far."""
    made = []

    def make(most, warm_up):
        made.append(Workers(most))
        return made[-1]

    monkeypatch.setattr("sdpbb.search.workforce.LocalProcesses", make)
    return made


def of(n_workers, given=None):
    return Workforce(n_workers, lambda: None, given)


def test_workers_begin_when_they_are_called_for_and_end_with_the_run(made):
    workforce = of(3)
    with workforce:
        assert workforce.has_several_workers
        assert workforce.n_cores == 3
        assert workforce.here.n_workers == 1
        assert made == []
        assert workforce.workers is workforce.workers
        assert [executor.n_workers for executor in made] == [3]
        assert made[0].is_alive
    assert not made[0].is_alive


def test_fewer_workers_are_other_ones(made):
    workforce = of(3)
    workforce.allow_workers(5)
    first = workforce.workers
    workforce.allow_workers(3)
    assert workforce.workers is first
    workforce.allow_workers(1)
    assert not made[0].is_alive
    assert not workforce.has_several_workers
    assert workforce.n_cores == 3  # that the one may use
    assert workforce.workers.n_workers == 1


def test_a_given_executor_has_several_workers_whatever_is_asked_for():
    given = Workers(1)
    assert of(1, given).has_several_workers
    assert of(1, given).workers.n_workers == 1
    assert not of(1).has_several_workers


def test_a_tree_stays_here_until_a_cluster_has_a_worker():
    started = []

    class Cluster(Workers):
        def submit(self, function, seconds=math.inf):
            started.append(Future())
            return started[-1]

    workforce = of(1, Cluster(0))
    for done in (False, False, True):
        assert workforce.works_here
        assert workforce.n_at_once == 1
        if done:
            started[0].set_result(None)
        workforce.choose_scheduler(n_due=2, n_nodes=9, seconds=9.0)
    assert len(started) == 1
    assert not workforce.works_here


def test_tasks_share_the_cores(made):
    workforce = of(4)
    assert workforce.cores_of_a_task(9) == 4  # this process does one at a time
    workforce.choose_for_subsets(False)
    assert not workforce.works_here
    assert [workforce.cores_of_a_task(n) for n in (1, 2, 3, 9)] == [4, 2, 1, 1]
    assert [workforce.cores_of_a_task(9, most_tasks=most) for most in (1, 2)] == [4, 2]
