"""Finding violated cuts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp import kernels
from sdpbb.bounds.sdp.cuts import CutSet
from sdpbb.bounds.sdp.parameters import SeparationParameters
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.checker.evidence import Pentagons


def separate(
    relaxation: Relaxation, Y: NDArray[np.float64], parameters: SeparationParameters
) -> CutSet:
    """The most violated cuts of each family at Y (pair, triangle and clique: PC-SOS-SDP, section
    3.2). Empty when none is violated by more than the tolerance.

    Violated is measured as the distance of Y to the cut's hyperplane, in the norm that the method
    projects in.
    """
    Z = relaxation.to_affinity(Y)
    cuts = _triangles(Z, relaxation, parameters) + _cliques(Z, relaxation, parameters)
    if parameters.stars_per_block:
        cuts = cuts + _stars(Z, relaxation, parameters)
    if parameters.complements_per_pair and relaxation.k == 2:
        cuts = cuts + _complements(Z, relaxation, parameters)
    if parameters.pentagons:
        cuts = _pentagons(Z, relaxation, parameters) + cuts
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


def _complements(
    Z: NDArray[np.float64], relaxation: Relaxation, parameters: SeparationParameters
) -> CutSet:
    """For each cannot-linked pair the blocks that share least with both, the worst of all first."""
    j, h = np.nonzero(np.triu(relaxation.forbidden))
    diagonal = np.diag(Z)
    lacking = (diagonal - Z[j] - Z[h]) / np.maximum(diagonal, np.finfo(np.float64).tiny)
    per_pair = min(parameters.complements_per_pair, relaxation.m)
    i = np.argsort(-lacking, axis=1, kind="stable")[:, :per_pair]
    worst = np.take_along_axis(lacking, i, axis=1).ravel()
    ijh = np.column_stack([i.ravel(), np.repeat(j, per_pair), np.repeat(h, per_pair)])
    order = np.argsort(-worst, kind="stable")[: parameters.complements_per_block * relaxation.m]
    violated = order[worst[order] > parameters.complement_tolerance]
    return CutSet.complements(ijh[violated].astype(np.int32))


def _pentagons(
    Z: NDArray[np.float64], relaxation: Relaxation, parameters: SeparationParameters
) -> CutSet:
    """Five-cycles through one block of each group of blocks that share almost all of their
    clusters, and the same cycles through other members of the groups: a cut through one member
    says little about the others."""
    e, forbidden = relaxation.sizes, relaxation.forbidden
    firsts, first_of = kernels.tied_groups(
        Z, e, parameters.pentagon_tie, parameters.pentagon_groups
    )
    lower, upper = kernels.together_estimates(Z, e, forbidden, firsts)
    cycles = kernels.violated_pentagons(
        lower, upper, parameters.pentagon_tolerance, parameters.pentagons
    )
    members = [np.flatnonzero(first_of == first) for first in firsts]
    copies = [
        [members[v][copy % len(members[v])] for v in cycle]
        for cycle in cycles
        for copy in range(parameters.pentagon_copies)
    ]
    distinct = np.unique(np.array(copies, np.int64).reshape(-1, 5), axis=0)
    cuts = CutSet.pentagons(sharpest_pentagons(Z, relaxation, distinct), e, forbidden)
    return cuts.select(cuts.rhs - cuts.values(Z) > parameters.pentagon_tolerance)


def sharpest_pentagons(
    Z: NDArray[np.float64], relaxation: Relaxation, cycles: NDArray[np.int64]
) -> Pentagons:
    """The pentagons of the rows of cycles (c, 5), with the estimates that are sharpest at Z."""
    e = relaxation.sizes
    start, place, block = kernels.pentagon_estimates(Z, e, relaxation.forbidden, cycles)
    estimates = np.column_stack([place, block, e[block]])
    return Pentagons(cycles.astype(np.int32), start, estimates.astype(np.int32))
