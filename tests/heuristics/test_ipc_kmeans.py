import numpy as np

from heuristics.ipc_kmeans import IPCKMeans
from heuristics.result import Stop
from sdpbb.problem import Instance, Partition
from tests.enumeration import clustering_matrix


def test_more_assignment_steps_never_end_worse():
    rng = np.random.default_rng(0)
    instance = Instance(rng.normal(size=(80, 2)), 5, cannot_link=[(i, i + 1) for i in range(40)])
    results = [IPCKMeans(max_iterations=steps).run(instance, 1) for steps in range(1, 30)]
    costs = np.array([result.sum_of_squares for result in results])
    assert (np.diff(costs) <= 1e-9).all()
    assert results[0].stop is Stop.ITERATION_LIMIT
    assert results[-1].stop is Stop.CONVERGED


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
