"""Trace of a run, for pictures: bounds over time, the levels of subsets, and the tree."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, fields
from typing import Any

from sdpbb.problem import Origin
from sdpbb.runtime.files import FilePath, write_atomically
from sdpbb.runtime.values import counted, json_text
from sdpbb.runtime.version import installed_version
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

KIND = "sdpbb trace"
# When there are more points than this, every other one is forgotten, but no new incumbent.
MOST_POINTS = 20_000


@dataclass(frozen=True)
class ProgressPoint:
    """Bounds after so many seconds; upper is inf before there is a clustering.

    source : "", or where the new incumbent came from
    """

    seconds: float
    lower: float
    upper: float
    n_nodes: int
    n_open: int
    source: str = ""


@dataclass(frozen=True)
class TracedLevel:
    """Level of subsets whose bounds made up the bound of the root.

    n_subsets, n_bounded : subsets that were to be bounded, and those that were
    n_blocks : of the largest of them
    n_dropped : cannot-links between blocks that are across subsets
    began, ended : seconds of the run
    lower : bound of the whole at the end
    """

    n_subsets: int
    n_bounded: int
    n_blocks: int
    n_dropped: int
    began: float
    ended: float
    lower: float


@dataclass(frozen=True)
class TracedNode:
    """Node of the tree, as a trace keeps it.

    parent : its position in `Trace.nodes`; None for the root, and for nodes made before a run that
        was resumed
    together : whether the decision that made it is a must-link; None without a parent
    rows : what the user calls the two points of that decision; None without a parent
    lower : proven for its clusterings; inf if it has none
    end : how it was left
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
    status : what was proven (the value of a `SolutionStatus`); "" while the run goes on
    points : how the bounds went, in the order of time
    levels : of subsets that were bounded, the smallest subsets first
    nodes : the tree, parents before their children
    """

    def __init__(self) -> None:
        self.name = ""
        self.status = ""
        self.points: list[ProgressPoint] = []
        self.levels: list[TracedLevel] = []
        self.nodes: list[TracedNode] = []
        self._positions: dict[int, int] = {}  # in nodes, by the engine's number
        self._origin = Origin()
        self._stride, self._n_told = 1, 0  # of the points without a new incumbent

    def __call__(self, event: Event) -> None:
        match event:
            case Started():
                self.name, self._origin = event.name, event.origin
            case Progress():
                self._progress(event)
            case SubsetsBounded():
                self._record_level(event)
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

    def __repr__(self) -> str:
        told = [
            self.name or "unnamed",
            self.status or "no end yet",
            counted(len(self.points), "point"),
            counted(len(self.nodes), "node"),
        ]
        return f"<Trace: {', '.join(told)}>"

    def _progress(self, event: Progress) -> None:
        point = ProgressPoint(
            event.seconds, event.lower, event.upper, event.n_nodes, event.n_open, event.source
        )
        if point.source or self._n_told % self._stride == 0:
            self.points.append(point)
        self._n_told += not point.source
        if len(self.points) > MOST_POINTS:
            self._thin_out()

    def _thin_out(self) -> None:
        """Forget every other point, apart from new incumbents, from now on as well."""
        self._stride *= 2
        positions = itertools.count()
        self.points = [point for point in self.points if point.source or next(positions) % 2 == 0]

    def _record_level(self, event: SubsetsBounded) -> None:
        chosen = event.chosen
        self.levels.append(
            TracedLevel(
                chosen.n_subsets,
                event.n_bounded,
                chosen.n_blocks,
                chosen.n_dropped,
                chosen.seconds,
                event.seconds,
                event.lower,
            )
        )

    def _record_branching(self, event: Branched) -> None:
        parent = self._end(event.node, event.lower, NodeEnd.BRANCHED)
        i, j = event.pair
        rows = (self._origin.row(i), self._origin.row(j))
        for child, together in ((event.together, True), (event.apart, False)):
            self._positions[child] = len(self.nodes)
            self.nodes.append(TracedNode(parent, together, rows, event.lower, NodeEnd.OPEN))

    def _end(self, number: int, lower: float, end: NodeEnd) -> int:
        """Record how a node was left, and return its position."""
        position = self._positions.get(number)
        if position is None:
            self._positions[number] = position = len(self.nodes)
            self.nodes.append(TracedNode(None, None, None, lower, end))
        else:
            born = self.nodes[position]
            self.nodes[position] = TracedNode(born.parent, born.together, born.rows, lower, end)
        return position

    def _record_end_of_run(self, event: Finished) -> None:
        result = event.result
        self.status = result.status.value
        if result.lower_bound is None:
            return
        upper = math.inf if result.objective is None else result.objective
        statistics = result.statistics
        self.points.append(
            ProgressPoint(
                statistics.wall_seconds, result.lower_bound, upper, statistics.n_nodes, self.n_open
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON, by columns; None stands for inf."""
        points, nodes = self.points, self.nodes
        return {
            "kind": KIND,
            "version": installed_version(),
            "name": self.name,
            "status": self.status,
            "points": {
                "seconds": [point.seconds for point in points],
                "lower": [_finite(point.lower) for point in points],
                "upper": [_finite(point.upper) for point in points],
                "n_nodes": [point.n_nodes for point in points],
                "n_open": [point.n_open for point in points],
                "source": [point.source for point in points],
            },
            "levels": {
                field.name: [getattr(level, field.name) for level in self.levels]
                for field in fields(TracedLevel)
            },
            "nodes": {
                "parent": [node.parent for node in nodes],
                "together": [node.together for node in nodes],
                "rows": [None if node.rows is None else list(node.rows) for node in nodes],
                "lower": [_finite(node.lower) for node in nodes],
                "end": [node.end.value for node in nodes],
            },
        }

    def to_json(self) -> str:
        """Return `to_dict()` as one JSON object: what `--trace` writes and `read_trace` reads."""
        return json_text(self.to_dict())

    def write(self, path: FilePath) -> None:
        """Write the trace, wholly or not at all.

        See `sdpbb.runtime.files.replacement` for what may be raised.
        """
        write_atomically(path, self.to_json())


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
