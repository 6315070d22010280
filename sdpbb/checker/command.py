"""Command line of the checker as a program, with its own readers of points and constraints.

It needs Python and NumPy, and python-flint for `--exact`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BufferedReader
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .kernel.certificate import Certificate
from .kernel.rejection import Rejected
from .kernel.rules import Limit, weight_rule
from .kernel.sizes import LARGEST_SUM, StatedMeasure
from .kernel.soft import CheckedSoftPairs, PricedPairs
from .kernel.stated import StatedInstance, pairs_of
from .verify import verify

VERIFIED, REJECTED, UNREADABLE = 0, 1, 2

_DESCRIPTION = """Check a certificate of sdpbb: prove its claim about a clustering problem again,
without the solver. The rounding of every number is accounted for. The verdict states what is
proven, including the number of clusters."""
_EXPECTED = (
    "ML i j, CL i j, i j 1, i j -1, SML i j w, SCL i j w, GAMMA x, DELTA x, "
    "MAXSIZE l, OVERLAP l i ..., DIFFERENCE l i ..., SOFTCL l i j ..., MINSIZE n, SIZES n n-n ..., "
    "MINWEIGHT w or MAXWEIGHT w"
)
_MAX_DIGITS, _LARGEST = 18, sys.float_info.max

Pairs = NDArray[np.int64]
Number = TypeVar("Number", int, float)


class Unreadable(Exception):
    """A file is not as expected; one line says which file, where and why."""


def main(arguments: Sequence[str]) -> int:
    """Check a certificate and print the verdict; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        with _opened(options.certificate) as file:
            points = read_points(options.points)
            weights = None if options.weights is None else read_weights(options.weights)
            certificate = Certificate.load(file)
            k = certificate.k if options.k is None else options.k
            stated = StatedInstance(points, k, weights=weights)
            if options.constraints is not None:
                stated = with_constraints(stated, options.constraints)
            verdict = verify(certificate, stated, options.workers, options.exact)
    except Unreadable as error:
        print(f"error: {error}", file=sys.stderr)
        return UNREADABLE
    except ImportError:
        print("error: --exact needs python-flint: pip install python-flint", file=sys.stderr)
        return UNREADABLE
    except Rejected as error:
        if options.json:
            print(json.dumps({"verified": False, "reason": str(error)}))
        print(f"{options.certificate}: rejected: {error}", file=sys.stderr)
        return REJECTED
    if options.gap is not None:
        verdict = verdict.judged(options.gap)
    print(json.dumps(verdict.to_dict()) if options.json else verdict)
    return VERIFIED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="checker",
        description=_DESCRIPTION,
        epilog="exit status: 0 verified, 1 rejected, 2 wrong usage or an unreadable file",
    )
    parser.add_argument("certificate", metavar="CERTIFICATE", help="the file to check")
    parser.add_argument(
        "points",
        metavar="POINTS",
        help="a NumPy array (.npy), or a line per point, numbers separated by commas or blanks",
    )
    parser.add_argument(
        "--constraints",
        metavar="FILE",
        help="lines 'ML i j' and 'CL i j', or 'i j 1' and 'i j -1', points numbered from 0; "
        "soft pairs, 'SML i j w' and 'SCL i j w'; and on clusters, as sdpbb has them",
    )
    parser.add_argument(
        "--weights",
        metavar="FILE",
        help="weights of the points: a NumPy array (.npy), or a number on a line for each",
    )
    parser.add_argument(
        "--k", type=int, metavar="K", help="reject a certificate of another number of clusters"
    )
    parser.add_argument(
        "--gap",
        type=_gap,
        metavar="G",
        help="call a clustering optimal if its proven gap is at most this, in [0, 1), and else "
        "feasible (default: as the certificate says)",
    )
    parser.add_argument(
        "--workers",
        type=_workers,
        default=1,
        metavar="N",
        help="threads, each of which checks one subset at a time where a certificate is about "
        "subsets (default: 1)",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="calculate with balls, which python-flint has; takes longer",
    )
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    return parser


def _workers(text: str) -> int:
    return _checked(int(text), 1, sys.maxsize)


def _gap(text: str) -> float:
    return _checked(float(text), 0.0, math.nextafter(1.0, 0.0))


def _checked(number: Number, least: float, most: float) -> Number:
    """Return a number; `ValueError` unless it is within the limits, also for nan."""
    if not least <= number <= most:
        raise ValueError
    return number


def _opened(path: str) -> BufferedReader:
    """Open a file."""
    try:
        return open(path, "rb")
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None


def read_points(path: str) -> NDArray[np.float64]:
    """Read the points (n, d) of a file.

    A file whose name ends in .npy is an array of numpy.save. Others have a point per line, its
    numbers separated by commas or blanks; text after # is a comment. The first line may be a
    heading without numbers, or `n d` or `n d k` before n lines of d numbers.

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
    """Read the weights (n,) of points from a file: one on each line, or an array of numpy.save.

    Raises
    ------
    Unreadable
        If these are not positive numbers from 1e-100 to 1e100.
    """
    weights = _table(path)
    weights = weights.reshape(-1) if weights.ndim == 2 and weights.shape[1] == 1 else weights
    if weights.ndim != 1 or not ((weights >= 1e-100) & (weights <= 1e100)).all():
        raise Unreadable(f"{path}: expected a positive number, 1e-100 to 1e100, for each point")
    return weights


def with_constraints(stated: StatedInstance, path: str) -> StatedInstance:
    """Return an instance with the constraints of a file of lines on its points, numbered from 0.

    Lines of pairs are `ML i j` and `CL i j`, or `i j 1` and `i j -1`. Lines of soft pairs are
    `SML i j w` and `SCL i j w`; w is 1 if it is missing, and inf makes the pair hard. Lines on
    clusters (docs/how-to/cluster-constraints.md) are `GAMMA x`, `DELTA x`, `MAXSIZE l`,
    `OVERLAP l i ...`, `DIFFERENCE l i ...`, `SOFTCL l i j ...`, `MINSIZE n`, `SIZES n n-n ...`,
    `MINWEIGHT w` and `MAXWEIGHT w`. Text after # is a comment.

    Raises
    ------
    Unreadable
        With the first line that is not one of these.
    """
    found: dict[str, list[Any]] = defaultdict(list)
    for number, line in _lines(path):
        try:
            kind, value = _constraint(line.split(), stated)
        except ValueError:
            raise Unreadable(
                f"{path}:{number}: {line[:60]!r}; expected {_EXPECTED}, i and j being different "
                f"numbers in 0..{stated.n - 1}"
            ) from None
        found[kind].append(value)
    must_link, cannot_link = (np.concatenate([pairs_of(), *found[kind]]) for kind in ("ML", "CL"))
    priced = (
        PricedPairs(
            np.concatenate([pairs_of(), *(pair for pair, _ in found[kind])]),
            np.array([weight for _, weight in found[kind]], np.float64),
        )
        for kind in ("SML", "SCL")
    )
    return replace(
        stated,
        must_link=must_link,
        cannot_link=cannot_link,
        rules=tuple(found["rule"]),
        soft=CheckedSoftPairs(*priced),
    )


def _constraint(fields: list[str], stated: StatedInstance) -> tuple[str, Any]:
    """Return the kind and the value of a line; `ValueError` if it is not a constraint.

    The value is pairs (p, 2), a soft pair with its weight, or a rule (kind "rule").
    """
    n, none = stated.n, pairs_of()
    match fields:
        case [("ML" | "CL") as kind, i, j]:
            return kind, _pairs([i, j], n)
        case ["SML" | "SCL" as kind, i, j, *weights] if len(weights) <= 1:
            pair, weight = _pairs([i, j], n), float(weights[0] if weights else "1")
            if _checked(weight, 0.0, np.inf) == np.inf:
                return kind[1:], pair
            return kind if weight else "nothing", (np.sort(pair), weight)
        case ["GAMMA" | "DELTA" as kind, distance]:
            is_near, limit = kind == "DELTA", _checked(float(distance), 0.0, _LARGEST)
            return "ML" if is_near else "CL", _pairs_at(stated.points, limit, is_near)
        case ["MINSIZE", least]:
            return "rule", StatedMeasure(_whole(least))
        case ["SIZES", _, *_]:
            ranges = [[_whole(end) for end in size.split("-")] for size in fields[1:]]
            if max(map(len, ranges)) > 2:
                raise ValueError
            listed = sorted((ends[0], ends[-1]) for ends in ranges)
            return "rule", StatedMeasure(listed=tuple(listed))
        case ["MINWEIGHT" | "MAXWEIGHT" as kind, limit]:
            weight = _checked(float(limit), 5e-324, _LARGEST)
            return "rule", weight_rule(kind == "MINWEIGHT", weight, stated.weights, n)
        case ["MAXSIZE", most] if _whole(most):
            return "rule", _limit(most, np.ones(n, np.int64), none)
        case ["OVERLAP" | "DIFFERENCE" as kind, most, _, *_]:
            inside = np.zeros(n, np.int64)
            inside[_points(fields[2:], n)] = 1
            return "rule", _limit(most, inside if kind == "OVERLAP" else 1 - inside, none)
        case ["SOFTCL", most, _, *_]:
            pairs = np.unique(np.sort(_pairs(fields[2:], n), axis=1), axis=0)
            return "rule", _limit(most, np.zeros(n, np.int64), pairs)
        case [i, j, ("1" | "-1") as sign]:  # last, as a line with a keyword may end in 1, too
            return "ML" if sign == "1" else "CL", _pairs([i, j], n)
    raise ValueError


def _limit(most: str, weights: Pairs, pairs: Pairs) -> Limit:
    return Limit(weights, pairs, min(_whole(most), LARGEST_SUM))


def _points(fields: Sequence[str], n: int) -> list[int]:
    points = [_whole(point) for point in fields]
    if max(points) >= n:
        raise ValueError
    return points


def _pairs(fields: Sequence[str], n: int) -> Pairs:
    pairs = np.array(_points(fields, n)).reshape(-1, 2)
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError
    return pairs


def _whole(text: str) -> int:
    """Return a whole number of at most 18 digits; `ValueError` for others."""
    if not text.isdecimal() or len(text) > _MAX_DIGITS:
        raise ValueError
    return int(text)


def _pairs_at(points: NDArray[np.float64], distance: float, near: bool) -> Pairs:
    """Return the pairs of points (n, d) that are nearer than a distance, or farther.

    The engine rounds distances in the same way, and finds the same pairs.
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
        with _opened(path) as file:
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
        del rows[0]  # n d, or n d k
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
    with _opened(path) as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"{path}: is no text") from None
    for number, line in enumerate(text.splitlines(), start=1):
        stated = line.partition("#")[0].strip()
        if stated:
            yield number, stated
