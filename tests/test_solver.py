import threading
from functools import partial

import numpy as np
import pytest

from heuristics import MultiStart, MultiStartParameters
from heuristics.parameters import HeuristicSchedule
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.problem import Instance, contract
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.search.events import Progress
from sdpbb.search.result import SolutionStatus, Termination

# Nodes are given up at once, so that trees grow where the root would have closed.
HASTY = SdpParameters(max_iterations=20)


@pytest.fixture(scope="module")
def hard() -> Instance:
    """Without structure: the root does not close when it is given up early."""
    return Instance(np.random.default_rng(5).normal(size=(40, 2)), 6)


HARD = SolverParameters(gap=0.0, bounding="sdp", sdp=HASTY)


def test_interrupt_inside_a_heuristic(hard, monkeypatch):
    """The heuristic would take minutes; it is left at the next look."""
    interrupt = threading.Event()
    interrupt.set()
    long = MultiStartParameters(n_starts=10**6)
    search = partial(HeuristicSchedule, before=long)
    monkeypatch.setattr("sdpbb.run.solving.HeuristicSchedule", search)
    result = solve(hard, interrupt=interrupt)
    assert result.termination is Termination.INTERRUPTED
    calls = iter([False] * 100)  # in the middle of a descent
    contraction = contract(hard)
    found = MultiStart(long).run(
        contraction, np.random.default_rng(0), stop=lambda: next(calls, True)
    )
    assert found.cost == contraction.cost(found.labels)


def test_blas_is_limited_to_one_thread(hard):
    from threadpoolctl import threadpool_info

    seen = set()

    def look(event):
        if isinstance(event, Progress):
            seen.update(p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas")

    solve(hard, SolverParameters(), look)
    assert seen == {1}


def test_start_is_the_first_incumbent_and_is_never_lost():
    points = np.random.default_rng(3).normal(size=(30, 2))
    instance = Instance(points, 4, cannot_link=[(0, 1)])
    best = solve(instance, SolverParameters(gap=0.0))
    seen = []
    again = solve(
        instance,
        SolverParameters(gap=0.0),
        observer=lambda event: seen.append(event),
        start=best.partition.labels,
    )
    improvements = [e for e in seen if isinstance(e, Progress) and e.source]
    assert all(e.upper <= best.objective for e in improvements)
    assert again.status is SolutionStatus.OPTIMAL
    assert again.objective <= best.objective
    assert again.partition == best.partition
