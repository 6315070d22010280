"""Runs that are ended from outside: what is proven until then is kept."""

import json
import math
import threading
import time
from dataclasses import replace

import numpy as np
import psutil
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.bounds.registry import bounding_method
from sdpbb.problem import Instance, contract
from sdpbb.problem.formats import write_points
from sdpbb.run.checkpoint import read_checkpoint
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.plan import SENT, WORKER, planned
from sdpbb.run.solver import resume, solve
from sdpbb.runtime.memory import resident_mebibytes
from sdpbb.search.evaluate import evaluate
from sdpbb.search.events import MemoryShort, Progress
from sdpbb.search.result import SolutionStatus, Termination
from tests.trees import (
    CHOICE,
    HASTY,
    HUGE,
    LONG,
    SMALL,
    SMALL_OPTIMUM,
    Endless,
    Hungry,
    Swelling,
    bound_by,
    go_over_at_once,
)
from tests.warm import workers_below


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Other processes do all of the work."""
    monkeypatch.setattr(CHOICE, go_over_at_once)


def assert_stopped(result, instance, termination):
    assert (result.status, result.termination) == (SolutionStatus.FEASIBLE, termination)
    assert result.partition.is_feasible(instance)
    assert 0.0 <= result.lower_bound < result.objective
    # No worker is left.
    assert not psutil.wait_procs(workers_below(psutil.Process()), timeout=60)[1]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seconds", [1e-9, 0.3])
def test_time_limit_before_the_first_bound(workers, seconds):
    result = solve(HUGE, replace(LONG, workers=workers, time_limit=seconds))
    assert_stopped(result, HUGE, Termination.TIME_LIMIT)
    assert result.statistics.n_nodes == 0
    assert result.statistics.root_lower_bound is None


@pytest.mark.parametrize("workers", [1, 2])
def test_node_limit(workers):
    result = solve(SMALL, replace(HASTY, workers=workers, node_limit=6))
    assert_stopped(result, SMALL, Termination.NODE_LIMIT)
    assert 6 <= result.statistics.n_nodes < 6 + workers
    assert result.statistics.root_lower_bound < result.lower_bound <= SMALL_OPTIMUM


@pytest.mark.parametrize("workers", [1, 2])
def test_memory_limit_within_the_tree(workers, monkeypatch, tmp_path):
    told, path = [], tmp_path / "run"

    def occupied():
        return 1000.0 if told and told[-1].n_nodes >= 3 else 100.0

    def observer(event):
        if isinstance(event, Progress):
            told.append(event)

    monkeypatch.setattr("sdpbb.search.clocks.occupied_mebibytes", occupied)
    asked = replace(HASTY, workers=workers, memory_limit=500.0)
    result = solve(SMALL, asked, observer, checkpoint=path)
    assert_stopped(result, SMALL, Termination.MEMORY_LIMIT)
    assert result.statistics.n_nodes > 0
    assert read_checkpoint(path).tree.statistics.n_nodes == result.statistics.n_nodes


@pytest.mark.parametrize("workers", [1, 2])
def test_a_node_that_finds_no_memory_ends_the_run(workers, monkeypatch, tmp_path):
    path = tmp_path / "run"
    with monkeypatch.context() as patch:
        bound_by(patch, Hungry)
        result = solve(SMALL, replace(HASTY, workers=workers), checkpoint=path)
    assert_stopped(result, SMALL, Termination.MEMORY_LIMIT)
    assert result.statistics.root_lower_bound <= result.lower_bound <= SMALL_OPTIMUM
    result = resume(path)  # with more memory
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(SMALL_OPTIMUM, rel=1e-4)


def test_the_command_at_its_memory_limit(run, tmp_path):
    write_points(tmp_path / "points.txt", SMALL.points, SMALL.k)
    outputs = ["--json", tmp_path / "out.json", "--checkpoint", tmp_path / "run"]
    status, out, _ = run("solve", tmp_path / "points.txt", "--memory-limit", "1", *outputs)
    assert status == ExitCode.LIMIT
    written = json.loads((tmp_path / "out.json").read_text())
    assert (written["termination"], len(written["labels"])) == ("memory_limit", 60)
    assert "stopped by the memory limit; the clustering is not proven" in out
    assert read_checkpoint(tmp_path / "run").parameters.memory_limit == 1.0


# -- steps that take long --------------------------------------------------------------------


@pytest.fixture
def long_steps(monkeypatch, request):
    """Instances of any size count as large, so that their steps are those of another process."""
    monkeypatch.undo()  # the choice of processes is the run's own
    monkeypatch.setattr("sdpbb.bounds.bound.BoundingMethod.most_blocks_here", 1)
    return monkeypatch


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.long
def test_a_step_that_never_ends_is_left_at_the_time_limit(long_steps, workers, tmp_path):
    path = tmp_path / "run"
    with long_steps.context() as patch:
        bound_by(patch, Endless)
        asked = replace(HASTY, workers=workers, time_limit=3.0)
        result = solve(SMALL, asked, checkpoint=path)
    assert_stopped(result, SMALL, Termination.TIME_LIMIT)
    assert result.objective == pytest.approx(SMALL_OPTIMUM, rel=0.05)  # heuristics have run
    assert resume(path, time_limit=math.inf).status is SolutionStatus.OPTIMAL


@pytest.mark.long
def test_a_step_that_never_ends_is_left_at_an_interrupt_and_told_of_until_then(long_steps):
    bound_by(long_steps, Endless)
    long_steps.setattr("sdpbb.search.reporting.SILENCE", 0.05)
    interrupt, told = threading.Event(), []

    def observer(event):
        if isinstance(event, Progress):
            told.append(event)
            if len(told) > 50:
                interrupt.set()

    result = solve(SMALL, HASTY, observer, interrupt)
    assert_stopped(result, SMALL, Termination.INTERRUPTED)
    assert sum(event.source != "" for event in told) >= 1


@pytest.mark.long
def test_a_step_that_takes_ever_more_memory_is_ended(long_steps):
    bound_by(long_steps, Swelling)
    limit = resident_mebibytes() + 1000.0
    result = solve(SMALL, replace(HASTY, memory_limit=limit))
    assert_stopped(result, SMALL, Termination.MEMORY_LIMIT)
    assert result.objective < math.inf


def test_a_step_of_this_process_that_took_long_is_its_last_but_one(monkeypatch, pools):
    monkeypatch.undo()
    monkeypatch.setattr("sdpbb.search.workforce.LONGEST_STEP", -10.0)
    result = solve(SMALL, HASTY)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(SMALL_OPTIMUM, rel=1e-4)
    assert [pool.n_workers for pool in pools] == [1, 1]


@pytest.mark.long
def test_a_long_task_that_looks_at_the_limits_is_no_long_step(monkeypatch, pools):
    """As of heuristics, which stop when they are told to."""
    monkeypatch.undo()

    def slow(node, upper, context, budget):
        for _ in range(30):
            time.sleep(0.1)
            assert not budget.stop()
        return evaluate(node, upper, context, budget)

    monkeypatch.setattr("sdpbb.search.loop.evaluate", slow)
    assert solve(SMALL, replace(HASTY, node_limit=2)).statistics.n_nodes == 2
    assert len(pools) == 1


def test_where_a_bound_does_not_fit_the_memory_it_is_said_and_clusterings_are_found(
    monkeypatch, tmp_path
):
    monkeypatch.setattr("sdpbb.run.plan.free_mebibytes", lambda: 5.0)
    monkeypatch.setattr("sdpbb.run.plan.LITTLE", 0.0)
    told, path = [], tmp_path / "run"
    linked = replace(SMALL, must_link=np.array([[0, 1], [2, 3]]))
    result = solve(linked, HASTY, told.append, checkpoint=path)
    assert_stopped(result, linked, Termination.MEMORY_LIMIT)
    scatter = sum(
        0.5 * ((linked.points[i] - linked.points[j]) ** 2).sum() for i, j in [(0, 1), (2, 3)]
    )
    assert result.lower_bound == pytest.approx(scatter)
    (short,) = (event for event in told if isinstance(event, MemoryShort))
    assert (short.bounding, short.n_blocks, short.available) == (None, 58, 5.0)
    assert short.needed > 5.0
    monkeypatch.undo()
    assert resume(path).status is SolutionStatus.OPTIMAL


def test_without_a_bound_an_interrupt_is_told_as_one(monkeypatch):
    monkeypatch.setattr("sdpbb.run.plan.free_mebibytes", lambda: 5.0)
    monkeypatch.setattr("sdpbb.run.plan.LITTLE", 0.0)
    interrupt = threading.Event()

    def press(*arguments):
        interrupt.set()
        return evaluate(*arguments)

    monkeypatch.setattr("sdpbb.search.loop.evaluate", press)
    result = solve(SMALL, HASTY, interrupt=interrupt)
    assert_stopped(result, SMALL, Termination.INTERRUPTED)


@pytest.mark.parametrize("bounding", ["hybrid", "colgen", "sdp"])
def test_a_plan_never_needs_more_than_there_is(monkeypatch, bounding):
    rng = np.random.default_rng(0)
    parameters = SolverParameters(bounding=bounding, workers=8)
    for n, k in ((700, 3), (700, 200)):
        contraction = contract(Instance(rng.normal(size=(n, 2)), k))
        for free in (0.0, 200.0, 400.0, 600.0, 1000.0, 3000.0, 1e6):
            monkeypatch.setattr("sdpbb.run.plan.free_mebibytes", lambda free=free: free)
            plan = planned(parameters, contraction)
            if not plan.may_bound:
                continue
            taken = WORKER + (1.0 + SENT) * bounding_method(plan.parameters.bounding).mebibytes(
                contraction
            )
            assert plan.parameters.workers * taken <= free
        assert plan.parameters == parameters
        # What has started with one bounding continues with it, or with none.
        monkeypatch.setattr("sdpbb.run.plan.free_mebibytes", lambda: 370.0)
        resumed = planned(parameters, contraction, has_begun=True)
        assert resumed.parameters.bounding == bounding


def test_no_more_workers_begin_than_fit_the_memory(monkeypatch, pools):
    monkeypatch.setattr(
        "sdpbb.run.solving.planned",
        lambda parameters, *_: replace(
            planned(parameters, contract(SMALL)),
            parameters=replace(parameters, workers=2),
            shortage=MemoryShort(60, 1.0, 1.0, "hybrid", 2),
        ),
    )
    told = []
    result = solve(SMALL, replace(HASTY, workers=3, node_limit=4), told.append)
    assert result.statistics.n_nodes >= 4
    assert [event.workers for event in told if isinstance(event, MemoryShort)] == [2]
    assert [pool.n_workers for pool in pools] == [1, 2]


def test_a_checkpoint_of_columns_alone_is_of_columns_alone(monkeypatch, tmp_path):
    """What memory has decided is what a resumed run continues with."""
    instance, path = Instance(np.random.default_rng(0).normal(size=(60, 2)), 20), tmp_path / "run"
    hybrid, columns = (
        bounding_method(name).mebibytes(contract(instance)) for name in ("hybrid", "colgen")
    )
    monkeypatch.setattr("sdpbb.run.plan.LITTLE", 0.0)
    monkeypatch.setattr("sdpbb.run.plan.free_mebibytes", lambda: (hybrid + columns) / 2.0)
    told = []
    result = solve(instance, SolverParameters(time_limit=1e-9), told.append, checkpoint=path)
    assert any(isinstance(event, MemoryShort) for event in told)
    assert result.termination is Termination.TIME_LIMIT
    assert read_checkpoint(path).parameters.bounding == "colgen"
    monkeypatch.undo()
    assert resume(path, time_limit=math.inf).status is SolutionStatus.OPTIMAL
