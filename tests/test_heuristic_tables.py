import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import heuristic_tables as tables


def row(**values):
    empty = dict.fromkeys(
        ("part", "dataset", "set", "method", "seed", "sum_of_squares", "hard_violations", "ari"), ""
    )
    common = {"seconds": "1.0", "peak_rss_mib": "100", "n_constraints": "5", "cpu": "a processor"}
    return empty | common | {"hard_violations": "0", "stop": "converged"} | values


@pytest.fixture
def reference(tmp_path):
    columns = ["dataset"]
    for prefix in tables.COMPETITORS.values():
        columns += [f"{prefix}_best_percent", f"{prefix}_optimal_percent"]
    columns.append("cop_kmeans_failed_percent")
    values = ["Iris", *map(str, range(1, len(columns)))]
    file = tmp_path / "pc_sos_sdp_heuristics.csv"
    file.write_text(f"{','.join(columns)}\n{','.join(values)}\n")
    return tmp_path


def test_how_often_the_best_and_the_optimum_are_found(reference):
    """Of two sets: the optimum by both, by one; nothing; and what violates a constraint."""
    found = {
        "ipc-kmeans sdp": ("10", "20"),
        "ipc-kmeans": ("10.00000001", "21"),
        "post-processing": ("9", "22"),
        "cop-kmeans": ("", "20"),
        "best-of": ("10", "19"),
    }
    rows = [
        row(dataset="iris", set=name, method=method, sum_of_squares=costs[position])
        for method, costs in found.items()
        for position, name in enumerate(("a", "b"))
    ]
    rows[4]["hard_violations"] = "1"
    optimum = {("iris", "a"): 10.0, ("iris", "b"): 20.0}
    lines = tables.table8(rows, optimum, reference)
    line = next(line for line in lines if line.startswith("| iris"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == [
        *("iris", "2", "100.0 (1)", "100.0 (2)", "50.0 (3)", "50.0 (4)"),
        *("0.0 (5)", "0.0 (6)", "50.0 (7)", "50.0 (8)", "50.0 (9)", "100.0"),
    ]
    assert "- cop-kmeans: 50.0 % optimal, median 1.00 s" in lines


def test_ours_against_the_whole_programme():
    rows = []
    for name, ours, theirs, seconds in (("a", 1.0, 1.0, 8.0), ("b", 2.0, 1.0, 2.0)):
        rows.append(row(dataset="iris", set=name, method="pccc", sum_of_squares=str(ours)))
        rows.append(
            row(
                dataset="iris",
                set=name,
                method="plain",
                sum_of_squares=str(theirs),
                seconds=str(seconds),
            )
        )
    told = tables.plain(rows)[-1]
    assert "2 instances" in told
    assert "5.0 times faster in the median (from 2.0 to 8.0), a worse sum of squares on 1" in told


def test_runs_without_a_clustering_are_counted():
    rows = [
        row(dataset="n500-k5", set="20%", method="pccc", k="5", ari="0.5", seconds="2.5"),
        row(dataset="n500-k5", set="15%", method="pccc", k="5"),
        row(dataset="n5000-k100", set="20%", method="pccc", k="100", ari="0.75"),
    ]
    lines = tables.col2(rows)
    assert "| 5 | 2 | 2.5 s, 0.500, 1 |" in lines
    assert lines[-1] == "- pccc, 5 constraints: 1.0 s, peak 100 MiB, ARI 0.75, converged"
