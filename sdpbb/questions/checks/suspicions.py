"""Warnings about valid but suspicious instances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Instance
from sdpbb.problem.graph import distinct_edges
from sdpbb.problem.statements import Catalogue, place_of_pair
from sdpbb.problem.textfile import name_in_file
from sdpbb.runtime.values import counted

# Repeated lines, and cannot-links between equal points, that are listed one by one.
LISTED = 100


def suspicions(instance: Instance) -> Iterator[str]:
    """Yield a warning for each suspicious fact, on one line.

    Suspicious are pairs stated twice or both ways, cannot-links between equal points, equal points,
    constant features.
    """
    yield from _stated_both_ways(instance)
    for argument in ("must_link", "cannot_link"):
        yield from _repeated(instance, argument)
    if instance.has_soft_constraints:
        n_soft = len(instance.soft_must_link) + len(instance.soft_cannot_link)
        yield f"{counted(n_soft, 'soft constraint')} not checked"
    _, first, same = np.unique(instance.points, axis=0, return_index=True, return_inverse=True)
    same = same.reshape(-1)
    yield from _apart_though_equal(instance, same)
    again = np.setdiff1d(np.arange(instance.n_points), first).tolist()
    if again:
        example = " equals ".join(
            map(name_in_file, instance.origin.rows((again[0], int(first[same[again[0]]]))))
        )
        and_more = f", and {len(again) - 1} more that equal earlier ones" if again[1:] else ""
        yield f"equal points: {example}{and_more}"
    if len(first) < instance.k:
        yield f"only {counted(len(first), 'different point')} for k = {instance.k} clusters"
    constant = np.flatnonzero(np.ptp(instance.points, axis=0) == 0)
    if len(constant):
        columns = ", ".join(map(str, constant[:LISTED]))
        yield f"the same value in all points: column {columns} of the features, counted from 0"


def _stated_both_ways(instance: Instance) -> Iterator[str]:
    must, cannot = distinct_edges(instance.must_link), distinct_edges(instance.cannot_link)
    n = instance.n_points
    both = np.isin(must @ [n, 1], cannot @ [n, 1])
    if both.any():
        yield f"{counted(int(both.sum()), 'pair')} stated both as a must-link and a cannot-link"


def _repeated(instance: Instance, argument: str) -> Iterator[str]:
    pairs: NDArray[np.intp] = getattr(instance, argument)
    _, first, inverse = np.unique(
        pairs @ [instance.n_points, 1], return_index=True, return_inverse=True
    )
    earlier = first[inverse.reshape(-1)]
    repeated = np.flatnonzero(earlier != np.arange(len(pairs)))
    for position in repeated[:LISTED].tolist():
        place = place_of_pair(instance, argument, position)
        before = place_of_pair(instance, argument, int(earlier[position]))
        yield f"{place} repeats {before}"
    if len(repeated) > LISTED:
        yield f"{len(repeated) - LISTED} more in {argument} repeat earlier ones"


def _apart_though_equal(instance: Instance, same: NDArray[np.intp]) -> Iterator[str]:
    """Yield a line for each cannot-link between equal points.

    same : (n,) a number for each point, equal for equal points
    """
    i, j = instance.cannot_link.T
    equal = np.flatnonzero(same[i] == same[j])
    catalogue = Catalogue(instance)
    for position in equal[:LISTED].tolist():
        statement = catalogue.statement(len(instance.must_link) + position)
        yield f"{statement}: these points are equal"
    if len(equal) > LISTED:
        yield f"{len(equal) - LISTED} more cannot-links between equal points"
