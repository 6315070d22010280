import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.plots import plot_matrix
from sdpbb.plots.matrix import solved_relaxation, sorted_order
from sdpbb.problem import Contraction, Infeasibility, Instance, MaximumSize, contract
from sdpbb.problem.origin import Origin
from tests.graphs import cycle, mycielski

matplotlib = pytest.importorskip("matplotlib")


def clustering_matrix(labels: np.ndarray) -> np.ndarray:
    together = labels[:, None] == labels
    return together / together.sum(axis=1)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.integers(0, 1000))
def test_the_order_is_by_cluster_and_then_by_affinity(labels, seed):
    labels = np.array(labels)
    Z = np.random.default_rng(seed).random((len(labels),) * 2)
    order = sorted_order(Z, labels)
    assert sorted(order) == list(range(len(labels)))
    ordered = labels[order]
    changes = np.flatnonzero(ordered[1:] != ordered[:-1])
    assert len(changes) + 1 == len(set(labels.tolist()))
    inside = (Z * (labels[:, None] == labels)).sum(axis=1)[order]
    for start, end in zip([0, *(changes + 1)], [*(changes + 1), len(labels)], strict=True):
        assert (np.diff(inside[start:end]) <= 0).all()


def test_the_matrix_of_a_clustering_is_squares_of_ones():
    labels = np.array([0, 1, 0, 2, 1, 1])
    ax = plot_matrix(clustering_matrix(labels), labels)
    shown = ax.get_images()[0].get_array()
    expected = np.kron(np.eye(3), np.ones((3, 3)))  # sizes 2, 3, 1 cut out of it
    keep = [0, 1, 3, 4, 5, 6]
    np.testing.assert_allclose(shown, expected[np.ix_(keep, keep)])
    sides = [patch.get_width() for patch in ax.patches]
    assert sides == [2, 3, 1]


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError, match=r"shape \(2, 3\)"):
        plot_matrix(np.ones((2, 3)), [0, 1])
    with pytest.raises(ParameterError, match=r"labels of shape \(3,\)"):
        plot_matrix(np.ones((2, 2)), [0, 1, 1])


POINTS = np.array([[0.0, 0.0], [0.2, 0.0], [0.0, 0.3], [9.0, 9.0], [9.2, 9.0], [9.0, 9.1]])


def test_a_tight_relaxation_is_the_clustering():
    instance = Instance(POINTS, 2, must_link=[(3, 4)])
    solved = solved_relaxation(instance)
    assert len(np.unique(solved.labels)) == 2
    of_points = contract(instance).lift(solved.labels)
    assert of_points[0] == of_points[1] == of_points[2] != of_points[3]
    assert of_points[3] == of_points[4] == of_points[5]
    shown = plot_matrix(solved.affinity, solved.labels).get_images()[0].get_array()
    sides = (3, 2) if solved.labels[0] == solved.labels[1] else (2, 3)
    assert np.min(shown[: sides[0], : sides[0]]) > 0.9
    assert np.max(shown[sides[0] :, : sides[0]]) < 0.1


def test_labels_to_sort_by_are_those_of_the_blocks():
    instance = Instance(POINTS, 2, must_link=[(3, 4)])
    solved = solved_relaxation(instance, np.array([1, 1, 0, 0, 0, 0]))
    assert solved.labels.tolist() == [1, 1, 0, 0, 0]


def test_rows_have_the_names_that_their_user_gives_them():
    numbered = Instance(POINTS, 2, must_link=[(3, 4)], origin=Origin(first_row=1))
    named = Instance(POINTS, 2, must_link=[(3, 4)], origin=Origin(row_names=tuple("abcdef")))
    for instance, rows in ((numbered, "rows 4 and 5"), (named, "rows d and e")):
        with pytest.raises(ParameterError, match=f"{rows} have different labels"):
            solved_relaxation(instance, np.array([1, 1, 0, 0, 1, 0]))


def test_without_a_clustering_there_is_a_proof():
    parted = Instance(POINTS, 2, must_link=[(3, 4)], cannot_link=[(3, 4)])
    assert isinstance(solved_relaxation(parted), Infeasibility)
    graph = mycielski(cycle(5))  # four colours, and no triangle
    points = np.arange(float(len(graph)))[:, None]
    hidden = Instance(points, 3, cannot_link=np.argwhere(np.triu(graph)))
    assert isinstance(contract(hidden), Contraction)
    assert isinstance(solved_relaxation(hidden), Infeasibility)


def test_constraints_on_clusters_are_refused():
    instance = Instance(POINTS, 2, cluster_constraints=[MaximumSize(3)])
    with pytest.raises(InstanceError, match=r"^a matrix .* no limits on sizes or weights$"):
        solved_relaxation(instance)


def test_a_relaxation_that_takes_hours_is_refused(monkeypatch):
    monkeypatch.setattr("sdpbb.run.heuristic.MOST_BLOCKS", 5)
    with pytest.raises(InstanceError, match=r"has 6 blocks.*; expected a sample of the points$"):
        solved_relaxation(Instance(POINTS, 2))
