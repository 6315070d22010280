"""Labels from any tool, as integers."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.frames import columns_of, is_frame
from sdpbb.problem.row_values import note_noise

_EXPECTED = "expected one integer, number or text per point"


def label_numbers(labels: Any, n_points: int) -> NDArray[np.intp]:
    """Return labels of any kind as integers (n,): 0, 1, ... by the first point of each.

    labels : a list, an array or a series, of n numbers or texts. Equal values are the same cluster,
        and nothing more is read into them: -1, say, is a cluster like all others

    Raises
    ------
    InstanceError
        For another number of labels, a missing one, or one of another type.
    """
    shape = getattr(labels, "shape", None)
    if shape is not None and len(shape) != 1:
        if is_frame(labels):
            name = str(columns_of(labels)[0]) if columns_of(labels) else "cluster"
            raise InstanceError(f"labels: a data frame; expected one column of it, [{name!r}] say")
        raise InstanceError(f"labels: an array of shape {tuple(shape)}; expected (n,)")
    if isinstance(labels, (str, bytes, Mapping)) or not isinstance(labels, Iterable):
        raise InstanceError(f"labels: of type {type(labels).__name__}; {_EXPECTED}")
    values = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(values) != n_points:
        raise InstanceError(f"labels: {len(values)} of them; expected {n_points}, one per point")
    known: dict[Any, int] = {}
    for position, value in enumerate(values):
        if not isinstance(value, (numbers.Real, str)):
            raise InstanceError(
                f"labels[{position}] is of type {type(value).__name__}; {_EXPECTED}"
            )
        if isinstance(value, float) and math.isnan(value):
            raise InstanceError(f"labels[{position}] is nan; {_EXPECTED}")
        known.setdefault(value, len(known))
    note_noise(sum(value in (-1, "-1") for value in values), n_points, "labels")
    return np.array([known[value] for value in values], np.intp)
