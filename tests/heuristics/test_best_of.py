import numpy as np
import pytest

from heuristics.best_of import BestOf
from heuristics.result import Stop
from sdpbb.problem import Instance, Partition


def random_points(n=60, k=4):
    cannot_link = [(i, i + 1) for i in range(30)]
    points = np.random.default_rng(0).normal(size=(n, 3))
    return Instance(points, k, [(40, 41), (42, 43)], cannot_link)


FLAT = np.random.default_rng(0).normal(size=(60, 2))
LISTED = Instance(FLAT, 5, sizes=[4, 8, 12, 16, 20])


@pytest.mark.parametrize("instance", [random_points(150, 12), LISTED])
def test_more_runs_never_end_worse(instance):
    """Parts of two clusterings put together may have other sizes than those listed."""
    effort = {"n_starts": 1, "n_relocations": 0, "swap_effort": 0}
    results = [BestOf(n_runs=n_runs, **effort).run(instance, 3) for n_runs in (1, 2, 6)]
    costs = [result.sum_of_squares for result in results]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0] or instance is LISTED
    assert all(Partition(result.labels).keeps_sizes(instance) for result in results)


def test_the_same_with_two_workers():
    few = {"n_runs": 2, "n_starts": 2, "n_relocations": 5}
    one, two = (BestOf(workers=workers, **few).run(random_points(), 5) for workers in (1, 2))
    assert np.array_equal(one.labels, two.labels)
    assert one.n_iterations == two.n_iterations


@pytest.mark.long
def test_the_time_limit_ends_a_long_run_with_a_clustering():
    for workers in (1, 2):
        method = BestOf(n_runs=2, n_relocations=10**7, workers=workers, time_limit=0.3)
        result = method.run(random_points(), 0)
        assert result.stop is Stop.TIME_LIMIT
        assert result.keeps_hard_constraints
