import subprocess
import sys

import pytest

from sdpbb.plots import plot_bounds
from sdpbb.plots.pictures import add_legend, as_label, svg
from tests.plots.test_bounds import TRACE

matplotlib = pytest.importorskip("matplotlib")


def test_given_axes_are_drawn_on():
    from matplotlib.figure import Figure

    one, other = Figure().subplots(1, 2)
    assert plot_bounds(TRACE, ax=other) is other
    assert not one.has_data()


def test_pyplot_is_not_touched():
    code = (
        "import sys\n"
        "from sdpbb.plots import plot_bounds\n"
        "from sdpbb.search.trace import ProgressPoint, Trace\n"
        "trace = Trace()\n"
        "trace.points = [ProgressPoint(1.0, 2.0, 3.0, 1, 1)]\n"
        "plot_bounds(trace).figure.canvas.draw()\n"
        "assert 'matplotlib.figure' in sys.modules\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_any_text_can_be_a_label():
    ax = plot_bounds(TRACE)
    for text in ("$x_$ and $", "_hidden", "a\nb"):
        ax.plot([0.0], [80.0], label=as_label(text))
    add_legend(ax)
    drawn = svg(ax).decode()
    for shown in ("$x_$ and $", "_hidden", "'a\\nb'"):
        assert shown in drawn
