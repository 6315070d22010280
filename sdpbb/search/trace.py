"""Trace of a run, for pictures: bounds over time, levels of subsets, the tree; and its file."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from sdpbb.errors import InstanceError
from sdpbb.problem import Origin
from sdpbb.problem.textfile import open_text
from sdpbb.runtime.files import FilePath, shown_path, write_atomically
from sdpbb.runtime.results import plain
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

Bound = Annotated[float, "null in a file stands for inf"]
Row = TypeVar("Row")


@dataclass(frozen=True)
class ProgressPoint:
    """Bounds after so many seconds; upper is inf before there is a clustering.

    source : "", or where the new incumbent came from
    """

    seconds: float
    lower: Bound
    upper: Bound
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
    lower: Bound
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
            case Started(instance):
                self.name, self._origin = instance.name, instance.origin
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
        return {
            "kind": KIND,
            "version": installed_version(),
            "name": self.name,
            "status": self.status,
            **{
                name: {
                    field.name: plain([getattr(row, field.name) for row in getattr(self, name)])
                    for field in fields(kind)
                }
                for name, kind in TABLES.items()
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


TABLES: dict[str, type[Any]] = {
    "points": ProgressPoint,
    "levels": TracedLevel,
    "nodes": TracedNode,
}
"""Attributes of a trace that are tables, with the kind of their rows."""


def read_trace(path: FilePath) -> Trace:
    """Read a trace from a file.

    Raises
    ------
    InstanceError
        If there is no such file, or it holds no trace. One line that names the file.
    """
    with open_text(path) as file:
        text = file.read()
    try:
        return _trace(json.loads(text))
    except (ValueError, OverflowError, RecursionError) as error:
        reason = f" ({error})" if isinstance(error, _Malformed) else ""
        raise InstanceError(
            f"{shown_path(path)}: is not a trace{reason}; expected a file that 'sdpbb solve "
            "--trace' wrote"
        ) from None


class _Malformed(ValueError):
    """Error in the values of a trace."""


def _trace(values: Any) -> Trace:
    if not isinstance(values, dict) or values.get("kind") != KIND:
        raise ValueError
    trace = Trace()
    trace.name, trace.status = (_value(str, values.get(n), n) for n in ("name", "status"))
    for name, kind in TABLES.items():
        setattr(trace, name, _rows(values.get(name), name, kind))
    for position, node in enumerate(trace.nodes):
        if node.parent is not None and node.parent >= position:
            raise _Malformed("a node before its parent")
        if len({node.parent is None, node.rows is None, node.together is None}) > 1:
            raise _Malformed("a node with half of a decision")
    return trace


def _rows(table: Any, name: str, kind: type[Row]) -> list[Row]:
    """Return the rows of a table that is stored by columns."""
    types = get_type_hints(kind, include_extras=True)
    if not isinstance(table, dict) or not all(isinstance(table.get(key), list) for key in types):
        raise _Malformed(f"no table {name!r}")
    columns = [[_value(types[key], each, f"{name}.{key}") for each in table[key]] for key in types]
    if len(set(map(len, columns))) > 1:
        raise _Malformed(f"columns of {name!r} differ in length")
    return [kind(*row) for row in zip(*columns, strict=True)]


def _value(kind: Any, value: Any, name: str) -> Any:
    """Return a value of a column as rows of its type have it."""
    if value is None and (kind is Bound or NoneType in get_args(kind)):
        return math.inf if kind is Bound else None
    if kind is NodeEnd and value in [end.value for end in NodeEnd]:
        return NodeEnd(value)
    wanted = get_args(kind)[0] if kind is Bound or isinstance(kind, UnionType) else kind
    is_pair = type(value) is list and [type(each) for each in value] == [str, str]
    is_number = type(value) in (int, float) and math.isfinite(value)
    if wanted == tuple[str, str] and is_pair:
        return tuple(value)
    if wanted is float and is_number:
        return float(value)
    if wanted not in (str, bool, int) or type(value) is not wanted or (wanted is int and value < 0):
        raise _Malformed(f"a value in {name!r} that cannot be there")
    return value
