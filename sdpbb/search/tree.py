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
    """Comparisons between bounds and costs, relative to the cost, and to nothing else.

    Coordinates are exact numbers, so that a cost is 0 where points coincide, and only there.

    gap : relative, as (upper - lower) / upper; below PRECISION it counts as PRECISION
    """

    gap: float

    def cutoff(self, upper: float) -> float:
        """Return the least bound that closes a node when `upper` is the cost of the incumbent."""
        if not np.isfinite(upper):
            return upper
        # A few units in the last place inside, so that the gap, computed again, is not above it.
        relative = max(self.gap, PRECISION) - 8.0 * float(np.finfo(np.float64).eps)
        return upper - relative * upper

    def closes(self, bound: ProvenBound, upper: float) -> bool:
        """Return whether a bound closes a node.

        Then none of its clusterings beats the incumbent by more than the tolerance.
        """
        return bound.value >= self.cutoff(upper)


@stored
@dataclass(init=False, eq=False)
class Tree:
    """State of a search: its tree, and the bound that this proves for the whole instance.

    Every clustering is in a node that is open, running, closed or abandoned; so the least of these
    nodes' bounds is a bound for all. Closed and abandoned nodes count with the bounds that they
    had, infeasible nodes hold no clustering, and the incumbent is a bound on what is worth knowing.

    Nodes are open until `select` takes them, and run until they are closed, dropped, split or
    abandoned.

    Attributes
    ----------
    upper, labels, source : the cost of the incumbent, (n,) its labels, and who found it; inf, None
        and "" while there is none
    closed : the least bound of the nodes that are finished
    abandoned : bounds of the nodes that were given up
    n_created : nodes so far, which are numbered from 0
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
        """Return the state for a copy or a checkpoint: all unfinished nodes are open in it."""
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        return kept | {"nodes": self._unfinished()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        nodes = state["nodes"]
        self.__dict__.update((name, value) for name, value in state.items() if name != "nodes")
        self._open_all(nodes)

    def _open_all(self, nodes: Iterable[Node]) -> None:
        """Have these unfinished nodes open, and none running."""
        self._open: list[tuple[float, int, Node]] = []
        self._running: dict[int, Node] = {}
        self._due: deque[int] = deque()  # running nodes whose evaluation is to go on
        self._news: list[NodeEvent] = []
        for node in nodes:
            self._push(node)

    @property
    def n_open(self) -> int:
        """Nodes not finished yet, the running ones included."""
        return len(self._open) + len(self._running)

    @property
    def has_begun(self) -> bool:
        """True once the bounding of a node has begun."""
        return self.n_created > 1 or any(node.bounding is not None for node in self._unfinished())

    @property
    def n_waiting(self) -> int:
        """Nodes whose evaluation has not begun."""
        return len(self._open)

    @property
    def n_due(self) -> int:
        """Running nodes whose evaluation is to go on."""
        return len(self._due)

    @property
    def lower(self) -> float:
        """Bound proven for every clustering of the instance, at most the cost of the incumbent."""
        return min(self.bound_of_nodes, self.upper)

    @property
    def bound_of_nodes(self) -> float:
        """Least bound of all nodes: proven for every clustering of the instance."""
        bounds = [self.closed, *self.abandoned]
        if self._open:
            bounds.append(self._open[0][0])
        bounds += [node.lower.value for node in self._running.values()]
        return min(bounds)

    @property
    def gap(self) -> float:
        """Gap between the global bound and the incumbent, relative to it; inf without one."""
        return relative_gap(self.lower, self.upper)

    @property
    def is_closed(self) -> bool:
        """True if the incumbent is proven to be optimal, to the tolerance."""
        return self.labels is not None and self.lower >= self.tolerances.cutoff(self.upper)

    @property
    def is_exhausted(self) -> bool:
        """True if it is proven that there is no clustering."""
        return self.labels is None and self.lower == math.inf

    def take_news(self) -> list[NodeEvent]:
        """Return the events of nodes since the last call."""
        news, self._news = self._news, []
        return news

    def open_nodes(self) -> list[NodeLeft]:
        """Return the events of the nodes that are not finished when a run ends."""
        return [
            NodeLeft(node.number, node.lower.value, NodeEnd.OPEN) for node in self._unfinished()
        ]

    def _unfinished(self) -> tuple[Node, ...]:
        """Return the running and the open nodes."""
        return (*self._running.values(), *(node for _, _, node in self._open))

    def select(self) -> Node | None:
        """Take a running node whose evaluation is to go on, or else the open node of least bound.

        None if there is neither.
        """
        if self._due:
            return self._running[self._due.popleft()]
        if not self._open:
            return None
        node = heapq.heappop(self._open)[2]
        self._running[node.number] = node
        return node

    def running(self, number: int) -> Node:
        """Return a running node, with all that is known about it."""
        return self._running[number]

    def apply(self, number: int, result: NodeResult, seconds: float = 0.0) -> Pair | None:
        """Apply the result of an evaluation; return the pair to branch on, or None.

        The clustering is taken if it improves the incumbent, and the bound may close the node.

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
            # The cost of its only clustering is below the rounding margin of a certificate.
            self.abandon(number, NodeEnd.UNPROVEN)
        else:
            self._due.append(number)
        if result.status not in (NodeStatus.UNFINISHED, NodeStatus.FIXED):
            self._count_node(number, seconds)
        return pair

    def _finish(self, number: int, lower: float) -> None:
        """Be done with a running node, none of whose clusterings costs less than this bound."""
        del self._running[number]
        self.closed = min(self.closed, lower)
        self._news.append(_finished_event(number, lower))

    def count(self, **more: int) -> None:
        """Add to counters of the statistics."""
        sums = {name: getattr(self.statistics, name) + number for name, number in more.items()}
        self.statistics = replace(self.statistics, **sums)

    def _count_node(self, number: int, seconds: float) -> None:
        """Count a node, whose evaluation has ended; of the root, keep the figures."""
        self.count(n_nodes=1)
        if number == 0:
            self.statistics = replace(
                self.statistics,
                root_lower_bound=None if self.is_exhausted else self.lower,
                root_gap=None if self.labels is None else self.gap,
                root_seconds=seconds,
            )

    def lose(self, number: int, seconds: float) -> None:
        """Give up a running node, which has ended two workers."""
        self.abandon(number, NodeEnd.LOST)
        self.count(n_lost=1)
        self._count_node(number, seconds)

    def abandon(self, number: int, end: NodeEnd) -> None:
        """Give up a running node that is not closed: its bound counts as it is from now on."""
        lower = self._running.pop(number).lower.value
        self.abandoned = (*self.abandoned, lower)
        self._news.append(NodeLeft(number, lower, end))

    def split(self, number: int, pair: Pair) -> tuple[int, int]:
        """Replace a running node by two; return their numbers.

        The points of the pair share a cluster in the first, and do not in the second.
        """
        node, together, apart = self._running.pop(number), self.n_created, self.n_created + 1
        born = replace(node, bounding=None, n_heuristics=0)
        self._push(replace(born, number=together, must_link=(*node.must_link, pair)))
        self._push(replace(born, number=apart, cannot_link=(*node.cannot_link, pair)))
        self._news.append(Branched(number, node.lower.value, pair, together, apart))
        return together, apart

    def offer(self, labels: NDArray[np.intp] | None, cost: float, source: str) -> bool:
        """Take a clustering if it improves the incumbent; return whether it does."""
        if labels is None or cost >= self.upper:
            return False
        self.upper, self.labels, self.source = cost, labels, source
        self._close_open_nodes()
        return True

    def _close_open_nodes(self) -> None:
        """Close open nodes by the incumbent, which also frees their warm starts."""
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
    """Return the event of a node that is finished, with its bound.

    The bound is inf if it holds no clustering, whatever it costs.
    """
    return NodeLeft(number, lower, NodeEnd.INFEASIBLE if lower == math.inf else NodeEnd.CLOSED)


def advanced(node: Node, result: NodeResult) -> Node:
    """Return a node after an evaluation, with all of the result that it continues from.

    Its next bound begins with the warm start of the result, or else of the node, unless components
    have been moved since: dual values in other coordinates, which may be far larger, are of no use.
    """
    is_left = result.status is NodeStatus.UNFINISHED
    is_moved = result.fixings.components is not None
    keeps_start = result.warm_start is None and not is_moved
    return replace(
        with_fixings(node, result.fixings),
        # A bounding belongs to the contraction that the node's present blocks give again.
        block_of=node.block_of if is_left or result.block_of is None else result.block_of,
        known_labels=node.known_labels if result.known_labels is None else result.known_labels,
        lower=node.proven(result.bound),
        warm_start=node.warm_start if keeps_start else result.warm_start,
        bounding=result.bounding,
        n_heuristics=result.n_heuristics,
    )


def with_fixings(node: Node, fixings: Fixings) -> Node:
    """Return a node with further fixings; it starts again from its warm start."""
    return replace(node, fixings=node.fixings + fixings, bounding=None, n_heuristics=0)
