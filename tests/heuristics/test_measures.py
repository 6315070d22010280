import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heuristics.measures import (
    adjusted_rand_index,
    costs_of_moves,
    normalised_mutual_information,
    silhouette,
)
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Instance, Partition

two_clusterings = st.integers(2, 8).flatmap(
    lambda n: st.tuples(*(arrays(np.intp, n, elements=st.integers(0, 3)) for _ in range(2)))
)
labelled_points = st.integers(1, 7).flatmap(
    lambda n: st.tuples(
        arrays(float, (n, 2), elements=st.integers(-5, 5).map(float)),
        arrays(np.intp, n, elements=st.integers(0, 2)),
    )
)


def pairs_alike(labels) -> np.ndarray:
    return np.array([labels[i] == labels[j] for i, j in combinations(range(len(labels)), 2)])


@given(two_clusterings)
def test_rand_index_by_counting_pairs(clusterings):
    truth, labels = map(pairs_alike, clusterings)
    both, expected = (truth & labels).sum(), truth.sum() * labels.sum() / len(truth)
    most = (truth.sum() + labels.sum()) / 2
    index = 1.0 if math.isclose(most, expected) else (both - expected) / (most - expected)
    assert adjusted_rand_index(*clusterings) == pytest.approx(index, abs=1e-12)


def entropy(counts) -> float:
    shares = np.asarray(counts) / np.sum(counts)
    return float(-(shares * np.log(shares)).sum())


@given(two_clusterings)
def test_mutual_information_by_entropies(clusterings):
    of_each = [entropy(np.unique(c, return_counts=True)[1]) for c in clusterings]
    joint = entropy(np.unique(np.stack(clusterings), axis=1, return_counts=True)[1])
    mean = sum(of_each) / 2
    expected = 1.0 if mean == 0 else (sum(of_each) - joint) / mean
    assert normalised_mutual_information(*clusterings) == pytest.approx(expected, abs=1e-9)


@given(labelled_points)
def test_silhouette_by_its_definition(labelled):
    points, labels = labelled
    present, sizes = np.unique(labels, return_counts=True)
    if len(present) < 2 or sizes.max() == 1:
        assert silhouette(points, labels) is None
        return
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    values = []
    for i, own in enumerate(labels):
        mates = (labels == own) & (np.arange(len(labels)) != i)
        if not mates.any():
            values.append(0.0)
            continue
        a = distances[i, mates].mean()
        b = min(distances[i, labels == other].mean() for other in present if other != own)
        values.append(0.0 if a == b else (b - a) / max(a, b))
    assert silhouette(points, labels) == pytest.approx(np.mean(values), abs=1e-12)


def test_a_sample_is_drawn_from_many_points():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(20, 1, (200, 2))])
    labels = np.repeat([0, 1], 200)
    sampled = silhouette(points, labels, sample=50, seed=1)
    assert sampled == silhouette(points, labels, sample=50, seed=1)
    assert sampled != silhouette(points, labels, sample=50, seed=2)
    assert sampled == pytest.approx(silhouette(points, labels), abs=0.03)


@pytest.mark.parametrize("measure", [adjusted_rand_index, normalised_mutual_information])
def test_what_is_no_pair_of_clusterings_is_refused(measure):
    for truth, labels, message in [
        ([0, 1], [0], "1 labels, but 2 true ones"),
        ([0.5], [0], "truth: expected a one-dimensional array of integers"),
        ([0], [[0]], "labels: expected a one-dimensional array of integers"),
        (np.empty(0, int), np.empty(0, int), "truth: expected at least one label"),
    ]:
        with pytest.raises(InstanceError, match=f"^{message}$"):
            measure(truth, labels)


def test_what_has_no_silhouette_is_refused():
    with pytest.raises(InstanceError, match=r"^3 labels for 2 points$"):
        silhouette([[0.0], [1.0]], [0, 1, 1])
    with pytest.raises(InstanceError, match=r"^points: an array of shape"):
        silhouette([0.0, 1.0], [0, 1])
    with pytest.raises(ParameterError, match=r"^sample = 1: expected"):
        silhouette([[0.0], [1.0]], [0, 1], sample=1)


@given(st.integers(0, 2**32 - 1))
def test_costs_of_moves_are_differences_of_costs(seed):
    """Of single points, weighted or not; a point that is all of its cluster cannot leave."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    labels = np.concatenate([[0, 0, 1, 1], rng.integers(0, 3, n - 4)])
    k, points = int(labels.max()) + 1, rng.normal(size=(n, 2))
    weights = rng.uniform(0.5, 3.0, n) if rng.random() < 0.5 else None
    instance, costs = Instance(points, k, weights=weights), costs_of_moves(points, labels, weights)
    for i, cluster in np.ndindex(n, k):
        moved = labels.copy()
        moved[i] = cluster
        change = Partition(moved).cost(instance) - Partition(labels).cost(instance)
        leaves_none = cluster != labels[i] and (labels == labels[i]).sum() == 1
        assert costs[i, cluster] == pytest.approx(math.inf if leaves_none else change, abs=1e-9)
