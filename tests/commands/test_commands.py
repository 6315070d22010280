"""What transcripts cannot say of commands: wrong files of all kinds, processes, round trips."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import ClassVar

import numpy as np
import pytest

from heuristics.method import Heuristic, Soft
from heuristics.registry import METHODS
from heuristics.result import SearchResult, Stop
from sdpbb.app.cli import ExitCode
from sdpbb.app.cli.app import COMMANDS
from sdpbb.app.cli.files import reading_files
from sdpbb.app.cli.options import EngineOptions
from sdpbb.constraint_sets import Drawing
from sdpbb.errors import CertificateError, InstanceWarning, ParameterError
from sdpbb.problem import Infeasibility, InfeasibilityKind, Instance
from sdpbb.problem.formats import CONSTRAINT_FORMATS, read_constraints, write_points
from sdpbb.questions import check
from sdpbb.run.explanation import Diagnosis
from sdpbb.runtime.declaration import parameter
from tests.checker.building import built
from tests.checker.parts import Parts
from tests.commands.test_transcripts import FILES
from tests.problem.test_messages import CASES, file

ROOT = Path(__file__).parents[2]
LABELS = np.repeat([0, 1, 2], 10)
FOUND = np.array([0, 1, 1, 1])
PROOF = Infeasibility(InfeasibilityKind.ODD_CYCLE, (0, 1, 2))


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The current one, with the files of the transcripts."""
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_help_says_every_exit_status(run):
    status, out, _ = run("--help")
    assert status == 0
    words = " ".join(out.split())
    for code in ExitCode:
        assert f"{code.value} {code.meaning}" in words


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_fits_two_screens(run, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = run(name, "--help")
    lines = out.splitlines()
    assert status == 0
    assert lines[-1] == "Exit status: see 'sdpbb --help'."
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 80


def test_each_file_that_cannot_be_written_is_reported(run, folder, monkeypatch):
    """The certificate comes last, and its error must not hide the others."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def without_certificate(*_: object) -> None:
        raise CertificateError("x.cert: could not be written (full)") from OSError("full")

    monkeypatch.setattr("sdpbb.app.cli.files.write_atomically", full)
    monkeypatch.setattr("sdpbb.run.certificates.writer.write_certificate", without_certificate)
    status, _, err = run(
        "solve", "points.txt", "--json", "out.json", "--certificate", "x.cert", "-q"
    )
    assert status == ExitCode.BAD_INPUT
    assert err.splitlines() == [
        "error: out.json: could not be written (No space left on device)",
        "error: x.cert: could not be written (full)",
    ]


SOLVE, CHECK, KMEANS, PCCC = "solve", "check", "heuristic kmeans", "heuristic pccc"
# Commands, and the section of the table of messages with the files that each is given.
WRONG = [
    *((f"{one} FILE -k 1", "Points as text") for one in (SOLVE, CHECK, KMEANS)),
    *(
        (f"{one} points.txt --constraints FILE", "Constraints: lines with keywords")
        for one in (SOLVE, CHECK, PCCC)
    ),
    ("gap points.txt FILE", "Labels"),
]


@pytest.mark.parametrize(("line", "section"), WRONG)
def test_a_wrong_file_is_one_line_and_costs_no_output(run, folder, line, section):
    """Outputs of an earlier run stay."""
    (folder / "old.json").write_text("old json")
    told = [(case.arguments, case.answer) for case in CASES[section]]
    cases = [(given, says) for given, says in told if given and len(given) < 3 and ": " in says]
    assert len(cases) > 10
    for arguments, answer in cases:
        path = file(*arguments)
        words = [path if word == "FILE" else word for word in line.split()]
        expected = (ExitCode.BAD_INPUT, "", f"error: {answer.partition(': ')[2]}\n")
        assert run(*words, "--json", "old.json") == expected
        Path(path).unlink(missing_ok=True)
    assert (folder / "old.json").read_text() == "old json"


def test_what_was_not_found_out_has_its_own_status(run, folder, monkeypatch):
    monkeypatch.setattr(check, "diagnose", lambda *arguments: Diagnosis(None))
    code, out, _ = run("check", "points.txt")
    assert code == ExitCode.LIMIT_WITHOUT_CLUSTERING
    assert "unknown: found neither a clustering that satisfies them nor a proof of conflict" in out
    assert "time" not in out


@pytest.mark.parametrize("constraints_format", CONSTRAINT_FORMATS)
def test_constraints_that_are_drawn_are_read_back(run, folder, constraints_format):
    Path("labels.txt").write_text("".join(f"{label}\n" for label in LABELS))
    words = ["--must-links", 5, "--cannot-links", 7, "--format", constraints_format]
    assert run("generate", "labels.txt", *words, "--out", "drawn")[0] == 0
    expected = Drawing(must_links=5, cannot_links=7).of(LABELS)
    for told in (None, constraints_format):
        read = read_constraints("drawn", 30, told)
        assert np.array_equal(read.must_link, expected.must_link)
        assert np.array_equal(read.cannot_link, expected.cannot_link)


@pytest.mark.parametrize("constraints_format", ["pc-sos-sdp", "pccc"])
@pytest.mark.parametrize("options", [{}, {"confidence": 0.6}, {"noise": 0.4}])
def test_soft_constraints_that_are_drawn_are_read_back(run, folder, constraints_format, options):
    Path("labels.txt").write_text("".join(f"{label}\n" for label in LABELS))
    words = [text for name, value in options.items() for text in (f"--{name}", value)]
    words += ["--format", constraints_format]
    assert run("generate", "labels.txt", "--pairs", 9, "--soft", *words, "--out", "drawn")[0] == 0
    read, expected = (
        read_constraints("drawn", 30),
        Drawing(pairs=9, soft=True, **options).of(LABELS),
    )
    for kind in ("soft_must_link", "soft_cannot_link"):
        assert np.array_equal(getattr(read, kind).pairs, getattr(expected, kind).pairs)
        assert np.array_equal(getattr(read, kind).weights, getattr(expected, kind).weights)


# A proof of six points with fixed pairs, and what is wrong with it.
POINTS = np.array([[0.0, 0.1], [0.0, 1.0], [4.0, 0.0], [4.0, 1.5], [9.0, 9.0], [9.0, 7.0]])
INSTANCE = Instance(POINTS, 3, must_link=[(0, 1)], cannot_link=[(2, 3)])


@pytest.fixture
def proof(folder) -> list[str]:
    """The words of a command that verifies it."""
    Path("proof").write_bytes(built(INSTANCE, fixing=True).data)
    write_points("six.txt", POINTS, 3)
    Path("six").write_text("ML 0 1\nCL 2 3\n")
    return ["verify", "proof", "--data", "six.txt", "--constraints", "six"]


def test_a_rejection_is_one_line(run, proof):
    assert run(*proof)[0] == ExitCode.OPTIMAL
    parts = Parts.of(Path("proof"))
    parts.steps[0].words[1] += 0.1
    Path("proof").write_bytes(parts.data)
    code, out, err = run(*proof, "--json", "out.json")
    assert (code, out, err.count("\n")) == (ExitCode.REJECTED, "", 1)
    assert err.startswith("proof: rejected: line 1: states a bound of ")
    values = json.loads(Path("out.json").read_text())
    assert values["verified"] is False
    assert values["reason"].startswith("line 1: states a bound of ")


def test_labels_of_another_clustering_are_rejected(run, proof):
    proven = built(INSTANCE).labels
    names = np.array(["seven", "b", "x"])
    for changed in range(6):
        other = proven.copy()
        other[changed] = (other[changed] + 1) % 3
        Path("labels").write_text("\n".join(names[other]) + "\n")
        code, _, err = run(*proof, "--labels", "labels")
        assert code == ExitCode.REJECTED
        assert err == "proof: rejected: labels of labels are another clustering\n"


def test_neither_the_solver_nor_a_compiler_is_loaded_to_verify(proof):
    program = (
        "import sys\n"
        "from sdpbb.app.cli import main\n"
        f"sys.argv = ['sdpbb', *{proof!r}]\n"
        "try:\n    main()\n"
        "except SystemExit as exited:\n    assert not exited.code, exited.code\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "sdpbb.checker.verify" in loaded
    assert not loaded & {"numba", "sdpbb.run.solver", "sdpbb.bounds.bound", "highspy", "scipy"}


def test_a_reader_that_leaves_costs_one_line(folder):
    Path("labels.txt").write_text("".join(f"{label}\n" for label in LABELS))
    command = [sys.executable, "-m", "sdpbb", "generate", "labels.txt", "--pairs", "300"]
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as closed:
        process = subprocess.run(
            [*command, "--out", "-"], stdout=closed, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert process.returncode == ExitCode.BAD_INPUT
    assert process.stderr == "error: standard output: could not be written (Broken pipe)\n"


STUDIED, OF_LABELS = "sdpbb.run.solver.solve", "sdpbb.questions.gap.solve"
BEGIN = "sdpbb.questions.study.Task"


@pytest.mark.parametrize(
    ("line", "run_of", "told"),
    [
        ("price points.txt --constraints pairs.txt", STUDIED, "as the run was interrupted"),
        ("sweep points.txt -k 2-3", STUDIED, "Not run, as the sweep was interrupted: k = 3"),
        ("gap points.txt worse.txt", OF_LABELS, "The run was stopped by an interrupt."),
        ("batch jobs.toml --out runs", BEGIN, "; --resume continues with them"),
    ],
)
def test_ctrl_c_writes_what_is_known(run, folder, monkeypatch, line, run_of, told):
    import_module("sdpbb.questions.price")  # before the engine is replaced
    jobs = "[[instance]]\ndata = 'points.txt'\nk = {}\n"
    Path("jobs.toml").write_text(jobs.format(2) + jobs.format(3))
    begin = resolve_name(run_of)

    def interrupted(*arguments, **named):
        """Interrupt the first run."""
        os.kill(os.getpid(), signal.SIGINT)
        return begin(*arguments, **named)

    monkeypatch.setattr(run_of, interrupted)
    code, out, _ = run(*line.split(), "--workers", "1", "--json", "out.json")
    assert code == ExitCode.INTERRUPTED
    assert told in out
    values = json.loads(Path("out.json").read_text())
    assert values["interrupted"] if "interrupted" in values else 0 < values["gap"] <= 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Fake(Heuristic):
    """Comes to what it is told."""

    name = "fake"
    soft = Soft.WEIGHED
    found: ClassVar[SearchResult | Infeasibility | Exception]

    size: int = parameter(1)

    def search(self, instance, rng, clock):
        if not instance.name:  # the kernels are prepared
            return SearchResult(np.zeros(instance.n_points, np.intp), Stop.CONVERGED, 1)
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setitem(METHODS, "fake", Fake)
    monkeypatch.setattr(Fake, "found", SearchResult(FOUND, Stop.CONVERGED, 7), raising=False)
    return Fake


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (SearchResult(FOUND, Stop.CONVERGED, 1), ExitCode.FOUND),
        (SearchResult(FOUND, Stop.TIME_LIMIT, 1), ExitCode.FOUND),
        (SearchResult(FOUND, Stop.INTERRUPTED, 1), ExitCode.INTERRUPTED),
        (SearchResult(None, Stop.INTERRUPTED, 1), ExitCode.INTERRUPTED),
        (SearchResult(None, Stop.TIME_LIMIT, 1), ExitCode.LIMIT_WITHOUT_CLUSTERING),
        (SearchResult(None, Stop.DEAD_END, 1), ExitCode.LIMIT_WITHOUT_CLUSTERING),
        (PROOF, ExitCode.INFEASIBLE),
    ],
)
def test_the_exit_status_says_what_came_of_it(run, fake, folder, found, code):
    fake.found = found
    status, out, err = run("heuristic", "fake", "points.txt")
    assert (status, err) == (code, "")
    assert "\nStatus  " in out


def test_a_method_at_work_is_told_now_and_then(run, fake, folder, monkeypatch):
    def search(self, instance, rng, clock):
        time.sleep(0.2)
        assert not clock.is_over
        return self.found

    monkeypatch.setattr("sdpbb.app.cli.files.INTERVAL", 0.02)
    monkeypatch.setattr(fake, "search", search)
    _, out, _ = run("heuristic", "fake", "points.txt")
    assert "\nWorking         0 s\n" in out
    _, out, _ = run("heuristic", "fake", "points.txt", "--quiet")
    assert "Working" not in out


def test_empty_clusters_are_told(run, fake, folder):
    _, out, _ = run("heuristic", "fake", "points.txt", "-k", 3)
    assert "Violated        1 empty cluster\n" in out


def test_a_parameter_that_does_not_fit_the_data_is_told_as_the_option(run, fake, folder):
    fake.found = ParameterError("size = 9: expected at most n = 4")
    status, _, err = run("heuristic", "fake", "points.txt", "-o", "size=9")
    message = "error: --option size=9: expected at most n = 4\n"
    assert (status, err) == (ExitCode.USAGE, message)


def test_ctrl_c_ends_a_heuristic(run, fake, folder, monkeypatch):
    def search(self, instance, rng, clock):
        if instance.name:  # the kernels are prepared
            os.kill(os.getpid(), signal.SIGINT)
        stop = clock.reason if clock.is_over else Stop.CONVERGED
        return SearchResult(np.arange(instance.n_points) % instance.k, stop, 1)

    monkeypatch.setattr(fake, "search", search)
    outputs = ["--json", "out.json", "--labels", "found.txt"]
    assert run("heuristic", "fake", "points.txt", *outputs, "--quiet")[0] == ExitCode.INTERRUPTED
    assert json.loads(Path("out.json").read_text())["stop"] == "interrupted"
    assert Path("found.txt").read_text() == "0\n1\n0\n1\n"


def test_a_warning_is_a_line_on_standard_error(run, folder):
    Path("none.txt").write_text("# none\n")
    _, out, err = run("check", "points.txt", "--constraints", "none.txt", "--quiet")
    told = "warning: none.txt: has no constraints; is it the right file?\n"
    assert (out, err) == ("", told)


def test_other_warnings_stay_warnings():
    with pytest.warns(UserWarning, match="^of another kind$") as caught, reading_files():
        warnings.warn("of another kind", UserWarning, stacklevel=1)
    assert not any(issubclass(warning.category, InstanceWarning) for warning in caught)


@pytest.mark.parametrize("command", ["solve", "heuristic pccc", "check", "suggest", "gap"])
def test_quiet_commands_tell_no_notes_but_warnings(run, folder, command):
    Path("rows.csv").write_text("id,x,y\na,0,100\nb,4,\nc,9,50\nd,10,60\n")
    Path("lines.txt").write_text("ML 1 2\nML 2 1\nCL 1 3\n")
    reading = "-k 2 --constraints lines.txt --drop id --standardize --missing mean"
    arguments = [*command.split(), "rows.csv", *reading.split()]
    if command == "gap":
        arguments.insert(2, "best.txt")
    err = run(*arguments)[2]
    assert "note: columns are standardized" in err
    assert "note: " in err.replace("note: columns", "")
    quiet = run(*arguments, "--quiet")[2]
    assert quiet == "".join(line for line in err.splitlines(True) if line.startswith("warning: "))


def test_all_cores_are_used_unless_something_else_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("sdpbb.app.cli.options.usable_cores", lambda: 7)
    path = tmp_path / "parameters.toml"
    path.write_text("gap = 0.5\n")
    assert EngineOptions(file=str(path)).parameters().workers == 7
    assert EngineOptions(workers=2).parameters().workers == 2
    path.write_text("dask = 'tcp://host:1'\n")
    assert EngineOptions(file=str(path)).parameters().workers == 1
    assert EngineOptions(file=str(path), workers=2).parameters().dask is None
