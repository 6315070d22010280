"""What transcripts cannot say of commands: wrong files of all kinds, processes, round trips."""

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.app.cli.app import COMMANDS
from sdpbb.constraint_sets import Drawing
from sdpbb.problem import Instance
from sdpbb.problem.formats import CONSTRAINT_FORMATS, read_constraints, write_points
from sdpbb.questions import check
from sdpbb.run.explanation import Diagnosis
from tests.checker.building import built
from tests.checker.parts import Parts
from tests.commands.test_transcripts import FILES
from tests.problem.test_messages import CASES, file

ROOT = Path(__file__).parents[2]
LABELS = np.repeat([0, 1, 2], 10)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The current one, with the files of the transcripts."""
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_the_help_says_every_exit_status(run, name):
    status, out, _ = run(*name.split(), "--help")
    assert status == 0
    words = " ".join(out.split())
    for code in ExitCode:
        assert f"{code.value} {code.meaning}" in words


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
