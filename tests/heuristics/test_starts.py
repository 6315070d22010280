import numpy as np
import pytest

from heuristics import starts
from heuristics.starts import (
    coreset,
    from_affinity,
    from_pivots,
    kmeans_plus_plus,
    smoothed_means,
    truncated_means,
)
from tests.graphs import contraction_of


@pytest.fixture
def contraction():
    return contraction_of(np.zeros((30, 30), dtype=bool), 4, np.random.default_rng(0), r=3)


def affinity_of(contraction, labels):
    weight = np.bincount(labels, weights=contraction.weights)
    return (labels[:, None] == labels) / weight[labels]


def cluster_means(contraction, labels):
    members = np.eye(contraction.k)[labels].T * contraction.weights
    return members @ contraction.means / members.sum(axis=1)[:, None]


def test_seeds_are_different_block_means(contraction):
    for seed in range(20):
        centres = kmeans_plus_plus(contraction, np.random.default_rng(seed))
        same = (centres[:, None] == contraction.means).all(axis=2)
        assert same.sum(axis=1).tolist() == [1] * 4
        assert len(set(np.argmax(same, axis=1))) == 4


def test_seeds_spread_over_far_groups(contraction):
    group = np.arange(30) % 4
    contraction.means[:, 0] += 1e3 * group
    for seed in range(10):
        centres = kmeans_plus_plus(contraction, np.random.default_rng(seed))
        assert sorted(np.round(centres[:, 0] / 1e3)) == [0, 1, 2, 3]


@pytest.mark.parametrize("move", [smoothed_means, truncated_means])
def test_the_affinity_of_a_clustering_gives_its_means(contraction, move):
    labels = np.random.default_rng(1).permutation(np.arange(30) % 4)
    rows = move(contraction, affinity_of(contraction, labels))
    expected = cluster_means(contraction, labels)
    assert rows == pytest.approx(expected[labels], abs=1e-9)
    centres = from_affinity(contraction, rows, np.random.default_rng(2))
    order, expected_order = np.argsort(centres[:, 0]), np.argsort(expected[:, 0])
    assert centres[order] == pytest.approx(expected[expected_order], abs=1e-9)


def test_pivots_of_the_affinity_of_a_clustering_are_one_block_of_each_cluster():
    rng = np.random.default_rng(0)
    contraction = contraction_of(np.zeros((60, 60), dtype=bool), 25, rng, r=2)
    labels = rng.permutation(np.arange(60) % 25)
    affinity = affinity_of(contraction, labels)
    # Neither the rounding of the method nor what is missing from the rank matters.
    affinity += 1e-3 * rng.random((60, 60)) / contraction.weights.sum()
    rows = smoothed_means(contraction, affinity)
    found = from_pivots(contraction, rows, affinity)
    expected = cluster_means(contraction, labels)
    distance = np.linalg.norm(found[:, None] - expected, axis=2)
    assert sorted(np.argmin(distance, axis=1)) == list(range(25))


def test_centres_are_expected_to_cost_as_much_in_a_coreset_as_on_all_blocks(monkeypatch):
    monkeypatch.setattr(starts, "DRAWS", 60)
    monkeypatch.setattr(starts, "DRAWS_PER_CLUSTER", 0)
    rng = np.random.default_rng(9)
    contraction = contraction_of(np.zeros((300, 300), dtype=bool), 2, rng, r=2)
    contraction.means[0] = [100.0, 0.0]  # far out by itself
    centres = rng.normal(size=(2, 2))

    def cost(blocks):
        apart = ((blocks.means[:, None] - centres) ** 2).sum(axis=2).min(axis=1)
        return float(blocks.weights @ apart)

    drawn = [coreset(contraction, rng) for _ in range(400)]
    assert all(60 >= few.n_blocks == len(np.unique(few.means, axis=0)) for few in drawn)
    assert all(contraction.means[0] in few.means for few in drawn)
    costs = [cost(few) for few in drawn]
    error = np.std(costs) / np.sqrt(len(costs))
    assert abs(np.mean(costs) - cost(contraction)) <= 4.0 * error
    assert error <= 0.01 * cost(contraction)
