"""Runs that are resumed from a checkpoint."""

import math
import threading
from dataclasses import replace

import numpy as np
import pytest

import sdpbb
from sdpbb.app.cli import ExitCode
from sdpbb.errors import BackendFailure, ParameterError
from sdpbb.problem import Instance
from sdpbb.run.checkpoint import RunState, read_checkpoint, write_checkpoint
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import _with_changes, resume, solve
from sdpbb.search.events import Progress, Started
from sdpbb.search.result import SolutionStatus, Termination
from tests.graphs import cycle, mycielski
from tests.trees import (
    CHOICE,
    HASTY,
    LARGE,
    LONG,
    SMALL,
    SMALL_OPTIMUM,
    Broken,
    bound_by,
    go_over_at_once,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run"


def test_a_finished_run_is_reported_again(path, monkeypatch):
    result = solve(SMALL, HASTY, checkpoint=path)
    monkeypatch.setattr("sdpbb.search.loop.evaluate", None)  # nothing is evaluated
    again = resume(path)
    assert again.partition == result.partition
    assert (again.lower_bound, again.gap) == (result.lower_bound, result.gap)
    assert again.statistics.n_nodes == result.statistics.n_nodes
    took = result.statistics.wall_seconds
    assert again.statistics.wall_seconds == pytest.approx(took, abs=1.0)
    assert again.parameters == result.parameters


def test_a_proof_of_infeasibility_is_reported_again(path, monkeypatch):
    graph = mycielski(cycle(5))  # only an integer programme proves that three colours are too few
    instance = Instance(np.arange(11.0)[:, None], 3, cannot_link=np.argwhere(np.triu(graph)))
    result = solve(instance, checkpoint=path)
    assert result.status is SolutionStatus.INFEASIBLE
    monkeypatch.setattr("sdpbb.run.solving.first_clustering", None)  # not sought again
    again = resume(path)
    assert again.infeasibility == result.infeasibility
    assert again.statistics.n_blocks == 11


@pytest.mark.long
def test_what_had_no_clustering_yet_is_begun_again(path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sdpbb.run.solving.first_clustering", lambda contraction, time_left: None)
        result = solve(SMALL, replace(HASTY, time_limit=1.0), checkpoint=path)
    assert (result.status, result.termination) == (SolutionStatus.UNKNOWN, Termination.TIME_LIMIT)
    result = resume(path, time_limit=math.inf)
    assert result.objective == pytest.approx(SMALL_OPTIMUM, rel=1e-4)


def test_a_root_goes_on_where_its_last_slice_ended(path, monkeypatch):
    """To the last bit, however often the run is interrupted."""
    monkeypatch.setattr("sdpbb.search.loop.SHORTEST_SLICE", 0.0)
    for name in ("SOON", "SILENCE"):  # reports after slices only
        monkeypatch.setattr(f"sdpbb.search.reporting.{name}", math.inf)
    parameters = replace(LONG, gap=1e-12, node_limit=1)
    whole = solve(LARGE, parameters)
    interrupt = threading.Event()

    def after_a_slice(event):
        if isinstance(event, Progress):
            interrupt.set()

    result = solve(LARGE, parameters, after_a_slice, interrupt, path)
    n_times = 0
    while result.termination is Termination.INTERRUPTED:
        (root,) = read_checkpoint(path).tree.__getstate__()["nodes"]
        assert root.bounding.admm.n_iterations == 20 * n_times
        interrupt = threading.Event()
        result = resume(path, after_a_slice, interrupt)
        n_times += 1
    assert n_times >= 2
    assert result.statistics.n_iterations == whole.statistics.n_iterations == 20 * n_times
    assert result.lower_bound == whole.lower_bound
    assert result.partition == whole.partition


def test_workers_go_on_with_what_one_has_begun(path, monkeypatch):
    monkeypatch.setattr(CHOICE, go_over_at_once)
    solve(SMALL, replace(HASTY, node_limit=5), checkpoint=path)
    result = resume(path, node_limit=12, workers=2)
    assert 12 <= result.statistics.n_nodes <= 13
    assert result.parameters["workers"] == 2
    result = resume(path, node_limit=None)
    assert result.objective == pytest.approx(SMALL_OPTIMUM, rel=1e-4)


def test_another_checkpoint(path, tmp_path):
    solve(SMALL, replace(HASTY, node_limit=5), checkpoint=path)
    before = path.read_bytes()
    events = []
    resume(path, events.append, node_limit=7, checkpoint=tmp_path / "other")
    (resumed,) = (event.resumed for event in events if isinstance(event, Started))
    assert (resumed.path, resumed.n_nodes, resumed.n_open > 1) == (str(path), 5, True)
    assert path.read_bytes() == before
    assert read_checkpoint(tmp_path / "other").tree.statistics.n_nodes == 7
    with pytest.raises(ParameterError, match=r"^checkpoint = .*other: exists already; give the na"):
        resume(path, node_limit=7, checkpoint=tmp_path / "other")
    with pytest.raises(ParameterError, match=r"^checkpoint = .*: there is no folder"):
        solve(SMALL, HASTY, checkpoint=path / "in" / "a" / "file")


def test_what_a_run_can_be_asked_anew(path):
    here = SolverParameters(workers=3)
    there = SolverParameters(dask="tcp://there:1")
    assert _with_changes(here, {"dask": "tcp://there:1"}) == there
    assert _with_changes(there, {"workers": 3}) == here
    assert _with_changes(here, {"time_limit": 5.0}) == replace(here, time_limit=5.0)
    with pytest.raises(ParameterError, match="expected workers = 1 with it"):
        _with_changes(here, {"workers": 2, "dask": "tcp://there:1"})
    with pytest.raises(TypeError, match="cannot change gap, sdp"):
        resume(path, sdp=HASTY.sdp, gap=1e-9)


def test_a_failure_of_a_solver_leaves_a_checkpoint(path, monkeypatch):
    with monkeypatch.context() as patch:
        bound_by(patch, Broken)
        with pytest.raises(BackendFailure, match="no licence"):
            solve(SMALL, HASTY, checkpoint=path)
    assert read_checkpoint(path).tree.statistics.n_nodes == 5  # the last state, not the last due
    assert resume(path).objective == pytest.approx(SMALL_OPTIMUM, rel=1e-4)


def test_more_time_counts_from_the_checkpoint_on(path):
    write_checkpoint(path, RunState(SMALL, replace(HASTY, time_limit=20.0), seconds=20.2))
    result = resume(path, more_time=400.0)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.parameters["time_limit"] == pytest.approx(420.2)
    assert result.notes == ()
    with pytest.raises(ParameterError, match=r"^more_time = nan: expected seconds > 0$"):
        resume(path, more_time=math.nan)


# -- the command -----------------------------------------------------------------------------


def test_options_of_resume_reach_the_engine(run, path, tmp_path, monkeypatch):
    calls = []

    def engine(*arguments, **changes):
        calls.append((arguments[0], arguments[3], changes))
        raise ParameterError("time_limit = 0.0: expected seconds > 0")

    monkeypatch.setattr("sdpbb.run.solver.resume", engine)
    write_checkpoint(path, RunState(SMALL, HASTY))
    limits = ["--time-limit", 5, "--node-limit", 6, "--memory-limit", 7]
    others = ["--workers", 2, "--dask", "x", "--checkpoint", tmp_path / "new"]
    message = "error: --time-limit 0.0: expected seconds > 0\n"
    assert run("resume", path, *limits, *others) == (ExitCode.USAGE, "", message)
    assert run("resume", path)[0] == ExitCode.USAGE
    asked = {"time_limit": 5, "node_limit": 6, "memory_limit": 7, "workers": 2, "dask": "x"}
    assert calls == [
        (str(path), str(tmp_path / "new"), asked | {"more_time": None}),
        (str(path), None, {"more_time": None}),
    ]


def test_a_checkpoint_of_another_version_is_refused_and_left_alone(run, path, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sdpbb.run.checkpoint.installed_version", lambda: "9.9.9")
        write_checkpoint(path, RunState(SMALL, HASTY))
    (tmp_path / "out.json").write_text("old")
    before = path.read_bytes()
    message = f"written by sdpbb 9.9.9; this is {sdpbb.__version__} (sdpbb 9.9.9 can resume it)"
    status, out, err = run("resume", path, "--json", tmp_path / "out.json")
    assert (status, out, err) == (ExitCode.BAD_INPUT, "", f"error: {path}: {message}\n")
    assert (tmp_path / "out.json").read_text() == "old"
    assert path.read_bytes() == before
