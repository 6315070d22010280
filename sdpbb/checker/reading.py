"""Readers of files of points and of constraints, for the checker as a program of its own."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader

import numpy as np
from numpy.typing import NDArray

from .kernel.rules import Limit, Rules, weight_rule
from .kernel.sizes import LARGEST_SUM, StatedMeasure
from .kernel.soft import CheckedSoftPairs, PricedPairs

# What three fields of a line of constraints say.
_LINKS = {"1": "ML", "-1": "CL"}
_EXPECTED = (
    "ML i j, CL i j, i j 1, i j -1, SML i j w, SCL i j w, GAMMA x, DELTA x, "
    "MAXSIZE l, OVERLAP l i ..., DIFFERENCE l i ..., SOFTCL l i j ..., MINSIZE n, SIZES n n-n ..., "
    "MINWEIGHT w or MAXWEIGHT w"
)
_MAX_DIGITS = 18


class Unreadable(Exception):
    """A file is not as it should be; one line says which, where and why."""


def opened(path: str) -> BufferedReader:
    """Open a file."""
    try:
        return open(path, "rb")
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None


def read_bytes(path: str) -> bytes:
    """Return the content of a file."""
    with opened(path) as file:
        return file.read()


def read_points(path: str) -> NDArray[np.float64]:
    """Read the points (n, d) of a file.

    It is what numpy.save writes, if its name ends in .npy; otherwise a point per line, its numbers
    separated by commas or blanks, text after # being a comment.

    The first line may be a heading, without any number, or `n d` or `n d k`, where n lines of d
    numbers follow.

    Raises
    ------
    Unreadable
        If it is neither.
    """
    points = _npy(path) if path.lower().endswith(".npy") else _table(path)
    if points.ndim != 2 or not points.size or not np.isfinite(points).all():
        raise Unreadable(f"{path}: expected finite numbers, as many for each point")
    return points


def read_weights(path: str) -> NDArray[np.float64]:
    """Read the weights (n,) of points from a file, one on each line or what numpy.save writes.

    Raises
    ------
    Unreadable
        If these are no positive numbers, from 1e-100 to 1e100.
    """
    weights = _npy(path) if path.lower().endswith(".npy") else _table(path)
    weights = weights.reshape(-1) if weights.ndim == 2 and weights.shape[1] == 1 else weights
    if weights.ndim != 1 or not ((weights >= 1e-100) & (weights <= 1e100)).all():
        raise Unreadable(f"{path}: expected a positive number, 1e-100 to 1e100, for each point")
    return weights


@dataclass(frozen=True)
class Stated:
    """Constraints of a file.

    must_link, cannot_link : (p, 2) pairs of points
    rules : on clusters, besides
    soft : pairs that cost their weights where they are violated
    """

    must_link: NDArray[np.int64]
    cannot_link: NDArray[np.int64]
    rules: Rules
    soft: CheckedSoftPairs = field(default_factory=CheckedSoftPairs)


NOTHING = Stated(np.empty((0, 2), np.int64), np.empty((0, 2), np.int64), ())


def read_constraints(
    path: str, points: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> Stated:
    """Read the constraints of a file of lines on points (n, d), numbered from 0.

    weights : (n,) of the points, None for 1 each

    Lines are `ML i j` and `CL i j`, or `i j 1` and `i j -1`; `SML i j w` and `SCL i j w`,
    soft pairs, whose weight w is 1 if it is left out, and inf for a hard one; and on clusters
    (docs/how-to/cluster-constraints.md): `GAMMA x`, `DELTA x`, `MAXSIZE l`, `OVERLAP l i ...`,
    `DIFFERENCE l i ...`, `SOFTCL l i j ...`, `MINSIZE n`, `SIZES n n-n ...`, `MINWEIGHT w`,
    `MAXWEIGHT w`. Text after # is a comment.

    Raises
    ------
    Unreadable
        Naming the line that is none of these.
    """
    n = len(points)
    links: dict[str, list[NDArray[np.int64]]] = {"ML": [_pairs([])], "CL": [_pairs([])]}
    rules: list[Limit | StatedMeasure] = []
    soft: dict[str, list[tuple[int, int, float]]] = {"SML": [], "SCL": []}
    for number, line in _lines(path):
        keyword, *rest = line.split()
        try:
            if len(rest) == 2 and rest[1] in _LINKS and keyword not in links:
                links[_LINKS[rest[1]]].append(_paired(_indices([keyword, rest[0]], n), length=1))
            elif keyword in links:
                links[keyword].append(_paired(_indices(rest, n), length=1))
            elif keyword in soft:
                i, j, weight = _soft_pair(rest, n)
                if weight == np.inf:
                    links[keyword[1:]].append(_pairs([(i, j)]))
                else:
                    soft[keyword].append((i, j, weight))
            elif keyword in ("GAMMA", "DELTA"):
                near, distance = keyword == "DELTA", _distance(rest)
                links["ML" if near else "CL"].append(_pairs_at(points, distance, near))
            elif keyword in ("MINSIZE", "SIZES"):
                rules.append(_sizes(keyword, rest))
            elif keyword in ("MINWEIGHT", "MAXWEIGHT"):
                rules.append(weight_rule(keyword == "MINWEIGHT", _weight(rest), weights, n))
            else:
                rules.append(_limit(keyword, rest, n))
        except ValueError:
            raise Unreadable(
                f"{path}:{number}: {line[:60]!r}; expected {_EXPECTED}, i and j being different "
                f"numbers in 0..{n - 1}"
            ) from None
    priced = CheckedSoftPairs(_priced(soft["SML"], n), _priced(soft["SCL"], n))
    return Stated(np.concatenate(links["ML"]), np.concatenate(links["CL"]), tuple(rules), priced)


def _soft_pair(fields: list[str], n: int) -> tuple[int, int, float]:
    """Return the points and the weight of a soft pair; `ValueError` for something else."""
    weight = float(fields[2]) if len(fields) == 3 else 1.0
    ((i, j),) = _paired(_indices(fields[:2] if len(fields) == 3 else fields, n), length=1).tolist()
    if not weight >= 0.0:
        raise ValueError
    return i, j, weight


def _priced(soft: list[tuple[int, int, float]], n: int) -> PricedPairs:
    pairs, weights = [(i, j) for i, j, _ in soft], [weight for _, _, weight in soft]
    return PricedPairs.of(_pairs(pairs), weights, n, "soft pairs")


def _sizes(keyword: str, fields: list[str]) -> StatedMeasure:
    """Return the sizes that a line states; `ValueError` if it states something else."""
    if keyword == "SIZES" and fields:
        ends = [_whole(field.split("-")) for field in fields]
        if not all(1 <= len(each) <= 2 for each in ends):
            raise ValueError
        return StatedMeasure(listed=tuple(sorted((each[0], each[-1]) for each in ends)))
    (least,) = _whole(fields)
    return StatedMeasure(least)


def _weight(fields: list[str]) -> float:
    """Return the weight that a line states; `ValueError` if it states something else."""
    (field,) = fields
    weight = float(field)
    if not 0.0 < weight < np.inf:
        raise ValueError
    return weight


def _limit(keyword: str, fields: list[str], n: int) -> Limit:
    """Return the limit that a line states; `ValueError` if it states something else."""
    (most,), numbers = _whole(fields[:1]), _indices(fields[1:], n)
    if bool(numbers) == (keyword == "MAXSIZE") or (keyword == "MAXSIZE" and most < 1):
        raise ValueError
    weights, none = np.zeros(n, np.int64), _pairs([])
    weights[numbers] = 1
    most = min(most, LARGEST_SUM)
    match keyword:
        case "MAXSIZE":
            return Limit(np.ones(n, np.int64), none, most)
        case "OVERLAP":
            return Limit(weights, none, most)
        case "DIFFERENCE":
            return Limit(1 - weights, none, most)
        case "SOFTCL":
            pairs = np.unique(np.sort(_paired(numbers), axis=1), axis=0)
            return Limit(np.zeros(n, np.int64), pairs, most)
    raise ValueError


def _paired(numbers: list[int], length: int | None = None) -> NDArray[np.int64]:
    pairs = _pairs(list(zip(numbers[::2], numbers[1::2], strict=True)))
    if length not in (None, len(pairs)) or (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError
    return pairs


def _pairs(pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(pairs, np.int64).reshape(-1, 2)


def _pairs_at(points: NDArray[np.float64], distance: float, near: bool) -> NDArray[np.int64]:
    """Return the pairs of points (n, d) that are nearer than a distance, or farther.

    Distances are computed from differences: the pairs are the same for whoever computes them so.
    """
    found = [_pairs([])]
    for i in range(len(points) - 1):
        distances = np.sqrt(((points[i + 1 :] - points[i]) ** 2).sum(axis=1))
        j = np.flatnonzero(distances < distance if near else distances > distance) + (i + 1)
        found.append(np.column_stack([np.full(len(j), i), j]))
    return np.concatenate(found)


def _distance(fields: list[str]) -> float:
    (field,) = fields
    distance = float(field)
    if not 0.0 <= distance < np.inf:
        raise ValueError
    return distance


def _indices(fields: list[str], n: int) -> list[int]:
    numbers = _whole(fields)
    if max(numbers, default=0) >= n:
        raise ValueError
    return numbers


def _whole(fields: list[str]) -> list[int]:
    """Return whole numbers: Python makes none of thousands of digits."""
    if not all(_is_index(field) for field in fields):
        raise ValueError
    return [int(field) for field in fields]


def _is_index(field: str) -> bool:
    """Return whether a field may be the number of a point.

    Python makes no numbers of thousands of digits.
    """
    return field.isdecimal() and len(field) <= _MAX_DIGITS


def _npy(path: str) -> NDArray[np.float64]:
    try:
        with open(path, "rb") as file:
            array = np.load(file, allow_pickle=False)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None
    except (ValueError, EOFError, OverflowError, MemoryError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split())
        raise Unreadable(f"{path}: not an array as numpy.save writes it ({reason})") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        raise Unreadable(f"{path}: expected an array of numbers")
    return array.astype(np.float64)


def _table(path: str) -> NDArray[np.float64]:
    rows: list[list[float]] = []
    for number, line in _lines(path):
        fields = line.split(",") if "," in line else line.split()
        values = [_number(field) for field in fields]
        numbers = [value for value in values if value is not None]
        if not rows and not numbers:
            continue
        if len(numbers) < len(values):
            raise Unreadable(f"{path}:{number}: {line[:60]!r}; expected numbers only")
        rows.append(numbers)
    if _is_size(rows):
        del rows[0]
    if any(len(row) != len(rows[0]) for row in rows):
        raise Unreadable(f"{path}: expected as many numbers for each point")
    return np.array(rows, np.float64)


def _is_size(rows: list[list[float]]) -> bool:
    """Return whether the first row says of the others how many they are, and how long."""
    if len(rows) < 2 or len(rows[0]) not in (2, 3):
        return False
    return rows[0][:2] == [len(rows) - 1, len(rows[1])]


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Return the lines that are neither blank nor comments, with their numbers from 1."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"{path}: is no text") from None
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition("#")[0].strip()
        if content:
            yield number, content
