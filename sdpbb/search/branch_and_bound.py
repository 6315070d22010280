"""The loop."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.bounds.bound import SafeBound
from sdpbb.result import Termination
from sdpbb.search.evaluate import EvaluationContext, Incumbent, evaluate
from sdpbb.search.events import Observer, Progress
from sdpbb.search.node import NodeStatus
from sdpbb.search.stop import Limits
from sdpbb.search.tree import Tree


@dataclass
class SearchStatistics:
    """What the search took; the root's figures are set when it is left."""

    n_nodes: int = 0
    n_iterations: int = 0
    root_lower_bound: float | None = None
    root_gap: float | None = None
    root_seconds: float | None = None


def branch_and_bound(
    tree: Tree, context: EvaluationContext, limits: Limits, observer: Observer
) -> tuple[SearchStatistics, Termination | None]:
    """Best-first branch and bound (PC-SOS-SDP, Algorithm 3).

    1. While there is an open node and no limit is reached, take the one with the least bound.
    2. Evaluate it: bound, cut, and look for clusterings (`evaluate`).
    3. Take its clustering if it is better than the incumbent.
    4. Drop the node if it is infeasible, close it if its bound meets the incumbent, put it back if
       the run is being stopped; otherwise replace it by its two children.

    Works on the tree in place. Returns the statistics, and the limit that was reached: None if
    every node is finished.
    """
    statistics = SearchStatistics()
    reporter = _Reporter(tree, statistics, limits, observer)
    while True:
        limit = limits.reached(statistics.n_nodes)
        if limit is not None and tree.n_open:
            return statistics, limit
        node = tree.next_node()
        if node is None:
            return statistics, None
        outcome = evaluate(node, tree.upper, context, limits, reporter.during)
        statistics.n_iterations += outcome.n_iterations
        statistics.n_nodes += outcome.status is not NodeStatus.STOPPED or outcome.n_iterations > 0
        improved = tree.offer(outcome.labels, outcome.cost, outcome.source)
        match outcome.status:
            case NodeStatus.INFEASIBLE:
                tree.drop()
            case NodeStatus.CLOSED:
                tree.close(outcome.lower)
            case NodeStatus.STOPPED:
                tree.put_back(node, outcome.lower)
            case NodeStatus.BRANCH:
                tree.split(node, outcome)
        if node.number == 0 and outcome.n_iterations + (outcome.status is NodeStatus.CLOSED) > 0:
            statistics.root_lower_bound = tree.lower
            statistics.root_gap = tree.gap
            statistics.root_seconds = limits.seconds
        reporter.report(outcome.n_cuts, improved)


class _Reporter:
    """Tells the observer, from inside of an evaluation and between two."""

    def __init__(
        self, tree: Tree, statistics: SearchStatistics, limits: Limits, observer: Observer
    ) -> None:
        self._tree = tree
        self._statistics = statistics
        self._limits = limits
        self._observer = observer

    def during(self, lower: SafeBound, incumbent: Incumbent, n_cuts: int) -> None:
        self._tree.running(lower)
        improved = self._tree.offer(incumbent.labels, incumbent.cost, incumbent.source)
        self.report(n_cuts, improved)

    def report(self, n_cuts: int, improved: bool) -> None:
        tree = self._tree
        self._observer(
            Progress(
                seconds=self._limits.seconds,
                n_nodes=self._statistics.n_nodes,
                n_open=tree.n_open,
                lower=tree.lower,
                upper=tree.upper,
                gap=tree.gap,
                n_cuts=n_cuts,
                source=tree.source if improved else "",
            )
        )
