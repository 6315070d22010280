"""Files of constraints; `sdpbb.problem.formats` states the format."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import shown_path, write_atomically
from sdpbb.problem.textfile import (
    FilePath,
    is_integer,
    is_number,
    open_text,
    shown,
    without_comment,
)


def _no_pairs() -> NDArray[np.intp]:
    return np.empty((0, 2), np.intp)


@dataclass(frozen=True)
class Constraints:
    """What a constraint file holds.

    Attributes
    ----------
    must_link, cannot_link : (p, 2) pairs of row numbers, in the order of the file
    max_diameter, min_separation : distances in the units of the points, 0 <= x < inf, or None
    """

    must_link: NDArray[np.intp] = field(default_factory=_no_pairs)
    cannot_link: NDArray[np.intp] = field(default_factory=_no_pairs)
    max_diameter: float | None = None
    min_separation: float | None = None


def read_constraints(path: FilePath, n_points: int) -> Constraints:
    """Read the constraints on the points 0 to n_points - 1.

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    """
    pairs = {"ML": array("q"), "CL": array("q")}
    distances: dict[str, float] = {}
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            fields = without_comment(line).split()
            if not fields:
                continue
            where, keyword = f"{shown_path(path)}:{number}", fields[0]
            if keyword in pairs:
                pairs[keyword].extend(_pair(where, fields, n_points))
            elif keyword in distances:
                raise InstanceError(f"{where}: a second {keyword}; expected at most one")
            elif keyword in ("GAMMA", "DELTA"):
                distances[keyword] = _distance(where, fields)
            else:
                raise InstanceError(
                    f"{where}: unknown constraint {shown(keyword)}; "
                    "expected ML i j, CL i j, GAMMA x or DELTA x"
                )
    return Constraints(
        np.array(pairs["ML"], np.intp).reshape(-1, 2),
        np.array(pairs["CL"], np.intp).reshape(-1, 2),
        distances.get("GAMMA"),
        distances.get("DELTA"),
    )


def write_constraints(path: FilePath, constraints: Constraints) -> None:
    """Write a constraint file; `read_constraints` reads the same values back."""
    lines = [f"ML {i} {j}" for i, j in constraints.must_link.tolist()]
    lines += [f"CL {i} {j}" for i, j in constraints.cannot_link.tolist()]
    if constraints.max_diameter is not None:
        lines.append(f"GAMMA {constraints.max_diameter!r}")
    if constraints.min_separation is not None:
        lines.append(f"DELTA {constraints.min_separation!r}")
    write_atomically(path, "".join(f"{line}\n" for line in lines))


def _pair(where: str, fields: list[str], n_points: int) -> tuple[int, int]:
    constraint = shown(" ".join(fields))
    if len(fields) != 3 or not all(is_integer(row) for row in fields[1:]):
        raise InstanceError(f"{where}: {constraint}; expected {fields[0]} i j, two row numbers")
    i, j = int(fields[1]), int(fields[2])
    for row in (i, j):
        if not 0 <= row < n_points:
            raise InstanceError(
                f"{where}: {constraint} names row {row}, but the data has rows 0 to "
                f"{n_points - 1}; is the file for other data, or does it number rows from 1?"
            )
    if i == j:
        raise InstanceError(f"{where}: {constraint} pairs a point with itself; expected i != j")
    return i, j


def _distance(where: str, fields: list[str]) -> float:
    if len(fields) == 2 and is_number(fields[1]):
        distance = float(fields[1])
        if math.isfinite(distance) and distance >= 0:
            return distance
    raise InstanceError(
        f"{where}: {shown(' '.join(fields))}; expected {fields[0]} x, a finite distance x >= 0"
    )
