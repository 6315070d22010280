import numpy as np
import pytest

from heuristics.measures import (
    adjusted_rand_index,
    normalised_mutual_information,
    silhouette,
)
from sdpbb.errors import InstanceError, ParameterError


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


@pytest.mark.parametrize(
    ("measure", "one", "other", "message"),
    [
        (adjusted_rand_index, [0, 1], [0], "1 labels, but 2 true ones"),
        (adjusted_rand_index, [0.5], [0], "truth: expected a one-dimensional array of integers"),
        (normalised_mutual_information, [0], [[0]], "labels: expected a one-dimensional array"),
        (normalised_mutual_information, [], [], "truth: expected"),
        (silhouette, [[0.0], [1.0]], [0, 1, 1], "3 labels for 2 points"),
        (silhouette, [0.0, 1.0], [0, 1], "points: an array of shape"),
    ],
)
def test_what_is_no_pair_of_clusterings_is_refused(measure, one, other, message):
    with pytest.raises(InstanceError, match=f"^{message}"):
        measure(one, other)
    with pytest.raises(ParameterError, match=r"^sample = 1: expected"):
        silhouette([[0.0], [1.0]], [0, 1], sample=1)
