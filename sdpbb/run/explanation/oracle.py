"""Decision whether a subset of the constraints of an instance is consistent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction, Infeasibility, contract
from sdpbb.problem.colouring import Colouring, colour_exactly, decide, sparse_graph
from sdpbb.problem.feasibility import find_feasible, use_every_colour
from sdpbb.problem.graph import connected_components, distinct_edges
from sdpbb.problem.packing import packed_in_units
from sdpbb.problem.packing_in_units import UndecidedPacking
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

    The subset is given by numbers. False means that no clustering into exactly k clusters keeps
    them, None that this is not known.

    Attributes
    ----------
    relied_on_solver : whether a False so far was the verdict of an integer programming solver in
        floating point. All other answers are exact
    """

    def __init__(self, catalogue: Catalogue, time_left: TimeLeft) -> None:
        self._catalogue = catalogue
        self._time_left = time_left
        self._k = catalogue.instance.k
        self.relied_on_solver = False

    def verdict(self, numbers: Sequence[int]) -> bool | None:
        """Return whether these constraints are consistent."""
        graph, contraction = self._over_blocks(numbers)
        if graph is None:
            return False
        if contraction is None:
            return self.colour(graph).is_possible
        if contraction.packed_quantities:
            found = find_feasible(contraction, self._time_left)
            if isinstance(found, Infeasibility):
                self.relied_on_solver = True
                return False
            if found is not None and contraction.keeps(found):
                return True

        def fits(blocks: Sequence[int]) -> bool:
            return contraction.allows(np.asarray(blocks, np.intp))

        def keeps(labels: NDArray[np.intp]) -> bool:
            # What fits says nothing of least sizes.
            return contraction.keeps(use_every_colour(labels, self._k))

        return colour_exactly(graph, self._k, NODES_ON_CLUSTERS, fits, keeps)[0]

    def colour(self, graph: csr_array) -> Colouring:
        """Decide whether the vertices of a graph can be put into k clusters.

        It is decided by branching, where that ends soon; else an integer programming solver is
        asked.
        """
        found = decide(graph, self._k, NODES, self._time_left)
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
        graph, contraction = self._over_blocks(numbers)
        if graph is None:
            return True
        if contraction is not None:
            with suppress(UndecidedPacking):
                is_sized = bool(contraction.packed_quantities)
                return is_sized and packed_in_units(contraction) is None
            return False
        is_possible, _ = colour_exactly(graph, self._k, FINAL_NODES)
        if is_possible:
            raise BackendFailure(
                "the integer programming solver calls constraints contradictory, but a "
                "clustering satisfies them"
            )
        return is_possible is False

    def _over_blocks(self, numbers: Sequence[int]) -> tuple[csr_array | None, Contraction | None]:
        """Return the cannot-link graph over the blocks that these constraints make.

        None if that refutes them. Also return the contraction, if the graph does not say all.
        """
        must_link, cannot_link, on_clusters = self._catalogue.split(numbers)
        if not on_clusters:
            return quotient(
                self._catalogue.instance.n_points, self._k, must_link, cannot_link
            ), None
        found = contract(self._catalogue.restricted(numbers))
        if isinstance(found, Infeasibility):
            return None, None
        graph = sparse_graph(found.n_blocks, found.cannot_link)
        # Without an instance, constraints on clusters come to cannot-links.
        return graph, None if found.instance is None else found


def minimal_subset(
    items: Sequence[int], verdict: Callable[[list[int]], bool | None], time_left: TimeLeft
) -> tuple[list[int], bool]:
    """Return a minimal subset of items for which the verdict is False, and whether that is proven.

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
            if found is False:
                kept = rest
                continue
            proven = proven and found is True
            position += size
        if size == 1:
            return kept, proven
        size = max(1, min(size, len(kept)) // 2)
