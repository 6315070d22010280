"""Finding violated cuts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp import kernels
from sdpbb.bounds.sdp.cuts import CutSet
from sdpbb.bounds.sdp.parameters import SeparationParameters
from sdpbb.bounds.sdp.relaxation import Relaxation


def separate(
    relaxation: Relaxation, Y: NDArray[np.float64], parameters: SeparationParameters
) -> CutSet:
    """The most violated pair, triangle, clique and star cuts at Y (PC-SOS-SDP, section 3.2, and
    stars). Empty when none is violated by more than the tolerance.

    Violated is measured as the distance of Y to the cut's hyperplane, in the norm that the method
    projects in.
    """
    Z = relaxation.to_affinity(Y)
    cuts = _triangles(Z, relaxation, parameters) + _cliques(Z, relaxation, parameters)
    if parameters.stars_per_block:
        cuts = cuts + _stars(Z, relaxation, parameters)
    return cuts


def _triangles(
    Z: NDArray[np.float64], relaxation: Relaxation, parameters: SeparationParameters
) -> CutSet:
    ijh, distance = kernels.violated_triangles(
        Z, relaxation.inverse_roots, parameters.tolerance, parameters.triangles_per_arm
    )
    order = np.argsort(-distance, kind="stable")
    quota = parameters.triangles_per_block * relaxation.m
    chosen = kernels.spread(order, ijh, relaxation.m, parameters.triangles_per_pair, quota)
    return CutSet.triangles(ijh[chosen])


def _cliques(
    Z: NDArray[np.float64], relaxation: Relaxation, parameters: SeparationParameters
) -> CutSet:
    if relaxation.k >= relaxation.m:
        return CutSet.empty()
    rhs = 1.0 / (relaxation.n - relaxation.k + 1)
    members = kernels.violated_cliques(Z, relaxation.k + 1, rhs * (1.0 - parameters.tolerance))
    members = np.unique(np.sort(members, axis=1), axis=0)
    return CutSet.cliques(members, relaxation.n, relaxation.k)


def _stars(
    Z: NDArray[np.float64], relaxation: Relaxation, parameters: SeparationParameters
) -> CutSet:
    centre, n_leaves, leaves, distance = kernels.violated_stars(
        Z,
        relaxation.inverse_roots,
        parameters.tolerance,
        parameters.star_neighbours,
        parameters.star_leaves,
    )
    order = np.argsort(-distance, kind="stable")[: parameters.stars_per_block * relaxation.m]
    stars = CutSet.stars(centre[order], leaves[order], n_leaves[order])
    return stars.select(np.unique(stars.keys, return_index=True)[1])
