"""Files of points and of constraints, for the program that stands alone."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

# What three fields of a line of constraints say.
_LINKS = {"1": "ML", "-1": "CL"}
_MAX_DIGITS = 18


class Unreadable(Exception):
    """A file is not what it should be; one line says which, where and why."""


def read_bytes(path: str) -> bytes:
    """The content of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None


def read_points(path: str) -> NDArray[np.float64]:
    """The points (n, d) of a file: what numpy.save writes, if its name ends in .npy; otherwise a
    point per line, its numbers separated by commas or blanks, text after # being a comment.

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


def read_constraints(path: str, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The must-links and the cannot-links (p, 2) on points 0..n-1 of a file of lines `ML i j` and
    `CL i j`, or `i j 1` and `i j -1`; text after # is a comment.

    Raises
    ------
    Unreadable
        Naming the line that is neither.
    """
    pairs: dict[str, list[tuple[int, int]]] = {"ML": [], "CL": []}
    for number, line in _lines(path):
        fields = line.split()
        if len(fields) == 3 and fields[2] in _LINKS and fields[0] not in pairs:
            fields = [_LINKS[fields[2]], *fields[:2]]
        fits = len(fields) == 3 and fields[0] in pairs
        pair = tuple(int(field) for field in fields[1:] if _is_index(field)) if fits else ()
        if len(pair) != 2 or pair[0] == pair[1] or max(pair) >= n:
            raise Unreadable(
                f"{path}:{number}: {line[:60]!r}; expected ML i j, CL i j, i j 1 or i j -1, i and "
                f"j being different numbers in 0..{n - 1}"
            )
        pairs[fields[0]].append((pair[0], pair[1]))
    must_link, cannot_link = (np.array(p, np.int64).reshape(-1, 2) for p in pairs.values())
    return must_link, cannot_link


def _is_index(field: str) -> bool:
    """Whether it may be the number of a point: Python makes no numbers of thousands of digits."""
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
    """Whether the first row says of the others how many they are, and how long."""
    if len(rows) < 2 or len(rows[0]) not in (2, 3):
        return False
    return rows[0][:2] == [len(rows) - 1, len(rows[1])]


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers from 1."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"{path}: is no text") from None
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition("#")[0].strip()
        if content:
            yield number, content
