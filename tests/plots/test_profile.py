import numpy as np
import pytest

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.plots import SolvedRuns, plot_profile
from sdpbb.plots.profile import read_solved_runs

matplotlib = pytest.importorskip("matplotlib")

CSV = """name,status,wall_seconds,bounding
a,optimal,1.5,sdp
b,infeasible,0.5,sdp
c,feasible,60,sdp
d,optimal,2,colgen
e,crashed,,colgen
"""


def test_a_curve_is_the_share_solved_within_that_time():
    ax = plot_profile([SolvedRuns("sdp", (3.0, 1.0, 2.0), 4), SolvedRuns("colgen", (), 4)])
    first, second = ax.get_lines()
    x, y = first.get_data()
    assert first.get_drawstyle() == "steps-post"
    np.testing.assert_array_equal(x[1:-1], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(y, [0.0, 25.0, 50.0, 75.0, 75.0])
    assert (second.get_ydata() == 0.0).all()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["sdp (3 of 4)", "colgen (0 of 4)"]
    assert ax.get_xscale() == "log"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Time (s)", "Solved within that time (%)")


def test_no_time_at_all_can_be_drawn():
    ax = plot_profile([SolvedRuns("x", (0.0, 0.0), 2)])
    ax.figure.canvas.draw()
    assert (ax.get_lines()[0].get_xdata() > 0).all()


def test_any_text_can_name_a_group():
    names = ["$x_$ and $", "_hidden", "a\nb", "<x>"]
    ax = plot_profile([SolvedRuns(name, (1.0,), 1) for name in names])
    ax.figure.canvas.draw()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [
        r"\$x_\$ and \$ (1 of 1)",
        " _hidden (1 of 1)",
        r"'a\nb' (1 of 1)",
        "<x> (1 of 1)",
    ]


def test_without_runs_there_is_no_profile():
    with pytest.raises(ParameterError, match="no runs"):
        plot_profile([])
    with pytest.raises(ParameterError, match="x: 2 solved runs of 1"):
        SolvedRuns("x", (1.0, 2.0), 1)


@pytest.fixture
def table(tmp_path):
    (tmp_path / "results.csv").write_text(CSV)
    return tmp_path / "results.csv"


def test_answers_are_solved_and_all_others_are_not(table):
    assert read_solved_runs([table]) == [SolvedRuns(str(table), (1.5, 0.5, 2.0), 5)]


def test_a_column_makes_groups_over_all_files(table):
    assert read_solved_runs([table, table], "bounding") == [
        SolvedRuns("sdp", (1.5, 0.5) * 2, 6),
        SolvedRuns("colgen", (2.0,) * 2, 4),
    ]


FOREIGN = "holds no runs; expected results.csv of 'sdpbb batch'"
WRONG = {
    "nothing": ("", FOREIGN),
    "no status": ("name,wall_seconds\na,1\n", FOREIGN),
    "no seconds": ("status,name\noptimal,1\n", FOREIGN),
    "a short line": ("status,wall_seconds\noptimal\n", FOREIGN),
    "no number": ("status,wall_seconds\noptimal,fast\n", FOREIGN),
    "no time": ("status,wall_seconds\noptimal,nan\n", FOREIGN),
    "no column": (CSV, "no column 'bonding'; expected one of its heading"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_table_is_told_in_one_line(case, tmp_path):
    text, message = WRONG[case]
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(InstanceError) as raised:
        read_solved_runs([path], "bonding")
    assert str(raised.value) == f"{path}: {message}"
