"""Points on a plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Instance


@dataclass(frozen=True, eq=False)
class Plane:
    """Where points are drawn.

    places : (n, 2)
    names : of the two axes
    """

    places: NDArray[np.float64]
    names: tuple[str, str]


def plane_of(instance: Instance, labels: NDArray[np.intp]) -> Plane:
    """The two features of the points, if they have two; otherwise their first two principal
    components, with the share of the variance that these explain. Points with one feature stand
    above each other by their labels (n,)."""
    if instance.n_features == 2:
        return Plane(instance.points, ("First feature", "Second feature"))
    if instance.n_features == 1:
        return Plane(
            np.column_stack([instance.points[:, 0], labels.astype(np.float64)]),
            ("Feature", "Cluster"),
        )
    scores, shares = principal_components(instance)
    first, second = (f"{100 * share:.1f}% of the variance" for share in shares)
    return Plane(
        scores, (f"First principal component ({first})", f"Second principal component ({second})")
    )


def principal_components(instance: Instance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first two principal components of the points, (n, 2), and the shares (2,) of the variance
    that they explain; 0 where all points coincide.

    The points are turned so that the coordinate of largest magnitude is positive in both.
    """
    centred = instance.centred
    unit = np.abs(centred).max() or 1.0  # no square over- or underflows
    left, values, _ = np.linalg.svd(centred / unit, full_matrices=False)
    scores = np.zeros((instance.n_points, 2))
    rank = min(2, len(values))
    scores[:, :rank] = unit * left[:, :rank] * values[:rank]
    extreme = np.take_along_axis(scores, np.abs(scores).argmax(axis=0)[None], axis=0)
    scores *= np.where(extreme < 0, -1.0, 1.0)
    shares = np.zeros(2)
    total = (values**2).sum()
    if total > 0:
        shares[:rank] = values[:rank] ** 2 / total
    return scores, shares
