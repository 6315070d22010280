"""An instance of points and of what a file says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import shown_path
from sdpbb.problem.constraints import Constraints
from sdpbb.problem.instance import Instance
from sdpbb.problem.origin import Origin
from sdpbb.problem.pairs import distinct_pairs, pairs_closer_than, pairs_farther_than


def constrained_instance(
    points: NDArray[np.float64],
    k: int,
    constraints: Constraints,
    name: str = "",
    origin: Origin | None = None,
) -> Instance:
    """The instance, distances (GAMMA, DELTA) being replaced by the pairs that they amount to.

    points : (n, d), as `checked_points` returns them
    origin : of the rows and the file; the places of pairs are added to it

    Raises
    ------
    InstanceError
        If a distance amounts to too many pairs, and as `Instance`.
    """
    origin = Origin() if origin is None else origin
    must_link, cannot_link = constraints.must_link, constraints.cannot_link
    far, near = None, None
    try:
        if constraints.max_diameter is not None:
            far = pairs_farther_than(points, constraints.max_diameter)
            cannot_link = distinct_pairs(np.concatenate([cannot_link, far]), len(points))
        if constraints.min_separation is not None:
            near = pairs_closer_than(points, constraints.min_separation)
            must_link = distinct_pairs(np.concatenate([must_link, near]), len(points))
    except InstanceError as error:
        raise InstanceError(f"{shown_path(origin.constraints_path)}: {error}") from None
    return Instance(
        points,
        k,
        must_link,
        cannot_link,
        name,
        constraints.soft_must_link,
        constraints.soft_cannot_link,
        constraints.cluster_constraints,
        replace(
            origin,
            must_link=constraints.must_link_places(near),
            cannot_link=constraints.cannot_link_places(far),
        ),
    )
