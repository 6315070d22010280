"""Pictures: clusterings on a plane, bounds over time and costs of a sweep, on whichever axes."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.plots import plot_bounds, plot_certainty, plot_clusters, plot_sweep
from sdpbb.plots.pictures import (
    COLOURS,
    LONGER,
    MOST_NAMED,
    MOST_PAIRS,
    RED,
    look_of,
    plane_of,
    principal_components,
    svg,
)
from sdpbb.problem import Instance, Origin, Partition
from sdpbb.search.events import Progress
from sdpbb.search.trace import Trace

matplotlib = pytest.importorskip("matplotlib")

POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 1.0], [6.0, 1.0], [5.0, 2.0]])
INSTANCE = Instance(
    POINTS,
    2,
    must_link=[(0, 1), (1, 2)],
    cannot_link=[(0, 4), (2, 3)],
    soft_must_link=[(0, 2, 0.5)],
    soft_cannot_link=[(0, 3, 0.5)],
)
LABELS = np.array([0, 0, 1, 1, 1])


def collections(ax) -> dict[str, object]:
    return {drawn.get_label(): drawn for drawn in ax.collections}


def test_points_and_means_are_where_they_are_and_violated_constraints_are_red():
    from matplotlib.colors import to_rgb

    drawn = collections(plot_clusters(INSTANCE, Partition(LABELS)))
    np.testing.assert_array_equal(drawn["cluster 0 (2)"].get_offsets(), POINTS[:2])
    np.testing.assert_array_equal(drawn["cluster 1 (3)"].get_offsets(), POINTS[2:])
    means = [POINTS[:2].mean(axis=0), POINTS[2:].mean(axis=0)]
    np.testing.assert_allclose(drawn["means of the 2 clusters"].get_offsets(), means)
    expected = {
        "must-link (1)": [(0, 1)],
        "violated must-link (1)": [(1, 2)],
        "cannot-link (1)": [(0, 4)],
        "violated cannot-link (1)": [(2, 3)],
        "violated soft must-link (1)": [(0, 2)],
        "soft cannot-link (1)": [(0, 3)],
    }
    for name, pairs in expected.items():
        segments = np.array(drawn[name].get_segments())
        np.testing.assert_array_equal(segments, POINTS[np.array(pairs)])
        is_red = tuple(drawn[name].get_colors()[0][:3]) == to_rgb(RED)
        assert is_red == name.startswith("violated")
        is_dashed = drawn[name].get_linestyles()[0][1] is not None
        assert is_dashed == ("cannot-link" in name)


def test_points_that_are_not_certain_have_a_ring():
    states = np.array(["certain", "uncertain", "certain", "open", "certain"])
    drawn = collections(plot_certainty(INSTANCE, LABELS, states))
    np.testing.assert_array_equal(drawn["uncertain (1)"].get_offsets(), POINTS[[1]])
    np.testing.assert_array_equal(drawn["open (1)"].get_offsets(), POINTS[[3]])


def test_of_many_constraints_a_sample_is_drawn_and_of_many_clusters_none_is_named():
    n = 120
    points = np.random.default_rng(0).normal(size=(n, 2))
    pairs = [(i, j) for i in range(n) for j in range(i)]
    ax = plot_clusters(Instance(points, 3, cannot_link=pairs), range(n))
    (name,) = [name for name in collections(ax) if name.startswith("cannot-link")]
    n_drawn = len(collections(ax)[name].get_segments())
    assert len(pairs) / 4 - 1 < n_drawn <= MOST_PAIRS
    assert name == f"cannot-link ({len(pairs):,}, {n_drawn:,} drawn)"
    assert n > MOST_NAMED
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [name, f"means of the {n} clusters"]


def test_looks_tell_clusters_apart():
    looks = [look_of(cluster) for cluster in range(42)]
    assert len({*looks}) == 42
    # Colours alone, and markers alone, tell the first six apart.
    assert [len({*part}) for part in zip(*looks[: len(COLOURS)], strict=True)] == [6, 6]


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


def test_the_axes_say_what_they_show():
    points = np.array([[0.0, 0, 0], [2, 0, 0], [1, 1, 0], [1, -1, 0]]) * [2, 1, 1]
    ax = plot_clusters(Instance(points, 2), [0, 0, 1, 1])
    assert ax.get_xlabel() == "First principal component (80.0% of the variance)"
    assert ax.get_ylabel() == "Second (20.0% of the variance)"
    places, names = plane_of(Instance([[3.0], [1.0], [4.0]], 2), np.array([0, 1, 0]))
    assert places.tolist() == [[3.0, 0.0], [1.0, 1.0], [4.0, 0.0]]
    assert names == ("Feature", "Cluster")
    odd = replace(INSTANCE, origin=Origin(feature_names=("$x_$ and $", "a\nb")))
    drawn = svg(plot_clusters(odd, LABELS)).decode()
    assert "$x_$ and $" in drawn
    assert "'a\\nb'" in drawn


@pytest.mark.parametrize("points", [np.zeros((4, 3)), np.ones((1, 5)), np.eye(2, 9)])
def test_degenerate_points_can_be_drawn(points):
    ax = plot_clusters(Instance(points, 1), np.zeros(len(points), int))
    ax.figure.canvas.draw()
    assert np.isfinite(ax.collections[0].get_offsets()).all()


def trace_of(*points: tuple[float, float, float]) -> Trace:
    """Of seconds, lower and upper bounds."""
    trace = Trace()
    trace.points = [Progress(s, 0, 1, lower, upper, 0.5, 0) for s, lower, upper in points]
    return trace


TRACE = trace_of((0.5, 70.0, math.inf), (1.0, 75.0, 90.0), (2.0, 78.0, 82.0), (3.0, 80.0, 82.0))


def test_bounds_are_steps_with_dots_and_the_gap_between_them():
    ax = plot_bounds(TRACE)
    upper, lower, dots = ax.get_lines()
    assert [line.get_drawstyle() for line in (upper, lower)] == ["steps-post"] * 2
    for line, costs in ((lower, [70, 75, 78, 80, 80]), (upper, [math.nan, 90, 82, 82, 82])):
        assert line.get_xdata().tolist() == [0.5, 1.0, 2.0, 3.0, 3.0 * LONGER]
        np.testing.assert_equal(line.get_ydata(), costs)
    np.testing.assert_array_equal(dots.get_xydata(), [[1.0, 90.0], [2.0, 82.0]])
    (path,) = ax.collections[0].get_paths()
    assert (path.vertices[:, 1].min(), path.vertices[:, 1].max()) == (75.0, 90.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Time (s)", "Sum of squares")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["Gap", "Best clustering found", "Proven lower bound"]
    ax = plot_bounds(trace_of((0.1, 0.0, 900.0), (1.0, 75.0, 82.0), (2.0, 80.0, 82.0)))
    low, high = ax.get_ylim()
    assert 70.0 < low < 75.0
    assert 82.0 < high < 90.0


@pytest.mark.parametrize(
    "points",
    [
        [(1.0, 80.0, 82.0)],
        [(0.0, 3.0, 4.0)],
        [(1.0, 80.0, 80.0), (2.0, 80.0, 80.0)],
        [(1.0, 0.0, 0.0)],
        [(1.0, 3.0, math.inf), (2.0, math.inf, math.inf)],
        [(1.0, math.inf, math.inf)],
    ],
)
def test_runs_without_a_course_can_be_drawn(points):
    ax = plot_bounds(trace_of(*points))
    ax.figure.canvas.draw()
    assert len(ax.get_lines()) == 3
    seconds = ax.get_lines()[1].get_xdata()
    assert seconds[-1] - seconds[0] > 0.04 * ax.get_xlim()[1]


ROWS = [
    {"k": 1, "objective": None, "lower_bound": None},
    {"k": 2, "objective": 9.0, "lower_bound": 7.0},
    {"k": 3, "objective": 4.0, "lower_bound": 4.0},
]


def test_costs_of_a_sweep_and_their_intervals():
    ax = plot_sweep(ROWS)
    (line,) = ax.lines
    assert line.get_xydata().tolist() == [[2.0, 9.0], [3.0, 4.0]]
    (bars,) = ax.collections
    assert [segment.tolist() for segment in bars.get_segments()] == [
        [[2.0, 7.0], [2.0, 9.0]],
        [[3.0, 4.0], [3.0, 4.0]],
    ]


def test_given_axes_are_drawn_on_and_pyplot_is_not_touched():
    code = (
        "import sys\n"
        "from matplotlib.figure import Figure\n"
        "from sdpbb.plots import plot_bounds\n"
        "from sdpbb.search.events import Progress\n"
        "from sdpbb.search.trace import Trace\n"
        "trace = Trace()\n"
        "trace.points = [Progress(1.0, 1, 1, 2.0, 3.0, 0.5, 0)]\n"
        "one, other = Figure().subplots(1, 2)\n"
        "assert plot_bounds(trace, ax=other) is other and not one.has_data()\n"
        "plot_bounds(trace).figure.canvas.draw()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
