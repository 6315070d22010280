"""Cuts: valid inequalities over the clustering matrix Z.

Z_ij = 1 / |C| for two blocks i, j of a cluster C of |C| points, and 0 otherwise. Each file states
an inequality and why it is valid, and separates violated ones. A new family needs a file and an
entry in `FAMILIES`. If no rule of the checker proves it, it also needs a form in
`sdpbb.checker.kernel.cuts` (docs/extending.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.capacities import separate_capacities, separate_capacity_cliques
from sdpbb.bounds.sdp.cuts.cliques import separate_cliques, separate_listed_cliques
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.cuts.pentagons import separate_pentagons
from sdpbb.bounds.sdp.cuts.sizes import separate_size_pairs, separate_sizes
from sdpbb.bounds.sdp.cuts.soft_pairs import separate_soft_pairs
from sdpbb.bounds.sdp.cuts.stars import separate_stars, separate_triangles
from sdpbb.bounds.sdp.relaxation import Relaxation


class Family(NamedTuple):
    """Family of valid inequalities.

    separate : returns the most violated cuts at an affinity Z (m, m), if any is violated
    after : iterations of a root before it separates these cuts
    """

    separate: Callable[[NDArray[np.float64], Relaxation], CutSet]
    after: int = 0


FAMILIES: dict[str, Family] = {
    # Most roots close earlier. Separating pentagons from the beginning takes 1.5 times as long.
    "pentagons": Family(separate_pentagons, after=150),
    "triangles": Family(separate_triangles),
    "cliques": Family(separate_cliques),
    "stars": Family(separate_stars),
    "sizes": Family(separate_sizes),
    "size pairs": Family(separate_size_pairs),
    "listed cliques": Family(separate_listed_cliques),
    "capacities": Family(separate_capacities),
    # Iterations with many terms take long. If capacity cuts are enough, roots with cliques from the
    # beginning take up to three times as long.
    "capacity cliques": Family(separate_capacity_cliques, after=150),
    "soft pairs": Family(separate_soft_pairs),
}
"""All families, in the order in which a round adds their cuts."""


def separate(
    relaxation: Relaxation, Y: NDArray[np.float64], n_iterations: float = np.inf
) -> CutSet:
    """Separate: return the most violated cuts of each family at Y.

    Families that come after more than n_iterations are left out. Violation is the distance of Y to
    the cut's hyperplane, in the norm of the method's projections. It must exceed a tolerance.
    """
    Z = relaxation.to_affinity(Y)
    found = CutSet.empty()
    for family in FAMILIES.values():
        if n_iterations >= family.after:
            found = found + family.separate(Z, relaxation)
    return found
