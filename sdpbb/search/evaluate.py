"""The work on one node: a function of picklable values, which changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.ipc_kmeans import IPCKMeans
from heuristics.parameters import IPCKMeansParameters
from sdpbb.bounds.bound import Bounding, BoundProgress, SafeBound
from sdpbb.feasibility import find_feasible
from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.search.branching import most_undecided_pair
from sdpbb.search.node import Node, NodeStatus, Outcome, Pair
from sdpbb.search.parameters import HeuristicSchedule
from sdpbb.search.tolerances import Tolerances


@dataclass(frozen=True)
class EvaluationContext:
    """What all nodes of a run share."""

    instance: Instance
    bounding: Bounding[Any]
    schedule: HeuristicSchedule
    tolerances: Tolerances
    seed: int


@dataclass(frozen=True)
class Incumbent:
    """The best clustering an evaluation knows of: its cost, and labels if it found it itself."""

    cost: float
    labels: NDArray[np.intp] | None = None
    source: str = ""


Report = Callable[[SafeBound, Incumbent, int], None]


def evaluate(
    node: Node,
    upper: float,
    context: EvaluationContext,
    stop: Callable[[], bool] = lambda: False,
    report: Report = lambda lower, incumbent, n_cuts: None,
) -> Outcome:
    """Bound a node; look for clusterings; choose what to branch on if that does not close it.

    Parameters
    ----------
    node, upper : the node, and the cost of the incumbent
    stop : asked between bounds; when true the node is left with what is proven so far
    report : told the node's bound, the incumbent and the number of cuts after each step
    """
    contraction = contract(context.instance, node.must_link, node.cannot_link)
    if isinstance(contraction, Infeasibility):
        return Outcome(NodeStatus.INFEASIBLE, node.lower)
    feasible = find_feasible(contraction)
    if isinstance(feasible, Infeasibility):
        return Outcome(NodeStatus.INFEASIBLE, node.lower)
    search = _NodeSearch(node, Incumbent(upper), context, contraction, report)
    search.offer(feasible, contraction.cost(feasible), "colouring")
    if has_one_cost(contraction):
        search.lower = max(search.lower, SafeBound(contraction.cost(feasible)))
        return search.outcome(NodeStatus.CLOSED)
    if node.number == 0 and not stop():
        search.run_heuristic(context.schedule.before, None)
    return search.bound(stop)


def has_one_cost(contraction: Contraction) -> bool:
    """Whether all clusterings of the blocks cost the same: one block per cluster (k = 1 included),
    or blocks that all have the same mean."""
    if contraction.n_blocks == contraction.k:
        return True
    return not contraction.means.any()


class _NodeSearch:
    """The state of one evaluation: the bound and the incumbent, which only ever improve."""

    def __init__(
        self,
        node: Node,
        incumbent: Incumbent,
        context: EvaluationContext,
        contraction: Contraction,
        report: Report,
    ) -> None:
        self.node = node
        self.lower = node.lower
        self.incumbent = incumbent
        self._context = context
        self._contraction = contraction
        self._report = report
        self._progress = BoundProgress(node.lower, False, 0, 0)
        # Seeded by the node, not by the order of evaluation: the same on any executor.
        self._rng = np.random.default_rng([context.seed, node.number])

    def offer(self, labels: NDArray[np.intp], cost: float, source: str) -> None:
        """Take a clustering of the blocks if it is better than the incumbent."""
        if self._context.tolerances.improves(cost, self.incumbent.cost):
            self.incumbent = Incumbent(cost, self._contraction.lift(labels), source)

    def run_heuristic(
        self, parameters: IPCKMeansParameters, affinity: NDArray[np.float64] | None
    ) -> None:
        """Look for a better clustering, from an affinity or from k-means++ starts."""
        found = IPCKMeans(parameters).run(self._contraction, self._rng, affinity)
        self.offer(found.labels, found.cost, found.source)
        self._report(self.lower, self.incumbent, self._progress.n_cuts)

    def bound(self, stop: Callable[[], bool]) -> Outcome:
        """Alternate bounds and heuristics until the node is closed, stalled or stopped."""
        tolerances, schedule = self._context.tolerances, self._context.schedule
        run = self._context.bounding.start(self._contraction, self.node.warm_start)
        due = list(schedule.iterations)
        while not stop():
            self._progress = run.advance(tolerances.cutoff(self.incumbent.cost))
            self.lower = max(self.lower, self._progress.bound)
            self._report(self.lower, self.incumbent, self._progress.n_cuts)
            if tolerances.closes(self.lower, self.incumbent.cost):
                return self.outcome(NodeStatus.CLOSED)
            stalled = self._progress.stalled
            if stalled or (due and self._progress.n_iterations >= due[0]):
                due = due[1:]
                self.run_heuristic(schedule.during, run.affinity())
                if tolerances.closes(self.lower, self.incumbent.cost):
                    return self.outcome(NodeStatus.CLOSED)
            if stalled:
                pair = most_undecided_pair(self._contraction, run.affinity())
                return self.outcome(NodeStatus.BRANCH, pair, run.warm_start())
        return self.outcome(NodeStatus.STOPPED)

    def outcome(
        self, status: NodeStatus, pair: Pair | None = None, warm_start: Any = None
    ) -> Outcome:
        """What the evaluation has come to."""
        return Outcome(
            status=status,
            lower=self.lower,
            labels=self.incumbent.labels,
            cost=self.incumbent.cost,
            source=self.incumbent.source,
            pair=pair,
            warm_start=warm_start,
            n_iterations=self._progress.n_iterations,
            n_cuts=self._progress.n_cuts,
        )
