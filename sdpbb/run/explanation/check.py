"""Report on the constraints of an instance: feasibility, implications, warnings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.colouring.exact import Colourability
from sdpbb.problem.colouring.graph import sparse_graph
from sdpbb.problem.colouring.greedy import greedy_clique
from sdpbb.problem.graph import connected_components, distinct_edges
from sdpbb.problem.statements import Catalogue, Statement
from sdpbb.run.explanation.explain import diagnose
from sdpbb.run.explanation.implications import ForcedPair, forced_pair, forced_pairs, redundant
from sdpbb.run.explanation.oracle import Deadline
from sdpbb.run.explanation.report import ConstraintReport, Groups
from sdpbb.run.explanation.suspicions import suspicions

# Forced pairs whose reasons are looked for, and the seconds for each.
EXPLAINED, EXPLANATION = 10, 2.0
# Groups with cannot-links among which a clique is looked for, in a square matrix.
LARGEST_FOR_CLIQUES = 5_000


def constraint_report(instance: Instance, time_limit: float = 60.0) -> ConstraintReport:
    """Check whether constraints are consistent, why not, and what they imply.

    There is no search for good clusterings.

    Parameters
    ----------
    instance : points, k and constraints; soft constraints are left aside
    time_limit : seconds, > 0, after which what is known is reported

    Raises
    ------
    ParameterError
        If time_limit is not a number above 0.
    BackendFailure
        If the integer programming solver fails.
    """
    deadline = Deadline(time_limit)
    diagnosis = diagnose(instance, time_limit)
    known = {Colourability.YES: True, Colourability.NO: False, Colourability.UNKNOWN: None}[
        diagnosis.verdict
    ]
    contraction = contract(instance) if known is not False else None
    groups: Groups | None = None
    forced: tuple[ForcedPair, ...] = ()
    left_out: tuple[Statement, ...] = ()
    is_complete = True
    if isinstance(contraction, Contraction):
        groups = _groups(instance, contraction)
        forced = _forced(instance, contraction, deadline)
        numbers, is_complete = redundant(instance, deadline)
        catalogue = Catalogue(instance)
        left_out = tuple(catalogue.statement(number) for number in numbers)
    return ConstraintReport(
        instance=instance,
        is_feasible=known,
        conflict=diagnosis.conflict,
        groups=groups,
        forced=forced,
        redundant=left_out,
        is_complete=is_complete,
        warnings=tuple(suspicions(instance)),
    )


def _forced(
    instance: Instance, contraction: Contraction, deadline: Deadline
) -> tuple[ForcedPair, ...]:
    found = []
    for position, pair in enumerate(forced_pairs(instance, contraction)):
        if position < EXPLAINED and not deadline.is_over:
            found.append(forced_pair(instance, pair, min(EXPLANATION, max(deadline.left, 0.1))))
        else:
            found.append(ForcedPair(pair, tuple(instance.origin.rows(pair))))
    return tuple(found)


def _groups(instance: Instance, contraction: Contraction) -> Groups:
    n = instance.n_points
    catalogue = Catalogue(instance)
    group = connected_components(n, instance.must_link)
    sizes = np.bincount(group)
    large = sizes[sizes > 1]
    blocks = np.bincount(contraction.block_of)
    apart = contraction.cannot_link
    pairs = np.concatenate([instance.must_link, catalogue.cannot_link])
    linked = np.bincount(connected_components(n, pairs))
    linked = linked[linked > 1]
    return Groups(
        n_groups=len(sizes),
        n_large=len(large),
        n_in_large=int(large.sum()),
        largest=int(sizes.max()),
        n_blocks=contraction.n_blocks,
        together=int((blocks * (blocks - 1) // 2).sum()),
        apart=int((blocks[apart[:, 0]] * blocks[apart[:, 1]]).sum()),
        stated_together=len(distinct_edges(instance.must_link)),
        stated_apart=len(distinct_edges(catalogue.cannot_link)),
        n_components=len(linked),
        largest_component=int(linked.max(initial=1)),
        k_at_least=_least_k(group, catalogue),
        k_at_most=len(sizes),
    )


def _least_k(group: NDArray[np.intp], catalogue: Catalogue) -> int:
    """Return a number of groups that mutually cannot link: a lower bound on k.

    group : (n,) the group of each point
    """
    edges = distinct_edges(group[catalogue.cannot_link])
    if not len(edges):
        return 1
    vertices, compact = np.unique(edges, return_inverse=True)
    if len(vertices) > LARGEST_FOR_CLIQUES:
        return 2
    return len(greedy_clique(sparse_graph(len(vertices), compact.reshape(-1, 2))))
