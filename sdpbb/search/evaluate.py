"""The work on one node: picklable values in, picklable values out, no other state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.ipc_kmeans import Descent, IPCKMeans
from heuristics.parameters import IPCKMeansParameters
from sdpbb.bounds.bound import Bounding, BoundProgress, SafeBound
from sdpbb.feasibility import find_feasible
from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.search.branching import most_undecided_pair
from sdpbb.search.node import Node, NodeStatus, Outcome, Pair
from sdpbb.search.parameters import HeuristicSchedule
from sdpbb.search.stop import Limits
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
    limits: Limits | None = None,
    report: Report = lambda lower, incumbent, n_cuts: None,
) -> Outcome:
    """Bound a node; look for clusterings; choose what to branch on if that does not close it.

    Parameters
    ----------
    node, upper : the node, and the cost of the incumbent
    limits : asked between steps; once they are reached the node is left with what is proven so far
    report : told the node's bound, the incumbent and the number of cuts after each step

    Without limits and report, which serve a caller in the same process, it is a pure function.
    """
    limits = limits or Limits()
    contraction = contract(context.instance, node.must_link, node.cannot_link, node.blocks)
    if isinstance(contraction, Infeasibility):
        return Outcome(NodeStatus.INFEASIBLE, node.lower)
    feasible = _feasible(node, contraction, limits)
    if isinstance(feasible, Infeasibility):
        return Outcome(NodeStatus.INFEASIBLE, node.lower)
    if feasible is None:
        return Outcome(NodeStatus.STOPPED, node.lower)
    search = _NodeSearch(node, Incumbent(upper), context, contraction, feasible, limits, report)
    if has_one_cost(contraction):
        search.lower = max(search.lower, only_cost(contraction, feasible))
        return search.outcome(NodeStatus.CLOSED)
    if node.number == 0 and not limits.urgent():
        search.run_heuristic(context.schedule.before, None)
    return search.bound()


def _feasible(
    node: Node, contraction: Contraction, limits: Limits
) -> NDArray[np.intp] | Infeasibility | None:
    """Labels of the blocks that keep the constraints: the ones known, or else looked for."""
    if node.feasible is not None:
        return node.feasible[contraction.representatives]
    return find_feasible(contraction, limits.seconds_left)


def has_one_cost(contraction: Contraction) -> bool:
    """Whether all clusterings of the blocks cost the same: one block per cluster (k = 1 included),
    or blocks that all have the same mean."""
    if contraction.n_blocks == contraction.k:
        return True
    return not contraction.means.any()


def only_cost(contraction: Contraction, labels: NDArray[np.intp]) -> SafeBound:
    """The cost of all clusterings of the blocks (see `has_one_cost`), less what rounding can have
    added to it: sums of squares lose a small multiple of eps, relative to themselves."""
    eps = float(np.finfo(np.float64).eps)
    terms = 16 + contraction.means.shape[1] + np.log2(contraction.n_points)
    return SafeBound(contraction.cost(labels) * (1.0 - 4.0 * eps * float(terms)))


class _NodeSearch:
    """The state of one evaluation: the bound and the incumbent, which only ever improve."""

    def __init__(
        self,
        node: Node,
        incumbent: Incumbent,
        context: EvaluationContext,
        contraction: Contraction,
        feasible: NDArray[np.intp],
        limits: Limits,
        report: Report,
    ) -> None:
        self.node = node
        self.lower = node.lower
        self.incumbent = incumbent
        self._context = context
        self._contraction = contraction
        self._feasible = feasible
        self._limits = limits
        self._report = report
        self._descent: Descent | None = None
        self._progress = BoundProgress(node.lower, False, 0, 0)
        # Seeded by the node, not by the order of evaluation: the same on any executor.
        self._rng = np.random.default_rng([context.seed, node.number])
        self.offer(feasible, contraction.cost(feasible), "colouring")

    def offer(self, labels: NDArray[np.intp], cost: float, source: str) -> None:
        """Take a clustering of the blocks if it is better than the incumbent."""
        if self._context.tolerances.improves(cost, self.incumbent.cost):
            self.incumbent = Incumbent(cost, self._contraction.lift(labels), source)

    def run_heuristic(
        self, parameters: IPCKMeansParameters, affinity: NDArray[np.float64] | None
    ) -> None:
        """Look for a better clustering, from an affinity or from k-means++ starts."""
        if self._descent is None:
            self._descent = Descent(self._contraction, parameters, self._feasible)
        found = IPCKMeans(parameters).run(
            self._contraction, self._rng, affinity, self._descent, self._stopping
        )
        self.offer(found.labels, found.cost, found.source)
        self._report(self.lower, self.incumbent, self._progress.n_cuts)

    def _stopping(self) -> bool:
        return self._limits.urgent() is not None

    def bound(self) -> Outcome:
        """Alternate bounds and heuristics until the node is closed, stalled or stopped."""
        tolerances, schedule = self._context.tolerances, self._context.schedule
        if self._stopping():
            return self.outcome(NodeStatus.STOPPED)
        run = self._context.bounding.start(self._contraction, self.node.warm_start)
        due = list(schedule.iterations)
        while not self._stopping():
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
            blocks=self._contraction.block_of if pair is not None else None,
            feasible=self._contraction.lift(self._feasible) if pair is not None else None,
            warm_start=warm_start,
            n_iterations=self._progress.n_iterations,
            n_cuts=self._progress.n_cuts,
        )
