from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import ParameterError
from sdpbb.plots import plot_clusters
from sdpbb.plots.pictures import (
    MOST_NAMED,
    MOST_PAIRS,
    RED,
    look_of,
    plane_of,
    principal_components,
    svg,
)
from sdpbb.problem import Instance, Origin, Partition

matplotlib = pytest.importorskip("matplotlib")

POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 1.0], [6.0, 1.0], [5.0, 2.0]])
INSTANCE = Instance(POINTS, 2, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 4), (2, 3)])
LABELS = [0, 0, 1, 1, 1]


def collections(ax) -> dict[str, object]:
    return {drawn.get_label(): drawn for drawn in ax.collections}


def test_points_are_where_they_are_in_two_dimensions():
    drawn = collections(plot_clusters(INSTANCE, LABELS))
    np.testing.assert_array_equal(drawn["cluster 0 (2)"].get_offsets(), POINTS[:2])
    np.testing.assert_array_equal(drawn["cluster 1 (3)"].get_offsets(), POINTS[2:])
    means = [POINTS[:2].mean(axis=0), POINTS[2:].mean(axis=0)]
    np.testing.assert_allclose(drawn["means of the 2 clusters"].get_offsets(), means)


def test_violated_constraints_are_red_and_the_others_are_not():
    from matplotlib.colors import to_rgb

    drawn = collections(plot_clusters(INSTANCE, Partition(np.array(LABELS))))
    expected = {
        "must-link (1)": [(0, 1)],
        "violated must-link (1)": [(1, 2)],
        "cannot-link (1)": [(0, 4)],
        "violated cannot-link (1)": [(2, 3)],
    }
    for name, pairs in expected.items():
        segments = np.array(drawn[name].get_segments())
        np.testing.assert_array_equal(segments, POINTS[np.array(pairs)])
        is_red = tuple(drawn[name].get_colors()[0][:3]) == to_rgb(RED)
        assert is_red == name.startswith("violated")
        is_dashed = drawn[name].get_linestyles()[0][1] is not None
        assert is_dashed == ("cannot-link" in name)


def test_soft_constraints_are_drawn_too():
    instance = Instance(POINTS, 2, soft_must_link=[(0, 2, 0.5)], soft_cannot_link=[(0, 3, 0.5)])
    drawn = collections(plot_clusters(instance, LABELS))
    assert {"violated soft must-link (1)", "soft cannot-link (1)"} <= set(drawn)


def test_of_many_constraints_a_sample_is_drawn_and_said():
    n = 120
    points = np.random.default_rng(0).normal(size=(n, 2))
    pairs = [(i, j) for i in range(n) for j in range(i)]
    drawn = collections(plot_clusters(Instance(points, 3, cannot_link=pairs), range(n)))
    (name,) = [name for name in drawn if name.startswith("cannot-link")]
    n_drawn = len(drawn[name].get_segments())
    assert len(pairs) / 4 - 1 < n_drawn <= MOST_PAIRS
    assert name == f"cannot-link ({len(pairs):,}, {n_drawn:,} drawn)"


def test_looks_tell_clusters_apart():
    looks = [look_of(cluster) for cluster in range(42)]
    assert len({*looks}) == 42
    # Colours alone, and markers alone, tell the first six apart.
    assert [len({*part}) for part in zip(*looks[:6], strict=True)] == [6, 6]


def test_many_clusters_are_not_named_one_by_one():
    n = MOST_NAMED + 1
    points = np.random.default_rng(0).normal(size=(n, 2))
    ax = plot_clusters(Instance(points, n), range(n))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [f"means of the {n} clusters"]


@given(st.integers(0, 10**6), st.sampled_from([1e-90, 1.0, 1e90]))
def test_no_direction_has_more_variance_than_the_first_component(seed, unit):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 4)) * unit
    scores, shares = principal_components(Instance(points, 2))
    direction = rng.normal(size=4)
    direction /= np.linalg.norm(direction)
    along = (points - points.mean(axis=0)) / unit @ direction
    assert ((scores[:, 0] / unit) ** 2).sum() >= (along**2).sum() * (1 - 1e-9)
    assert scores[np.abs(scores[:, 0]).argmax(), 0] > 0
    assert 0 <= shares[1] <= shares[0] <= 1


def test_the_axes_say_how_much_they_explain():
    points = np.array([[0.0, 0, 0], [2, 0, 0], [1, 1, 0], [1, -1, 0]]) * [2, 1, 1]
    ax = plot_clusters(Instance(points, 2), [0, 0, 1, 1])
    assert ax.get_xlabel() == "First principal component (80.0% of the variance)"
    assert ax.get_ylabel() == "Second (20.0% of the variance)"


def test_points_with_one_feature_stand_above_each_other_by_cluster():
    places, names = plane_of(Instance([[3.0], [1.0], [4.0]], 2), np.array([0, 1, 0]))
    assert places.tolist() == [[3.0, 0.0], [1.0, 1.0], [4.0, 0.0]]
    assert names == ("Feature", "Cluster")


@pytest.mark.parametrize("points", [np.zeros((4, 3)), np.ones((1, 5)), np.eye(2, 9)])
def test_degenerate_points_can_be_drawn(points):
    ax = plot_clusters(Instance(points, 1), np.zeros(len(points), int))
    ax.figure.canvas.draw()
    assert np.isfinite(ax.collections[0].get_offsets()).all()


def test_another_number_of_labels_is_refused():
    with pytest.raises(ParameterError, match="4 labels; expected 5, one per point"):
        plot_clusters(INSTANCE, [0, 0, 1, 1])


def test_any_name_of_a_feature_can_be_drawn():
    names = ("$x_$ and $", "a\nb")
    ax = plot_clusters(replace(INSTANCE, origin=Origin(feature_names=names)), LABELS)
    drawn = svg(ax).decode()
    assert "$x_$ and $" in drawn
    assert "'a\\nb'" in drawn
