"""Where pairs are stated: one by one, or all that are at a distance by one line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.files import shown_path
from sdpbb.problem import Instance


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
    stated = places.pairs[: places.n_stated]
    return ~of_distance(instance, argument) | _are_among(pairs, stated, instance.n_points)


def of_distance(instance: Instance, argument: str) -> NDArray[np.bool_]:
    """Of the pairs of a list, those that a distance stands for."""
    pairs, places = getattr(instance, argument), getattr(instance.origin, argument)
    return _are_among(pairs, places.pairs[places.n_stated :], instance.n_points)


def _are_among(pairs: NDArray[np.intp], others: NDArray[np.integer], n: int) -> NDArray[np.bool_]:
    return np.isin(pairs @ [n, 1], others.astype(np.intp) @ [n, 1])
