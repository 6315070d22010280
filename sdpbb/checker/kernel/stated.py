"""Instance as given to the checker, and the digests by which a certificate names it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import digests
from .blocks import Blocks
from .geometry import Geometry
from .rules import Rules
from .soft import CheckedSoftPairs


def pairs_of(stated: ArrayLike = ()) -> NDArray[np.int64]:
    """Return pairs (p, 2) of points as an array."""
    return np.asarray(stated, np.int64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class StatedInstance:
    """Points, clusters and constraints, which whoever verifies a certificate states.

    points : (n, d)
    k : number of clusters
    must_link, cannot_link : (p, 2) numbers of different points, from 0
    rules : that every cluster has to keep besides
    weights : (n,) > 0 of the points, by which squares are weighted; None for 1 each
    soft : pairs that cost their weights where they are violated
    """

    points: NDArray[np.float64]
    k: int
    must_link: NDArray[np.int64] = field(default_factory=pairs_of)
    cannot_link: NDArray[np.int64] = field(default_factory=pairs_of)
    rules: Rules = ()
    weights: NDArray[np.float64] | None = None
    soft: CheckedSoftPairs = field(default_factory=CheckedSoftPairs)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.points)

    @property
    def geometry(self) -> Geometry:
        """Points, weights and soft pairs; `Rejected` if there is no calculating with them."""
        return Geometry.of(self.points, self.weights, self.soft)

    @property
    def root(self) -> Blocks:
        """Blocks of all clusterings, of which every proof begins."""
        return Blocks.of(self.n, self.k, self.must_link, self.cannot_link, self.rules)

    @cached_property
    def digests(self) -> dict[str, str]:
        """Digests by their names in a claim; those of what is not stated are left out."""
        found = {
            "points": digests.of_points(self.points),
            "must_link": digests.of_pairs(self.must_link),
            "cannot_link": digests.of_pairs(self.cannot_link),
            "rules": digests.of_rules(self.rules),
            "weights": digests.of_weights(self.weights),
            "soft_must_link": digests.of_soft_pairs(self.soft.must_link),
            "soft_cannot_link": digests.of_soft_pairs(self.soft.cannot_link),
        }
        return {name: digest for name, digest in found.items() if digest is not None}
