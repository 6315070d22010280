"""Minimal conflicts: constraints that no clustering keeps, each of which is needed for that."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.errors import BackendFailure, ParameterError
from sdpbb.problem import Contraction, Infeasibility, InfeasibilityKind, Instance, contract
from sdpbb.problem.colouring import Colouring, colour_exactly, decide, induced, sparse_graph
from sdpbb.problem.feasibility import find_feasible, packed_in_units, use_every_colour
from sdpbb.problem.graph import (
    connected_components,
    distinct_edges,
    shortest_path,
    spanning_forest,
)
from sdpbb.problem.infeasibility import forced_merges
from sdpbb.problem.instance import instance_of
from sdpbb.problem.packing_in_units import UndecidedPacking
from sdpbb.problem.sources import InstanceArguments
from sdpbb.problem.statements import Catalogue, Conflict
from sdpbb.runtime.time_left import TimeLeft, at_most, no_limit

# Rows of an integer programme that takes some seconds to presolve.
MANY_ROWS = 100_000
# Cannot-links inside a group of must-linked points, of which the one with the shortest path counts.
MOST_PATHS = 100
# Vertices coloured, anew ones included, until branching is given up: half a second.
NODES = 20_000
# The same where each is shown to constraints on clusters, which takes longer.
NODES_ON_CLUSTERS = 5_000
# For the set that is reported in the end.
FINAL_NODES = 200_000


@dataclass(frozen=True)
class Diagnosis:
    """Verdict on the constraints of an instance, None if not known, and a conflict among them."""

    is_feasible: bool | None
    conflict: Conflict | None = None


def explain_infeasibility(
    instance: Any,
    time_limit: float = 60.0,
    *,
    k: int | None = None,
    **arguments: Unpack[InstanceArguments],
) -> Conflict | None:
    """Return a minimal set of constraints that no clustering into exactly k clusters keeps.

    "Minimal" means that the others can hold when any one of them is left out. It is, in this
    order, the first of: a path of must-links and a cannot-link between its ends; must-links that
    leave fewer than k groups of points; for k = 2, a cycle with an odd number of cannot-links;
    k + 1 groups that mutually cannot link, if a greedy search finds them; what remains when
    constraints are left out, many at a time, for as long as the others contradict each other.

    Parameters
    ----------
    instance : points, k and constraints as an `Instance`; or points alone, an array (n, d) or a
        data frame, with the others as further arguments. Soft constraints are left aside
    time_limit : seconds, > 0, after which the set is given as it is (`Conflict.is_minimal`)
    k : number of clusters, of points
    arguments : of points what makes an `Instance` of them, as for `sdpbb.solve`

    Returns
    -------
    Conflict; None if the constraints are consistent, or if that was not decided
    (`sdpbb.check_constraints` tells which).

    Raises
    ------
    TypeError
        If there is no argument of a name.
    InstanceError
        If the instance is none, or the points and constraints make none.
    ParameterError
        If time_limit is not a number above 0.
    BackendFailure
        If the integer programming solver fails.
    """
    stated = instance_of(instance, k, arguments, explain_infeasibility)
    return diagnose(stated, time_limit).conflict


def diagnose(instance: Instance, time_limit: float) -> Diagnosis:
    """Decide whether the constraints are consistent, and if not, why.

    See `explain_infeasibility`.
    """
    time_left = at_most(no_limit, checked_seconds(time_limit))
    catalogue = Catalogue(instance)
    oracle = Oracle(catalogue, time_left)
    is_feasible, candidate = _candidate(catalogue, oracle, time_left)
    if candidate is None:
        return Diagnosis(is_feasible)
    kept, is_minimal = candidate, True
    if candidate[-1] >= len(catalogue.must_link):  # of must-links alone, all are needed
        kept, is_minimal = minimal_subset(candidate, oracle.verdict, time_left)
    is_exact = oracle.confirm(kept)
    kind = _kind(catalogue, kept)
    members = tuple(catalogue.statement(number) for number in kept)
    return Diagnosis(False, Conflict(kind, kind.value, members, is_minimal, is_exact))


def checked_seconds(time_limit: object) -> float:
    """Return a time limit in seconds; ParameterError if it is no number above 0."""
    is_number = isinstance(time_limit, numbers.Real) and not isinstance(time_limit, bool)
    if not is_number or math.isnan(time_limit) or not time_limit > 0:  # type: ignore[arg-type,operator]
        raise ParameterError(f"time_limit = {time_limit!r}: expected seconds > 0")
    return float(time_limit)  # type: ignore[arg-type]


Candidate = tuple[bool | None, list[int] | None]


def _candidate(catalogue: Catalogue, oracle: Oracle, time_left: TimeLeft) -> Candidate:
    """Return the verdict on all constraints; if it is False, those that a proof rests on."""
    found = _path_to_cannot_link(catalogue) or _too_many_must_links(catalogue)
    if found is not None:
        return False, found
    is_feasible, found = _groups(catalogue, oracle, time_left)
    if found is not None or not catalogue.on_clusters:
        return is_feasible, found
    every = list(range(len(catalogue)))
    is_feasible = oracle.verdict(every)
    return is_feasible, every if is_feasible is False else None


def _path_to_cannot_link(catalogue: Catalogue) -> list[int] | None:
    """Return a shortest path of must-links, then a cannot-link between its ends, if any."""
    n, p = catalogue.instance.n_points, len(catalogue.must_link)
    sides = connected_components(n, catalogue.must_link)[catalogue.cannot_link]
    inside = np.flatnonzero(sides[:, 0] == sides[:, 1])[:MOST_PATHS].tolist()
    paths = [shortest_path(n, catalogue.must_link, *catalogue.cannot_link[at]) for at in inside]
    if not paths:
        return None
    path, at = min(zip(paths, inside, strict=True), key=lambda found: len(found[0]))
    return [*(catalogue.must_link_number(i, j) for i, j in pairwise(path)), p + at]


def _too_many_must_links(catalogue: Catalogue) -> list[int] | None:
    """Return n - k + 1 must-links that leave fewer than k groups; None if there are fewer."""
    instance = catalogue.instance
    wanted = instance.n_points - instance.k + 1
    found = list(islice(spanning_forest(instance.n_points, catalogue.must_link), wanted))
    return found if len(found) == wanted else None


def _groups(catalogue: Catalogue, oracle: Oracle, time_left: TimeLeft) -> Candidate:
    """Return the verdict on the pairs, among which no cannot-link is inside a block.

    If it is False, those between and within some blocks that are too many for k clusters.
    """
    n, k = catalogue.instance.n_points, catalogue.instance.k
    block_of = connected_components(n, catalogue.must_link)
    edges = distinct_edges(block_of[catalogue.cannot_link])
    proof = forced_merges(int(block_of.max()) + 1, edges, k)
    if isinstance(proof, Infeasibility):
        return False, _between(catalogue, block_of, proof.points)
    graph = sparse_graph(int(block_of.max()) + 1, edges)
    found = None
    if len(edges) * k > MANY_ROWS:  # without an integer programme first
        found = decide(graph, k, time_left=lambda: 0.0)
        if found.is_possible is None and _is_mended(catalogue.instance, time_left):
            return True, None
    if found is None or found.is_possible is None:
        found = oracle.colour(graph)
    if found.vertices is None:
        return found.is_possible, None
    blocks = found.vertices[: k + 1].tolist()
    if not found.is_clique:
        blocks, _ = minimal_subset(
            found.vertices.tolist(),
            lambda some: oracle.colour(induced(graph, some)).is_possible,
            time_left,
        )
    return False, _between(catalogue, block_of, blocks)


def _is_mended(instance: Instance, time_left: TimeLeft) -> bool:
    """Return whether a clustering by k-means can be mended so that it keeps the pairs."""
    from heuristics.first_clustering import mended_clustering  # seldom needed, and compiled

    contraction = contract(instance)
    if isinstance(contraction, Infeasibility):
        return False
    return mended_clustering(contraction, time_left) is not None


def _between(catalogue: Catalogue, block_of: NDArray[np.intp], blocks: Sequence[int]) -> list[int]:
    """Return must-links that make some blocks, and a cannot-link between each two, if any.

    block_of : (n,)
    """
    wanted = np.zeros(len(block_of), np.bool_)
    wanted[list(blocks)] = True
    forest = spanning_forest(len(block_of), catalogue.must_link)
    must = [number for number in forest if wanted[block_of[catalogue.must_link[number, 0]]]]
    sides = block_of[catalogue.cannot_link]
    inside = np.flatnonzero(wanted[sides].all(axis=1))
    first = np.unique(np.sort(sides[inside], axis=1), axis=0, return_index=True)[1]
    return [*must, *(len(catalogue.must_link) + inside[first]).tolist()]


def _kind(catalogue: Catalogue, numbers: Sequence[int]) -> InfeasibilityKind:
    """Return the kind of argument that refutes the constraints of these numbers."""
    must_link, cannot_link, on_clusters = catalogue.split(numbers)
    n, k = catalogue.instance.n_points, catalogue.instance.k
    if on_clusters:
        found = contract(catalogue.restricted(numbers))
        return found.kind if isinstance(found, Infeasibility) else InfeasibilityKind.EXHAUSTED
    if not len(cannot_link):
        return InfeasibilityKind.TOO_FEW_BLOCKS
    if k == 1:
        return InfeasibilityKind.CLIQUE
    if k == 2 and len(cannot_link) > 1:
        return InfeasibilityKind.ODD_CYCLE
    graph = quotient(n, k, must_link, cannot_link)
    if graph is None:
        return InfeasibilityKind.CANNOT_LINK_IN_BLOCK
    is_clique = graph.shape[0] == k + 1 and graph.nnz == (k + 1) * k
    return InfeasibilityKind.CLIQUE if is_clique else InfeasibilityKind.NOT_COLOURABLE


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
