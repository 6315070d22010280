"""The optimum does not depend on who evaluates the nodes, nor on what happens to them."""

import os
import sys
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sdpbb.run.report import ProgressTable
from sdpbb.run.solver import solve
from sdpbb.runtime.executors.scheduler import Scheduler
from sdpbb.search.events import NodeEnd, NodeLeft, WorkerCrashed
from sdpbb.search.result import SolutionStatus, Termination
from tests.trees import (
    CHOICE,
    HASTY,
    LARGE,
    LARGE_OPTIMUM,
    LONG,
    SMALL,
    SMALL_OPTIMUM,
    Deadly,
    bound_by,
    go_over_at_once,
)
from tests.warm import eventually, workers_below

INSTANCES = Path(__file__).resolve().parents[1] / "instances"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers are killed by signals")


@pytest.fixture
def at_once(monkeypatch):
    """Other processes do all of the work."""
    monkeypatch.setattr(CHOICE, go_over_at_once)


def busy_workers(process=None):
    """Processes below this one that have begun to work."""
    found = []
    for child in workers_below(process or psutil.Process()):
        try:
            if child.cpu_times().user > 1.0:
                found.append(child)
        except psutil.Error:
            pass
    return found


@pytest.mark.alone
def test_workers_begin_while_this_process_goes_on(monkeypatch):
    monkeypatch.setattr("sdpbb.search.workforce.ALONE", 0.0)
    evaluated = Counter()
    start = Scheduler._start

    def counting(scheduler, task):
        evaluated[id(scheduler)] += bool(task.args)
        start(scheduler, task)

    monkeypatch.setattr(Scheduler, "_start", counting)
    result = solve(LARGE, replace(LONG, workers=2, node_limit=50))
    assert result.lower_bound <= LARGE_OPTIMUM <= result.objective * (1 + 1e-8)
    assert len(evaluated) == 2
    assert min(evaluated.values()) >= 2


@pytest.mark.alone
def test_a_node_that_ends_its_workers_is_given_up(at_once, monkeypatch, capsys):
    bound_by(monkeypatch, Deadly)
    events = []
    table = ProgressTable(sys.stdout, "")
    result = solve(
        SMALL, replace(HASTY, workers=2), lambda event: (events.append(event), table(event))
    )
    assert (result.status, result.termination) == (
        SolutionStatus.FEASIBLE,
        Termination.WORKERS_LOST,
    )
    assert result.statistics.n_lost == 1
    assert result.statistics.root_lower_bound <= result.lower_bound < SMALL_OPTIMUM
    assert result.objective >= SMALL_OPTIMUM * (1 - 1e-8)
    assert result.statistics.n_nodes > 3  # the others were evaluated
    ends = [event for event in events if isinstance(event, NodeLeft)]
    (lost,) = (event for event in ends if event.end is NodeEnd.LOST)
    (died,) = (event for event in events if isinstance(event, WorkerCrashed))
    assert events.index(died) < events.index(lost)
    told = capsys.readouterr().out
    assert f"a worker crashed ({died.reason})" in told
    assert f"node {lost.node}: two workers crashed" in told


@pytest.mark.alone
def test_an_interrupt_ends_a_run_with_workers(at_once):
    interrupt = threading.Event()

    def press():
        assert eventually(lambda: len(busy_workers()) == 2)
        interrupt.set()

    thread = threading.Thread(target=press)
    thread.start()
    result = solve(LARGE, replace(LONG, gap=0.0, workers=2), interrupt=interrupt)
    thread.join()
    assert result.termination is Termination.INTERRUPTED
    assert result.lower_bound <= LARGE_OPTIMUM <= result.objective * (1 + 1e-8)
    assert eventually(lambda: not busy_workers())
