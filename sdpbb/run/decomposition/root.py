"""Root of a search while places, and then subsets, raise its bound."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.lagrangian.reach import has_places, place_mebibytes
from sdpbb.problem import Contraction
from sdpbb.run.certificates.proof import Proof
from sdpbb.run.decomposition.subsets import SubsetBounds
from sdpbb.runtime.time_left import at_most
from sdpbb.search.evaluate import BEFORE_SHARE, NO_CLUSTERING, EvaluationContext, evaluate
from sdpbb.search.limits import Budget, Limits
from sdpbb.search.node import Node, NodeResult, NodeStatus
from sdpbb.search.reporting import Reporter, Watch
from sdpbb.search.result import Termination
from sdpbb.search.tree import Search

# Of the time that is left to a run, the part that heuristics may take before the first bound; up to
# so many seconds, it is what they have in any run.
FIRST_SHARE, FIRST_SECONDS = 0.1, 5.0
# Minimum blocks for a bound by prices and places: the other bounds prove smaller instances in
# seconds. And the share of the remaining time for it.
MIN_BLOCKS, PLACES_SHARE = 1000, 0.5


@dataclass(eq=False)
class Root:
    """Root of a search, while its bound is raised by other means than a node's.

    search : has not begun; its clusterings are replaced by better ones
    contraction, context : of the root
    limits : of the run
    proof : of the search, which records what heuristics have proven; None if it is not certified
    watches : of the search, the reporter first
    """

    search: Search
    contraction: Contraction
    context: EvaluationContext
    limits: Limits
    proof: Proof | None
    reporter: Reporter
    watches: tuple[Watch, ...]

    def begin(self) -> None:
        """Take the root from the tree, where it is open, and report that the search begins."""
        self.reporter.began(self.search)
        self.search.tree.select()

    @property
    def is_open(self) -> bool:
        """True while it is neither closed nor without a clustering."""
        return self.search.tree.n_open > 0

    @property
    def _node(self) -> Node:
        return self.search.tree.running(0)

    @property
    def labels(self) -> NDArray[np.intp]:
        """Labels (n,) of the points, of the best clustering known while it is open."""
        labels = self.search.tree.labels
        labels = self._node.known_labels if labels is None else labels
        assert labels is not None
        return labels

    @property
    def seconds_left(self) -> float:
        """Seconds until the time limit."""
        return self.limits.time_limit - self.limits.seconds

    def look_for_clusterings(self) -> None:
        """Run the heuristics, for a part of the time."""
        tree, left = self.search.tree, self.seconds_left

        def take(labels: NDArray[np.intp], cost: float, source: str) -> None:
            tree.offer(labels, cost, source)
            self.reporter.stepped(self.search)

        seconds = max(FIRST_SHARE * left, min(BEFORE_SHARE * left, FIRST_SECONDS))
        budget = Budget(until_end=seconds, cancelled=self.is_cancelled, found=take, bounds=False)
        context = replace(self.context, is_without_bound=True)
        result = evaluate(replace(self._node, state=None), tree.upper, context, budget)
        if self.proof is not None:
            self.proof.nodes[0].record(result)
        self._apply(result)

    def raise_by_places(self, free_mebibytes: float) -> None:
        """Raise the bound by prices and places, if it has few dimensions and many blocks.

        free_mebibytes : memory that there is for it; with less than it takes, nothing is done
        """
        contraction, tree = self.contraction, self.search.tree
        # The bound comes without the evidence of a node, which certified runs keep.
        if tree.labels is None or not self.is_open or self.context.keeps_evidence:
            return
        if contraction.n_blocks < MIN_BLOCKS or not has_places(contraction):
            return
        if place_mebibytes(contraction.n_blocks) > free_mebibytes:
            return
        # Few runs come here, and the compiler is slow to import.
        from sdpbb.bounds.lagrangian.places.run import PlaceRun

        labels = tree.labels[contraction.representatives].astype(np.intp)
        time_left = at_most(self._time_left, PLACES_SHARE * self.seconds_left)
        run = PlaceRun.begin(contraction, labels)
        while run is not None and self.is_open:
            progress = run.advance(tree.tolerances.cutoff(tree.upper), time_left)
            self.raise_to(progress.bound.value)
            if progress.stalled or progress.is_cut:
                return

    def _time_left(self) -> float:
        return 0.0 if self.is_cancelled() else self.seconds_left

    def is_cancelled(self) -> bool:
        """Report progress now and then; return whether a task in this process is to end."""
        self.reporter.stepped(self.search)
        return self.limits.urgent() is not None

    def raise_to(self, bound: float) -> None:
        """Raise its bound, if that is lower."""
        proven = ProvenBound(bound)
        if proven > self._node.lower:
            self._apply(NodeResult(NodeStatus.UNFINISHED, proven))

    def take(self, bounds: SubsetBounds) -> None:
        """Raise its bound to the sum of those of subsets; drop it if one has no clustering."""
        if bounds.is_infeasible:
            self._apply(NodeResult(NodeStatus.INFEASIBLE, NO_CLUSTERING))
        elif self.is_open:
            self.raise_to(bounds.total())

    def _apply(self, result: NodeResult) -> None:
        """Take a result into the search, and tell the watches."""
        self.search.apply(0, result, self.limits.seconds)
        for watch in self.watches:
            watch.evaluated(self.search, 0, result, None)
        if self.is_open:
            self.search.tree.select()

    def end(self, limit: Termination | None = None) -> Termination | None:
        """Give it back to the tree; tell the watches, unless it is to be bounded as a whole.

        Return why the search ends before it is closed, or None.
        """
        tree, limit = self.search.tree, limit or self.limits.urgent()
        if self.is_open:
            # As a whole, it begins anew: with heuristics, and components that are moved.
            tree.apply(0, NodeResult(NodeStatus.UNFINISHED, self._node.lower))
        if limit is not None or not self.is_open:
            for watch in self.watches:
                watch.ended(self.search)
        if self.is_open:
            return limit
        return None if tree.is_closed or tree.is_exhausted else Termination.PRECISION
