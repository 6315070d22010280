import subprocess
import sys

import pytest

from sdpbb.errors import BackendUnavailable, ParameterError
from sdpbb.plots import plot_bounds, save
from sdpbb.plots.style import axes_or_new, format_problem, rendered, set_title
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
        "from sdpbb.plots import plot_bounds, save\n"
        "from sdpbb.search.trace import ProgressPoint, Trace\n"
        "trace = Trace()\n"
        "trace.points = [ProgressPoint(1.0, 2.0, 3.0, 1, 1)]\n"
        "plot_bounds(trace).figure.canvas.draw()\n"
        "assert 'matplotlib.figure' in sys.modules\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_is_light_until_something_is_drawn():
    code = "import sys, sdpbb.plots; assert not {'matplotlib', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "begin"),
    [("x.png", b"\x89PNG"), ("x.svg", b"<?xml"), ("x.PNG", b"\x89PNG"), ("x.pdf", b"%PDF")],
)
def test_the_ending_of_the_name_is_the_format(tmp_path, name, begin):
    save(plot_bounds(TRACE), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begin)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["x.jpg", "x", ".png", "x.png.txt"])
def test_other_endings_are_refused(tmp_path, name):
    assert format_problem(name) == f"{name}: expected a name that ends in .png, .svg or .pdf"
    with pytest.raises(ParameterError, match="expected a name that ends in"):
        save(plot_bounds(TRACE), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_picture_that_fails_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "x.png"
    path.write_text("old")

    def fail(*args, **kwargs):
        raise MemoryError

    ax = plot_bounds(TRACE)
    monkeypatch.setattr(type(ax.figure), "savefig", fail)
    with pytest.raises(MemoryError):
        save(ax, path)
    assert path.read_text() == "old"


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_same_figure_is_the_same_file(kind):
    assert rendered(plot_bounds(TRACE), kind) == rendered(plot_bounds(TRACE), kind)


def test_any_text_can_be_a_title():
    ax = plot_bounds(TRACE)
    set_title(ax, "$x_ & <y>\n\\")
    ax.figure.canvas.draw()
    assert ax.get_title(loc="left") == "'$x_ & <y>\\n\\\\'"


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(BackendUnavailable, match=r"pip install 'matplotlib"):
        axes_or_new(None)
