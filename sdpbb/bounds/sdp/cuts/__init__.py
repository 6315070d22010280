"""Cuts: valid inequalities over the clustering matrix Z, a file for each family.

Z_ij = 1 / |C| for two blocks i, j of a cluster C of |C| points, and 0 elsewhere. Each file states
its inequality and why it is valid, and finds violated ones. A family is added by its file, a field
of `SeparationParameters`, and its twin in `sdpbb.checker.cuts` (docs/extending.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.capacities import CapacityCuts
from sdpbb.bounds.sdp.cuts.capacity_cliques import CapacityCliqueCuts
from sdpbb.bounds.sdp.cuts.cliques import CliqueCuts
from sdpbb.bounds.sdp.cuts.complements import ComplementCuts
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.bounds.sdp.cuts.listed_cliques import ListedCliqueCuts
from sdpbb.bounds.sdp.cuts.pentagons import PentagonCuts
from sdpbb.bounds.sdp.cuts.size_pairs import SizePairCuts
from sdpbb.bounds.sdp.cuts.sizes import SizeCuts
from sdpbb.bounds.sdp.cuts.soft_pairs import SoftPairTerms
from sdpbb.bounds.sdp.cuts.stars import StarCuts
from sdpbb.bounds.sdp.cuts.triangles import TriangleCuts
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.declaration import Parameters, parameter

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


@stored
@dataclass(frozen=True)
class SeparationParameters(Parameters):
    """Families of cuts of a bounding, in the order in which a round adds their cuts."""

    pentagons: PentagonCuts = parameter(PentagonCuts, "Pentagon cuts.")
    triangles: TriangleCuts = parameter(TriangleCuts, "Triangle cuts.")
    cliques: CliqueCuts = parameter(CliqueCuts, "Clique cuts.")
    stars: StarCuts = parameter(StarCuts, "Star cuts.")
    complements: ComplementCuts = parameter(ComplementCuts, "Complement cuts, for k = 2.")
    limited_sizes: SizeCuts = parameter(SizeCuts, "Cuts for limits on sizes of clusters.")
    size_pairs: SizePairCuts = parameter(SizePairCuts, "Cuts on pairs for limits on sizes.")
    listed_cliques: ListedCliqueCuts = parameter(
        ListedCliqueCuts, "Cuts for listed sizes: more blocks than clusters of an extreme size."
    )
    capacities: CapacityCuts = parameter(
        CapacityCuts, "Cuts for limits on sizes: sets of blocks that clusters have to split."
    )
    capacity_cliques: CapacityCliqueCuts = parameter(
        CapacityCliqueCuts, "Cuts for limits on sizes: more blocks than clusters that a set fills."
    )
    soft_pairs: SoftPairTerms = parameter(SoftPairTerms, "Terms of the prices of soft pairs.")

    @property
    def families(self) -> list[CutFamily]:
        """All families, in their order."""
        return [getattr(self, entry.name) for entry in fields(self)]


def separate(
    relaxation: Relaxation, Y: NDArray[np.float64], families: Iterable[CutFamily]
) -> CutSet:
    """Separate: return the most violated cuts of each family at Y.

    There are none where no violation exceeds its tolerance.

    Violation is measured as the distance of Y to the cut's hyperplane, in the norm that the method
    projects in.
    """
    Z = relaxation.to_affinity(Y)
    found = CutSet.empty()
    for family in families:
        found = found + family.separate(Z, relaxation)
    return found
