"""One process, and one run in it, writes to a file at a time."""

import subprocess
import sys

import numpy as np
import pytest

import sdpbb
from sdpbb.app.cli import ExitCode
from sdpbb.errors import ArchiveError, FileInUse, ParameterError
from sdpbb.problem.formats import write_points
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import resume, solve
from sdpbb.runtime.files import only_writer
from tests.trees import HASTY, SMALL

pytest.importorskip("fcntl")

HOLDER = """
import sys
from sdpbb.runtime.files import only_writer
with only_writer(sys.argv[1], "run"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.sdpbb"


def in_use(path):
    return f"{path}: another run is writing to it; use another name, or wait until it ends"


def test_the_second_writer_is_refused_and_nothing_is_left_behind(path):
    with only_writer(path, "run"):
        with pytest.raises(FileInUse) as refused, only_writer(path, "run"):
            pass
        with only_writer(path.with_name("other"), "run"):
            pass
    assert str(refused.value) == in_use(path)
    with only_writer(path, "run"):
        pass
    assert list(path.parent.iterdir()) == []


def test_a_link_is_the_file_that_it_leads_to(path):
    link = path.with_name("link")
    link.symlink_to(path)
    with only_writer(path, "run"), pytest.raises(FileInUse), only_writer(link, "run"):
        pass


def test_a_process_that_is_killed_holds_nothing_up(path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(FileInUse), only_writer(path, "run"):
            pass
        process.kill()
        process.wait()
    with only_writer(path, "run"):
        pass
    assert list(path.parent.iterdir()) == []


def test_two_runs_on_one_checkpoint(path):
    """While the first one is under way: before there is a file, and afterwards."""
    refused = []

    def second(event):
        for begin in (solve_there, resume_there):
            with pytest.raises((ArchiveError, ParameterError)) as caught:
                begin()
            refused.append((begin, str(caught.value)))

    def solve_there():
        solve(SMALL, HASTY, checkpoint=path)

    def resume_there():
        resume(path)

    # Until it has been written, there is nothing to resume.
    parameters = SolverParameters(node_limit=1, bounding="sdp")
    solve(SMALL, parameters, second, checkpoint=path)
    assert (solve_there, f"checkpoint = {in_use(path)}") in refused
    assert resume(path).statistics.n_nodes == 1
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    refused.clear()
    resume(path, second)
    assert {text for begin, text in refused if begin is resume_there} == {
        f"checkpoint = {in_use(path)}"
    }


def test_the_command_refuses_in_one_line(run, path):
    points = path.with_name("points.txt")
    write_points(points, SMALL.points, SMALL.k)
    with only_writer(path, "run"):
        assert run("solve", points, "--checkpoint", path) == (
            ExitCode.BAD_INPUT,
            "",
            f"error: {in_use(path)}\n",
        )
    assert not path.exists()


def test_the_certificate_is_not_written_over_the_checkpoint(path):
    link = path.with_name("link")
    instance = sdpbb.Instance(np.arange(6.0)[:, None], 2)
    for certificate in (path, path.parent / "." / path.name):
        with pytest.raises(ParameterError) as caught:
            solve(instance, checkpoint=path, certificate=certificate)
        assert str(caught.value) == (
            f"certificate = {certificate}: is the checkpoint already; expected another file"
        )
    assert not path.exists()
    solve(instance, SolverParameters(certify=True), checkpoint=path)
    link.symlink_to(path)
    state = path.read_bytes()
    other = path.with_name("other.sdpbb")
    for arguments in (
        {"certificate": path},
        {"certificate": link},
        {"certificate": path, "checkpoint": other},
        {"certificate": other, "checkpoint": other},
    ):
        with pytest.raises(ParameterError, match="is the checkpoint already"):
            resume(path, **arguments)
    assert path.read_bytes() == state
    assert not other.exists()
