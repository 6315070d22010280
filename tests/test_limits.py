"""Runs that are ended from outside: what is proven until then is kept."""

import json
import math
import sys
import time
from dataclasses import replace

import psutil
import pytest

from sdpbb.checkpoint import read_checkpoint
from sdpbb.cli import ExitCode, main
from sdpbb.executors.memory import resident_mebibytes
from sdpbb.problem.formats import write_points
from sdpbb.result import SolutionStatus, Termination
from sdpbb.search.stop import Sampled
from sdpbb.solver import resume, solve
from tests.trees import (
    CHOICE,
    HASTY,
    HUGE,
    LARGE,
    LARGE_OPTIMUM,
    LONG,
    SMALL,
    SMALL_OPTIMUM,
    Hungry,
    go_over_at_once,
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Other processes do all of the work."""
    monkeypatch.setattr(CHOICE, go_over_at_once)


def assert_stopped(result, instance, termination):
    assert (result.status, result.termination) == (SolutionStatus.FEASIBLE, termination)
    assert result.partition.is_feasible(instance)
    assert 0.0 <= result.lower_bound < result.objective
    # No worker is left; what cleans up semaphores stays until this process ends.
    children = psutil.Process().children(recursive=True)
    assert all("resource_tracker" in " ".join(child.cmdline()) for child in children)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seconds", [1e-9, 0.3])
def test_time_limit_before_the_first_bound(workers, seconds):
    result = solve(HUGE, replace(LONG, workers=workers, time_limit=seconds))
    assert_stopped(result, HUGE, Termination.TIME_LIMIT)
    assert result.statistics.n_nodes == 0
    assert result.statistics.root_lower_bound is None


@pytest.mark.parametrize("workers", [1, 2])
def test_time_limit_within_the_tree(workers):
    started = time.monotonic()
    result = solve(LARGE, replace(LONG, workers=workers, time_limit=5.0, gap=1e-9))
    assert_stopped(result, LARGE, Termination.TIME_LIMIT)
    assert time.monotonic() - started < 12.0
    assert result.statistics.n_nodes > 1
    assert result.lower_bound <= LARGE_OPTIMUM


@pytest.mark.parametrize("workers", [1, 2])
def test_node_limit(workers):
    result = solve(SMALL, replace(HASTY, workers=workers, node_limit=6))
    assert_stopped(result, SMALL, Termination.NODE_LIMIT)
    assert 6 <= result.statistics.n_nodes < 6 + workers
    assert result.statistics.root_lower_bound < result.lower_bound <= SMALL_OPTIMUM


def test_a_memory_limit_below_what_is_occupied_stops_with_the_first_clustering(tmp_path):
    path = tmp_path / "run"
    result = solve(SMALL, replace(HASTY, memory_limit=1.0), checkpoint=path)
    assert_stopped(result, SMALL, Termination.MEMORY_LIMIT)
    assert result.statistics.n_nodes == 0
    result = resume(path, memory_limit=math.inf)
    assert result.objective == pytest.approx(SMALL_OPTIMUM, rel=1e-4)


def test_a_memory_limit_above_what_is_occupied_is_no_limit():
    result = solve(SMALL, replace(HASTY, memory_limit=resident_mebibytes() + 2000.0))
    assert result.status is SolutionStatus.OPTIMAL


@pytest.mark.parametrize("workers", [1, 2])
def test_memory_limit_within_the_tree(workers, monkeypatch, tmp_path):
    calls = iter([100.0] * 4)
    monkeypatch.setattr("sdpbb.run.Sampled", lambda measure, seconds: lambda: next(calls, 1000.0))
    path = tmp_path / "run"
    asked = replace(HASTY, workers=workers, memory_limit=500.0)
    result = solve(SMALL, asked, checkpoint=path)
    assert_stopped(result, SMALL, Termination.MEMORY_LIMIT)
    assert result.statistics.n_nodes > 0
    assert read_checkpoint(path).statistics.n_nodes == result.statistics.n_nodes


def test_memory_is_measured_once_a_second():
    values = iter(range(100))
    sampled = Sampled(lambda: next(values), seconds=0.2)
    started, seen = time.perf_counter(), set()
    while time.perf_counter() - started < 0.5:
        seen.add(sampled())
    assert seen == {0, 1, 2}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_node_that_finds_no_memory_ends_the_run(workers, monkeypatch, tmp_path):
    path = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("sdpbb.memory_plan.SdpBounding", Hungry)
        result = solve(SMALL, replace(HASTY, workers=workers), checkpoint=path)
    assert_stopped(result, SMALL, Termination.MEMORY_LIMIT)
    assert result.statistics.root_lower_bound <= result.lower_bound <= SMALL_OPTIMUM
    result = resume(path)  # with more memory
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(SMALL_OPTIMUM, rel=1e-4)


def test_the_command_at_its_memory_limit(tmp_path, monkeypatch, capsys):
    write_points(tmp_path / "points.txt", SMALL.points, SMALL.k)
    outputs = ["--json", tmp_path / "out.json", "--checkpoint", tmp_path / "run"]
    arguments = ["solve", tmp_path / "points.txt", "--memory-limit", "1", *outputs]
    monkeypatch.setattr(sys, "argv", ["sdpbb", *map(str, arguments)])
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == ExitCode.LIMIT
    written = json.loads((tmp_path / "out.json").read_text())
    assert (written["termination"], len(written["labels"])) == ("memory_limit", 60)
    assert "stopped by the memory limit with a clustering" in capsys.readouterr().out
    assert read_checkpoint(tmp_path / "run").parameters.memory_limit == 1.0


def test_one_worker_repeats_itself():
    one, two = (solve(SMALL, HASTY) for _ in range(2))
    assert one.partition == two.partition
    assert one.lower_bound == two.lower_bound
    for name in ("n_nodes", "n_iterations", "n_probes", "n_fixed", "root_lower_bound"):
        assert getattr(one.statistics, name) == getattr(two.statistics, name)
