import pytest

from sdpbb.errors import ParameterError

pytest.importorskip("matplotlib")

from sdpbb.plots import plot_sweep

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
