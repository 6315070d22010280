"""Runs that begin with subsets: limits, interrupts, checkpoints, workers and reports."""

import math
import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

from sdpbb.bounds.registry import BOUNDING_METHODS
from sdpbb.bounds.staged.methods import HybridBounding
from sdpbb.problem import Instance
from sdpbb.run.checkpoint import read_checkpoint
from sdpbb.run.parameters import DecompositionParameters, SolverParameters
from sdpbb.run.report import ProgressTable
from sdpbb.run.solver import resume, solve
from sdpbb.search.events import MemoryShort, Progress, SubsetLost, SubsetsBounded, SubsetsChosen
from sdpbb.search.result import SolutionStatus, Termination
from tests.constants import NO_PLACES, NO_PLACES_FIRST, TINY_SUBSETS, constants

SUBSETS = DecompositionParameters(smallest=30)
PARAMETERS = SolverParameters(bounding="decomposition", decomposition=SUBSETS, gap=1e-3)


def clouds(n: int, spread: float = 1.0, seed: int = 0) -> Instance:
    rng = np.random.default_rng(seed)
    centres = 6.0 * rng.normal(size=(3, 2))
    labels = np.arange(n) % 3
    return Instance(centres[labels] + spread * rng.normal(size=(n, 2)), 3, name="clouds")


CLOUDS = clouds(240)
# Takes seconds on any machine: a run reports its bound four times a second.
MANY = clouds(960)


def left_early():
    """An observer that interrupts its run at the second reported bound, and the event."""
    stop, seen = threading.Event(), []

    def observer(event):
        if isinstance(event, Progress) and event.lower > 0.0:
            seen.append(event.lower)
            if len(seen) == 2:
                stop.set()

    return observer, stop


def events_of(instance, parameters, **arguments):
    events = []
    result = solve(instance, parameters, events.append, **arguments)
    return result, events


def test_subsets_come_first_small_ones_before_large_ones_and_the_bound_only_rises():
    result, events = events_of(CLOUDS, PARAMETERS)
    chosen = [event for event in events if isinstance(event, SubsetsChosen)]
    assert [event.n_subsets for event in chosen] == sorted(
        (event.n_subsets for event in chosen), reverse=True
    )
    assert chosen[0].n_subsets == 8
    assert chosen[0].n_blocks <= 32
    assert result.status is SolutionStatus.OPTIMAL
    assert result.statistics.n_subsets >= 8
    lower = [event.lower for event in events if isinstance(event, Progress)]
    assert lower == sorted(lower)
    assert lower[-1] == result.lower_bound
    bounded = [event for event in events if isinstance(event, SubsetsBounded)]
    assert [event.n_subsets for event in bounded] == [event.n_subsets for event in chosen]
    assert sum(event.n_bounded for event in bounded) == result.statistics.n_subsets
    sums = [event.lower for event in bounded]
    assert sums == sorted(sums)
    assert 0.0 < sums[0] <= sums[-1] <= result.objective


def test_small_instances_are_bounded_as_a_whole():
    result, events = events_of(clouds(40), PARAMETERS)
    assert result.status is SolutionStatus.OPTIMAL
    assert not any(isinstance(event, SubsetsChosen) for event in events)


def test_many_blocks_begin_with_subsets_by_themselves():
    few = replace(PARAMETERS, bounding="hybrid")
    many = replace(few, decomposition=replace(SUBSETS, least_blocks=240))
    with constants(NO_PLACES):
        events = [events_of(CLOUDS, parameters)[1] for parameters in (few, many)]
    begun = [any(isinstance(event, SubsetsChosen) for event in each) for each in events]
    assert begun == [False, True]


@pytest.mark.parametrize("how", [Termination.TIME_LIMIT, Termination.INTERRUPTED])
def test_a_limit_leaves_a_bound(how):
    stop, chosen = threading.Event(), []
    limit = 2.0 if how is Termination.TIME_LIMIT else math.inf

    def observer(event):
        chosen.extend([event] if isinstance(event, SubsetsChosen) else [])
        if limit == math.inf and isinstance(event, Progress) and chosen and event.lower > 0.0:
            stop.set()

    asked = replace(PARAMETERS, gap=1e-6, time_limit=limit)
    with constants(NO_PLACES_FIRST):  # which would close clouds in the plane
        result = solve(clouds(1500, 4.0), asked, observer, stop)
    assert (result.status, result.termination) == (SolutionStatus.FEASIBLE, how)
    assert 0.0 < result.lower_bound < result.objective
    assert chosen


@pytest.mark.long
def test_a_run_goes_on_from_a_checkpoint(tmp_path):
    path = tmp_path / "run"
    first = solve(MANY, PARAMETERS, *left_early(), checkpoint=path)
    assert first.termination is Termination.INTERRUPTED
    saved = read_checkpoint(path).subsets
    assert saved is not None
    assert saved.is_done.sum() > 0
    events = []
    result = resume(path, events.append)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.statistics.n_subsets >= first.statistics.n_subsets
    assert min(event.lower for event in events if isinstance(event, Progress)) >= first.lower_bound
    # What was proven is not proven again.
    again = next(event for event in events if isinstance(event, SubsetsChosen))
    assert again.n_subsets < 32 or again.n_blocks > 32


@pytest.mark.long
@pytest.mark.parametrize(
    ("free", "smallest", "blocks"), [(160.0, 30, [30, 60]), (300.0, 60, [60, 120])]
)
def test_subsets_bound_what_does_not_fit_the_memory(free, smallest, blocks, monkeypatch):
    monkeypatch.setattr("sdpbb.run.plan.free_mebibytes", lambda: free)
    monkeypatch.setattr(
        HybridBounding, "mebibytes", lambda self, contraction: 2.0 * contraction.n_blocks
    )
    subsets = DecompositionParameters(smallest=smallest)
    parameters = replace(PARAMETERS, bounding="hybrid", gap=0.0, decomposition=subsets)
    result, events = events_of(clouds(240, spread=4.0), parameters)
    chosen = [event.n_blocks for event in events if isinstance(event, SubsetsChosen)]
    assert chosen == blocks
    assert not any(isinstance(event, MemoryShort) for event in events)
    assert (result.status, result.termination) == (
        SolutionStatus.FEASIBLE,
        Termination.MEMORY_LIMIT,
    )
    assert 0.5 * result.objective < result.lower_bound < result.objective


def test_report(capsys):
    solve(CLOUDS, PARAMETERS, ProgressTable())
    out = capsys.readouterr().out
    assert "  8 subsets of up to 30 blocks" in out
    assert "\nSubsets         " in out


class Mortal(HybridBounding):
    """Ends its process once, or always, at the first subset, but not the process it was made in."""

    def __init__(self, *parameters):
        super().__init__(*parameters)
        self.home = os.getpid()

    def start(self, contraction, warm_start, known=None):
        marker = os.environ["MORTAL"]
        once = marker != "always"
        if os.getpid() != self.home and contraction.means[0, 0] > 0.0:
            if not once:
                os.kill(os.getpid(), signal.SIGKILL)
            if not os.path.exists(marker):
                open(marker, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
        return super().start(contraction, warm_start, known)


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="workers are killed by signals")
@pytest.mark.parametrize("how", ["once", "always"])
def test_a_worker_that_dies_costs_its_subset_at_most(how, tmp_path, monkeypatch):
    monkeypatch.setitem(BOUNDING_METHODS, "decomposition", f"{__name__}:Mortal")
    monkeypatch.setenv("MORTAL", "always" if how == "always" else str(tmp_path / "died"))
    result, events = events_of(CLOUDS, replace(PARAMETERS, workers=2, time_limit=60.0))
    assert 0.0 <= result.lower_bound <= result.objective
    lost = [event for event in events if isinstance(event, SubsetLost)]
    assert result.statistics.n_lost_subsets == len(lost)
    assert all(event.n_blocks >= 20 for event in lost)
    if how == "once":
        assert result.status is SolutionStatus.OPTIMAL
        assert not lost
    else:
        assert lost


@pytest.mark.long
def test_workers_come_to_the_same_and_limits_are_kept():
    here, there = solve(CLOUDS, PARAMETERS), solve(CLOUDS, replace(PARAMETERS, workers=2))
    assert there.status is SolutionStatus.OPTIMAL
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    limited = replace(PARAMETERS, workers=2, gap=0.0, time_limit=6.0)
    result = solve(clouds(3000, 4.0), limited)
    assert result.termination is Termination.TIME_LIMIT
    assert result.statistics.wall_seconds < 8.0


@pytest.mark.long
def test_a_run_goes_on_after_the_root_was_split(tmp_path):
    rng = np.random.default_rng(1)
    pairs = np.array([(i, j) for i in range(60) for j in range(i)])
    instance = Instance(rng.normal(size=(60, 2)), 3, cannot_link=pairs[rng.permutation(1770)[:70]])
    subsets = DecompositionParameters(smallest=15, per_cluster=1)
    parameters = replace(PARAMETERS, decomposition=subsets, gap=1e-7, node_limit=2)
    path = tmp_path / "run"
    first = solve(instance, parameters, checkpoint=path)
    assert (first.termination, first.statistics.n_nodes) == (Termination.NODE_LIMIT, 2)
    again = resume(path, node_limit=4)
    assert again.lower_bound >= first.lower_bound
    assert again.statistics.n_subsets == first.statistics.n_subsets


def test_a_run_that_was_left_before_its_first_subset_begins_with_subsets(tmp_path):
    path, stop = tmp_path / "run", threading.Event()
    stop.set()
    assert solve(CLOUDS, PARAMETERS, interrupt=stop, checkpoint=path).lower_bound == 0.0
    events = []
    assert resume(path, events.append).status is SolutionStatus.OPTIMAL
    assert any(isinstance(event, SubsetsChosen) for event in events)


def test_an_end_that_no_bound_shows_is_told():
    """A root of k blocks whose cost a certificate cannot show to the gap asked for."""
    points = np.concatenate([[1e9], np.arange(5.0)])[:, None] * np.ones((1, 2))
    parameters = SolverParameters(
        bounding="decomposition", decomposition=TINY_SUBSETS, gap=1e-8, certify=True
    )
    result = solve(Instance(points, 5, must_link=[(1, 2)]), parameters)
    assert result.status in (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE)
