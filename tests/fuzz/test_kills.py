"""Runs and batches that are killed again and again, mostly in the middle of a write."""

import json
import os
import tempfile
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.errors import InstanceWarning
from sdpbb.problem import Partition
from sdpbb.problem.formats import (
    Constraints,
    read_instance,
    read_labels,
    write_constraints,
    write_points,
)
from sdpbb.questions.batch.manifest import Job
from sdpbb.run.checkpoint import RunState, read_checkpoint, write_checkpoint
from sdpbb.run.solver import solve
from sdpbb.run.verification import verify_certificate
from tests.enumeration import optimum, random_instance
from tests.examples import examples
from tests.trees import HASTY, SMALLER
from tests.warm import WarmProcess, path_of_warm

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.name != "posix", reason="processes are killed by signals"),
]

# The command, with checkpoints as often as there is something to write, and with other processes
# from the first node on. Where $WRITES is not 0, it is killed at that step of writing its files: in
# the middle of a write, or before or after a file takes its place.
SCRIPT = """
import os
import signal

import sdpbb.questions.batch.outcome as batch_folder
import sdpbb.run.checkpoint
import sdpbb.runtime.files
import sdpbb.search.loop
import sdpbb.search.workforce
from sdpbb.__main__ import main
from tests.trees import go_over_at_once

left = int(os.environ["WRITES"])


def step(half=lambda: None):
    global left
    left -= 1
    if left == 0:
        half()
        os.kill(os.getpid(), signal.SIGKILL)


class Dying:
    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, content):
        def half():
            self.file.write(memoryview(content).cast("B")[: len(content) // 2])
            self.file.flush()

        step(half)
        return self.file.write(content)


def stepping(function):
    def stepped(*arguments):
        step()
        value = function(*arguments)
        step()
        return value

    return stepped


opened = batch_folder.BatchFolder.__init__
sdpbb.runtime.files.open = lambda *arguments, **named: Dying(open(*arguments, **named))
batch_folder.BatchFolder.__init__ = lambda self, path, rows, file, *rest: opened(
    self, path, rows, Dying(file), *rest
)
os.replace = stepping(os.replace)


sdpbb.run.checkpoint.INTERVAL, sdpbb.run.checkpoint.SHARE = 0.0, 1.0
sdpbb.search.loop.SHORTEST_SLICE = 0.05
sdpbb.search.workforce.Workforce.choose_scheduler = go_over_at_once
main()
"""
KILLED = -9


def called(folder, writes, *arguments, meanwhile=lambda process: None) -> tuple[int, str]:
    """The status and the standard error of the command, killed at a step of writing."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryFile() as errors:
        patch.setenv("WRITES", str(writes))
        told = [str(script), *map(str, arguments)]
        with WarmProcess(path_of_warm(), errors, told) as process:
            meanwhile(process)
            process.stdout.read()
            status = process.wait()
        errors.seek(0)
        return status, errors.read().decode()


@pytest.fixture(scope="module")
def truth() -> float:
    """The least cost of SMALLER, by another bound."""
    result = solve(SMALLER, replace(HASTY, bounding="colgen", gap=1e-9))
    assert result.status.value == "optimal"
    return result.objective


OUTPUTS = ("run", "labels.csv", "result.json", "proof")


def asked_of(folder: Path) -> list[object]:
    run, labels, result, proof = (folder / name for name in OUTPUTS)
    return [run, "--labels", labels, "--json", result, "--certificate", proof]


def begun(folder: Path) -> None:
    parameters = replace(HASTY, workers=2, certify=True)
    write_checkpoint(folder / "run", RunState(SMALLER, parameters))


def assert_whole(folder: Path, truth: float) -> None:
    """Every file that has its name says the truth, and all of it."""
    saved = read_checkpoint(folder / "run")
    if saved.tree is not None:
        assert saved.tree.lower <= truth * (1 + 1e-9)
    labels, result, proof = (folder / name for name in OUTPUTS[1:])
    if labels.exists():
        found = read_labels(labels, SMALLER.n_points)
        assert Partition(found).cost(SMALLER) >= truth * (1 - 1e-9)
    if result.exists():
        told = json.loads(result.read_text())
        assert told["lower_bound"] * (1 - 1e-9) <= truth <= told["objective"] * (1 + 1e-9)
    if proof.exists():
        assert verify_certificate(proof, SMALLER).lower_bound <= truth * (1 + 1e-9)


def assert_finished(folder: Path, truth: float) -> None:
    assert_whole(folder, truth)
    assert {path.name for path in folder.iterdir() if path.name[0] != "."} == {
        *OUTPUTS,
        "script.py",
    }
    told = json.loads((folder / "result.json").read_text())
    assert told["status"] == "optimal"
    assert told["objective"] == pytest.approx(truth, rel=1e-4)
    assert verify_certificate(folder / "proof", SMALLER).status == "optimal"


def test_runs_killed_while_they_write_leave_whole_files(tmp_path_factory, truth):
    n_kills = 0

    @examples(2, derandomize=False)
    @given(st.integers(0, 2**32))
    def survives(seed):
        nonlocal n_kills
        rng, folder = np.random.default_rng([seed, 1]), tmp_path_factory.mktemp("run")
        begun(folder)
        for writes in [*rng.integers(1, 60, 5).tolist(), 0]:
            status, err = called(folder, writes, "resume", *asked_of(folder))
            n_kills += status == KILLED
            assert (status, err) in ((KILLED, ""), (0, "")), err
            assert_whole(folder, truth)
        assert_finished(folder, truth)

    survives()
    assert n_kills


def workers_beside(process: WarmProcess) -> list[psutil.Process]:
    """The workers of a command, which are what the command itself is: children of what waits for
    them, below the warm process."""
    found = []
    with suppress(psutil.Error):
        for waiting in process.process.parent().parent().children():
            found += [one for one in waiting.children() if one != process.process]
    return found


def test_runs_whose_workers_are_killed_prove_nothing_wrong(tmp_path_factory, truth):
    n_kills = 0

    @examples(2, derandomize=False)
    @given(st.integers(0, 2**32))
    def survives(seed):
        nonlocal n_kills
        rng, folder = np.random.default_rng([seed, 2]), tmp_path_factory.mktemp("run")

        def kill_workers(process):
            nonlocal n_kills
            until = time.monotonic() + 20.0
            for _ in range(int(rng.integers(1, 6))):
                workers = []
                while not workers and process.process.is_running() and time.monotonic() < until:
                    with suppress(psutil.Error):
                        workers = workers_beside(process)
                time.sleep(rng.uniform(0.0, 0.3))
                if workers:
                    with suppress(psutil.Error):
                        workers[rng.integers(len(workers))].kill()
                        n_kills += 1

        begun(folder)
        status, _ = called(folder, 0, "resume", *asked_of(folder), meanwhile=kill_workers)
        assert status in (0, 10)  # a node whose worker dies twice is given up
        assert_whole(folder, truth)
        told = json.loads((folder / "result.json").read_text())
        assert (status == 0) == (told["status"] == "optimal")

    for _ in range(4):  # on a loaded machine a run may end before a worker is seen
        survives()
        if n_kills:
            break
    assert n_kills


def batch_of(folder: Path, rng: np.random.Generator, number: int) -> Path:
    """A manifest of small instances with pairs, some of them contradictory."""
    lines = ["[defaults]", "gap = 1e-6"]
    for at in range(number):
        instance = random_instance(rng, n_max=9, n_min=2)
        write_points(folder / f"{at}.txt", instance.points)
        pairs = Constraints(must_link=instance.must_link, cannot_link=instance.cannot_link)
        write_constraints(folder / f"{at}.lines", pairs)
        bounding = ("sdp", "colgen", "hybrid")[rng.integers(3)]
        lines += ["[[instance]]", f"data = '{at}.txt'", f"constraints = '{at}.lines'"]
        lines += [f"k = {instance.k}", f"bounding = '{bounding}'"]
    (folder / "batch.toml").write_text("\n".join(lines) + "\n")
    return folder / "batch.toml"


def rows_of(out: Path) -> dict[str, dict]:
    """The rows that are whole; only the last may not be."""
    path = out / "results.jsonl"
    if not path.exists():
        return {}
    *lines, last = path.read_text().split("\n")
    assert "\n" not in last
    rows = [json.loads(line) for line in lines]
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"]: row for row in rows}


def assert_as_solved(folder: Path, out: Path, row: dict) -> None:
    """A row says what enumeration says, and has what a plain run has, to the last bit."""
    job = Job.from_keys({"data": row["data"], "constraints": row["constraints"], "name": "x"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InstanceWarning)  # of no constraints
        instance = read_instance(folder / job.data, row["k"], folder / job.constraints)
    parameters = sdpbb.SolverParameters(bounding=row["bounding"], gap=1e-6, certify=True)
    result, truth = solve(instance, parameters), optimum(instance)
    assert row["status"] == result.status.value
    if truth is None:
        assert row["status"] == "infeasible"
        return
    for name in ("objective", "lower_bound", "n_nodes"):
        assert row[name] == result.to_dict()[name], name
    assert row["objective"] == pytest.approx(truth, rel=2e-6, abs=1e-9)
    assert row["lower_bound"] <= truth * (1 + 1e-12) + 1e-12
    labels = read_labels(out / row["labels"], instance.n_points)
    assert labels.tolist() == result.partition.labels.tolist()
    verdict = verify_certificate(out / row["certificate"], instance)
    assert verdict.status == "optimal"
    assert verdict.lower_bound <= truth * (1 + 1e-12) + 1e-12


def test_batches_that_are_killed_have_the_rows_of_plain_runs(tmp_path_factory):
    n_kills = 0

    @examples(2, derandomize=False)
    @given(st.integers(0, 2**32))
    def survives(seed):
        nonlocal n_kills
        rng, folder = np.random.default_rng([seed, 3]), tmp_path_factory.mktemp("batch")
        manifest, out, number = batch_of(folder, rng, 6), folder / "out", 6
        asked = ["batch", manifest, "--out", out, "--workers", 2, "--certificates", "--resume"]
        before: dict[str, dict] = {}
        for writes in [*rng.integers(1, 25, 4).tolist(), 0]:
            status, err = called(folder, writes, *asked)
            n_kills += status == KILLED
            assert status == KILLED or not err, err
            rows = rows_of(out)
            assert before.items() <= rows.items()  # nothing is taken back, or done again
            before = rows
        assert len(rows) == number
        for row in rows.values():
            assert_as_solved(folder, out, row)

    survives()
    assert n_kills
