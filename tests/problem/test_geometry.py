"""Angles, kernels, distances and sparse rows: clusterings have the expected costs."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.errors import InstanceError
from sdpbb.problem import Instance, Partition, geometry
from sdpbb.problem.formats import read_points

RNG = np.random.default_rng(3)
POINTS = RNG.normal(size=(12, 3)) + np.repeat([[0, 0, 0], [6, 0, 0]], 6, axis=0)


def squared_distances(points):
    return ((points[:, None] - points) ** 2).sum(axis=2)


@st.composite
def points_and_labels(draw):
    n = draw(st.integers(2, 9))
    d = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    points = rng.normal(size=(n, d)) * 10.0 ** draw(st.integers(-3, 3)) + rng.normal(size=d)
    points[rng.random(n) < 0.2] = points[0]
    k = draw(st.integers(1, n))
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    return points, k, rng.permutation(labels)


@given(points_and_labels(), st.sampled_from(["kernel", "distances", "sparse"]))
def test_a_clustering_costs_the_same_in_each_form(case, form):
    points, k, labels = case
    if form == "kernel":
        instance = Instance.from_points(points @ points.T, k, metric="kernel")
    elif form == "distances":
        instance = Instance.from_points(squared_distances(points), k, metric="squared-distances")
    else:
        instance = Instance(scipy.sparse.csr_array(points), k)
    expected = Partition(labels).cost(Instance(points, k))
    # Inner products of points far from the origin have already lost digits.
    lost = 1e-11 * (points**2).sum()
    assert Partition(labels).cost(instance) == pytest.approx(expected, rel=1e-9, abs=lost)


@given(points_and_labels())
def test_angles_are_distances_on_the_sphere(case):
    points, _, _ = case
    unit = geometry.on_the_sphere(points)
    cosines = (unit @ unit.T).clip(-1, 1)
    lengths = np.linalg.norm(points, axis=1)
    assert np.allclose(points @ points.T, cosines * np.outer(lengths, lengths))
    assert np.allclose(squared_distances(unit), 2 - 2 * cosines)


@given(st.integers(0, 2**32), st.integers(2, 7), st.sampled_from(["kernel", "squared-distances"]))
def test_a_larger_diagonal_adds_the_same_to_all_clusterings(seed, n, metric):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n, n))
    matrix = matrix + matrix.T
    if metric == "squared-distances":
        matrix = np.abs(matrix)
        np.fill_diagonal(matrix, 0.0)
        squares = matrix
    else:
        diagonal = matrix.diagonal()
        squares = diagonal[:, None] + diagonal - 2 * matrix
    means = squares.mean(axis=0)
    least = np.linalg.eigvalsh(-0.5 * (squares - means - means[:, None] + means.mean()))[0]
    k = int(rng.integers(1, n + 1))
    if least > -1e-6:
        return
    with pytest.raises(InstanceError, match="least eigenvalue") as caught:
        Instance.from_points(matrix, k, metric=metric)
    assert f"{least:.3g}" in str(caught.value)
    added = 1e-6 - least
    if metric == "kernel":
        matrix = matrix + added * np.eye(n)
    else:
        matrix = matrix + 2 * added * (1 - np.eye(n))
    instance = Instance.from_points(matrix, k, metric=metric)
    rises = []
    for _ in range(5):
        labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
        own = sum(
            squares[np.ix_(c, c)].sum() / (2 * len(c))
            for c in (np.flatnonzero(labels == j) for j in range(k))
        )
        rises.append(Partition(labels).cost(instance) - own)
    assert np.allclose(rises, rises[0])
    assert rises[0] == pytest.approx(added * (n - k), rel=1e-6, abs=1e-6)


def test_files(tmp_path):
    np.save(tmp_path / "kernel.npy", POINTS @ POINTS.T)
    table = read_points(tmp_path / "kernel.npy", metric="kernel")
    assert np.allclose(squared_distances(table.points), squared_distances(POINTS))
    assert "coordinates of a matrix of kernel" in table.origin.preparation[-1]
    scipy.sparse.save_npz(tmp_path / "sparse.npz", scipy.sparse.csr_matrix(POINTS))
    assert np.allclose(read_points(tmp_path / "sparse.npz").points, POINTS)
    np.savetxt(tmp_path / "distances.csv", squared_distances(POINTS), delimiter=",")
    table = read_points(tmp_path / "distances.csv", metric="squared-distances")
    assert np.allclose(squared_distances(table.points), squared_distances(POINTS))
    table = read_points(tmp_path / "kernel.npy", metric="cosine")
    assert np.allclose(np.linalg.norm(table.points, axis=1), 1.0)


def test_a_wide_sparse_matrix_keeps_lengths_and_angles():
    wide = scipy.sparse.random_array((8, 200), density=0.1, rng=RNG)
    points = geometry.dense(wide)
    assert points.shape[1] <= 8
    assert np.allclose(points @ points.T, (wide @ wide.T).toarray())
    assert np.allclose(
        squared_distances(sdpbb.Instance.from_points(wide, 2, metric="cosine").points),
        squared_distances(geometry.on_the_sphere(wide.toarray())),
    )
