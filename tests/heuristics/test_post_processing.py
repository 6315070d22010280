from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from heuristics.kmeans import KMeans
from heuristics.post_processing import PostProcessing
from heuristics.result import HeuristicStatus, Stop
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance, Partition
from tests.enumeration import feasible_clusterings, random_instance
from tests.examples import examples

seeds = st.integers(0, 2**32 - 1)


def agreement(labels: np.ndarray, membership: np.ndarray) -> float:
    """With the clusters named as agrees most."""
    by_cluster = np.zeros((membership.shape[1], membership.shape[1]))
    np.add.at(by_cluster, labels, membership)
    return float(by_cluster[linear_sum_assignment(by_cluster, maximize=True)].sum())


def greatest_agreement(instance: Instance, membership: np.ndarray) -> float:
    """Over all labels that keep the constraints, whether or not a cluster is empty."""
    n, k = membership.shape
    labels = np.array(list(product(range(k), repeat=n)))
    keep = np.ones(len(labels), bool)
    for i, j in instance.must_link:
        keep &= labels[:, i] == labels[:, j]
    for i, j in instance.cannot_link:
        keep &= labels[:, i] != labels[:, j]
    return float(membership[np.arange(n), labels[keep]].sum(axis=1).max())


@given(seeds)
@examples(80)
def test_no_clustering_agrees_more(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, n_max=6)
    membership = rng.random((instance.n_points, instance.k))
    result = PostProcessing(membership=membership).run(instance)
    feasible = feasible_clusterings(instance)
    if not len(feasible):
        assert result.status is HeuristicStatus.INFEASIBLE
        return
    assert result.stop is Stop.CONVERGED
    assert Partition(result.labels).is_feasible(instance)
    found = agreement(result.labels, membership)
    best = max(agreement(labels, membership) for labels in feasible)
    assert found <= best + 1e-9
    if greatest_agreement(instance, membership) <= best + 1e-9:  # no cluster had to be filled
        assert found >= best - 1e-9


def test_by_default_it_begins_from_kmeans():
    points = np.random.default_rng(0).normal(size=(60, 2))
    free = KMeans(n_starts=4).run(Instance(points, 3), 5)
    same = PostProcessing(n_starts=4).run(Instance(points, 3), 5)
    assert np.array_equal(free.labels, same.labels)
    i, j = 0, int(np.flatnonzero(free.labels == free.labels[0])[1])
    apart = PostProcessing(n_starts=4).run(Instance(points, 3, cannot_link=[(i, j)]), 5)
    assert apart.labels[i] != apart.labels[j]
    # One of the two has moved, and nothing else.
    moved = [np.delete(np.arange(60), p) for p in (i, j)]
    assert any(Partition(apart.labels[p]) == Partition(free.labels[p]) for p in moved)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_memberships_of_any_size(scale):
    membership = scale * np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    instance = Instance([[0.0], [1.0], [2.0]], 2, cannot_link=[(0, 2)])
    result = PostProcessing(membership=membership).run(instance)
    assert result.labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("membership", "message"),
    [
        ([[0.5, np.nan]], r"membership\[0, 1\] = nan"),
        ([[0.5, 0.5], [-0.1, 1.0]], r"membership\[1, 0\] = -0.1"),
        ([[np.inf, 0.5]], "finite"),
        ([0.5, 0.5], "1 dimensions"),
        ([["a", "b"]], "table"),
    ],
)
def test_memberships_are_validated(membership, message):
    with pytest.raises(ParameterError, match=message):
        PostProcessing(membership=membership)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_memberships_must_fit_the_instance(shape):
    method = PostProcessing(membership=np.ones(shape))
    with pytest.raises(ParameterError, match=r"expected \(2, 2\): a row for each point"):
        method.run(Instance([[0.0], [1.0]], 2))
