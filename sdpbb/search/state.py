"""State of a search: its tree, and its counters."""

from __future__ import annotations

from dataclasses import dataclass, field

from sdpbb.runtime.archive.stored import stored
from sdpbb.search.events import NodeEnd
from sdpbb.search.node import NodeResult, NodeStatus, Pair
from sdpbb.search.tree import Tree


@stored
@dataclass
class SearchStatistics:
    """Counters of a search, and figures of its root, which are set when that is left.

    n_fixed counts the pairs fixed, n_lost the nodes given up because they ended two workers,
    n_subsets the subsets of a decomposition whose bounding has ended, and n_lost_subsets those of
    them that ended two workers.
    root_lower_bound is None if the root holds no clustering, root_gap if none was known by then.
    """

    n_nodes: int = 0
    n_iterations: int = 0
    n_fixed: int = 0
    n_lost: int = 0
    root_lower_bound: float | None = None
    root_gap: float | None = None
    root_seconds: float | None = None
    n_subsets: int = 0
    n_lost_subsets: int = 0


@stored
@dataclass
class Search:
    """State of a search, as a checkpoint holds it."""

    tree: Tree
    statistics: SearchStatistics = field(default_factory=SearchStatistics)

    def apply(self, number: int, result: NodeResult, seconds: float) -> Pair | None:
        """Apply the result of an evaluation to the tree; return the pair to branch on, or None.

        seconds : of the run until now
        """
        self.statistics.n_iterations += result.n_iterations
        self.statistics.n_fixed += len(result.fixings)
        pair = self.tree.apply(number, result)
        if result.status not in (NodeStatus.UNFINISHED, NodeStatus.FIXED):
            self._count(number, seconds)
        return pair

    def lose(self, number: int, seconds: float) -> None:
        """Give up a running node, which has ended two workers."""
        self.tree.abandon(number, NodeEnd.LOST)
        self.statistics.n_lost += 1
        self._count(number, seconds)

    def _count(self, number: int, seconds: float) -> None:
        """Count a node, whose evaluation has ended."""
        statistics, tree = self.statistics, self.tree
        statistics.n_nodes += 1
        if number == 0:
            statistics.root_lower_bound = None if tree.is_exhausted else tree.lower
            statistics.root_gap = None if tree.labels is None else tree.gap
            statistics.root_seconds = seconds
