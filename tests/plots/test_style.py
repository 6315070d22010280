import subprocess
import sys

import pytest

from sdpbb.errors import BackendUnavailable
from sdpbb.plots import plot_bounds
from sdpbb.plots.style import add_legend, as_label, axes_or_new, svg
from tests.plots.test_bounds import TRACE

matplotlib = pytest.importorskip("matplotlib")


def test_given_axes_are_drawn_on():
    from matplotlib.figure import Figure

    one, other = Figure().subplots(1, 2)
    assert plot_bounds(TRACE, ax=other) is other
    assert not one.has_data()


def test_new_axes_belong_to_a_figure_of_their_own():
    assert plot_bounds(TRACE).figure is not plot_bounds(TRACE).figure


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


def test_the_package_is_light_until_something_is_drawn():
    code = "import sys, sdpbb.plots; assert not {'matplotlib', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_same_figure_is_the_same_file():
    assert svg(plot_bounds(TRACE)) == svg(plot_bounds(TRACE))


def test_any_text_can_be_a_label():
    ax = plot_bounds(TRACE)
    for text in ("$x_$ and $", "_hidden", "a\nb"):
        ax.plot([0.0], [80.0], label=as_label(text))
    add_legend(ax)
    drawn = svg(ax).decode()
    for shown in ("$x_$ and $", "_hidden", "'a\\nb'"):
        assert shown in drawn


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(BackendUnavailable, match=r"pip install 'matplotlib"):
        axes_or_new(None)
