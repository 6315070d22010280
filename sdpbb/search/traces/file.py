"""Files of traces."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from sdpbb.errors import InstanceError
from sdpbb.problem.textfile import open_text
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.search.events import NodeEnd
from sdpbb.search.traces.trace import KIND, ProgressPoint, Trace, TracedLevel, TracedNode

Check = Callable[[Any], bool]


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
    trace.name, trace.status = (_checked(values.get(key), _is_text, key) for key in TEXTS)
    columns = _columns(values, "points", POINT_COLUMNS)
    trace.points = [
        ProgressPoint(seconds, _infinite(lower), _infinite(upper), n_nodes, n_open, source)
        for seconds, lower, upper, n_nodes, n_open, source in columns
    ]
    if "levels" in values:  # not in older files
        trace.levels = [TracedLevel(*row) for row in _columns(values, "levels", LEVEL_COLUMNS)]
    for parent, together, rows, lower, end in _columns(values, "nodes", NODE_COLUMNS):
        if parent is not None and parent >= len(trace.nodes):
            raise _Malformed("a node before its parent")
        if (parent is None) != (rows is None) or (parent is None) != (together is None):
            raise _Malformed("a node with half of a decision")
        pair = None if rows is None else (rows[0], rows[1])
        trace.nodes.append(TracedNode(parent, together, pair, _infinite(lower), NodeEnd(end)))
    return trace


def _columns(values: dict[str, Any], key: str, checks: dict[str, Check]) -> list[tuple[Any, ...]]:
    """Return the rows of a table that is stored by columns."""
    table = values.get(key)
    if not isinstance(table, dict) or not all(isinstance(table.get(name), list) for name in checks):
        raise _Malformed(f"no table {key!r}")
    for name, check in checks.items():
        for value in table[name]:
            _checked(value, check, f"{key}.{name}")
    if len({len(table[name]) for name in checks}) > 1:
        raise _Malformed(f"columns of {key!r} differ in length")
    return list(zip(*(table[name] for name in checks), strict=True))


def _checked(value: Any, check: Check, name: str) -> Any:
    if not check(value):
        raise _Malformed(f"a value in {name!r} that cannot be there")
    return value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    is_real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_real and math.isfinite(value)


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


TEXTS = ("name", "status")
POINT_COLUMNS: dict[str, Check] = {
    "seconds": _is_number,
    "lower": _or_none(_is_number),
    "upper": _or_none(_is_number),
    "n_nodes": _is_count,
    "n_open": _is_count,
    "source": _is_text,
}
LEVEL_COLUMNS: dict[str, Check] = {
    "n_subsets": _is_count,
    "n_bounded": _is_count,
    "n_blocks": _is_count,
    "n_dropped": _is_count,
    "began": _is_number,
    "ended": _is_number,
    "lower": _is_number,
}
NODE_COLUMNS: dict[str, Check] = {
    "parent": _or_none(_is_count),
    "together": lambda value: value is None or isinstance(value, bool),
    "rows": _or_none(_is_rows),
    "lower": _or_none(_is_number),
    "end": lambda value: value in [end.value for end in NodeEnd],
}


def _infinite(value: float | None) -> float:
    return math.inf if value is None else float(value)
