"""Scripts start, benchmarks run, and the docs have the tables that the rows say."""

import runpy
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from scripts.bench import rows, suite, tables
from scripts.bench.__main__ import main
from scripts.bench.data import DOCS, SHARED_DATA

SCRIPTS = Path(__file__).parents[1] / "scripts"
COMMANDS = [path for path in sorted(SCRIPTS.glob("*.py")) if "argparse" in path.read_text()]
WITH_PUBLISHED = ("public", "engines", "heuristics", "proofs")
PLACES = {page: page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")}


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
def test_every_script_says_what_it_does(path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(SCRIPTS)
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    with pytest.raises(SystemExit) as exited:
        runpy.run_path(str(path), run_name="__main__")
    assert exited.value.code == 0
    assert path.name in capsys.readouterr().out


@pytest.mark.parametrize("name", suite.NAMES)
def test_every_suite_says_what_it_measures(name, capsys):
    with pytest.raises(SystemExit) as exited:
        main(["run", name, "--help"])
    assert exited.value.code == 0
    first = (suite.Suite(name).about).splitlines()[0]
    assert first in capsys.readouterr().out


@pytest.mark.parametrize("name", suite.NAMES)
def test_cases_have_the_key_and_rows_the_columns_of_their_file(name, tmp_path):
    chosen = suite.Suite(name)
    options = Namespace(data=tmp_path, **chosen.options)
    for case in chosen.cases(options):
        assert set(chosen.key) <= set(case)
    known = rows.read(chosen.csv)
    assert not known or set(known[0]) == set(chosen.columns)


@pytest.mark.parametrize("name", suite.NAMES)
def test_tables_of_the_docs_are_those_of_the_rows(name):
    chosen = suite.Suite(name)
    known = rows.read(chosen.csv)
    if not known:
        pytest.skip("there are no rows")
    if name in WITH_PUBLISHED and not (SHARED_DATA.parent / "reference").is_dir():
        pytest.skip("published results, which stand in its tables, are not there")
    options = Namespace(data=SHARED_DATA)
    made = {title: table(known, options) for title, table in chosen.tables.items()}
    for page, text in PLACES.items():
        assert tables.written(text, made) == text, page


def test_every_table_of_the_docs_has_a_suite_and_every_table_of_a_suite_is_there():
    titles = {title for name in suite.NAMES for title in suite.Suite(name).tables}
    found = {match["name"] for text in PLACES.values() for match in tables.PLACE.finditer(text)}
    assert found == titles


@pytest.mark.long
def test_a_case_is_measured_once_and_again_if_asked_for(tmp_path, capsys):
    """Rows are kept, and replaced if they are asked for anew: the smallest suite that solves."""
    out = tmp_path / "rows.csv"
    command = ["run", "limits", "--out", str(out), "--only", "100", "--only", "3", "--only", "2"]
    assert main([*command, "--only", "25"]) == 0
    (row,) = rows.read(out)
    assert (row["n"], row["constraints"], row["status"]) == ("100", "25", "optimal")
    assert "| 100 | 3 |" in capsys.readouterr().out
    assert main([*command, "--only", "25"]) == 0
    assert rows.read(out) == [row]
    assert main([*command, "--only", "25", "--again"]) == 0
    assert len(rows.read(out)) == 1


@pytest.mark.parametrize(
    ("status", "limit", "asked", "answers"),
    [
        ("optimal", "10", 60.0, True),
        ("feasible", "10", 60.0, False),
        ("feasible", "60", 60.0, True),
        ("feasible", "10", None, True),
        ("failed", "60", 60.0, False),
    ],
)
def test_rows_answer_a_case_unless_they_failed_or_had_less_time(status, limit, asked, answers):
    assert suite.is_answered([{"status": status, "time_limit": limit}], asked) == answers


def test_words_choose_cases_by_values_and_their_beginnings():
    case = {"suite": "maps", "instance": "planar-100", "k": 12, "set": "five blobs"}
    for groups in ([], [["maps"]], [["planar"]], [["none", "12"], ["planar-100"]], [["five"]]):
        assert suite.is_chosen(case, groups)
    for groups in ([["100"]], [["maps"], ["13"]], [["plan"]]):
        assert not suite.is_chosen(case, groups)


def test_new_rows_take_the_place_of_old_ones(tmp_path):
    file = tmp_path / "rows.csv"
    for name, value in (("a", 1), ("b", 2), ("a", 3)):
        rows.put(file, ["name", "value"], ["name"], [{"name": name, "value": value}])
    assert rows.read(file) == [{"name": "a", "value": "3"}, {"name": "b", "value": "2"}]
    rows.put(file, ["name", "value"], [], [{"name": "b", "value": None, "more": 0}])
    assert len(rows.read(file)) == 3
    with pytest.raises(ValueError, match="other columns"):
        rows.put(file, ["name", "other"], ["name"], [{"name": "c"}])
