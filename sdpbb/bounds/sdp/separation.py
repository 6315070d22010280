"""Finding violated cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp import kernels
from sdpbb.bounds.sdp.cuts import CutSet
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.errors import ParameterError


@dataclass(frozen=True)
class SeparationParameters:
    """How many cuts a round adds, and which.

    per_block : at most that many triangle cuts per block and round
    per_pair : at most that many of a round's triangle cuts hold the same pair of blocks: many cuts
        through one entry say the same
    tolerance : a cut counts as violated beyond tolerance * Z_ii
    star_share : stars are looked for when triangles fill less than this share of their quota
    stars_per_block, star_neighbours, star_leaves : at most so many stars per block and round, grown
        from so many nearest blocks, to so many leaves
    """

    per_block: int = 4
    per_pair: int = 6
    tolerance: float = 1e-5
    star_share: float = 0.5
    stars_per_block: int = 3
    star_neighbours: int = 40
    star_leaves: int = 14

    def __post_init__(self) -> None:
        if min(self.per_block, self.per_pair, self.star_leaves) < 1 or self.tolerance < 0:
            raise ParameterError(f"separation parameters out of their domain: {self}")


def separate(
    relaxation: Relaxation, Y: NDArray[np.float64], parameters: SeparationParameters
) -> CutSet:
    """The most violated pair, triangle, clique and star cuts at Y (PC-SOS-SDP, section 3.2, and
    stars). Empty when none is violated by more than the tolerance."""
    Z = relaxation.to_affinity(Y)
    quota = parameters.per_block * relaxation.m
    triangles = _triangles(Z, relaxation, parameters, quota)
    cuts = triangles + _cliques(Z, relaxation, parameters)
    if len(triangles) < parameters.star_share * quota:
        cuts = cuts + _stars(Z, relaxation, parameters)
    return cuts


def _triangles(Z, relaxation: Relaxation, parameters: SeparationParameters, quota: int) -> CutSet:
    ijh, distance = kernels.violated_triangles(
        Z, relaxation.inverse_roots, parameters.tolerance, 2
    )
    order = np.argsort(-distance, kind="stable")
    chosen = kernels.spread(order, ijh, relaxation.m, parameters.per_pair, quota)
    return CutSet.triangles(ijh[chosen])


def _cliques(Z, relaxation: Relaxation, parameters: SeparationParameters) -> CutSet:
    if relaxation.k >= relaxation.m:
        return CutSet.empty()
    rhs = 1.0 / (relaxation.n - relaxation.k + 1)
    members, _ = kernels.violated_cliques(
        Z, relaxation.k + 1, rhs * (1.0 - parameters.tolerance)
    )
    return CutSet.cliques(np.unique(members, axis=0), relaxation.n, relaxation.k)


def _stars(Z, relaxation: Relaxation, parameters: SeparationParameters) -> CutSet:
    centre, n_leaves, leaves, distance = kernels.violated_stars(
        Z, relaxation.inverse_roots, parameters.tolerance, parameters.star_neighbours,
        parameters.star_leaves,
    )
    order = np.argsort(-distance, kind="stable")[: parameters.stars_per_block * relaxation.m]
    stars = CutSet.stars(centre[order], [leaves[p, : n_leaves[p]] for p in order])
    return stars.select(np.unique(stars.keys, return_index=True)[1])
