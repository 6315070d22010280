import numpy as np
import pytest

from sdpbb.problem import Contraction, Instance, contract
from sdpbb.run.decomposition.dealing import features, subset_tree
from sdpbb.run.decomposition.subsets import SubsetTree, restricted_costs


def contracted(points: np.ndarray, k: int, must_link=()) -> Contraction:
    contraction = contract(Instance(points, k, must_link))
    assert isinstance(contraction, Contraction)
    return contraction


@pytest.mark.parametrize("r", [1, 3, 15])
def test_features_of_a_cluster_add_up_to_zero(r):
    rng = np.random.default_rng(r)
    contraction = contracted(rng.normal(size=(90, r)), 3, [(0, 3), (3, 9), (1, 4)])
    labels = rng.integers(0, 3, contraction.n_blocks)
    found = features(contraction, labels)
    for cluster in range(3):
        of_cluster = found[labels == cluster].astype(float)
        assert np.abs(of_cluster.sum(axis=0)).max() < 1e-5 * max(1.0, np.abs(of_cluster).sum())


def test_the_first_features_are_the_deviations_from_the_means():
    rng = np.random.default_rng(0)
    contraction = contracted(rng.normal(size=(60, 2)), 2, [(0, 1), (2, 5)])
    labels = rng.integers(0, 2, contraction.n_blocks)
    sizes, means = contraction.weights, contraction.means
    centres = [np.average(means[labels == c], 0, sizes[labels == c]) for c in range(2)]
    deviations = means - np.array(centres)[labels]
    expected = sizes[:, None] * deviations / np.abs(deviations).max()
    assert np.allclose(features(contraction, labels)[:, :2], expected, atol=1e-6)


def test_features_of_points_that_are_far_apart_are_finite():
    points = np.array([[0.0], [1.0], [1e99], [-1e99], [3.0]])
    assert np.isfinite(features(contracted(points, 2), np.array([0, 0, 1, 1, 0]))).all()


def test_subsets_of_skew_data_cost_nearly_the_same():
    rng = np.random.default_rng(0)
    contraction = contracted(rng.exponential(size=(6400, 3)), 4)
    labels = np.argmin(
        np.abs(contraction.means[:, :1] - np.quantile(contraction.means, [0.1, 0.4, 0.7, 0.9])), 1
    )
    tree = subset_tree(contraction, labels, 5, 1)
    at_random = SubsetTree(rng.permutation(6400), tree.bounds)
    spread = [
        np.std(restricted_costs(contraction, labels, each.subset_of(5))[32:])
        for each in (tree, at_random)
    ]
    assert spread[0] < 0.6 * spread[1]
