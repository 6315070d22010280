"""Pairs of rows that partly known classes stand for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError


def pairs_of_classes(
    classes: Any, n: int, argument: str
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return must-links and cannot-links of rows whose classes are known.

    Rows of the same class are must-linked, one of each class is cannot-linked to one of each other.

    Parameters
    ----------
    classes : (n,) numbers or texts; -1, None and nan where the class is not known

    Raises
    ------
    InstanceError
        If they are no such sequence; messages begin with argument.
    """
    given = np.asarray(classes, dtype=object)
    if given.ndim != 1 or len(given) != n:
        raise InstanceError(
            f"{argument}: shape {given.shape}; expected ({n},), a class for each row or -1"
        )
    members: dict[Any, list[int]] = {}
    for row, value in enumerate(given.tolist()):
        # Of all values, nan alone differs from itself.
        if value is not None and value != -1 and value == value:
            members.setdefault(value, []).append(row)
    rows = list(members.values())
    must_link = [pair for each in rows for pair in pairwise(each)]
    first = np.array([each[0] for each in rows], np.intp)
    i, j = np.triu_indices(len(first), 1)
    return np.array(must_link, np.intp).reshape(-1, 2), np.column_stack([first[i], first[j]])
