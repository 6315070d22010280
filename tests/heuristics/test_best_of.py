import numpy as np
import pytest

from heuristics.best_of import BestOf
from heuristics.cop_kmeans import COPKMeans
from heuristics.ipc_kmeans import IPCKMeans
from heuristics.kmeans import KMeans
from heuristics.result import Stop
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance

QUICK = {"n_runs": 2, "n_starts": 2, "n_relocations": 5}


def random_points(seed=0, n=60, k=4):
    rng = np.random.default_rng(seed)
    cannot_link = [(i, i + 1) for i in range(30)]
    return Instance(rng.normal(size=(n, 3)), k, [(40, 41), (42, 43)], cannot_link)


def test_more_runs_never_end_worse():
    instance = random_points(n=150, k=12)
    costs = [
        BestOf(n_runs=n_runs, n_starts=1, n_relocations=0, swap_effort=0)
        .run(instance, 3)
        .sum_of_squares
        for n_runs in (1, 2, 4, 8)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


@pytest.mark.parametrize("method", [IPCKMeans(), COPKMeans(), KMeans()])
@pytest.mark.long
def test_never_worse_than_the_method_it_begins_from(method):
    """k-means looks at no constraint: what violates one is no beginning, and costs nothing."""
    for seed in range(5):
        instance = random_points(seed)
        improved = BestOf(n_runs=1, n_relocations=0, method=method).run(instance, seed)
        assert improved.keeps_hard_constraints
        own_seed = int(np.random.default_rng(seed).integers(2**31, size=1)[0])
        begun = method.run(instance, own_seed)
        if begun.keeps_hard_constraints:
            assert improved.sum_of_squares <= begun.sum_of_squares * (1 + 1e-12)


def test_the_same_with_two_workers():
    instance = random_points()
    one, two = (BestOf(workers=workers, **QUICK).run(instance, 5) for workers in (1, 2))
    assert np.array_equal(one.labels, two.labels)
    assert one.n_iterations == two.n_iterations


@pytest.mark.long
def test_the_time_limit_ends_a_long_run_with_a_clustering():
    for workers in (1, 2):
        method = BestOf(n_runs=2, n_relocations=10**7, workers=workers, time_limit=0.3)
        result = method.run(random_points(), 0)
        assert result.stop is Stop.TIME_LIMIT
        assert result.keeps_hard_constraints


@pytest.mark.parametrize(
    "wrong", [{"n_runs": 0}, {"n_starts": 0}, {"n_relocations": -1}, {"workers": 0}, {"method": 3}]
)
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        BestOf(**wrong)
