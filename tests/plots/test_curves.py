"""Curves: bounds over time and costs of a sweep, on whichever axes."""

import math
import subprocess
import sys

import numpy as np
import pytest

from sdpbb.errors import ParameterError
from sdpbb.plots import plot_bounds, plot_sweep
from sdpbb.plots.pictures import LONGER
from sdpbb.search.events import Progress
from sdpbb.search.trace import Trace

matplotlib = pytest.importorskip("matplotlib")


def trace_of(*points: tuple[float, float, float]) -> Trace:
    """Of seconds, lower and upper bounds."""
    trace = Trace()
    trace.points = [Progress(s, 0, 1, lower, upper, 0.5, 0) for s, lower, upper in points]
    return trace


TRACE = trace_of((0.5, 70.0, math.inf), (1.0, 75.0, 90.0), (2.0, 78.0, 82.0), (3.0, 80.0, 82.0))


def curves(ax) -> dict[str, tuple[list[float], list[float]]]:
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in ax.get_lines()
    }


def test_the_curves_are_the_bounds():
    """As steps that hold until the next."""
    ax = plot_bounds(TRACE)
    drawn = curves(ax)
    assert [line.get_drawstyle() for line in ax.get_lines()[:2]] == ["steps-post"] * 2
    seconds = [0.5, 1.0, 2.0, 3.0, 3.0 * LONGER]
    assert drawn["Proven lower bound"] == (seconds, [70.0, 75.0, 78.0, 80.0, 80.0])
    x, y = drawn["Best clustering found"]
    assert x == seconds
    np.testing.assert_equal(y, [math.nan, 90.0, 82.0, 82.0, 82.0])


def test_a_dot_marks_each_new_incumbent():
    (dots,) = [line for line in plot_bounds(TRACE).get_lines() if line.get_marker() == "o"]
    assert (list(dots.get_xdata()), list(dots.get_ydata())) == ([1.0, 2.0], [90.0, 82.0])


def test_the_gap_is_shaded_between_them():
    (shade,) = plot_bounds(TRACE).collections
    (path,) = shade.get_paths()
    assert (path.vertices[:, 1].min(), path.vertices[:, 1].max()) == (75.0, 90.0)
    assert (path.vertices[:, 0].min(), path.vertices[:, 0].max()) == (1.0, 3.0 * LONGER)


@pytest.mark.parametrize(
    "points", [[(2.0, 3.0, 4.0)], [(2.0, 3.0, 4.0), (2.0, 3.5, 4.0)], [(0.0, 3.0, 4.0)]]
)
def test_a_run_that_ended_with_its_first_bounds_can_be_seen(points):
    ax = plot_bounds(trace_of(*points))
    for name in ("Best clustering found", "Proven lower bound"):
        x, y = curves(ax)[name]
        assert x[-1] - x[0] > 0.04 * ax.get_xlim()[1]
        assert y[-1] == y[-2]
    (dots,) = [line for line in ax.get_lines() if line.get_marker() == "o"]
    assert points[0][0] <= dots.get_xdata()[0] < 0.97 * ax.get_xlim()[1]


def test_axes_have_names_and_units():
    ax = plot_bounds(TRACE)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Time (s)", "Sum of squares")
    assert ax.get_xlim()[0] == 0.0
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["Gap", "Best clustering found", "Proven lower bound"]


def test_what_is_far_away_is_out_of_view():
    ax = plot_bounds(trace_of((0.1, 0.0, 900.0), (1.0, 75.0, 82.0), (2.0, 80.0, 82.0)))
    low, high = ax.get_ylim()
    assert 70.0 < low < 75.0
    assert 82.0 < high < 90.0


@pytest.mark.parametrize(
    "points",
    [
        [(1.0, 80.0, 82.0)],
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


def test_without_points_there_is_nothing_to_draw():
    with pytest.raises(ParameterError, match="ended before it had bounds"):
        plot_bounds(Trace())


def test_given_axes_are_drawn_on():
    from matplotlib.figure import Figure

    one, other = Figure().subplots(1, 2)
    assert plot_bounds(TRACE, ax=other) is other
    assert not one.has_data()


def test_pyplot_is_not_touched():
    code = (
        "import sys\n"
        "from sdpbb.plots import plot_bounds\n"
        "from sdpbb.search.events import Progress\n"
        "from sdpbb.search.trace import Trace\n"
        "trace = Trace()\n"
        "trace.points = [Progress(1.0, 1, 1, 2.0, 3.0, 0.5, 0)]\n"
        "plot_bounds(trace).figure.canvas.draw()\n"
        "assert 'matplotlib.figure' in sys.modules\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


ROWS = [
    {"k": 1, "objective": None, "lower_bound": None},
    {"k": 2, "objective": 9.0, "lower_bound": 7.0},
    {"k": 3, "objective": 4.0, "lower_bound": 4.0},
]


def test_costs_and_their_intervals():
    ax = plot_sweep(ROWS)
    (line,) = ax.lines
    assert line.get_xydata().tolist() == [[2.0, 9.0], [3.0, 4.0]]
    (bars,) = ax.collections
    assert [segment.tolist() for segment in bars.get_segments()] == [
        [[2.0, 7.0], [2.0, 9.0]],
        [[3.0, 4.0], [3.0, 4.0]],
    ]


def test_without_a_clustering():
    with pytest.raises(ParameterError, match="no k has a clustering"):
        plot_sweep(ROWS[:1])
