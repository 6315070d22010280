"""Decision whether a subset of the constraints of an instance is consistent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction, Infeasibility, contract
from sdpbb.problem.colouring.decide import Colouring, ColouringLimits, decide
from sdpbb.problem.colouring.exact import Colourability, Fits, colour_exactly
from sdpbb.problem.colouring.graph import sparse_graph
from sdpbb.problem.feasibility import find_feasible, use_every_colour
from sdpbb.problem.graph import connected_components, distinct_edges
from sdpbb.problem.packing import UndecidedPacking, packed_in_units
from sdpbb.problem.statements import Catalogue
from sdpbb.runtime.time_left import TimeLeft

# Vertices coloured, anew ones included, until branching is given up: half a second.
NODES = 20_000
# The same where each is shown to constraints on clusters, which takes longer.
NODES_ON_CLUSTERS = 5_000
# For the set that is reported in the end.
FINAL_NODES = 200_000


def quotient(
    n: int, k: int, must_link: NDArray[np.intp], cannot_link: NDArray[np.intp]
) -> csr_array | None:
    """Return the cannot-link graph over the blocks of the points that pairs name.

    The pairs are must-links (p, 2) and cannot-links (q, 2) of n points in all.

    None if a cannot-link is inside a block, or if there are fewer than k blocks, those of points
    that are not named included: there is no clustering then.
    """
    rows, compact = np.unique(np.concatenate([must_link, cannot_link]), return_inverse=True)
    compact = compact.reshape(-1, 2)
    block_of = connected_components(len(rows), compact[: len(must_link)])
    n_blocks = int(block_of.max(initial=-1)) + 1
    edges = block_of[compact[len(must_link) :]]
    if n - len(rows) + n_blocks < k or (edges[:, 0] == edges[:, 1]).any():
        return None
    return sparse_graph(n_blocks, distinct_edges(edges))


class Oracle:
    """Oracle that decides whether a subset of the constraints of a catalogue is satisfiable.

    The subset is given by numbers. NO means that no clustering into exactly k clusters keeps them.

    Attributes
    ----------
    relied_on_solver : whether a NO so far was the verdict of an integer programming solver in
        floating point. All other answers are exact
    """

    def __init__(self, catalogue: Catalogue, time_left: TimeLeft) -> None:
        self._catalogue = catalogue
        self._time_left = time_left
        self.relied_on_solver = False

    def verdict(self, numbers: Sequence[int]) -> Colourability:
        """Return whether these constraints are consistent."""
        graph, fits, sized = self._over_blocks(numbers)
        if graph is None:
            return Colourability.NO
        if sized is not None:
            within = self._within_sizes(sized)
            if within is not Colourability.UNKNOWN:
                return within
        if fits is None:
            return self.colour(graph).answer
        k = self._catalogue.instance.k

        def keeps(labels: NDArray[np.intp]) -> bool:
            # What fits says nothing of least sizes.
            return sized is None or sized.keeps(use_every_colour(labels, k))

        return colour_exactly(graph, k, NODES_ON_CLUSTERS, fits, keeps)[0]

    def _within_sizes(self, contraction: Contraction) -> Colourability:
        """Return whether clusters of blocks can have the sizes that limits allow."""
        found = find_feasible(contraction, max(0.01, self._time_left()))
        if isinstance(found, Infeasibility):
            self.relied_on_solver = True
            return Colourability.NO
        is_kept = found is not None and contraction.keeps(found)
        return Colourability.YES if is_kept else Colourability.UNKNOWN

    def colour(self, graph: csr_array) -> Colouring:
        """Decide whether the vertices of a graph can be put into k clusters.

        It is decided by branching, where that ends soon; else an integer programming solver is
        asked.
        """
        limits = ColouringLimits(NODES, self._time_left)
        found = decide(graph, self._catalogue.instance.k, limits)
        self.relied_on_solver |= not found.is_exact
        return found

    def confirm(self, numbers: Sequence[int]) -> bool:
        """Return whether it is exact that constraints which were refuted contradict each other.

        Raises
        ------
        BackendFailure
            If they can, so that the integer programming solver was wrong.
        """
        if not self.relied_on_solver:
            return True
        graph, fits, sized = self._over_blocks(numbers)
        if graph is None:
            return True
        if fits is not None:
            with suppress(UndecidedPacking):
                return sized is not None and packed_in_units(sized) is None
            return False
        verdict, _ = colour_exactly(graph, self._catalogue.instance.k, FINAL_NODES)
        if verdict is Colourability.YES:
            raise BackendFailure(
                "the integer programming solver calls constraints contradictory, but a "
                "clustering satisfies them"
            )
        return verdict is Colourability.NO

    def _over_blocks(
        self, numbers: Sequence[int]
    ) -> tuple[csr_array | None, Fits | None, Contraction | None]:
        """Return the cannot-link graph over the blocks that these constraints make.

        None if that refutes them. Also return which blocks may share a cluster, None where the
        graph says all; and the contraction, where there are limits on sizes.
        """
        must_link, cannot_link, on_clusters = self._catalogue.split(numbers)
        instance = self._catalogue.instance
        if not on_clusters:
            return quotient(instance.n_points, instance.k, must_link, cannot_link), None, None
        contraction = contract(self._catalogue.restricted(numbers))
        if isinstance(contraction, Infeasibility):
            return None, None, None
        graph = sparse_graph(contraction.n_blocks, contraction.cannot_link)
        if contraction.instance is None:  # they come to cannot-links
            return graph, None, None

        def fits(blocks: Sequence[int]) -> bool:
            return contraction.allows(np.asarray(blocks, np.intp))

        return graph, fits, contraction if contraction.packed_quantities else None


def minimal_subset(
    items: Sequence[int], verdict: Callable[[list[int]], Colourability], time_left: TimeLeft
) -> tuple[list[int], bool]:
    """Return a minimal subset of items for which the verdict is NO, and whether that is proven.

    Halves are left out first, then quarters, then single items. One pass of the last kind is
    enough, as what can hold without an item still can when more is left out.
    """
    kept, size = list(items), max(1, len(items) // 2)
    while True:
        position, proven = 0, True
        while position < len(kept):
            if time_left() <= 0.0:
                return kept, False
            rest = kept[:position] + kept[position + size :]
            found = verdict(rest)
            if found is Colourability.NO:
                kept = rest
                continue
            proven = proven and found is Colourability.YES
            position += size
        if size == 1:
            return kept, proven
        size = max(1, min(size, len(kept)) // 2)
