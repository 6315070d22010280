"""State of a run of the bound by prices and places, and the warm start of a child.

Light: nothing is imported that compiles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.evidence import Lagrangian
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored


@stored
@dataclass(frozen=True, eq=False)
class PlaceWarmStart:
    """Warm start of a child: prices and places of its parent.

    block_of : (n,) the parent's blocks
    prices : (m,) of a point of each
    scatter : (m,) inside each
    places : (M, r) in the coordinates of the contraction
    scale, radius : as in `PlaceState`
    expected : the bound that the parent has
    weights : (m,) of the parent's blocks; None where they are numbers of points
    """

    block_of: NDArray[np.intp]
    prices: NDArray[np.float64]
    scatter: NDArray[np.float64]
    places: NDArray[np.float64]
    scale: float
    radius: float
    expected: float
    weights: NDArray[np.float64] | None = None

    def prices_for(self, child: Contraction) -> NDArray[np.float64]:
        """Return prices (m,) of a point of each block of the child, a union of the parent's.

        They prove for the child what the parent's prove: a cluster that takes a union loses the
        scatter of its means, which the child counts inside its block.
        """
        first = np.unique(self.block_of, return_index=True)[1]
        weights = np.bincount(self.block_of) if self.weights is None else self.weights
        total, scatter = np.zeros(child.n_blocks), np.zeros(child.n_blocks)
        np.add.at(total, child.block_of[first], self.prices * weights)
        np.add.at(scatter, child.block_of[first], self.scatter)
        return (total - (child.scatter - scatter)) / child.weights


@stored
@dataclass(eq=False)
class PlaceState:
    """State of a `PlaceRun`.

    prices : (m,) of a point of each block
    places : (M, 3) along the principal axes of the blocks (`PlaceProblem`)
    scale : cost of the clustering that was known first, without the scatter inside blocks
    radius : of its smallest cluster
    sharpness : of the last ascent, or of the first ones before any
    labels : (m,) of that clustering, until the first prices are made of it
    expected : the bound that the parent has, 0 for none: a child's is near
    promise : what the last prices would prove if no place were worth more than those looked at
    bound, proof : the best so far, and the prices of blocks and of a cluster that prove it
    values : that of the bound after each round
    n_raised : how often prices were raised, by this run and those of its ancestors
    """

    prices: NDArray[np.float64]
    places: NDArray[np.float64]
    scale: float
    radius: float
    sharpness: float
    labels: NDArray[np.intp] | None = None
    expected: float = 0.0
    promise: float = math.inf
    bound: ProvenBound = field(default_factory=lambda: ProvenBound(0.0))
    values: tuple[float, ...] = ()
    n_raised: int = 0
    proof: Lagrangian | None = None
