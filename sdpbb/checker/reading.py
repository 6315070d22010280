"""Readers of files of points and of constraints, for the checker as a program of its own."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import BufferedReader

import numpy as np
from numpy.typing import NDArray

from .kernel.rules import Limit, Rule, weight_rule
from .kernel.sizes import LARGEST_SUM, StatedMeasure
from .kernel.soft import CheckedSoftPairs, PricedPairs
from .kernel.stated import StatedInstance, pairs_of

_EXPECTED = (
    "ML i j, CL i j, i j 1, i j -1, SML i j w, SCL i j w, GAMMA x, DELTA x, "
    "MAXSIZE l, OVERLAP l i ..., DIFFERENCE l i ..., SOFTCL l i j ..., MINSIZE n, SIZES n n-n ..., "
    "MINWEIGHT w or MAXWEIGHT w"
)
_MAX_DIGITS = 18

Pairs = NDArray[np.int64]


class Unreadable(Exception):
    """A file is not as it should be; one line says which, where and why."""


def opened(path: str) -> BufferedReader:
    """Open a file."""
    try:
        return open(path, "rb")
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None


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
    points = _table(path)
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
    weights = _table(path)
    weights = weights.reshape(-1) if weights.ndim == 2 and weights.shape[1] == 1 else weights
    if weights.ndim != 1 or not ((weights >= 1e-100) & (weights <= 1e100)).all():
        raise Unreadable(f"{path}: expected a positive number, 1e-100 to 1e100, for each point")
    return weights


def with_constraints(stated: StatedInstance, path: str) -> StatedInstance:
    """Return an instance with the constraints of a file of lines on its points, numbered from 0.

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
    found = _Lines(stated)
    for number, line in _lines(path):
        try:
            found.read(line.split())
        except ValueError:
            raise Unreadable(
                f"{path}:{number}: {line[:60]!r}; expected {_EXPECTED}, i and j being different "
                f"numbers in 0..{stated.n - 1}"
            ) from None
    return found.instance()


@dataclass
class _Lines:
    """Constraints of lines on the points of an instance, as far as they are read.

    links : must-links and cannot-links, some at a time, by their keywords
    soft : soft pairs i, j, weight
    """

    stated: StatedInstance
    links: dict[str, list[Pairs]] = field(default_factory=lambda: {"ML": [], "CL": []})
    soft: dict[str, list[tuple[int, int, float]]] = field(
        default_factory=lambda: {"SML": [], "SCL": []}
    )
    rules: list[Rule] = field(default_factory=list)

    def read(self, fields: list[str]) -> None:
        """Add what a line says; `ValueError` if it is none."""
        n, none = self.stated.n, pairs_of()
        match fields:
            case [("ML" | "CL") as kind, i, j]:
                self.links[kind].append(self._pairs([i, j]))
            case [i, j, ("1" | "-1") as sign]:
                self.links["ML" if sign == "1" else "CL"].append(self._pairs([i, j]))
            case ["SML" | "SCL" as kind, i, j, *stated] if len(stated) <= 1:
                pair, weight = self._pairs([i, j]), _number(stated[0] if stated else "1", 0.0)
                if weight == np.inf:
                    self.links[kind[1:]].append(pair)
                else:
                    self.soft[kind].append((*pair[0].tolist(), weight))
            case ["GAMMA" | "DELTA" as kind, distance]:
                is_near, limit = kind == "DELTA", _finite(distance, 0.0)
                found = _pairs_at(self.stated.points, limit, is_near)
                self.links["ML" if is_near else "CL"].append(found)
            case ["MINSIZE", least]:
                self.rules.append(StatedMeasure(_whole(least)))
            case ["SIZES", _, *_]:
                ranges = [[_whole(end) for end in size.split("-")] for size in fields[1:]]
                if max(map(len, ranges)) > 2:
                    raise ValueError
                listed = tuple(sorted((ends[0], ends[-1]) for ends in ranges))
                self.rules.append(StatedMeasure(listed=listed))
            case ["MINWEIGHT" | "MAXWEIGHT" as kind, limit]:
                weight = _finite(limit, np.nextafter(0.0, 1.0))
                rule = weight_rule(kind == "MINWEIGHT", weight, self.stated.weights, n)
                self.rules.append(rule)
            case ["MAXSIZE", most] if _whole(most):
                self._limit(most, np.ones(n, np.int64), none)
            case ["OVERLAP" | "DIFFERENCE" as kind, most, _, *_]:
                weights = np.zeros(n, np.int64)
                weights[self._points(fields[2:])] = 1
                self._limit(most, weights if kind == "OVERLAP" else 1 - weights, none)
            case ["SOFTCL", most, _, *_]:
                pairs = np.unique(np.sort(self._pairs(fields[2:]), axis=1), axis=0)
                self._limit(most, np.zeros(n, np.int64), pairs)
            case _:
                raise ValueError

    def instance(self) -> StatedInstance:
        """Return the instance with the constraints."""
        must_link, cannot_link = (
            np.concatenate([pairs_of(), *self.links[kind]]) for kind in ("ML", "CL")
        )
        return replace(
            self.stated,
            must_link=must_link,
            cannot_link=cannot_link,
            rules=tuple(self.rules),
            soft=CheckedSoftPairs(self._priced("SML"), self._priced("SCL")),
        )

    def _priced(self, kind: str) -> PricedPairs:
        pairs, weights = [(i, j) for i, j, _ in self.soft[kind]], [w for *_, w in self.soft[kind]]
        return PricedPairs.of(pairs, weights, self.stated.n, "soft pairs")

    def _limit(self, most: str, weights: NDArray[np.int64], pairs: Pairs) -> None:
        self.rules.append(Limit(weights, pairs, min(_whole(most), LARGEST_SUM)))

    def _points(self, fields: Sequence[str]) -> list[int]:
        points = [_whole(point) for point in fields]
        if max(points) >= self.stated.n:
            raise ValueError
        return points

    def _pairs(self, fields: Sequence[str]) -> Pairs:
        pairs = np.array(self._points(fields)).reshape(-1, 2)
        if (pairs[:, 0] == pairs[:, 1]).any():
            raise ValueError
        return pairs


def _whole(text: str) -> int:
    """Return a whole number: Python makes none of thousands of digits."""
    if not text.isdecimal() or len(text) > _MAX_DIGITS:
        raise ValueError
    return int(text)


def _number(text: str, least: float) -> float:
    number = float(text)
    if not number >= least:
        raise ValueError
    return number


def _finite(text: str, least: float) -> float:
    number = _number(text, least)
    if number == np.inf:
        raise ValueError
    return number


def _pairs_at(points: NDArray[np.float64], distance: float, near: bool) -> Pairs:
    """Return the pairs of points (n, d) that are nearer than a distance, or farther.

    Distances are computed from differences: the pairs are the same for whoever computes them so.
    """
    found = [pairs_of()]
    for i in range(len(points) - 1):
        distances = np.sqrt(((points[i + 1 :] - points[i]) ** 2).sum(axis=1))
        j = np.flatnonzero(distances < distance if near else distances > distance) + (i + 1)
        found.append(np.column_stack([np.full(len(j), i), j]))
    return np.concatenate(found)


def _table(path: str) -> NDArray[np.float64]:
    """Return the numbers of a file: an array of numpy.save, or lines."""
    return _npy(path) if path.lower().endswith(".npy") else _rows(path)


def _npy(path: str) -> NDArray[np.float64]:
    try:
        with opened(path) as file:
            array = np.load(file, allow_pickle=False)
    except (ValueError, EOFError, OverflowError, MemoryError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split())
        raise Unreadable(f"{path}: not an array as numpy.save writes it ({reason})") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        raise Unreadable(f"{path}: expected an array of numbers")
    return array.astype(np.float64)


def _rows(path: str) -> NDArray[np.float64]:
    rows: list[list[float]] = []
    for number, line in _lines(path):
        fields = line.split(",") if "," in line else line.split()
        try:
            rows.append([float(field) for field in fields])
        except ValueError:
            if rows or any(map(_is_number, fields)):
                raise Unreadable(f"{path}:{number}: {line[:60]!r}; expected numbers only") from None
    if len(rows) > 1 and len(rows[0]) in (2, 3) and rows[0][:2] == [len(rows) - 1, len(rows[1])]:
        del rows[0]  # how many points there are, how long, and k
    if any(len(row) != len(rows[0]) for row in rows):
        raise Unreadable(f"{path}: expected as many numbers for each point")
    return np.array(rows, np.float64)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Return the lines that are neither blank nor comments, with their numbers from 1."""
    with opened(path) as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"{path}: is no text") from None
    for number, line in enumerate(text.splitlines(), start=1):
        stated = line.partition("#")[0].strip()
        if stated:
            yield number, stated
