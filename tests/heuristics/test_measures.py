import numpy as np
import pytest

from heuristics.measures import (
    adjusted_rand_index,
    normalised_mutual_information,
    silhouette,
)


def test_values_by_hand():
    truth, labels = [0, 0, 1, 1], ["b", "b", "a", "c"]
    numbers = np.unique(labels, return_inverse=True)[1]
    # One pair is together in both, 2 and 1 of 6 are in either: (1 - 1/3) / (3/2 - 1/3).
    assert adjusted_rand_index(truth, numbers) == pytest.approx(4 / 7)
    # One bit is shared, of 1 and of 1.5.
    assert normalised_mutual_information(truth, numbers) == pytest.approx(1 / 1.25)
    assert silhouette([[0.0], [1.0], [3.0]], [0, 0, 1]) == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    assert silhouette([[0.0], [1.0]], [0, 0]) is None
    assert silhouette([[0.0], [1.0]], [0, 1]) is None


def test_a_sample_is_drawn_from_many_points():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(20, 1, (200, 2))])
    labels = np.repeat([0, 1], 200)
    sampled = silhouette(points, labels, sample=50, seed=1)
    assert sampled == silhouette(points, labels, sample=50, seed=1)
    assert sampled != silhouette(points, labels, sample=50, seed=2)
    assert sampled == pytest.approx(silhouette(points, labels), abs=0.03)
