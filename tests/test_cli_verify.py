import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.app.cli.verify import EXITS
from sdpbb.checker.evidence.scatter import scatter_bound
from sdpbb.checker.geometry import Geometry
from sdpbb.problem import Instance
from sdpbb.problem.formats import write_points
from tests.checker.building import Built, built
from tests.checker.corrupted import resealed

POINTS = np.array([[0.0, 0.1], [0.0, 1.0], [4.0, 0.0], [4.0, 1.5], [9.0, 9.0], [9.0, 7.0]])
INSTANCE = Instance(POINTS, 3, must_link=[(0, 1)], cannot_link=[(2, 3)])
DATA = built(INSTANCE, fixing=True).data
INFEASIBLE = built(Instance(POINTS, 3, must_link=[(0, 1)], cannot_link=[(0, 1)])).data


def weak() -> Built:
    """Of the same clustering, which is called optimal to 99%: the bound is what its one must-link
    costs."""
    certificate = built(INSTANCE, tolerance=0.99)
    blocks = Geometry.of(POINTS).contracted(np.array([0, 0, 1, 2, 3, 4]))
    bound = {"bound": scatter_bound(blocks), "evidence": {"kind": "scatter"}}
    certificate.document["nodes"] = [{"steps": [bound], "end": {"open": True}}]
    certificate.document["lower_bound"] = bound["bound"]
    return certificate


@pytest.fixture
def run(run):
    """Run the command in this process: its exit status, standard output and standard error."""
    return partial(run, "verify")


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path, Path]:
    """A certificate, its points and its constraints."""
    certificate, points, constraints = (tmp_path / name for name in ("proof", "points", "pairs"))
    certificate.write_bytes(DATA)
    write_points(points, POINTS, 3)
    constraints.write_text("ML 0 1\nCL 2 3\n")
    return certificate, points, constraints


def test_a_proof_is_verified(run, files, tmp_path):
    certificate, points, constraints = files
    arguments = (certificate, "--data", points, "--constraints", constraints)
    code, out, err = run(*arguments, "--json", tmp_path / "out.json")
    assert (code, err) == (ExitCode.OPTIMAL, "")
    assert out.startswith("Verified: the clustering is optimal")
    values = json.loads((tmp_path / "out.json").read_text())
    assert values["verified"] is True
    assert (values["status"], values["n"], values["k"]) == ("optimal", 6, 3)
    assert run(*arguments, "-q") == (ExitCode.OPTIMAL, "", "")
    code, out, err = run(*arguments, "--json", "-")
    assert json.loads(out) | {"seconds": 0} == values | {"seconds": 0}
    assert err.startswith("Verified")


def test_what_is_proven_is_told_by_the_status(run, files):
    certificate, points, constraints = files
    arguments = (certificate, "--data", points, "--constraints", constraints)
    certificate.write_bytes(resealed(DATA, lambda document: document.update(status="feasible")))
    assert run(*arguments)[0] == ExitCode.LIMIT
    certificate.write_bytes(INFEASIBLE)
    constraints.write_text("ML 0 1\nCL 1 0\n")
    code, out, _ = run(*arguments)
    assert code == ExitCode.INFEASIBLE
    assert "no clustering satisfies the constraints" in out


def test_k_is_the_certificates_where_nothing_else_states_it(run, files, tmp_path):
    certificate, _, constraints = files
    np.savetxt(tmp_path / "points.csv", POINTS, "%.17g", ",")
    arguments = (certificate, "--data", tmp_path / "points.csv", "--constraints", constraints)
    assert run(*arguments)[0] == ExitCode.OPTIMAL
    assert run(*arguments, "-k", 3)[0] == ExitCode.OPTIMAL
    code, out, err = run(*arguments, "-k", 2)
    assert (code, out) == (ExitCode.REJECTED, "")
    assert err == f"{certificate}: rejected: is about k = 3; k is 2\n"
    assert run(*arguments, "-k", 0)[0] == ExitCode.USAGE
    write_points(tmp_path / "two", POINTS, 2)
    code, out, err = run(certificate, "--data", tmp_path / "two", "--constraints", constraints)
    assert (code, out) == (ExitCode.REJECTED, "")
    assert err == (
        f"{certificate}: rejected: is about k = 3; k is 2 in {tmp_path / 'two'}: -k 3 is missing, "
        "or it is the certificate of another run\n"
    )
    arguments = (certificate, "--data", tmp_path / "two", "--constraints", constraints, "-k", 3)
    assert run(*arguments)[0] == ExitCode.OPTIMAL


def test_a_gap_of_ones_own_is_judged(run, files, tmp_path):
    certificate, points, constraints = files
    output = tmp_path / "out.json"
    arguments = (certificate, "--data", points, "--constraints", constraints, "--json", output)
    claim = {"status": "feasible", "tolerance": 0.25}
    certificate.write_bytes(resealed(DATA, lambda document: document.update(claim)))
    assert run(*arguments)[0] == ExitCode.LIMIT
    code, out, _ = run(*arguments, "--gap", 1e-6)
    assert code == ExitCode.OPTIMAL
    assert "optimal, within a gap of 0.0001%" in out

    document = weak().document
    certificate.write_bytes(weak().data)
    code, out, _ = run(*arguments)
    assert code == ExitCode.OPTIMAL
    assert "optimal, within a gap of 99%" in out
    gap = json.loads(output.read_text())["gap"]
    assert gap == pytest.approx(1 - document["lower_bound"] / document["cost"])
    assert 0.1 < gap < 0.99
    assert run(*arguments, "--gap", gap)[0] == ExitCode.OPTIMAL
    code, out, _ = run(*arguments, "--gap", 1e-4)
    assert code == ExitCode.LIMIT
    assert "no clustering costs less than the lower bound" in out
    values = json.loads(output.read_text())
    assert (values["status"], values["tolerance"]) == ("feasible", 1e-4)
    for wrong in (1, -1, "nan"):
        code, _, err = run(*arguments, "--gap", wrong)
        assert code == ExitCode.USAGE
        assert "expected a number in [0, 1)" in err


def test_labels_are_those_that_are_proven(run, files, tmp_path):
    certificate, points, constraints = files
    arguments = (certificate, "--data", points, "--constraints", constraints)
    labels = tmp_path / "labels"
    proven = built(INSTANCE).arrays[-1]
    names = np.array(["seven", "b", "x"])
    labels.write_text("\n".join(names[proven]) + "\n")
    assert run(*arguments, "--labels", labels)[0] == ExitCode.OPTIMAL
    for changed in range(6):
        other = proven.copy()
        other[changed] = (other[changed] + 1) % 3
        labels.write_text("\n".join(names[other]) + "\n")
        code, out, err = run(*arguments, "--labels", labels)
        assert (code, out) == (ExitCode.REJECTED, "")
        found = re.fullmatch(
            rf"{certificate}: rejected: labels of {labels} are another clustering: only one of "
            r"both has points (\d) and (\d) \(from 0\) in the same cluster\n",
            err,
        )
        i, j = map(int, found.groups())
        assert (proven[i] == proven[j]) != (other[i] == other[j])
    labels.write_text("1\n2\n")
    code, _, err = run(*arguments, "--labels", labels)
    assert (code, "2 labels for 6 points" in err) == (ExitCode.BAD_INPUT, True)
    labels.write_text("1\n" * 6)
    assert run(*arguments, "--labels", labels, "--json", labels)[0] == ExitCode.USAGE
    certificate.write_bytes(INFEASIBLE)
    constraints.write_text("ML 0 1\nCL 1 0\n")
    code, _, err = run(*arguments, "--labels", labels)
    assert code == ExitCode.REJECTED
    assert err.endswith(f"labels of {labels}: the certificate is not about a clustering\n")


def test_options_of_reading_are_heeded(run, files, tmp_path):
    certificate, _, constraints = files
    rows = [f"p{i},{x!r},{y!r},a" for i, (x, y) in enumerate(POINTS.tolist())]
    (tmp_path / "named.csv").write_text("name,x,y,class\n" + "\n".join(rows) + "\n")
    constraints.write_text("p0 p1 1\np3 p2 -1\n")
    columns = ("--index-column", "name", "--drop", "class")
    arguments = (certificate, "--data", tmp_path / "named.csv", "--constraints", constraints)
    assert run(*arguments, *columns, "--constraints-format", "cccg")[0] == ExitCode.OPTIMAL
    write_points(tmp_path / "points", POINTS)
    constraints.write_text("ML 1 2\nCL 3 4\n")
    arguments = (certificate, "--data", tmp_path / "points", "--constraints", constraints)
    assert run(*arguments, "--one-based")[0] == ExitCode.OPTIMAL


def test_a_rejection_is_one_line(run, files, tmp_path):
    certificate, points, constraints = files

    def raise_bound(document):
        document["nodes"][0]["steps"][0]["bound"] += 0.1

    certificate.write_bytes(resealed(DATA, raise_bound))
    arguments = (certificate, "--data", points, "--constraints", constraints)
    code, out, err = run(*arguments, "--json", tmp_path / "out.json")
    assert (code, out) == (ExitCode.REJECTED, "")
    assert err.startswith(f"{certificate}: rejected: node 0, step 0: states a bound of ")
    assert err.count("\n") == 1
    values = json.loads((tmp_path / "out.json").read_text())
    assert values["verified"] is False
    assert values["reason"].startswith("node 0, step 0: states a bound of ")


def test_other_data_are_told(run, files, tmp_path):
    certificate, points, _ = files
    code, _, err = run(certificate, "--data", points)
    assert (code, err.count("\n")) == (ExitCode.REJECTED, 1)
    assert "is about other must-links; expected a file that holds exactly the same numbers" in err
    write_points(tmp_path / "few", POINTS[:2])
    assert run(certificate, "--data", tmp_path / "few")[0] == ExitCode.REJECTED
    write_points(tmp_path / "moved", POINTS + 1.0)
    code, _, err = run(certificate, "--data", tmp_path / "moved")
    assert code == ExitCode.REJECTED
    assert err.endswith(
        "numbers (--drop, --index-column, --missing and --standardize as for the run)\n"
    )


def test_constraints_that_are_not_given_are_asked_for(run, files):
    certificate, points, constraints = files
    code, _, err = run(certificate, "--data", points)
    assert code == ExitCode.REJECTED
    assert "is about other must-links" in err
    assert err.endswith(" (--constraints and --known-classes as for the run)\n")
    constraints.write_text("ML 0 1\n")
    code, _, err = run(certificate, "--data", points, "--constraints", constraints)
    assert (code, err.endswith(" (--known-classes as for the run)\n")) == (ExitCode.REJECTED, True)


def test_a_certificate_without_constraints_on_clusters_is_about_none(run, files):
    certificate, points, constraints = files
    constraints.write_text("ML 0 1\nCL 2 3\nMAXSIZE 4\n")
    code, out, err = run(certificate, "--data", points, "--constraints", constraints)
    assert (code, out) == (ExitCode.REJECTED, "")
    assert "is about other constraints on clusters; expected a file that holds exactly" in err
    constraints.write_text("ML 0 1\nCL 2 3\nMAXSIZE 6\n")  # says nothing
    assert run(certificate, "--data", points, "--constraints", constraints)[0] == ExitCode.OPTIMAL
    constraints.write_text("ML 0 1\nCL 2 3\nSML 0 1\n")
    code, _, err = run(certificate, "--data", points, "--constraints", constraints)
    assert code == ExitCode.REJECTED
    assert "is about other soft must-links; expected a file that holds exactly" in err


def test_files_that_cannot_be_read_or_written(run, files, tmp_path):
    certificate, points, _ = files
    missing = tmp_path / "missing"
    expected = (ExitCode.BAD_INPUT, "", f"error: {missing}: No such file or directory\n")
    assert run(missing, "--data", points) == expected
    assert run(certificate, "--data", missing)[0] == ExitCode.BAD_INPUT
    assert run(certificate)[0] == ExitCode.USAGE
    assert run(certificate, "--data", points, "--json", certificate)[0] == ExitCode.USAGE
    code, _, err = run(points, "--data", points)
    assert (code, err) == (
        ExitCode.REJECTED,
        f"{points}: rejected: is not an sdpbb certificate, or not all of it; "
        "expected a whole one\n",
    )


def test_the_help_tells_every_exit_status(run):
    code, out, _ = run("--help")
    assert code == 0
    for exit_code, meaning in EXITS.items():
        assert f"{exit_code.value:>3}  {meaning}" in out


def test_neither_the_solver_nor_a_compiler_is_loaded(files):
    certificate, points, constraints = map(str, files)
    program = (
        "import sys\n"
        "from sdpbb.app.cli import main\n"
        f"sys.argv = ['sdpbb', 'verify', {certificate!r}, '--data', {points!r}, "
        f"'--constraints', {constraints!r}]\n"
        "try:\n    main()\n"
        "except SystemExit as exited:\n    assert not exited.code, exited.code\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "sdpbb.checker.verify" in loaded
    assert not loaded & {"numba", "sdpbb.run.solver", "sdpbb.bounds", "highspy", "scipy"}
