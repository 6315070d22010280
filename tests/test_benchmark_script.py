import importlib.util
import math
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark", ROOT / "scripts" / "benchmark.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["benchmark"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["benchmark"]


def row(**changes):
    return {
        "dataset": "iris",
        "kind": "ML",
        "set": "ml_50_cl_0_0",
        "n": 150,
        "blocks": 100,
        "k": 3,
        "status": "optimal",
        "termination": "gap_closed",
        "objective": 80.0,
        "lower_bound": 79.9999,
        "gap": 1.25e-6,
        "root_gap": 4e-5,
        "root_seconds": 0.1,
        "nodes": 1,
        "seconds": 0.5,
        "peak_rss_mib": 200.0,
        "gap_tolerance": 1e-4,
        "version": "0.1.0",
        "cpu": "some, cpu",
        "cores": 4,
        "workers": 2,
        "seed": 0,
        "python": "3.11.7",
        "numpy": "2.4.6",
        "date": "2025-01-02",
    } | changes


REFERENCE = {
    ("iris", "ML", 50): {
        "mean_size": 100.4,
        "root_gap_percent": 0.004,
        "nodes": 1.8,
        "wall_seconds_16_cores": 16.6,
        "solved_percent": 80.0,
    }
}


@pytest.mark.parametrize(
    ("name", "configuration", "seed"),
    [
        ("ml_50_cl_0_0.txt", ("ecg5000", "ML", 50), 0),
        ("ml_0_cl_100_2.txt", ("ecg5000", "CL", 100), 2),
        ("ml_25_cl_25_1.txt", ("ecg5000", "ML+CL", 25), 1),
    ],
)
def test_file_names_are_configurations(benchmark, name, configuration, seed):
    task = benchmark.parse_task("ECG5000", name)
    assert task.configuration == configuration
    assert task.seed == seed
    assert task.set_name == name.removesuffix(".txt")


def test_other_file_names_are_refused(benchmark):
    with pytest.raises(ValueError, match="expected ml_A_cl_B_S"):
        benchmark.parse_task("iris", "README.txt")


def test_rows_survive_the_file(benchmark, tmp_path):
    path = tmp_path / "rows.csv"
    rows = [row(), row(set="ml_50_cl_0_1", gap=None, objective=None, status="unknown")]
    assert benchmark.read_rows(path) == []
    for one in rows:
        benchmark.append_row(path, one)
    assert benchmark.read_rows(path) == rows
    assert list(rows[0]) == benchmark.FIELDS


def test_comparison_with_the_published_averages(benchmark):
    rows = [row(seconds=0.5), row(set="ml_50_cl_0_1", seconds=2.0, status="feasible")]
    line = benchmark.comparison(rows, REFERENCE).splitlines()[1]
    assert "100.0 (100.4)" in line
    assert "0.004 (0.004)" in line
    assert "1.25 (16.60)" in line
    assert line.split()[-2:] == ["16.60", "1/2"]
    text = benchmark.overall(rows, REFERENCE)
    assert "Solved 1 of 2" in text
    assert "Slowest ratio 8.30: iris ml_50_cl_0_1" in text


def test_failed_and_unpublished_sets_are_shown(benchmark):
    failed = dict.fromkeys(benchmark.FIELDS) | {
        "dataset": "iris",
        "kind": "ML",
        "set": "ml_50_cl_0_0",
        "status": "failed",
    }
    unpublished = row(dataset="other")
    lines = benchmark.comparison([failed, unpublished], REFERENCE).splitlines()
    assert "- (16.60)" in lines[1]
    assert lines[1].split()[-1] == "0/1"
    assert "0.50 (-)" in lines[2]
    assert benchmark.speedup(failed, REFERENCE) is None
    assert benchmark.speedup(unpublished, REFERENCE) is None
    assert "Solved 1 of 2" in benchmark.overall([failed, unpublished], REFERENCE)


def test_columns_are_not_mixed(benchmark, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("dataset,kind\niris,ML\n")
    with pytest.raises(ValueError, match="has other columns"):
        benchmark.append_row(path, row())
    (read,) = benchmark.read_rows(path)
    assert (read["dataset"], read["seconds"], list(read)) == ("iris", None, benchmark.FIELDS)


def test_rows_of_finished_runs(benchmark, tmp_path, capsys):
    rows = [row(), row(seconds=0.7), row(set="ml_50_cl_0_1", gap_tolerance=1e-8), row(n=9.0)]
    rows[3]["dataset"] = "small"
    for name, one in zip("abcd", rows, strict=True):
        benchmark.append_row(tmp_path / name, one)
    paths = [tmp_path / name for name in "abcd"]
    assert benchmark.finished_rows(paths, 1e-4) == [rows[3], rows[1]]
    assert capsys.readouterr().out == "SKIPPED: 1 rows with another gap than 0.0001\n"
    for bad, message in (([tmp_path / "e"], "no such file"), (paths[2:3], "no rows with a gap")):
        with pytest.raises(ValueError, match=message):
            benchmark.finished_rows(bad, 1e-4)


def test_the_report(benchmark):
    failed = dict.fromkeys(benchmark.FIELDS) | {
        "dataset": "iris",
        "kind": "CL",
        "set": "ml_0_cl_50_0",
        "status": "failed",
    }
    rows = [row(), row(set="ml_50_cl_0_1", status="feasible", date="2025-01-04"), failed]
    text = benchmark.report(rows, REFERENCE, "picture.png")
    cells = "50 | 2 | 100.0 (100.4) | 0.004 (0.004) | 1.0 (1.8) | 0.50 (16.60) | 33.20 | 50 (80)"
    assert "## Must-links\n\n| data set | constraints |" in text
    assert f"\n| iris | {cells} |\n" in text
    assert "\n| iris | 50 | 1 | - (-) | - (-) | - (-) | - (-) | - | 0 (-) |\n" in text
    assert "## Must-links and cannot-links" not in text
    assert "| processor | some, cpu |" in text
    assert "| date | 2025-01-02 to 2025-01-04 |" in text
    assert "Solved 1 of 3" in text
    assert "Slowest ratio 33.20" in text
    assert "](picture.png)" in text
    assert "| numpy | not recorded |".replace("numpy", "NumPy") in benchmark.run_table([failed])


def test_shares_are_steps(benchmark):
    assert benchmark.steps([(2.0, 1.0), (1.0, 0.5)], 3.0) == ([1.0, 2.0], [0.5 / 3, 0.5])
    assert benchmark.steps([], 1.0) == ([], [])


@pytest.mark.parametrize("installed", [True, False])
def test_the_report_is_written_with_its_rows_and_picture(
    benchmark, tmp_path, capsys, monkeypatch, installed
):
    if installed:
        pytest.importorskip("matplotlib")
    else:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    benchmark.write_report(tmp_path / "report.md", [row()], REFERENCE)
    text, out = (tmp_path / "report.md").read_text(), capsys.readouterr().out
    assert benchmark.read_rows(tmp_path / "report.csv") == [row()]
    assert (tmp_path / "report.png").exists() == installed
    assert ("](report.png)" in text) == installed
    assert ("matplotlib is not installed" in text) != installed
    assert ("SKIPPED" in out) != installed


def test_a_report_on_finished_runs_solves_nothing(benchmark, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(benchmark, "read_reference", lambda path: REFERENCE)
    benchmark.append_row(tmp_path / "rows.csv", row())
    arguments = ["--data", str(tmp_path), "--reference", str(tmp_path)]
    arguments += ["--report", str(tmp_path / "report.md"), "--rows"]
    assert benchmark.main([*arguments, str(tmp_path / "rows.csv")]) == 0
    assert (tmp_path / "report.md").exists()
    assert "Solved 1 of 1" in capsys.readouterr().out
    assert benchmark.main([*arguments, str(tmp_path / "missing.csv")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_geometric_mean(benchmark):
    assert benchmark.geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert math.isnan(benchmark.geometric_mean([]))


def test_absent_data_is_skipped_visibly(benchmark, tmp_path, capsys):
    assert benchmark.main(["--data", str(tmp_path / "nothing")]) == 0
    assert capsys.readouterr().out == f"SKIPPED: {tmp_path / 'nothing'} is not there\n"


def test_an_earlier_run_is_not_overwritten(benchmark, tmp_path, capsys):
    out = tmp_path / "rows.csv"
    out.write_text("precious")
    arguments = ["--data", str(tmp_path), "--reference", str(tmp_path), "--out", str(out)]
    assert benchmark.main(arguments) == 2
    assert out.read_text() == "precious"
    assert "--resume" in capsys.readouterr().err


def test_all_published_configurations_are_found(benchmark):
    shared = ROOT.parent / "shared"
    data, published = shared / "data/pc-sos-sdp", shared / "reference/pc_sos_sdp_results.csv"
    if not (data.exists() and published.exists()):
        pytest.skip(f"{data} or {published} is not there")
    reference = benchmark.read_reference(published)
    datasets = [path.stem for path in (data / "datasets").glob("*.txt")]
    tasks = benchmark.find_tasks(data, datasets, [0, 1, 2])
    assert len(tasks) == 11 * 6 * 3
    assert {task.configuration for task in tasks} <= set(reference)
