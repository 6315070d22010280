"""Where pairs are stated: one by one, or all that are at a distance by one line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.files import shown_path
from sdpbb.problem import Instance
from sdpbb.problem.pairs import pairs_closer_than, pairs_farther_than


def place_of_pair(instance: Instance, argument: str, position: int) -> str:
    """Where the pair at a position of "must_link" or "cannot_link" is stated: its place in a file,
    or that position."""
    origin = instance.origin
    pair = getattr(instance, argument)[position]
    stated = getattr(origin, argument)
    if position < len(stated.pairs) and (stated.pairs[position] == pair).all():
        # One of several places that state the pair, and not only the first.
        at = int(stated.lines[position])
        return f"{shown_path(origin.constraints_path)}" + (
            f": {stated.key}[{at}]" if stated.key else f":{at}"
        )
    return origin.place(argument, *pair.tolist()) or f"{argument}[{position}]"


def stated_one_by_one(instance: Instance, argument: str) -> NDArray[np.bool_]:
    """Of the pairs of a list, those that were stated one by one."""
    pairs, places = getattr(instance, argument), getattr(instance.origin, argument)
    there = _places_of_distance(instance, argument)
    if not there.any():
        return np.ones(len(pairs), dtype=bool)
    return _are_among(pairs, places.pairs[~there], instance.n_points)


def of_distance(instance: Instance, argument: str) -> NDArray[np.bool_]:
    """Of the pairs of a list, those that a distance stands for."""
    pairs, places = getattr(instance, argument), getattr(instance.origin, argument)
    there = _places_of_distance(instance, argument)
    if not there.any():
        return np.zeros(len(pairs), dtype=bool)
    return _are_among(pairs, places.pairs[there], instance.n_points)


def _places_of_distance(instance: Instance, argument: str) -> NDArray[np.bool_]:
    """Which places of pairs are the line of a distance. These come last in `PairLines`."""
    places = getattr(instance.origin, argument)
    nowhere = np.zeros(len(places.lines), dtype=bool)
    if places.key or not len(places.lines):
        return nowhere
    of_last = np.asarray(places.lines == places.lines[-1])
    is_distance = _are_at_a_distance(instance.points, argument, places.pairs[of_last])
    return of_last if is_distance else nowhere


def _are_among(pairs: NDArray[np.intp], others: NDArray[np.integer], n: int) -> NDArray[np.bool_]:
    return np.isin(pairs @ [n, 1], others.astype(np.intp) @ [n, 1])


def _are_at_a_distance(
    points: NDArray[np.float64], argument: str, pairs: NDArray[np.integer]
) -> bool:
    """Whether these are at least two, and all pairs of points that are at least as far apart as
    some distance (argument "cannot_link"), or at most."""
    if len(pairs) < 2:
        return False
    i, j = pairs.T
    distances = np.sqrt(((points[i] - points[j]) ** 2).sum(axis=1))
    if argument == "cannot_link":
        found = pairs_farther_than(points, float(np.nextafter(distances.min(), 0.0)))
    else:
        found = pairs_closer_than(points, float(np.nextafter(distances.max(), np.inf)))
    return len(found) == len(pairs)
