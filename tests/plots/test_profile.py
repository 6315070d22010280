import json

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
    assert read_solved_runs([table]) == [SolvedRuns("results", (1.5, 0.5, 2.0), 5)]


def test_a_column_makes_groups(table):
    assert read_solved_runs([table], "bounding") == [
        SolvedRuns("sdp", (1.5, 0.5), 3),
        SolvedRuns("colgen", (2.0,), 2),
    ]


def test_lines_of_json_are_the_same(table, tmp_path):
    rows = [
        {"status": "optimal", "seconds": 1.5},
        {"status": "crashed", "seconds": None},
    ]
    path = tmp_path / "other.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_solved_runs([path, table]) == [
        SolvedRuns("other", (1.5,), 2),
        SolvedRuns("results", (1.5, 0.5, 2.0), 5),
    ]


def test_in_lines_of_json_the_last_row_of_a_name_counts(tmp_path):
    rows = [
        {"name": "a", "status": "feasible", "seconds": 5},
        {"name": "b", "status": "optimal", "seconds": 1.5},
        {"name": "a", "status": "optimal", "seconds": 9},
        {"name": None, "status": "crashed"},
        {"name": None, "status": "crashed"},
        {"status": "optimal", "seconds": 3},
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_solved_runs([path]) == [SolvedRuns("results", (9.0, 1.5, 3.0), 5)]
    path.write_text(path.read_text().replace("9", '"late"'))
    with pytest.raises(InstanceError, match=r"results.jsonl:3: seconds is 'late'"):
        read_solved_runs([path])


def test_files_of_one_name_are_told_apart_by_their_folders(table, tmp_path):
    (tmp_path / "again").mkdir()
    again = tmp_path / "again" / "results.csv"
    again.write_text(CSV)
    names = [group.name for group in read_solved_runs([table, again])]
    assert names == [str(tmp_path / "results"), str(tmp_path / "again" / "results")]


WRONG = {
    "nothing": ("x.csv", "", ": holds no runs; expected a row for each"),
    "no seconds": (
        "x.csv",
        "status,name\noptimal,1\n",
        ":2: no column 'wall_seconds'; expected one of status, name",
    ),
    "unprintable names": (
        "x.csv",
        f"a\x0b\ufeff,{'b' * 5000}\n1,2\n",
        rf":2: no column 'status'; expected one of a\x0b\ufeff, {'b' * 55}...",
    ),
    "no number": (
        "x.csv",
        "status,seconds\noptimal,fast\n",
        ":2: seconds is 'fast'; expected a number of seconds",
    ),
    "a number beyond all floats": (
        "x.jsonl",
        f'{{"status": "optimal", "seconds": {"1" * 400}}}\n',
        f":1: seconds is '{'1' * 55}...'; expected a number of seconds",
    ),
    "no JSON": ("x.jsonl", "{}}\n", ":1: '{}}'; expected a JSON object"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_table_is_told_in_one_line(case, tmp_path):
    name, text, message = WRONG[case]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InstanceError) as raised:
        read_solved_runs([path])
    assert str(raised.value) == f"{path}{message}"
