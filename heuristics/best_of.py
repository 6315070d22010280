"""Best of several runs: descents from many starts, swaps of centres and relocations."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.descent import Descent
from heuristics.incumbents import MultiStart, recombine
from heuristics.method import Heuristic, RunClock, contract_and_colour
from heuristics.parameters import MultiStartParameters
from heuristics.result import SearchResult, Stop
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction, Infeasibility, Instance
from sdpbb.problem.contraction import join_equal_points
from sdpbb.runtime.declaration import parameter
from sdpbb.runtime.executors.processes import LocalProcesses
from sdpbb.runtime.executors.scheduler import Scheduler, SerialExecutor, Task

# Interval between looks at the clock while other processes work.
POLL_SECONDS = 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class BestOf(Heuristic):
    """Best of many descents and relocations under hard constraints.

    A run starts from k-means++ centres. It alternates between k-means with exact assignment steps,
    which recolour whole components of the cannot-link graph, and a local search, until neither
    improves. The local search moves blocks and exchanges Kempe chains of cannot-linked blocks. Then
    centres are swapped, with descents of the blocks near by. At last centres of the best clustering
    are relocated, one at a time, with a descent from there.

    Limits on sizes and weights are satisfied. Assignment steps are then minimum-cost flows for
    single points. For blocks of different sizes, or with cannot-links, they are integer programmes;
    for many such blocks, a greedy repair. The local search also swaps blocks. Centres are
    relocated, but not swapped.

    Sources: PC-SOS-SDP, Algorithm 1 (assignment steps); P. Fränti, J. Kivijärvi, Randomised local
    search algorithm for the clustering problem, Pattern Analysis and Applications 3 (2000)
    (relocations); A. B. Kempe's chains, as in local search for graph colouring.
    """

    name = "best-of"
    keeps_sizes = True
    keeps_weights = True

    n_runs: int = parameter(
        4,
        "Independent runs with seeds of their own, whose best parts are combined.",
        reason="More runs never give a worse result.",
        ge=1,
    )
    n_starts: int = parameter(10, "Sets of k-means++ centres of each run.", ge=1)
    n_relocations: int = parameter(
        100,
        "Moves of a centre in each run, each with a descent over all blocks. With limits on "
        "sizes: moves in a row without improvement.",
        ge=0,
    )
    swap_effort: float = parameter(
        1.0,
        "Effort of the search over swaps of centres: it stops after this many times k min(4 k, "
        "100) swaps without improvement. 0: no search.",
        ge=0,
        le=1000,
    )
    workers: int = parameter(
        1,
        "Number of processes that share the runs.",
        reason="The result does not depend on it, unless a time limit stops runs.",
        ge=1,
    )

    def search(
        self, instance: Instance, rng: np.random.Generator, clock: RunClock
    ) -> SearchResult | Infeasibility:
        instance = join_equal_points(instance)
        contracted = contract_and_colour(instance, clock)
        if isinstance(contracted, Infeasibility):
            return contracted
        contraction, feasible = contracted
        parameters = MultiStartParameters(
            n_starts=self.n_starts,
            n_relocations=self.n_relocations,
            swap_effort=self.swap_effort,
            assignment_time_limit=math.inf,
        )
        seeds = rng.integers(2**31, size=self.n_runs).tolist()
        shared = contraction, feasible, parameters
        outcomes = self._outcomes(shared, seeds, clock)
        # The order of the runs, not of their ends: then more runs never end worse.
        best, n_iterations = feasible, 0
        for position in sorted(outcomes):
            found, n_steps = outcomes[position]
            n_iterations += n_steps
            # Recombined parts may violate limits, and so may the first clustering.
            options = [recombine(contraction, best, found), found, best]
            within = [labels for labels in options if contraction.keeps_sizes(labels)]
            best = min(within or [found], key=contraction.cost)
        return SearchResult(best, Stop.CONVERGED, n_iterations).lifted(contraction)

    def _outcomes(
        self, shared: tuple[Any, ...], seeds: list[int], clock: RunClock
    ) -> dict[int, tuple[NDArray[np.intp], int]]:
        """Run restarts until the time is over, in this process or in others.

        Other processes check the time limit themselves; an interrupt ends them.

        shared : arguments of each restart
        """
        outcomes: dict[int, tuple[NDArray[np.intp], int]] = {}
        waiting, is_here = deque(enumerate(seeds)), self.workers == 1

        def next_task() -> Task | None:
            # The first run starts even if the time is over: it returns something at once.
            if not waiting or (clock.is_over and len(waiting) < len(seeds)):
                return None
            position, seed = waiting.popleft()
            return Task(
                position, _restart, (*shared, seed, clock if is_here else clock.seconds_left)
            )

        n_workers = min(self.workers, len(seeds))
        with Scheduler(SerialExecutor() if is_here else LocalProcesses(n_workers)) as scheduler:
            while (tasks := scheduler.round(next_task, POLL_SECONDS)) is not None:
                for task in tasks:
                    if task.is_lost:
                        reasons = " and ".join(dict.fromkeys(task.deaths))
                        raise BackendFailure(
                            f"best-of: a run crashed its worker process twice ({reasons})"
                        )
                    outcomes[task.key] = task.value
                if clock.is_over and clock.reason is Stop.INTERRUPTED:
                    break
        return outcomes


def _restart(
    contraction: Contraction,
    feasible: NDArray[np.intp],
    parameters: MultiStartParameters,
    seed: int,
    clock: RunClock | float,
) -> tuple[NDArray[np.intp], int]:
    """Return labels (m,) of a run, and the number of its assignment steps.

    feasible : labels (m,) that satisfy the cannot-links
    clock : of the run, or in another process the seconds left
    """
    clock = clock if isinstance(clock, RunClock) else RunClock(max(clock, 1e-9))
    descent = Descent(contraction, parameters, feasible, clock.time_left)
    rng = np.random.default_rng(seed)
    found = MultiStart(parameters).run(contraction, rng, descent=descent)
    return found.labels, descent.assign.n_steps
