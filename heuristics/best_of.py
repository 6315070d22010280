"""Best of many descents, each with local search and relocations."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.descent import Descent
from heuristics.method import Heuristic, RunClock, SearchResult, contract_and_colour
from heuristics.multi_start import MultiStart, recombine
from heuristics.parameters import MultiStartParameters
from heuristics.registry import check_method
from heuristics.registry import method as method_of_name
from heuristics.result import HeuristicResult, Stop
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction, Infeasibility, Instance
from sdpbb.problem.equal_points import join_equal_points
from sdpbb.runtime.declaration import parameter
from sdpbb.runtime.executors.executor import SerialExecutor
from sdpbb.runtime.executors.processes import LocalProcesses
from sdpbb.runtime.executors.scheduler import Scheduler, Task

# How often the clock is looked at while other processes work.
POLL_SECONDS = 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class BestOf(Heuristic):
    """Best of many descents and relocations under hard constraints.

    A run begins at k-means++ centres, or at what another method finds. It alternates between
    k-means with exact assignment steps (which recolour whole components of the cannot-link graph
    at a time) and a local search over moves of blocks, swaps, and exchanges of Kempe chains of
    cannot-linked blocks, until neither improves; then centres are swapped, with descents
    of the blocks near by, and at last centres of the best clustering are put elsewhere, one at a
    time, to begin again from there. The sum of squares never increases, so the
    result is at least as good as that of the other method, if that keeps the constraints.

    Limits on sizes and weights are kept: then assignment steps are minimum-cost flows of points (of
    blocks, or with cannot-links, integer programmes; of many blocks, a greedy repair), and the
    local search moves and swaps blocks; centres are put elsewhere, but not swapped.

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
    n_starts: int = parameter(
        10, "Sets of k-means++ centres of each run; not used with a method.", ge=1
    )
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
    method: Heuristic | str | None = parameter(
        None,
        "Heuristic, or its name, that starts each run instead of k-means++ centres. Each run has "
        "its own seed.",
        unit="a heuristic or its name",
    )
    workers: int = parameter(
        1,
        "Number of processes that share the runs.",
        reason="The result does not depend on it, unless a time limit stops runs.",
        ge=1,
    )

    def check_combination(self) -> None:
        if isinstance(self.method, str):
            check_method(self.method)

    def check(self, instance: Instance) -> None:
        super().check(instance)
        begun_by = self._begun_by()
        if begun_by is not None:
            begun_by.check(instance)

    def _begun_by(self) -> Heuristic | None:
        """Return the method that each run begins from."""
        return method_of_name(self.method) if isinstance(self.method, str) else self.method

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
        task = _SharedByRestarts(instance, contraction, feasible, self._begun_by(), parameters)
        outcomes = self._outcomes(task, seeds, clock)
        # In this order whichever process was faster, so that more runs never end worse.
        best = feasible
        for position in sorted(outcomes):
            found = outcomes[position].labels
            mixed = recombine(contraction, best, found)
            if contraction.keeps_sizes(mixed):
                best = mixed
            elif not contraction.keeps_sizes(best):
                best = found  # the first clustering may be a little beyond limits
            elif contraction.cost(found) < contraction.cost(best):  # parts do not fit together
                best = found
        stop = clock.reason if clock.is_over else Stop.CONVERGED
        n_iterations = sum(outcome.n_iterations for outcome in outcomes.values())
        if not contraction.keeps_sizes(best):
            return SearchResult(None, stop, n_iterations)
        return SearchResult(contraction.lift(best), stop, n_iterations)

    def _outcomes(
        self, restart: _SharedByRestarts, seeds: list[int], clock: RunClock
    ) -> dict[int, _Outcome]:
        """Run restarts until the clock is over, in this process or in others.

        Those keep the time limit themselves, and are ended by an interrupt.
        """
        outcomes: dict[int, _Outcome] = {}
        waiting, is_here = deque(enumerate(seeds)), self.workers == 1

        def next_task() -> Task | None:
            # The first one returns something at once, whatever the time.
            if not waiting or (clock.is_over and len(waiting) < len(seeds)):
                return None
            position, seed = waiting.popleft()
            if is_here:
                return Task(position, restart, (seed, clock))
            return Task(position, _run, (restart, seed, clock.seconds_left))

        n_workers = min(self.workers, len(seeds))
        with Scheduler(SerialExecutor() if is_here else LocalProcesses(n_workers)) as scheduler:
            while (tasks := scheduler.round(next_task, POLL_SECONDS)) is not None:
                for task in tasks:
                    if task.is_lost:
                        raise BackendFailure("best-of: a run crashed its worker process twice")
                    outcomes[task.key] = task.value
                if clock.is_over and clock.reason is Stop.INTERRUPTED:
                    break
        return outcomes


@dataclass(frozen=True, eq=False)
class _Outcome:
    labels: NDArray[np.intp]
    cost: float
    n_iterations: int


@dataclass(frozen=True, eq=False)
class _SharedByRestarts:
    """Data shared by all restarts."""

    instance: Instance
    contraction: Contraction
    feasible: NDArray[np.intp]
    method: Heuristic | None
    parameters: MultiStartParameters

    def __call__(self, seed: int, clock: RunClock) -> _Outcome:
        rng = np.random.default_rng(seed)
        search = MultiStart(self.parameters)
        descent = Descent(self.contraction, self.parameters, self.feasible, clock.time_left)
        if self.method is None:
            found = search.run(self.contraction, rng, None, descent)
        else:
            labels = self._labels(self.method.run(self.instance, seed, lambda: clock.is_over))
            start = search.improve(self.contraction, labels, descent)
            found = search.relocate(self.contraction, start, rng, descent)
        return _Outcome(found.labels, found.cost, descent.assign.n_steps)

    def _labels(self, result: HeuristicResult) -> NDArray[np.intp]:
        """Return the labels (m,) of the blocks: the result's if it keeps the constraints."""
        if not result.keeps_hard_constraints or result.labels is None:
            return self.feasible
        return result.labels[self.contraction.representatives]


def _run(task: _SharedByRestarts, seed: int, seconds: float) -> _Outcome:
    """Run a restart in another process."""
    return task(seed, RunClock(max(seconds, 1e-9)))
