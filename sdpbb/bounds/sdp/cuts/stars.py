"""Star cuts: for a block i, the centre, and a set T of other blocks, the leaves,

    Z_ii + sum of Z_jl over j < l in T - sum of Z_ij over j in T >= 0.

Valid: if the cluster C of i holds a of the leaves, its terms are 1 - a + a (a - 1) / 2 =
(a - 1)(a - 2) / 2 >= 0, divided by |C|, and the terms of other clusters are not negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, Members
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.checker.cuts.stars import Stars
from sdpbb.domains import check_fields, wrong

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


@stored
@dataclass(frozen=True)
class StarCuts(CutFamily):
    """Star cuts of three leaves and more, grown greedily.

    per_block : at most that many cuts per block and round; 0 for none. Separating them in every
        round, not only when triangles run out, halves the time on the hard instances
    neighbours : stars of a centre grow from so many nearest blocks
    leaves : at most that many, from 3 to 1000, as memory is reserved for as many
    tolerance : a cut counts as violated beyond this part of Z_ii
    """

    per_block: int = 3
    neighbours: int = 40
    leaves: int = 14
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        check_fields(self, most={"leaves": 1000})
        for name, least in (("per_block", 0), ("neighbours", 1), ("leaves", 3)):
            if getattr(self, name) < least:
                raise wrong(name, getattr(self, name), f"at least {least}")
        if not 0 <= self.tolerance < 1:
            raise wrong("tolerance", self.tolerance, "a number in [0, 1)")

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """The most violated stars that were grown, each once."""
        from sdpbb.bounds.sdp import kernels

        if self.per_block == 0:
            return CutSet.empty()
        centre, n_leaves, leaves, distance = kernels.violated_stars(
            Z, relaxation.inverse_roots, self.tolerance, self.neighbours, self.leaves
        )
        order = np.argsort(-distance, kind="stable")[: self.per_block * relaxation.m]
        stars = star_cuts(centre[order], leaves[order], n_leaves[order])
        return stars.select(np.unique(stars.keys, return_index=True)[1])


def star_cuts(
    centre: NDArray[np.int32], leaves: NDArray[np.int32], n_leaves: NDArray[np.int32]
) -> CutSet:
    """The star cuts with the given centres, (number,), and the first n_leaves entries of the rows
    of leaves, (number, widest)."""
    cuts = CutSet.empty()
    for size in np.unique(n_leaves):
        T = leaves[n_leaves == size, :size]
        i = np.repeat(centre[n_leaves == size, None], size, axis=1)
        a, b = np.triu_indices(size, 1)
        first = np.concatenate([i[:, :1], T[:, a], i], axis=1)
        second = np.concatenate([i[:, :1], T[:, b], T], axis=1)
        sign = np.concatenate([np.ones(1 + len(a)), -np.ones(size)])
        members = Members.uniform(Stars, np.concatenate([i[:, :1], T], axis=1))
        cuts = cuts + CutSet.uniform(first, second, sign, np.zeros(len(T)), members)
    return cuts
