"""Callbacks of a search (`Watch`), and the one that reports progress to the observer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sdpbb.search.clocks import Limits
from sdpbb.search.events import Observer, Progress
from sdpbb.search.node import NodeResult
from sdpbb.search.tree import Tree

# Maximum seconds between two reports; and seconds until the first report, and until the report of a
# new clustering, as heuristics find many within a moment.
SILENCE, SOON = 5.0, 0.5


class Watch:
    """Base class of search callbacks; each does nothing."""

    def evaluated(
        self, tree: Tree, number: int, result: NodeResult, children: tuple[int, int] | None
    ) -> None:
        """Receive the result of a node's evaluation, after the tree has applied it.

        children : of a node that was split: in the first, the points of `result.pair` share a
            cluster; in the second, they do not
        """

    def round_ended(self, tree: Tree) -> None:
        """Receive the tree after all results of a round."""

    def ended(self, tree: Tree) -> None:
        """Receive the tree at the end of the search; unfinished nodes are open."""


@dataclass(eq=False)
class Reporter(Watch):
    """Watch that reports a search to an observer.

    It sends `NodeLeft` and `Branched`, and `Progress` after each result and from time to time.
    """

    observer: Observer
    limits: Limits

    def __post_init__(self) -> None:
        self._reported_at, self._has_reported = self.limits.seconds, False
        self._upper = math.inf  # the cost of the incumbent that was reported last
        self._n_cuts = 0  # of the node evaluated last

    def began(self, tree: Tree) -> None:
        """Report that the search begins or resumes."""
        # A clustering from the user is a new one.
        if tree.source == "start" and not tree.statistics.n_nodes:
            self._report(tree)
        self._upper = tree.upper

    def stepped(self, tree: Tree) -> None:
        """Report progress or a new clustering of an evaluation in this process, if it is time."""
        is_new = not self._has_reported or tree.upper < self._upper
        if self.limits.seconds - self._reported_at >= (SOON if is_new else SILENCE):
            self._report(tree)

    def evaluated(
        self, tree: Tree, number: int, result: NodeResult, children: tuple[int, int] | None
    ) -> None:
        self._n_cuts = result.n_cuts
        self._report(tree)

    def round_ended(self, tree: Tree) -> None:
        for event in tree.take_news():
            self.observer(event)
        self.stepped(tree)

    def ended(self, tree: Tree) -> None:
        for event in (*tree.take_news(), *tree.open_nodes()):
            self.observer(event)

    def _report(self, tree: Tree) -> None:
        self._reported_at, self._has_reported = self.limits.seconds, True
        is_new = tree.upper < self._upper
        self._upper = tree.upper
        self.observer(
            Progress(
                seconds=self._reported_at,
                n_nodes=tree.statistics.n_nodes,
                n_open=tree.n_open,
                lower=tree.lower,
                upper=tree.upper,
                gap=tree.gap,
                n_cuts=self._n_cuts,
                source=tree.source if is_new else "",
            )
        )
