"""Cuts: valid inequalities over the clustering matrix Z, a file for each kind of families.

Z_ij = 1 / |C| for two blocks i, j of a cluster C of |C| points, and 0 elsewhere. Each file states
its inequality and why it is valid, and finds violated ones. A family is added by its file and a
place in `FAMILIES`; where no rule of the checker proves it, also by a form of its own in
`sdpbb.checker.kernel.cuts` (docs/extending.md).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.capacities import CapacityCuts
from sdpbb.bounds.sdp.cuts.capacity_cliques import CapacityCliqueCuts
from sdpbb.bounds.sdp.cuts.cliques import CliqueCuts, ComplementCuts, ListedCliqueCuts
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.bounds.sdp.cuts.pentagons import PentagonCuts
from sdpbb.bounds.sdp.cuts.sizes import SizeCuts, SizePairCuts
from sdpbb.bounds.sdp.cuts.soft_pairs import SoftPairTerms
from sdpbb.bounds.sdp.cuts.stars import StarCuts, TriangleCuts
from sdpbb.bounds.sdp.relaxation import Relaxation

FAMILIES: tuple[CutFamily, ...] = (
    PentagonCuts(),
    TriangleCuts(),
    CliqueCuts(),
    StarCuts(),
    ComplementCuts(),
    SizeCuts(),
    SizePairCuts(),
    ListedCliqueCuts(),
    CapacityCuts(),
    CapacityCliqueCuts(),
    SoftPairTerms(),
)
"""All families, in the order in which a round adds their cuts."""


def separate(
    relaxation: Relaxation,
    Y: NDArray[np.float64],
    is_wanted: Callable[[CutFamily], bool] = lambda family: True,
) -> CutSet:
    """Separate: return the most violated cuts of each family that is wanted, at Y.

    There are none where no violation exceeds its tolerance.

    Violation is measured as the distance of Y to the cut's hyperplane, in the norm that the method
    projects in.
    """
    Z = relaxation.to_affinity(Y)
    found = CutSet.empty()
    for family in filter(is_wanted, FAMILIES):
        found = found + family.separate(Z, relaxation)
    return found
