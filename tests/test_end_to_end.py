"""The command and all engines together, on the bundled instances and on published ones."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from sdpbb import read_instance, solve, verify_certificate
from sdpbb.app.cli import ExitCode
from sdpbb.problem.formats import write_points
from sdpbb.run.checkpoint import read_checkpoint
from sdpbb.search.result import SolutionStatus
from tests.contracts.runs import Way

ROOT = Path(__file__).resolve().parents[1]
INSTANCES = ROOT / "instances"
OPTIMA = tomllib.loads((INSTANCES / "optima.toml").read_text())["optimum"]
SHARED = ROOT.parent / "shared" / "data" / "pc-sos-sdp"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


WAYS = [Way("colgen", 1e-9), Way("hybrid", 1e-9), Way("sdp", 1e-4)]
# But one, whose two clusters are of 53 and 97 points: pricing takes a minute or more.
CASES = [
    pytest.param(case, way, id=f"{way.bounding}-{case['constraints'] or case['data']}-{case['k']}")
    for way in WAYS
    for case in OPTIMA
    if way.bounding != "colgen" or case["constraints"] or case["k"] != 2
]


@pytest.mark.parametrize(("case", "way"), CASES)
@pytest.mark.filterwarnings("ignore::sdpbb.errors.InstanceNote")  # of a column that dominates
@pytest.mark.long
def test_every_engine_proves_the_bundled_optima(case, way, tmp_path):
    constraints = INSTANCES / case["constraints"] if case["constraints"] else None
    instance = read_instance(INSTANCES / case["data"], case["k"], constraints)
    result = way.solve(instance, tmp_path)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.partition.is_feasible(instance)
    assert result.objective == pytest.approx(case["value"], rel=max(way.gap, 1e-8))
    assert case["lower_bound"] <= case["value"]
    assert result.lower_bound <= case["value"] * (1 + 1e-12)
    assert result.lower_bound >= case["value"] * (1 - 2 * max(way.gap, 1e-8))


def test_every_bundled_set_has_an_optimum():
    named = {case["constraints"] for case in OPTIMA} - {""}
    assert named == {path.name for path in INSTANCES.glob("*_ml_*_cl_*.txt")}


def test_sigterm_writes_the_result_the_checkpoint_and_the_certificate(tmp_path):
    data, out, state, proof = (tmp_path / name for name in ("d.txt", "o.json", "run", "proof"))
    write_points(data, np.random.default_rng(0).normal(size=(120, 4)), 12)
    options = ["--json", out, "--checkpoint", state, "--certificate", proof, "--bounding", "sdp"]
    process = subprocess.Popen(
        [sys.executable, "-m", "sdpbb", "solve", data, "--gap", "1e-9", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    for line in process.stdout:
        if line[0] in "KS":  # a clustering, so the run has begun
            break
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == ExitCode.TERMINATED
    result = json.loads(out.read_text())
    assert result["termination"] == "interrupted"
    assert read_checkpoint(state).instance.n_points == 120
    verdict = verify_certificate(proof, read_instance(data))
    assert verdict.status == "feasible"
    assert verdict.cost == pytest.approx(result["objective"])


def test_ctrl_c_writes_what_was_found_and_resume_goes_on(run, tmp_path):
    data, out, run_file = tmp_path / "d.txt", tmp_path / "o.json", tmp_path / "run"
    write_points(data, np.random.default_rng(0).normal(size=(200, 3)), 15)
    options = ["--gap", "0", "--json", out, "--checkpoint", run_file]
    process = subprocess.Popen(
        [sys.executable, "-m", "sdpbb", "solve", data, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    for line in process.stdout:
        if line[0] in "KS":  # a clustering, so the run has begun
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == ExitCode.INTERRUPTED
    result = json.loads(out.read_text())
    assert result["termination"] == "interrupted"
    assert len(result["labels"]) == 200
    limit = result["wall_seconds"] + 3.0
    assert run("resume", run_file, "--time-limit", limit, "--json", out)[0] == ExitCode.LIMIT
    later = json.loads(out.read_text())
    assert later["termination"] == "time_limit"
    assert limit <= later["wall_seconds"] < limit + 10
    assert result["lower_bound"] < later["lower_bound"]
    assert later["objective"] <= result["objective"]


@pytest.mark.skipif(not SHARED.exists(), reason=f"no published instances in {SHARED}")
@pytest.mark.parametrize(
    ("data", "constraints"),
    [("iris", "ml_0_cl_100_1"), ("seeds", "ml_25_cl_25_0"), ("glass", "ml_100_cl_0_0")],
)
def test_published_sets_close_at_the_root(data, constraints):
    instance = read_instance(
        SHARED / "datasets" / f"{data}.txt",
        None,
        SHARED / "constraints" / data / f"{constraints}.txt",
    )
    result = solve(instance)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.statistics.n_nodes == 1
