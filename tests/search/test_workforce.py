"""Workers of a run: no more of them, and no earlier, than they are called for."""

import math
from concurrent.futures import Future

from sdpbb.runtime.executors.scheduler import SerialExecutor
from sdpbb.search.workforce import Workforce


class Cluster(SerialExecutor):
    """So many workers, in name only, whose tasks wait."""

    def __init__(self, n_workers):
        self.most, self.started = n_workers, []

    @property
    def n_workers(self):
        return self.most

    def submit(self, function, seconds=math.inf):
        self.started.append(Future())
        return self.started[-1]


def test_a_tree_stays_here_until_a_cluster_has_a_worker():
    cluster = Cluster(0)
    workforce = Workforce(1, lambda: None, cluster)
    for done in (False, False, True):
        assert workforce.works_here
        assert workforce.n_at_once == 1
        if done:
            cluster.started[0].set_result(None)
        workforce.choose_scheduler(n_due=2, n_nodes=9, seconds=9.0)
    assert len(cluster.started) == 1
    assert not workforce.works_here


def test_tasks_share_the_cores():
    workforce = Workforce(4, lambda: None, Cluster(4))
    assert workforce.cores_of_a_task(9) == 4  # this process does one at a time
    workforce.choose_for_subsets(False)
    assert not workforce.works_here
    assert [workforce.cores_of_a_task(n) for n in (1, 2, 3, 9)] == [4, 2, 1, 1]
    assert [workforce.cores_of_a_task(9, most_tasks=most) for most in (1, 2)] == [4, 2]
