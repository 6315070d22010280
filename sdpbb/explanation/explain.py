"""Why no clustering keeps the constraints of an instance: a smallest part of them that already
cannot hold together, in the sense that each of its members is needed."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.colouring.exact import Colourability, find_clique
from sdpbb.colouring.graph import induced, k_core, sparse_graph
from sdpbb.errors import ParameterError
from sdpbb.explanation.conflict import Conflict
from sdpbb.explanation.headings import described
from sdpbb.explanation.oracle import Deadline, Oracle, minimise
from sdpbb.explanation.statements import Catalogue
from sdpbb.explanation.walks import (
    cannot_link_in_block,
    cannot_links_between,
    connecting_must_links,
    odd_cycle,
    too_many_must_links,
)
from sdpbb.problem import Instance
from sdpbb.problem.graph import connected_components, distinct_edges, neighbour_sets
from sdpbb.problem.instance import check_instance

# Candidates looked at in the search for k + 1 blocks that mutually cannot link: a tenth of a
# second. Where it is not enough, other proofs are found.
CLIQUE_BUDGET = 200_000


@dataclass(frozen=True)
class Diagnosis:
    """Whether the constraints can hold together, and if not, why."""

    verdict: Colourability
    conflict: Conflict | None = None


def explain_infeasibility(instance: Instance, time_limit: float = 60.0) -> Conflict | None:
    """A minimal set of constraints that no clustering into exactly k clusters keeps.

    "Minimal" means that the others can hold when any one of them is left out. It is, in this
    order, the first of: a path of must-links and a cannot-link between its ends; for k = 2, a cycle
    with an odd number of cannot-links; must-links that leave fewer than k groups of points;
    k + 1 groups that mutually cannot link; what remains when constraints are left out, many at a
    time, for as long as the others cannot hold together.

    Parameters
    ----------
    instance : its soft constraints are left aside
    time_limit : seconds, > 0, after which the set is given as it is (`Conflict.is_minimal`)

    Returns
    -------
    Conflict; None if the constraints can hold together, or if that was not found out in time
    (`sdpbb.check_constraints` tells which).

    Raises
    ------
    ParameterError
        If time_limit is not a number above 0.
    BackendFailure
        If the integer programming solver fails.
    """
    return diagnose(instance, time_limit).conflict


def diagnose(instance: Instance, time_limit: float) -> Diagnosis:
    """Whether the constraints can hold together, and if not, why; see `explain_infeasibility`."""
    check_instance(instance)
    deadline = Deadline(_checked(time_limit))
    catalogue = Catalogue(instance)
    oracle = Oracle(catalogue, deadline)
    verdict, candidate = _candidate(catalogue, oracle, deadline)
    if candidate is None:
        return Diagnosis(verdict)
    kept, is_minimal = candidate, True
    if not _are_must_links(catalogue, candidate):  # of which all are needed
        kept, is_minimal = minimise(candidate, oracle.verdict, deadline)
    is_exact = oracle.confirm(kept)
    kind, heading = described(catalogue, kept)
    members = tuple(catalogue.statement(number) for number in kept)
    return Diagnosis(Colourability.NO, Conflict(kind, heading, members, is_minimal, is_exact))


def _checked(time_limit: object) -> float:
    is_number = isinstance(time_limit, numbers.Real) and not isinstance(time_limit, bool)
    if not is_number or math.isnan(time_limit) or not time_limit > 0:  # type: ignore[arg-type,operator]
        raise ParameterError(f"time_limit = {time_limit!r}: expected seconds > 0")
    return float(time_limit)  # type: ignore[arg-type]


def _are_must_links(catalogue: Catalogue, candidate: list[int]) -> bool:
    return all(number < len(catalogue.must_link) for number in candidate)


Candidate = tuple[Colourability, list[int] | None]


def _candidate(catalogue: Catalogue, oracle: Oracle, deadline: Deadline) -> Candidate:
    """The verdict on all constraints; if it is NO, those that a proof rests on."""
    found = _walk(catalogue, deadline)
    if found is not None:
        return Colourability.NO, found
    verdict, found = _groups(catalogue, oracle, deadline)
    if found is not None or not catalogue.on_clusters:
        return verdict, found
    every = list(range(len(catalogue)))
    verdict = oracle.verdict(every)
    return verdict, every if verdict is Colourability.NO else None


def _walk(catalogue: Catalogue, deadline: Deadline) -> list[int] | None:
    """A proof that is found by walking from point to point."""
    if catalogue.instance.k == 1 and len(catalogue.cannot_link):
        return [len(catalogue.must_link)]
    if catalogue.instance.k == 2:
        found = odd_cycle(catalogue, deadline)
    else:
        found = cannot_link_in_block(catalogue, deadline)
    return found or too_many_must_links(catalogue)


def _groups(catalogue: Catalogue, oracle: Oracle, deadline: Deadline) -> Candidate:
    """The verdict on the pairs, of which no walk is a proof; if it is NO, those between and within
    some blocks that are too many for k clusters."""
    n, k = catalogue.instance.n_points, catalogue.instance.k
    block_of = connected_components(n, catalogue.must_link)
    edges = distinct_edges(block_of[catalogue.cannot_link])
    graph = sparse_graph(int(block_of.max()) + 1, edges)
    vertices, _ = k_core(graph, k)
    inner = induced(graph, vertices)
    chosen = find_clique(inner, k + 1, CLIQUE_BUDGET)
    if chosen is None:
        found = oracle.colour(inner)
        if found.vertices is None:
            return found.answer, None
        chosen, _ = minimise(
            found.vertices.tolist(),
            lambda some: oracle.colour(induced(inner, some)).answer,
            deadline,
        )
    return Colourability.NO, _between(catalogue, block_of, vertices[chosen].tolist())


def _between(catalogue: Catalogue, block_of: NDArray[np.intp], blocks: list[int]) -> list[int]:
    """The cannot-links between some blocks, with the must-links that connect their ends."""
    cannot = cannot_links_between(catalogue, block_of, blocks)
    ends: dict[int, set[int]] = {}
    for pair in catalogue.cannot_link[np.array(cannot) - len(catalogue.must_link)].tolist():
        for point in pair:
            ends.setdefault(int(block_of[point]), set()).add(point)
    graph = neighbour_sets(catalogue.instance.n_points, distinct_edges(catalogue.must_link))
    must: list[int] = []
    for points in ends.values():
        must += connecting_must_links(catalogue, graph, points)
    return [*must, *cannot]
