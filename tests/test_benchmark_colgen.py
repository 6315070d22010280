import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import benchmark_colgen as script
import colgen_tables as tables
import rows
from colgen_instances import Case

REFERENCE = (
    "dataset,k,n_constraints,cop_satisfied_percent,cop_best,cg_best,cg_proved_optimal\n"
    "Iris,3,60,100.00,83.6675,83.6675,False\n"
    "Iris,5,100,100,57.3827,57.3804,True\n"
)


def row(**values):
    """A row as it comes back from the file."""
    common = {
        "suite": "tables",
        "instance": "iris",
        "k": "3",
        "n": "150",
        "blocks": "131",
        "constraints": "60",
        "draw": "0",
        "engine": "sdp",
        "status": "optimal",
        "termination": "gap_closed",
        "objective": "84.0",
        "lower": "83.9999",
        "gap": "1e-6",
        "seconds": "2.0",
        "nodes": "1",
        "gap_tolerance": "0.0001",
        "time_limit": "600.0",
        "version": "0.1.0",
        "machine": "a processor",
    }
    return dict.fromkeys(script.FIELDS, "") | common | values


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture
def reference(tmp_path):
    (tmp_path / "column_generation_results.csv").write_text(REFERENCE)
    return tmp_path


def test_rows_survive_the_file_and_the_last_of_a_run_counts(tmp_path):
    path = tmp_path / "rows.csv"
    assert script.read(path) == []
    first, other, again = row(status="failed"), row(engine="colgen"), row(seconds="3.0")
    for one in (first, other, again):
        rows.append(path, script.FIELDS, one)
    assert script.read(path) == [again, other]


def test_what_is_answered_is_not_run_again():
    engines = ("sdp", "colgen", "hybrid")
    runs = [script.Run(Case("tables", "iris", 3, "60", 0), engine) for engine in engines]
    unsolved = {"engine": "colgen", "status": "feasible", "time_limit": "60.0"}
    rows = [row(time_limit="5.0"), row(**unsolved), row(engine="hybrid", status="failed")]
    assert [run.engine for run in script.left(runs, rows, 60.0)] == ["hybrid"]
    assert [run.engine for run in script.left(runs, rows, 61.0)] == ["colgen", "hybrid"]
    assert [run.engine for run in script.left(runs, [], 1.0)] == list(engines)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["hybrid", "sdp", "colgen"])
def test_a_run_is_made_in_a_process_of_its_own(tmp_path, engine):
    out, report = tmp_path / "rows.csv", tmp_path / "report.md"
    arguments = ["--suite", "tables", "--names", "soybean", "--draws", "1", "--engines", engine]
    arguments += ["--time-limit", "60", "--out", str(out)]
    wanted = script.Run(Case("tables", "soybean", 4, "80", 0), engine)
    done = script.solve_in_process(wanted, 60.0)
    assert script.key_of({name: str(value) for name, value in done.items()}) == wanted.key
    assert (done["status"], done["n"], done["gap_tolerance"]) == ("optimal", 47, 1e-4)
    assert done["lower"] <= done["objective"]
    assert 0 < done["seconds"] < 60
    # The others of the suite are there already, so only this one is run.
    for case in script.cases("tables", 1):
        if (case.name, case.k, case.constraints) != ("soybean", 4, "80"):
            its = {"instance": case.name, "k": case.k, "constraints": case.constraints}
            rows.append(out, script.FIELDS, row(**its, engine=engine))
    before = len(script.read(out))
    assert script.main([*arguments, "--report", str(report)]) == 0
    added = script.read(out)[before:]
    assert [script.key_of(one) for one in added] == [wanted.key]
    assert float(added[0]["objective"]) == pytest.approx(done["objective"], rel=1e-4)
    assert "### soybean" in report.read_text()


@pytest.mark.slow
def test_a_process_that_fails_gives_a_row_that_says_so(capsys):
    failed = script.solve_in_process(script.Run(Case("tables", "nothing", 3, "2", 0), "sdp"), 5.0)
    assert (failed["status"], failed["termination"]) == ("failed", "exit_1")
    assert failed["seconds"] is None
    assert "KeyError" in capsys.readouterr().err


def test_a_process_that_does_not_end_is_ended(monkeypatch, tmp_path, capsys):
    endless = tmp_path / "endless.py"
    endless.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(script, "__file__", str(endless))
    monkeypatch.setattr(script, "PATIENCE", 0.5)
    failed = script.solve_in_process(script.Run(Case("tables", "iris", 3, "2", 0), "sdp"), 0.1)
    assert (failed["status"], failed["termination"]) == ("failed", "no_end")
    assert "no end after 0.7 s" in capsys.readouterr().err


def test_unknown_engines_are_refused(capsys):
    with pytest.raises(SystemExit):
        script.main(["--engines", "sdp,magic"])
    assert "--engines: magic" in capsys.readouterr().err


def test_published_values_stand_beside_ours(reference):
    rows = [
        row(),
        row(draw="1", objective="86.0", seconds="6.0", nodes="5", status="feasible"),
        row(draw="2", objective="", lower="", gap="", status="infeasible", seconds="4.0"),
        row(engine="colgen", objective="84.0", seconds="0.5"),
        row(instance="wine", constraints="7"),
    ]
    lines = tables.published_grid(rows, tables.published(reference))
    (iris,) = [line for line in lines if line.startswith("| 3 | 60 |")]
    assert cells(iris) == [
        *("3", "60", "131", "83.6675", "no"),
        *("2/3 (1 infeasible)", "85", "4.00", "1"),
        *("1/1", "84", "0.50", "1"),
    ]
    (wine,) = [line for line in lines if line.startswith("| 3 | 7 |")]
    assert cells(wine)[3:] == ["1/1", "84", "2.00", "1", "-", "-", "-", "-"]


def small(name, n, k, **values):
    return row(suite="small-clusters", instance=f"{name}-{n}", k=str(k), constraints="0", **values)


def test_ratios_of_seconds_and_their_medians():
    unsolved = {"status": "feasible", "gap": "0.5"}
    rows = [
        small("planar", 100, 25, seconds="10.0"),
        small("planar", 100, 25, seconds="2.0", engine="colgen"),
        small("planar", 200, 40, seconds="60.0", **unsolved),
        small("planar", 200, 40, seconds="3.0", engine="colgen"),
        small("blobs2", 100, 12, seconds="5.0"),
        small("blobs2", 100, 12, seconds="50.0", engine="colgen", **unsolved),
        small("blobs2", 200, 50, seconds="60.0", **unsolved),
        small("blobs2", 200, 50, seconds="60.0", engine="colgen", **unsolved),
        small("blobs2", 200, 25, seconds="1.0"),
        small("blobs2", 200, 25, seconds="", status="failed", engine="colgen"),
    ]
    lines = tables.small_clusters(rows)
    shown = [cells(line)[4:] for line in lines if line.startswith(("| planar", "| blobs"))]
    assert shown == [
        ["10.00", "2.00", "5.00"],
        [">60 (5.0e-01)", "3.00", ">20.00"],
        ["5.00", ">50 (5.0e-01)", "<0.10"],
        [">60 (5.0e-01)", ">60 (5.0e-01)", "-"],
        ["1.00", "failed", "-"],
    ]
    (medians,) = [line for line in lines if line.startswith("- *colgen*")]
    assert "all 5.00 (3); planar 12.50 (2); n = 100 2.55 (2); k = n / 4 5.00 (1)" in medians
    assert "k = n / 5 20.00 (1)" in medians
    assert "k = n / 8 0.10 (1)" in medians


def test_engines_that_contradict_each_other_are_named():
    def told(*rows):
        return "\n".join(tables.agreement(list(rows)))

    colgen = row(engine="colgen", objective="84.0000042")
    agreed = told(row(), colgen)
    assert "tables: 1 instances solved by several engines" in agreed
    assert "difference of their sums of squares 5.0e-08" in agreed
    assert agreed.endswith("was asked for): none.")
    public = {"suite": "public", "gap_tolerance": "1e-09"}
    assert "1.\n\n- public iris 3 60 0: optima differ by 5.0e-08" in told(
        row(**public), colgen | public
    )
    above = told(row(), row(engine="colgen", lower="84.1", objective="84.1"))
    assert "at least 84.1 for colgen, 84.0 for sdp" in above
    assert "optima differ by 1.2e-03" in above
    infeasible = row(engine="hybrid", status="infeasible", objective="", lower="", gap="")
    assert "infeasible for hybrid, 84.0 for sdp" in told(row(), infeasible)
    assert "No instance is solved by several engines." in told(row())


def test_the_report_holds_every_suite(reference, tmp_path):
    rows = [
        row(),
        small("planar", 100, 25),
        row(suite="public", constraints="ml_50_cl_0"),
        row(suite="public", constraints="ml_50_cl_0", engine="colgen", objective="84.00000042"),
    ]
    path = tmp_path / "colgen_benchmark.md"
    tables.write_report(path, rows, reference)
    text = path.read_text()
    for heading in ("Tables 6 to 8", "Small clusters", "Published constraint sets", "agree"):
        assert heading in text
    assert "their optima differ by at most 5.0e-09" in text
    assert "(colgen_benchmark.csv)" in text
    assert "a processor" in text
    assert "\n\n\n" not in text


def test_a_case_goes_to_another_process_and_back():
    run = script.Run(Case("public", "iris", 3, "ml_50_cl_0", 2), "hybrid")
    *case, engine = json.loads(json.dumps([*run.case, run.engine]))
    assert script.Run(Case(*case), engine) == run
