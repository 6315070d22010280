"""Minimal conflicts: contradictory constraints, each of which is needed for the contradiction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction, Infeasibility, InfeasibilityKind, Instance, contract
from sdpbb.problem.colouring import colour_exactly, sparse_graph
from sdpbb.problem.feasibility import (
    UndecidedPacking,
    find_feasible,
    packed_in_units,
    use_every_colour,
)
from sdpbb.problem.graph import connected_components, spanning_forest
from sdpbb.problem.instance import instance_of
from sdpbb.problem.sources import InstanceArguments
from sdpbb.problem.statements import Catalogue, Conflict
from sdpbb.runtime.declaration import as_number, wrong
from sdpbb.runtime.time_left import TimeLeft, at_most, no_limit

# Maximum colourings of blocks in a search, repeated ones included: about half a second.
NODES = 20_000
# The same if constraints on clusters are checked for each, which takes longer.
NODES_ON_CLUSTERS = 5_000
# The same for the final set.
FINAL_NODES = 200_000
# Rows of an integer programme that takes some seconds to presolve.
MANY_ROWS = 100_000


@dataclass(frozen=True)
class Diagnosis:
    """Verdict on the constraints of an instance (None: unknown), and a conflict among them."""

    is_feasible: bool | None
    conflict: Conflict | None = None


def explain_infeasibility(
    instance: Any,
    time_limit: float = 60.0,
    *,
    k: int | None = None,
    **arguments: Unpack[InstanceArguments],
) -> Conflict | None:
    """Return a minimal set of constraints that no clustering into exactly k clusters satisfies.

    "Minimal" means that the set is consistent without any one of its constraints. Constraints are
    removed, many at a time, while the others contradict each other.

    Pairs are tried first. Their conflicts are, for example, a path of must-links with a cannot-link
    between its ends, too few groups of points for k clusters, an odd cycle of cannot-links for
    k = 2, or k + 1 groups that all cannot link.

    Parameters
    ----------
    instance : points, k and constraints as an `Instance`; or points only, an array (n, d) or a data
        frame, with further arguments. Soft constraints are ignored
    time_limit : seconds, > 0, after which the present set is returned (`Conflict.is_minimal`)
    k : number of clusters, for points
    arguments : for points, the arguments of an `Instance`, as for `sdpbb.solve`

    Returns
    -------
    Conflict; None if the constraints are consistent, or if that is not known
    (`sdpbb.check_constraints` distinguishes the two).

    Raises
    ------
    TypeError
        If an argument has an unknown name.
    InstanceError
        If the points and constraints are not a valid instance.
    ParameterError
        If time_limit is not a number above 0.
    BackendFailure
        If the integer programming solver fails.
    """
    stated = instance_of(instance, k, arguments, explain_infeasibility)
    return diagnose(stated, time_limit).conflict


def diagnose(instance: Instance, time_limit: float) -> Diagnosis:
    """Decide whether the constraints are consistent; if not, find a conflict.

    See `explain_infeasibility`.
    """
    time_left = at_most(no_limit, checked_seconds(time_limit))
    catalogue = Catalogue(instance)
    proof: Infeasibility | None = None  # of the last contradictory set

    def verdict(members: Sequence[int], until: TimeLeft = time_left) -> bool | None:
        nonlocal proof
        found = _decided(catalogue.restricted(members), until)
        proof = found if isinstance(found, Infeasibility) else proof
        return False if isinstance(found, Infeasibility) else found

    n_pairs = len(catalogue.must_link) + len(catalogue.cannot_link)
    kept, is_minimal = list(range(n_pairs)), True
    is_feasible = None
    if catalogue.instance.k * len(catalogue.cannot_link) > MANY_ROWS:  # no integer programme first
        is_feasible = verdict(kept, lambda: 0.0)
        if is_feasible is None:
            is_feasible = _is_mended(catalogue.restricted(kept), time_left) or None
    if is_feasible is None:
        is_feasible = verdict(kept)
    if proof is not None:
        named = _named(catalogue, proof)
        kept = named if verdict(named) is False else kept
    elif catalogue.on_clusters:
        kept = list(range(len(catalogue)))
        is_feasible = verdict(kept)
    if proof is None:
        return Diagnosis(is_feasible)
    if kept[-1] >= len(catalogue.must_link):  # must-links only: all are needed
        kept, is_minimal = minimal_subset(kept, verdict, time_left)
    is_exact = _is_refuted_exactly(catalogue.restricted(kept))
    members = tuple(map(catalogue.statement, kept))
    return Diagnosis(False, Conflict(proof.kind, proof.kind.value, members, is_minimal, is_exact))


def checked_seconds(time_limit: object) -> float:
    """Return a time limit in seconds; ParameterError if it is not a number above 0."""
    seconds = as_number(time_limit)
    if seconds is None or not seconds > 0:
        raise wrong("time_limit", time_limit, "seconds > 0")
    return seconds


def _named(catalogue: Catalogue, proof: Infeasibility) -> list[int]:
    """Return the numbers of the pairs that a proof names; too few if the proof merges blocks.

    They are must-links that leave fewer than k groups; or a path of must-links, and a cannot-link
    between its ends; or must-links inside some groups, and a cannot-link between each two groups.
    """
    must_link, points = catalogue.must_link, list(proof.points)
    n, k = catalogue.instance.n_points, catalogue.instance.k
    if proof.kind is InfeasibilityKind.TOO_FEW_BLOCKS:
        return spanning_forest(n, must_link)[: n - k + 1]
    group = connected_components(n, must_link)
    wanted = np.isin(group, group[points])
    is_path = proof.kind is InfeasibilityKind.CANNOT_LINK_IN_BLOCK
    joins = np.isin(must_link, points) if is_path else wanted[must_link]
    inside = np.flatnonzero(joins.all(axis=1))
    forest = inside[spanning_forest(n, must_link[inside])]
    inside = np.flatnonzero(wanted[catalogue.cannot_link].all(axis=1))
    sides = np.sort(group[catalogue.cannot_link[inside]], axis=1)
    first = np.unique(sides, axis=0, return_index=True)[1]
    return [*forest.tolist(), *(len(must_link) + inside[first]).tolist()]


def _decided(instance: Instance, time_left: TimeLeft) -> Infeasibility | bool | None:
    """Return True if the constraints of an instance are consistent, a proof if not, or None."""
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility):
        return contraction
    found = find_feasible(contraction, time_left, NODES)
    if isinstance(found, Infeasibility):
        return found
    if found is not None and contraction.keeps(found):
        return True
    return _searched(contraction, NODES_ON_CLUSTERS) if contraction.instance is not None else None


def _searched(contraction: Contraction, nodes: int) -> Infeasibility | bool | None:
    """Decide like `_decided`, by a search that colours blocks at most `nodes` times."""

    def fits(blocks: Sequence[int]) -> bool:
        return contraction.allows(np.asarray(blocks, np.intp))

    def keeps(labels: NDArray[np.intp]) -> bool:
        # `fits` does not check minimum sizes.
        return contraction.keeps(use_every_colour(labels, contraction.k))

    conditions = (None, None) if contraction.instance is None else (fits, keeps)
    graph = sparse_graph(contraction.n_blocks, contraction.cannot_link)
    found = colour_exactly(graph, contraction.k, nodes, *conditions)[0]
    return Infeasibility(InfeasibilityKind.EXHAUSTED) if found is False else found


def _is_refuted_exactly(instance: Instance) -> bool:
    """Return whether a search in integers, too, proves that constraints are contradictory.

    Raises
    ------
    BackendFailure
        If they are consistent: then the integer programming solver was wrong.
    """
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility):
        return True
    with suppress(UndecidedPacking):
        if contraction.limited_amounts and packed_in_units(contraction) is None:
            return True
    nodes = FINAL_NODES if contraction.instance is None else NODES_ON_CLUSTERS
    found = _searched(contraction, nodes)
    if found is True:
        raise BackendFailure(
            "the integer programming solver calls constraints contradictory, but a clustering "
            "satisfies them"
        )
    return found is not None


def _is_mended(instance: Instance, time_left: TimeLeft) -> bool:
    """Return whether repairing a k-means clustering leads to one that satisfies the pairs."""
    from heuristics.first_clustering import mended_clustering  # seldom needed, and compiled

    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    return mended_clustering(contraction, time_left) is not None


def minimal_subset(
    items: Sequence[int], verdict: Callable[[list[int]], bool | None], time_left: TimeLeft
) -> tuple[list[int], bool]:
    """Return a minimal subset of items with verdict False, and whether it is proven minimal.

    Remove halves first, then quarters, then single items. One pass over single items is enough: a
    set that is consistent without an item stays consistent when more items are removed.
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
