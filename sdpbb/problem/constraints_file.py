"""Files of constraints; `sdpbb.problem.formats` states the format."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import shown_path, write_atomically
from sdpbb.problem.cluster_constraints import (
    BUILT_IN,
    ClusterConstraint,
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    SoftCannotLinks,
)
from sdpbb.problem.instance import SoftPairs
from sdpbb.problem.textfile import (
    FilePath,
    is_integer,
    is_number,
    open_text,
    shown,
    without_comment,
)

_SOFT = "two row numbers and a weight 0 < w <= 1 (1 if it is left out)"
# What a line of each kind looks like.
_FORMS = {
    "ML": "ML i j, two row numbers",
    "CL": "CL i j, two row numbers",
    "SML": f"SML i j w, {_SOFT}",
    "SCL": f"SCL i j w, {_SOFT}",
    "GAMMA": "GAMMA x, a finite distance x >= 0",
    "DELTA": "DELTA x, a finite distance x >= 0",
    "MAXSIZE": "MAXSIZE n, an integer n >= 1",
    "OVERLAP": "OVERLAP l i j ..., an integer l >= 0 and row numbers",
    "DIFFERENCE": "DIFFERENCE l i j ..., an integer l >= 0 and row numbers",
    "SOFTCL": "SOFTCL l i j i j ..., an integer l >= 0 and pairs of row numbers",
}


def _no_pairs() -> NDArray[np.intp]:
    return np.empty((0, 2), np.intp)


def _no_lines() -> NDArray[np.intp]:
    return np.empty(0, np.intp)


@dataclass(frozen=True)
class Constraints:
    """What a constraint file holds.

    Attributes
    ----------
    must_link, cannot_link : (p, 2) pairs of row numbers, in the order of the file
    max_diameter, min_separation : distances in the units of the points, 0 <= x < inf, or None
    soft_must_link, soft_cannot_link : pairs (p, 2) of row numbers and their weights (p,) in (0, 1],
        in the order of the file
    cluster_constraints : the lines on single clusters, in the order of the file
    must_link_lines, cannot_link_lines : (p,) the line of each pair, from 1; empty if not from a
        file
    """

    must_link: NDArray[np.intp] = field(default_factory=_no_pairs)
    cannot_link: NDArray[np.intp] = field(default_factory=_no_pairs)
    max_diameter: float | None = None
    min_separation: float | None = None
    soft_must_link: SoftPairs = field(default_factory=SoftPairs)
    soft_cannot_link: SoftPairs = field(default_factory=SoftPairs)
    cluster_constraints: tuple[ClusterConstraint, ...] = ()
    must_link_lines: NDArray[np.intp] = field(default_factory=_no_lines)
    cannot_link_lines: NDArray[np.intp] = field(default_factory=_no_lines)


def read_constraints(path: FilePath, n_points: int) -> Constraints:
    """Read the constraints on the points 0 to n_points - 1.

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    """
    hard = {"ML": array("q"), "CL": array("q")}
    lines = {"ML": array("q"), "CL": array("q")}
    soft = {"SML": array("q"), "SCL": array("q")}
    weights = {"SML": array("d"), "SCL": array("d")}
    distances: dict[str, float] = {}
    on_clusters: list[ClusterConstraint] = []
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            fields = without_comment(line).split()
            if not fields:
                continue
            where, keyword = f"{shown_path(path)}:{number}", fields[0]
            if keyword in hard:
                if len(fields) != 3:
                    raise _wrong(where, fields)
                hard[keyword].extend(_pair(where, fields, n_points))
                lines[keyword].append(number)
            elif keyword in soft:
                weights[keyword].append(_weight(where, fields))
                soft[keyword].extend(_pair(where, fields, n_points))
            elif keyword in distances:
                raise InstanceError(f"{where}: a second {keyword}; expected at most one")
            elif keyword in ("GAMMA", "DELTA"):
                distances[keyword] = _distance(where, fields)
            elif keyword in _FORMS:
                on_clusters.append(_on_clusters(where, fields, n_points))
            else:
                raise InstanceError(
                    f"{where}: unknown constraint {shown(keyword)}; expected ML i j, CL i j, "
                    "SML i j w, SCL i j w, GAMMA x, DELTA x, MAXSIZE n, OVERLAP l i j ..., "
                    "DIFFERENCE l i j ... or SOFTCL l i j i j ..."
                )
    return Constraints(
        _pairs(hard["ML"]),
        _pairs(hard["CL"]),
        distances.get("GAMMA"),
        distances.get("DELTA"),
        SoftPairs(_pairs(soft["SML"]), np.array(weights["SML"])),
        SoftPairs(_pairs(soft["SCL"]), np.array(weights["SCL"])),
        tuple(on_clusters),
        np.array(lines["ML"], np.intp),
        np.array(lines["CL"], np.intp),
    )


def write_constraints(path: FilePath, constraints: Constraints) -> None:
    """Write a constraint file; `read_constraints` reads the same values back.

    Raises
    ------
    InstanceError
        For a constraint on clusters that no line stands for.
    """
    lines = [f"ML {i} {j}" for i, j in constraints.must_link.tolist()]
    lines += [f"CL {i} {j}" for i, j in constraints.cannot_link.tolist()]
    lines += _soft_lines("SML", constraints.soft_must_link)
    lines += _soft_lines("SCL", constraints.soft_cannot_link)
    if constraints.max_diameter is not None:
        lines.append(f"GAMMA {constraints.max_diameter!r}")
    if constraints.min_separation is not None:
        lines.append(f"DELTA {constraints.min_separation!r}")
    lines += map(_line_on_clusters, constraints.cluster_constraints)
    write_atomically(path, "".join(f"{line}\n" for line in lines))


def _soft_lines(keyword: str, soft: SoftPairs) -> list[str]:
    rows = zip(soft.pairs.tolist(), soft.weights.tolist(), strict=True)
    return [f"{keyword} {i} {j} {weight!r}" for (i, j), weight in rows]


def _line_on_clusters(constraint: ClusterConstraint) -> str:
    match constraint if type(constraint) in BUILT_IN else None:
        case MaximumSize(limit):
            return f"MAXSIZE {limit}"
        case MaximumOverlap(points, limit) if points:
            return " ".join(map(str, ("OVERLAP", limit, *points)))
        case MinimumDifference(points, limit) if points:
            return " ".join(map(str, ("DIFFERENCE", limit, *points)))
        case SoftCannotLinks(pairs, limit) if pairs:
            return " ".join(map(str, ("SOFTCL", limit, *chain.from_iterable(pairs))))
    raise InstanceError(
        f"cluster_constraints: {constraint!r} has no line in a file of constraints; expected a "
        "MaximumSize, MaximumOverlap, MinimumDifference or SoftCannotLinks, none of them empty"
    )


def _pairs(numbers: array[int]) -> NDArray[np.intp]:
    return np.array(numbers, np.intp).reshape(-1, 2)


def _pair(where: str, fields: list[str], n_points: int) -> tuple[int, int]:
    if not (is_integer(fields[1]) and is_integer(fields[2])):
        raise _wrong(where, fields)
    i, j = int(fields[1]), int(fields[2])
    if i != j and 0 <= i < n_points and 0 <= j < n_points:
        return i, j
    _check_rows(where, fields, [i, j], n_points)
    raise InstanceError(f"{where}: {_line(fields)} pairs a point with itself; expected i != j")


def _check_rows(where: str, fields: list[str], rows: list[int], n_points: int) -> None:
    for row in rows:
        if not 0 <= row < n_points:
            raise InstanceError(
                f"{where}: {_line(fields)} names row {row}, but the data has rows 0 to "
                f"{n_points - 1}; is the file for other data, or does it number rows from 1?"
            )


def _on_clusters(where: str, fields: list[str], n_points: int) -> ClusterConstraint:
    keyword = fields[0]
    if len(fields) < 2 or not all(map(is_integer, fields[1:])):
        raise _wrong(where, fields)
    limit, *rows = map(int, fields[1:])
    if limit < (keyword == "MAXSIZE") or bool(rows) == (keyword == "MAXSIZE"):
        raise _wrong(where, fields)
    _check_rows(where, fields, rows, n_points)
    match keyword:
        case "MAXSIZE":
            return MaximumSize(limit)
        case "OVERLAP":
            return MaximumOverlap(tuple(rows), limit)
        case "DIFFERENCE":
            return MinimumDifference(tuple(rows), limit)
    if len(rows) % 2:
        raise _wrong(where, fields)
    pairs = tuple(zip(rows[::2], rows[1::2], strict=True))
    if any(i == j for i, j in pairs):
        raise InstanceError(f"{where}: {_line(fields)} pairs a point with itself; expected i != j")
    return SoftCannotLinks(pairs, limit)


def _weight(where: str, fields: list[str]) -> float:
    if len(fields) == 3:
        return 1.0
    if len(fields) == 4 and is_number(fields[3]):
        weight = float(fields[3])
        if 0 < weight <= 1:
            return weight
    raise _wrong(where, fields)


def _distance(where: str, fields: list[str]) -> float:
    if len(fields) == 2 and is_number(fields[1]):
        distance = float(fields[1])
        if math.isfinite(distance) and distance >= 0:
            return distance
    raise _wrong(where, fields)


def _wrong(where: str, fields: list[str]) -> InstanceError:
    return InstanceError(f"{where}: {_line(fields)}; expected {_FORMS[fields[0]]}")


def _line(fields: list[str]) -> str:
    return shown(" ".join(fields))
