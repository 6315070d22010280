"""Minimal conflicts: constraints that no clustering keeps, each of which is needed for that."""

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

# Blocks coloured, again and again included, until the search is given up: half a second.
NODES = 20_000
# The same if each is shown to constraints on clusters, which takes longer.
NODES_ON_CLUSTERS = 5_000
# The same for the set that is reported in the end.
FINAL_NODES = 200_000
# Rows of an integer programme that takes some seconds to presolve.
MANY_ROWS = 100_000


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

    "Minimal" means that the others can hold when any one of them is left out. The set is what
    remains when constraints are left out, many at a time, for as long as the others contradict
    each other. Pairs come first: a path of must-links and a cannot-link between its ends;
    must-links that leave fewer than k groups of points; for k = 2, a cycle with an odd number of
    cannot-links; k + 1 groups that mutually cannot link; pairs that allow no k groups.

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
    proof: Infeasibility | None = None  # of the last set that is refuted

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
    if kept[-1] >= len(catalogue.must_link):  # of must-links alone, all are needed
        kept, is_minimal = minimal_subset(kept, verdict, time_left)
    is_exact = _is_refuted_exactly(catalogue.restricted(kept))
    members = tuple(map(catalogue.statement, kept))
    return Diagnosis(False, Conflict(proof.kind, proof.kind.value, members, is_minimal, is_exact))


def checked_seconds(time_limit: object) -> float:
    """Return a time limit in seconds; ParameterError if it is no number above 0."""
    seconds = as_number(time_limit)
    if seconds is None or not seconds > 0:
        raise wrong("time_limit", time_limit, "seconds > 0")
    return seconds


def _named(catalogue: Catalogue, proof: Infeasibility) -> list[int]:
    """Return the pairs that a proof names, by number: fewer than it needs if it merges blocks.

    Must-links that leave fewer than k groups; those along a path, and a cannot-link between its
    ends; or must-links that make some groups, and a cannot-link between each two, if any.
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
    """Return whether the constraints of an instance are consistent, or the proof that not.

    None: not known.
    """
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
    """Return the same as `_decided`, by a search that colours some number of blocks at most."""

    def fits(blocks: Sequence[int]) -> bool:
        return contraction.allows(np.asarray(blocks, np.intp))

    def keeps(labels: NDArray[np.intp]) -> bool:
        # What fits says nothing of least sizes.
        return contraction.keeps(use_every_colour(labels, contraction.k))

    conditions = (None, None) if contraction.instance is None else (fits, keeps)
    graph = sparse_graph(contraction.n_blocks, contraction.cannot_link)
    found = colour_exactly(graph, contraction.k, nodes, *conditions)[0]
    return Infeasibility(InfeasibilityKind.EXHAUSTED) if found is False else found


def _is_refuted_exactly(instance: Instance) -> bool:
    """Return whether constraints that were refuted are so without floating point.

    Raises
    ------
    BackendFailure
        If they are consistent, so that the integer programming solver was wrong.
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
    """Return whether a clustering by k-means can be mended so that it keeps the pairs."""
    from heuristics.first_clustering import mended_clustering  # seldom needed, and compiled

    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    return mended_clustering(contraction, time_left) is not None


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
