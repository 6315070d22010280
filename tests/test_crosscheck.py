import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import crosscheck as script
import rows


def row(**values):
    """A row as it comes back from the file."""
    common = {
        "instance": "clouds",
        "m": "20",
        "k": "3",
        "cuts": "99",
        "version": "0",
        "clarabel": "100.0",
        "scs": "100.001",
        "ours": "99.99",
        "iterations": "300",
        "clarabel_proves": "99.98",
        "scs_proves": "99.99",
        "clarabel_accurate": "False",
        "scs_accurate": "True",
        "clarabel_seconds": "3.0",
        "scs_seconds": "1.0",
        "seconds": "0.5",
    }
    return common | values


def test_a_line_of_the_table():
    line = script.table([row()]).splitlines()[2]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        *("clouds", "20", "3", "99", "100.000000\\*", "100.001000", "99.990000"),
        *("1.0e-05", "-1.0e-04", "-1.0e-04", "0.0e+00", "3.00", "1.00", "0.50", "6.0", "2.0"),
    ]


def test_the_solvers_agree_and_rows_are_made_once(tmp_path, capsys):
    arguments = ["--csv", str(tmp_path / "rows.csv"), "--data", str(tmp_path), "--largest", "20"]
    assert script.main(arguments) == 0
    found = rows.read(tmp_path / "rows.csv")
    assert [one["instance"] for one in found] == ["clouds-20-3", "clouds-20-6"]
    for one in found:
        value, other = float(one["clarabel"]), float(one["scs"])
        ours, theirs = float(one["ours"]), float(one["clarabel_proves"])
        assert other == pytest.approx(value, rel=1e-6)
        assert value * (1 - 1e-6) <= ours <= value * (1 + 1e-6)
        assert value * (1 - 1e-5) <= theirs <= value * (1 + 1e-6)
        assert int(one["cuts"]) > 0
    assert script.main(arguments) == 0
    assert rows.read(tmp_path / "rows.csv") == found
    assert "iris/ml_100_cl_0_0: not there" in capsys.readouterr().out


def test_cases_are_repeatable():
    one, two = (script.clouds(20, 3).contraction for _ in range(2))
    np.testing.assert_array_equal(one.means, two.means)
    assert one.n_blocks == 20
    assert len(one.cannot_link) > 0
