"""The smallest that still shows what was found, by leaving out one thing after the other."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import numpy as np

from attacks.shapes import Case

SECONDS = 20.0


def smallest_case(case: Case, shows: Callable[[Case], bool], seconds: float = SECONDS) -> Case:
    """Fewer links, points and coordinates, as long as `shows` holds and the time lasts."""
    until = time.monotonic() + seconds
    changed = True
    while changed and time.monotonic() < until:
        changed = False
        for smaller in _smaller(case):
            if time.monotonic() > until:
                break
            if shows(smaller):
                case, changed = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    for i in range(case.n if case.n > 1 else 0):
        yield without_point(case, i)
    for p in range(len(case.must_link)):
        links = np.delete(case.must_link, p, axis=0)
        yield Case(case.points, case.k, links, case.cannot_link)
    for p in range(len(case.cannot_link)):
        links = np.delete(case.cannot_link, p, axis=0)
        yield Case(case.points, case.k, case.must_link, links)
    d = case.points.shape[1]
    for c in range(d if 1 < d <= 10 else 0):
        points = np.delete(case.points, c, axis=1)
        yield Case(points, case.k, case.must_link, case.cannot_link)
    if d > 10:
        for half in (case.points[:, : d // 2], case.points[:, d // 2 :]):
            yield Case(half, case.k, case.must_link, case.cannot_link)


def without_point(case: Case, i: int) -> Case:
    """The other points, and the links between them."""

    def kept(pairs):  # type: ignore[no-untyped-def]
        inside = pairs[(pairs != i).all(axis=1)]
        return inside - (inside > i)

    points = np.delete(case.points, i, axis=0)
    return Case(points, min(case.k, len(points)), kept(case.must_link), kept(case.cannot_link))


def smallest_bytes(content: bytes, shows: Callable[[bytes], bool], seconds: float) -> bytes:
    """Fewer bytes, in halves, quarters, ... that are left out, as long as `shows` holds."""
    until = time.monotonic() + seconds
    size = max(len(content) // 2, 1)
    while time.monotonic() < until:
        start, changed = 0, False
        while start < len(content) and time.monotonic() < until:
            shorter = content[:start] + content[start + size :]
            if shows(shorter):
                content, changed = shorter, True
            else:
                start += size
        if size == 1 and not changed:
            break
        size = size if changed and size == 1 else max(size // 2, 1)
    return content


def shown(content: bytes, most: int = 600) -> str:
    """Bytes as Python writes them, repeated ones as a product."""
    pieces: list[str] = []
    position = 0
    for run in re.finditer(rb"(.)\1{19,}", content, re.DOTALL):
        if run.start() > position:
            pieces.append(repr(content[position : run.start()]))
        pieces.append(f"{run[1]!r} * {len(run[0])}")
        position = run.end()
    if position < len(content) or not pieces:
        pieces.append(repr(content[position:]))
    text = " + ".join(pieces)
    return text if len(text) <= most else f"{text[:most]}... ({len(content)} bytes)"
