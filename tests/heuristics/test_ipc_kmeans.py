import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.ipc_kmeans import IPCKMeans
from heuristics.result import HeuristicStatus, Stop
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance, Partition
from tests.enumeration import clustering_matrix, optimum, random_instance
from tests.examples import examples


@given(st.integers(0, 2**32 - 1))
@examples(100)
def test_a_clustering_wherever_there_is_one(seed):
    instance = random_instance(np.random.default_rng(seed))
    result = IPCKMeans().run(instance, seed)
    best = optimum(instance)
    if best is None:
        assert result.status is HeuristicStatus.INFEASIBLE
        assert result.infeasibility is not None
        return
    assert result.keeps_hard_constraints
    assert result.sum_of_squares >= best - 1e-9
    assert result.stop is Stop.CONVERGED


def test_more_assignment_steps_never_end_worse():
    rng = np.random.default_rng(0)
    instance = Instance(rng.normal(size=(80, 2)), 5, cannot_link=[(i, i + 1) for i in range(40)])
    results = [IPCKMeans(max_iterations=steps).run(instance, 1) for steps in range(1, 30)]
    costs = np.array([result.sum_of_squares for result in results])
    assert (np.diff(costs) <= 1e-9).all()
    assert results[0].stop is Stop.ITERATION_LIMIT
    assert results[-1].stop is Stop.CONVERGED


def test_more_starts_never_end_worse():
    rng = np.random.default_rng(0)
    instance = Instance(rng.normal(size=(60, 2)), 6)
    costs = [IPCKMeans(n_starts=n).run(instance, 1).sum_of_squares for n in (1, 3, 10, 30)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_the_start_of_a_tight_relaxation_is_its_clustering():
    """Algorithm 2: for the Z of a clustering the centres are its means."""
    rng = np.random.default_rng(2)
    truth = np.repeat(np.arange(3), 10)
    points = 10.0 * np.eye(3)[truth] + rng.normal(size=(30, 3))
    instance = Instance(points, 3, cannot_link=[(0, 10)])

    def affinities(contraction):
        yield clustering_matrix(truth[contraction.representatives], contraction.weights)

    result = IPCKMeans(start="sdp", affinities=affinities).run(instance)
    assert Partition(result.labels) == Partition(truth)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"start": "random"}, "start"),
        ({"start": "sdp"}, "affinities"),
        ({"affinities": lambda contraction: []}, "affinities"),
        ({"n_starts": 0}, "n_starts"),
        ({"max_iterations": 1.5}, "max_iterations"),
        ({"time_limit": 0}, "time_limit"),
        ({"time_limit": float("nan")}, "time_limit"),
    ],
)
def test_wrong_parameters(wrong, named):
    with pytest.raises(ParameterError, match=named):
        IPCKMeans(**wrong)
