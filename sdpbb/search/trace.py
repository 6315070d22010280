"""Trace of a run, for pictures: bounds over time, levels of subsets, the tree."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sdpbb.problem import Origin
from sdpbb.search.events import (
    Branched,
    Event,
    Finished,
    NodeEnd,
    NodeLeft,
    Progress,
    Started,
    SubsetsBounded,
)


@dataclass(frozen=True)
class TracedNode:
    """Node of the tree in a trace.

    parent : position of its parent in `Trace.nodes`; None for the root, and for nodes from before
        the run was resumed
    together : whether its last decision is a must-link; None without a parent
    rows : names of the two points of this decision; None without a parent
    lower : proven for its clusterings; inf if it has none
    end : reason why its evaluation ended
    """

    parent: int | None
    together: bool | None
    rows: tuple[str, str] | None
    lower: float
    end: NodeEnd


class Trace:
    """Observer that records the bounds, the levels of subsets and the tree of a run.

    Examples
    --------
    >>> import sdpbb
    >>> instance = sdpbb.Instance([[0.0], [0.1], [5.0], [5.1]], k=2, cannot_link=[(0, 1)])
    >>> trace = sdpbb.Trace()
    >>> result = sdpbb.solve(instance, observer=trace)
    >>> [node.end.value for node in trace.nodes]
    ['closed']

    Attributes
    ----------
    name : of the instance
    status : value of the `SolutionStatus`; "" during the run
    points : reports of progress in the order of time, with a last one at the end
    levels : levels of subsets that were bounded, the smallest subsets first
    nodes : the tree, parents before their children
    """

    def __init__(self) -> None:
        self.name = ""
        self.status = ""
        self.points: list[Progress] = []
        self.levels: list[SubsetsBounded] = []
        self.nodes: list[TracedNode] = []
        self._positions: dict[int, int] = {}  # in nodes, by the engine's number
        self._origin = Origin()

    def __call__(self, event: Event) -> None:
        match event:
            case Started(instance):
                self.name, self._origin = instance.name, instance.origin
            case Progress():
                self.points.append(event)
            case SubsetsBounded():
                self.levels.append(event)
            case Branched():
                self._record_branching(event)
            case NodeLeft(number, lower, end):
                self._end(number, lower, end)
            case Finished():
                self._record_end_of_run(event)

    @property
    def n_open(self) -> int:
        """Nodes that are not finished."""
        return sum(node.end is NodeEnd.OPEN for node in self.nodes)

    def _record_branching(self, event: Branched) -> None:
        parent = self._end(event.node, event.lower, NodeEnd.BRANCHED)
        i, j = event.pair
        rows = (self._origin.row(i), self._origin.row(j))
        for child, together in ((event.together, True), (event.apart, False)):
            self._positions[child] = len(self.nodes)
            self.nodes.append(TracedNode(parent, together, rows, event.lower, NodeEnd.OPEN))

    def _end(self, number: int, lower: float, end: NodeEnd) -> int:
        """Record the end of a node, and return its position."""
        if number not in self._positions:
            self._positions[number] = len(self.nodes)
            self.nodes.append(TracedNode(None, None, None, lower, end))
        position = self._positions[number]
        self.nodes[position] = replace(self.nodes[position], lower=lower, end=end)
        return position

    def _record_end_of_run(self, event: Finished) -> None:
        result = event.result
        self.status = result.status.value
        if result.lower_bound is None:
            return
        upper = math.inf if result.objective is None else result.objective
        gap = math.inf if result.gap is None else result.gap
        n_cuts = self.points[-1].n_cuts if self.points else 0
        counted = result.statistics
        end = counted.wall_seconds, counted.n_nodes, self.n_open, result.lower_bound, upper
        self.points.append(Progress(*end, gap, n_cuts))
