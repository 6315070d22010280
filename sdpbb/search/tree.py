"""Search tree: open nodes, incumbent, global bound, tolerance of the gap, statistics."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.runtime.archive import stored
from sdpbb.search.events import Branched, NodeEnd, NodeEvent, NodeLeft
from sdpbb.search.node import Fixings, Node, NodeResult, NodeStatus, Pair
from sdpbb.search.result import PRECISION, Statistics, relative_gap


@stored
@dataclass(frozen=True)
class Tolerances:
    """Tolerances of comparisons between bounds and costs, relative to the cost only.

    Coordinates are exact numbers: the cost is 0 if and only if the points of clusters coincide.

    gap : (upper - lower) / upper; values below PRECISION count as PRECISION
    """

    gap: float

    def cutoff(self, upper: float) -> float:
        """Return the least bound that closes a node if the incumbent costs `upper`."""
        if not np.isfinite(upper):
            return upper
        # Slightly less, so that the gap, computed again, does not exceed it by rounding.
        relative = max(self.gap, PRECISION) - 8.0 * float(np.finfo(np.float64).eps)
        return upper - relative * upper

    def closes(self, bound: ProvenBound, upper: float) -> bool:
        """Return whether a bound closes a node: no clustering beats `upper` by the tolerance."""
        return bound.value >= self.cutoff(upper)


@stored
@dataclass(init=False, eq=False)
class Tree:
    """State of a search: the tree, the incumbent, and the bound for the whole instance.

    Every clustering is in a node that is open, running, closed or abandoned. So the least bound of
    these nodes is a bound for all clusterings. Closed and abandoned nodes count with their last
    bounds; infeasible nodes have no clustering.

    A node is open until `select` returns it, then runs until it is closed, dropped, split or
    abandoned.

    Attributes
    ----------
    upper, labels, source : of the incumbent: cost, labels (n,), and who found it; inf, None and ""
        while there is none
    closed : least bound of the finished nodes
    abandoned : bounds of the abandoned nodes
    n_created : number of nodes so far, numbered from 0
    statistics : of the search so far
    """

    tolerances: Tolerances
    upper: float
    labels: NDArray[np.intp] | None
    source: str
    closed: float
    abandoned: tuple[float, ...]
    n_created: int
    statistics: Statistics

    def __init__(self, root: Node, tolerances: Tolerances) -> None:
        self.tolerances = tolerances
        self.upper, self.labels, self.source = math.inf, None, ""
        self.closed, self.abandoned, self.n_created = math.inf, (), 0
        self.statistics = Statistics()
        self._open_all((root,))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy or a checkpoint, in which all unfinished nodes are open."""
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        return kept | {"nodes": self._unfinished()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        nodes = state["nodes"]
        self.__dict__.update((name, value) for name, value in state.items() if name != "nodes")
        self._open_all(nodes)

    def _open_all(self, nodes: Iterable[Node]) -> None:
        """Make these unfinished nodes open; none is running."""
        self._open: list[tuple[float, int, Node]] = []
        self._running: dict[int, Node] = {}
        self._due: deque[int] = deque()  # running nodes whose evaluation is paused
        self._news: list[NodeEvent] = []
        for node in nodes:
            self._push(node)

    @property
    def n_open(self) -> int:
        """Number of open and running nodes."""
        return len(self._open) + len(self._running)

    @property
    def has_begun(self) -> bool:
        """True once the bounding of a node has begun."""
        return self.n_created > 1 or any(
            node.bounding is not None or node.warm_start is not None for node in self._unfinished()
        )

    @property
    def n_waiting(self) -> int:
        """Number of nodes whose evaluation has not begun."""
        return len(self._open)

    @property
    def n_due(self) -> int:
        """Number of running nodes whose evaluation is paused."""
        return len(self._due)

    @property
    def lower(self) -> float:
        """Proven bound for every clustering of the instance, at most the incumbent's cost."""
        return min(self.bound_of_nodes, self.upper)

    @property
    def bound_of_nodes(self) -> float:
        """Least bound of all nodes, proven for every clustering of the instance."""
        bounds = [self.closed, *self.abandoned]
        if self._open:
            bounds.append(self._open[0][0])
        bounds += [node.lower.value for node in self._running.values()]
        return min(bounds)

    @property
    def gap(self) -> float:
        """Gap between bound and incumbent, relative to its cost; inf without incumbent."""
        return relative_gap(self.lower, self.upper)

    @property
    def is_closed(self) -> bool:
        """True if the incumbent is proven to be optimal, to the tolerance."""
        return self.labels is not None and self.lower >= self.tolerances.cutoff(self.upper)

    @property
    def is_exhausted(self) -> bool:
        """True if the tree proves that there is no clustering."""
        return self.labels is None and self.lower == math.inf

    def take_news(self) -> list[NodeEvent]:
        """Return the events of nodes since the last call."""
        news, self._news = self._news, []
        return news

    def open_nodes(self) -> list[NodeLeft]:
        """Return the events of the unfinished nodes at the end of a run."""
        return [
            NodeLeft(node.number, node.lower.value, NodeEnd.OPEN) for node in self._unfinished()
        ]

    def _unfinished(self) -> tuple[Node, ...]:
        """Return the running and the open nodes."""
        return (*self._running.values(), *(node for _, _, node in self._open))

    def select(self) -> Node | None:
        """Return a paused node, or else the open node with the least bound, now running.

        None: there is neither.
        """
        if self._due:
            return self._running[self._due.popleft()]
        if not self._open:
            return None
        node = heapq.heappop(self._open)[2]
        self._running[node.number] = node
        return node

    def running(self, number: int) -> Node:
        """Return a running node with its latest bound and warm start."""
        return self._running[number]

    def apply(self, number: int, result: NodeResult, seconds: float = 0.0) -> Pair | None:
        """Apply the result of an evaluation; return the pair to branch on, or None.

        The clustering becomes the incumbent if it is better. The bound may close the node.

        seconds : of the run until now
        """
        self.count(n_iterations=result.n_iterations, n_fixed=len(result.fixings))
        self.offer(result.labels, result.cost, result.source)
        node, pair = advanced(self._running[number], result), None
        assert node.lower >= self._running[number].lower
        self._running[number] = node
        if result.status is NodeStatus.INFEASIBLE:
            self._finish(number, node.fixings.below)
        elif self.tolerances.closes(node.lower, self.upper):
            self._finish(number, node.lower.value)
        elif result.status is NodeStatus.BRANCH:
            pair = result.pair
        elif result.status is NodeStatus.CLOSED:
            # The cost of the only clustering is less than the rounding errors of a certificate.
            self.abandon(number, NodeEnd.UNPROVEN)
        else:
            self._due.append(number)
        if result.status not in (NodeStatus.UNFINISHED, NodeStatus.FIXED):
            self._count_node(number, seconds)
        return pair

    def _finish(self, number: int, lower: float) -> None:
        """Finish a running node, all of whose clusterings cost at least `lower`."""
        del self._running[number]
        self.closed = min(self.closed, lower)
        self._news.append(_finished_event(number, lower))

    def count(self, **more: int) -> None:
        """Add to counters of the statistics."""
        sums = {name: getattr(self.statistics, name) + number for name, number in more.items()}
        self.statistics = replace(self.statistics, **sums)

    def _count_node(self, number: int, seconds: float) -> None:
        """Count a node whose evaluation has ended; record the figures of the root."""
        self.count(n_nodes=1)
        if number == 0:
            self.statistics = replace(
                self.statistics,
                root_lower_bound=None if self.is_exhausted else self.lower,
                root_gap=None if self.labels is None else self.gap,
                root_seconds=seconds,
            )

    def lose(self, number: int, seconds: float) -> None:
        """Abandon a running node that has crashed two workers."""
        self.abandon(number, NodeEnd.LOST)
        self.count(n_lost=1)
        self._count_node(number, seconds)

    def abandon(self, number: int, end: NodeEnd) -> None:
        """Abandon a running node that is not closed; its last bound counts."""
        lower = self._running.pop(number).lower.value
        self.abandoned = (*self.abandoned, lower)
        self._news.append(NodeLeft(number, lower, end))

    def split(self, number: int, pair: Pair) -> tuple[int, int]:
        """Replace a running node by two children; return their numbers.

        The points of the pair share a cluster in the first child, and do not in the second.
        """
        node, together, apart = self._running.pop(number), self.n_created, self.n_created + 1
        born = replace(node, bounding=None, n_heuristics=0)
        self._push(replace(born, number=together, must_link=(*node.must_link, pair)))
        self._push(replace(born, number=apart, cannot_link=(*node.cannot_link, pair)))
        self._news.append(Branched(number, node.lower.value, pair, together, apart))
        return together, apart

    def offer(self, labels: NDArray[np.intp] | None, cost: float, source: str) -> bool:
        """Make a clustering the incumbent if it is better; return whether it is."""
        if labels is None or cost >= self.upper:
            return False
        self.upper, self.labels, self.source = cost, labels, source
        self._close_open_nodes()
        return True

    def _close_open_nodes(self) -> None:
        """Close open nodes whose bound meets the incumbent; this frees their warm starts."""
        cutoff = self.tolerances.cutoff(self.upper)
        closed = [(bound, number) for bound, number, _ in self._open if bound >= cutoff]
        self.closed = min([self.closed, *(bound for bound, _ in closed)])
        self._news += [_finished_event(number, bound) for bound, number in closed]
        self._open = [entry for entry in self._open if entry[0] < cutoff]
        heapq.heapify(self._open)

    def _push(self, node: Node) -> None:
        self.n_created = max(self.n_created, node.number + 1)
        heapq.heappush(self._open, (node.lower.value, node.number, node))


def _finished_event(number: int, lower: float) -> NodeLeft:
    """Return the event of a finished node.

    lower : its bound; inf: it has no clustering
    """
    return NodeLeft(number, lower, NodeEnd.INFEASIBLE if lower == math.inf else NodeEnd.CLOSED)


def advanced(node: Node, result: NodeResult) -> Node:
    """Return a node after an evaluation, with the state to resume from.

    Its next bounding starts with the warm start of the result, or else of the node. If components
    have been moved, the old warm start is dropped: its dual values belong to other, perhaps far
    larger coordinates.
    """
    is_paused = result.status is NodeStatus.UNFINISHED
    is_moved = result.fixings.components is not None
    keeps_start = result.warm_start is None and not is_moved
    return replace(
        with_fixings(node, result.fixings),
        # The blocks of the contraction that the paused bounding belongs to.
        block_of=node.block_of if is_paused or result.block_of is None else result.block_of,
        known_labels=node.known_labels if result.known_labels is None else result.known_labels,
        lower=node.proven(result.bound),
        warm_start=node.warm_start if keeps_start else result.warm_start,
        bounding=result.bounding,
        n_heuristics=result.n_heuristics,
    )


def with_fixings(node: Node, fixings: Fixings) -> Node:
    """Return a node with further fixings, whose bounding starts again from its warm start."""
    return replace(node, fixings=node.fixings + fixings, bounding=None, n_heuristics=0)
