"""The checker is a program of its own: the standard library, NumPy and itself."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sdpbb import checker
from sdpbb.checker.command import (
    REJECTED,
    UNREADABLE,
    VERIFIED,
    main,
    read_points,
    with_constraints,
)
from sdpbb.checker.kernel.stated import StatedInstance
from sdpbb.problem import Instance
from tests.checker.building import built
from tests.checker.parts import Parts

POINTS = np.array([[0.0, 0.1], [0.0, 1.0], [4.0, 0.0], [4.0, 1.5], [9.0, 9.0], [9.0, 7.0]])
INSTANCE = Instance(POINTS, 3, must_link=[(0, 1)], cannot_link=[(2, 3)])
DATA = built(INSTANCE, fixing=True).data
VECTORS = Path(__file__).parents[1] / "vectors"
FOLDER = Path(checker.__file__).parent


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path, Path]:
    """A certificate, its points and its constraints."""
    certificate, points = tmp_path / "proof", tmp_path / "points.npy"
    certificate.write_bytes(DATA)
    np.save(points, POINTS)
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("# from a survey\nML 1 0\n\nCL 2 3\nCL 3 2\n")
    return certificate, points, constraints


def claiming(**values) -> bytes:
    """The certificate with other values in its claim."""
    parts = Parts.of(DATA)
    parts.claim |= values
    return parts.data


BESIDE_KERNEL = ("partitions.py", "packing.py")


@pytest.fixture
def alone(tmp_path):
    """Run Python where only NumPy can be imported, and from nowhere near this package."""
    site, folder = tmp_path / "site", Path(np.__file__).parent
    site.mkdir()
    for found in (folder, *folder.parent.glob("numpy.libs")):
        (site / found.name).symlink_to(found)

    def run(*arguments):
        command = [sys.executable, "-S", *map(str, arguments)]
        more = {"capture_output": True, "text": True, "cwd": tmp_path, "timeout": 60}
        return subprocess.run(command, env={"PYTHONPATH": str(site)}, **more)

    assert "No module named 'sdpbb'" in run("-c", "import sdpbb").stderr
    return run


def copied(folder: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(FOLDER, folder / "anything", ignore=ignored)


def test_a_copy_of_the_folder_is_enough(tmp_path, files, alone):
    certificate, points, constraints = files
    copy = copied(tmp_path)
    done = alone(copy, certificate, points, "--constraints", constraints)
    assert (done.returncode, done.stderr) == (VERIFIED, "")
    assert "Verified: the clustering is optimal" in done.stdout
    done = alone(copy, certificate, points)
    assert (done.returncode, done.stdout) == (REJECTED, "")
    assert done.stderr == (
        f"{certificate}: rejected: is about other must-links; expected a file that holds "
        "exactly the same numbers\n"
    )


def test_a_proof_by_semidefinite_bounds_needs_the_kernel_alone(tmp_path, alone):
    copy = copied(tmp_path)
    for name in BESIDE_KERNEL:
        (copy / name).unlink()
    shutil.rmtree(copy / "pricing")
    done = alone(copy, VECTORS / "accept" / "root.npz", VECTORS / "instances" / "root.txt")
    assert (done.returncode, done.stderr) == (VERIFIED, "")
    assert "dual bound" in done.stdout


def test_numpy_and_the_standard_library_are_all_that_a_copy_imports(tmp_path, alone):
    """Every module of it; python-flint where exact mode is requested."""
    copy = copied(tmp_path)
    modules = [
        ".".join([copy.name, *path.relative_to(copy).with_suffix("").parts])
        for path in sorted(copy.rglob("*.py"))
    ]
    done = alone("-c", "import " + ", ".join(modules))
    assert (done.returncode, done.stderr) == (0, "")


def test_it_is_a_module_too(files):
    certificate, points, constraints = map(str, files)
    command = [sys.executable, "-m", "sdpbb.checker", certificate, points]
    done = subprocess.run(
        [*command, "--constraints", constraints, "--json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    verdict = json.loads(done.stdout)
    assert verdict["verified"] is True
    assert (verdict["status"], verdict["k"]) == ("optimal", 3)


def test_a_rejection_is_one_line(files, capsys):
    certificate, points, constraints = files
    certificate.write_bytes(claiming(cost=1.0))
    arguments = [str(certificate), str(points), "--constraints", str(constraints)]
    assert main(arguments) == REJECTED
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{certificate}: rejected: cost: states 1.0, the labels cost ")
    assert err.count("\n") == 1
    assert main([*arguments, "--json"]) == REJECTED
    values = json.loads(capsys.readouterr().out)
    assert values["verified"] is False
    assert values["reason"].startswith("cost: states 1.0")


def test_a_gap_and_a_k_of_ones_own(files, capsys):
    certificate, points, constraints = map(str, files)
    arguments = [certificate, points, "--constraints", constraints]
    Path(certificate).write_bytes(claiming(status="feasible", tolerance=0.25))
    assert main([*arguments, "--json"]) == VERIFIED
    values = json.loads(capsys.readouterr().out)
    assert (values["status"], values["tolerance"]) == ("feasible", 0.25)
    assert main([*arguments, "--gap", "1e-6"]) == VERIFIED
    assert "optimal, within a gap of 0.0001%" in capsys.readouterr().out
    assert 0.0 < values["gap"] < 1e-9
    assert main([*arguments, "--gap", "0"]) == VERIFIED
    assert "no clustering costs less than the lower bound" in capsys.readouterr().out
    assert main([*arguments, "--k", "3"]) == VERIFIED
    capsys.readouterr()
    assert main([*arguments, "--k", "4"]) == REJECTED
    assert capsys.readouterr().err.endswith("rejected: is about k = 3; k is 4\n")
    assert main([*arguments, "--workers", "2"]) == VERIFIED
    capsys.readouterr()
    for option, wrong in (
        ("--gap", "1"),
        ("--gap", "-0.1"),
        ("--gap", "nan"),
        ("--gap", "x"),
        ("--workers", "0"),
    ):
        with pytest.raises(SystemExit) as exited:
            main([*arguments, option, wrong])
        assert exited.value.code == UNREADABLE


def test_unreadable_files_are_told(files, tmp_path, capsys):
    certificate, points, _ = map(str, files)
    missing = str(tmp_path / "missing")
    for arguments in (
        [missing, points],
        [certificate, missing],
        [certificate, f"{missing}.npy"],
        [certificate, points, "--constraints", missing],
        [str(tmp_path), points],
    ):
        assert main(arguments) == UNREADABLE
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n2.5,3\n-4e2,5\n",
        "0 1\n2.5 3\n-4e2 5\n",
        "x,y\n0, 1\n2.5, 3\n\n-400.0,5.0\n",
        "x y\n0 1\n2.5 3\n-4e2 5",
        "3 2\n0 1\n2.5 3\n-4e2 5",
        "# points\n3 2 2\n0 1\n2.5\t3 # the second\n-4e2 5\n",
        "\ufeff0,1\r\n2.5,3\r\n-4e2,5\r\n",
    ],
)
def test_points_are_read(tmp_path, text):
    (tmp_path / "points").write_text(text, encoding="utf-8")
    expected = [[0.0, 1.0], [2.5, 3.0], [-400.0, 5.0]]
    assert read_points(str(tmp_path / "points")).tolist() == expected


def test_a_first_row_of_other_sizes_is_a_point(tmp_path):
    (tmp_path / "points").write_text("5 2\n1 1\n2 2\n")
    assert len(read_points(str(tmp_path / "points"))) == 3
    np.save(tmp_path / "whole.npy", np.arange(4).reshape(2, 2))
    assert read_points(str(tmp_path / "whole.npy")).dtype == np.float64


SIX = StatedInstance(np.arange(6.0)[:, None], 1)


def test_constraints_are_read_in_both_forms(tmp_path):
    path = tmp_path / "constraints"
    path.write_text("0 1 1\n2 3 -1 # far\nML 4 5\nCL 0 5\n")
    stated = with_constraints(SIX, str(path))
    assert stated.must_link.tolist() == [[0, 1], [4, 5]]
    assert stated.cannot_link.tolist() == [[2, 3], [0, 5]]
    path.write_text("")
    stated = with_constraints(SIX, str(path))
    assert (len(stated.must_link), len(stated.cannot_link), stated.rules) == (0, 0, ())
