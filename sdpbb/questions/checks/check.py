"""`check_constraints`: feasibility, implications and warnings, with a certificate of a conflict."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import CertificateError
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.colouring.exact import Colourability
from sdpbb.problem.colouring.graph import greedy_clique, sparse_graph
from sdpbb.problem.graph import connected_components, distinct_edges
from sdpbb.problem.instance import instance_of
from sdpbb.problem.sources import InstanceArguments
from sdpbb.problem.statements import Catalogue, Statement
from sdpbb.questions.checks.implications import ForcedPair, forced_pair, forced_pairs, redundant
from sdpbb.questions.checks.report import ConstraintReport, Groups
from sdpbb.questions.checks.suspicions import suspicions
from sdpbb.run.explanation.explain import checked_seconds, diagnose
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.time_left import TimeLeft, at_most, no_limit
from sdpbb.search.result import SolutionStatus

# Forced pairs whose reasons are looked for, and the seconds for each.
EXPLAINED, EXPLANATION = 10, 2.0
# Groups with cannot-links among which a clique is looked for, in a square matrix.
LARGEST_FOR_CLIQUES = 5_000


def check_constraints(
    instance: Any,
    time_limit: float = 60.0,
    certificate: FilePath | None = None,
    *,
    k: int | None = None,
    **arguments: Unpack[InstanceArguments],
) -> ConstraintReport:
    """Check whether constraints are consistent, why not, and what they imply.

    There is no search for good clusterings.

    Parameters
    ----------
    instance : points, k and constraints as an `Instance`; or points alone, an array (n, d) or a
        data frame, with the others as further arguments. Soft constraints are left aside
    time_limit : seconds, > 0, after which what is known is reported; as many again for the proof
    certificate : a file for the proof that they contradict each other, which
        `sdpbb.verify_certificate` checks; it is written only if they cannot
    k : number of clusters, of points
    arguments : of points what makes an `Instance` of them, as for `sdpbb.solve`

    Raises
    ------
    TypeError
        If there is no argument of a name.
    InstanceError
        If the instance is none, or the points and constraints make none.
    ParameterError
        If time_limit is not a number above 0. If a certificate is asked for where none can be
        written, or of constraints on clusters that are the user's own code.
    BackendFailure
        If the integer programming solver fails.
    CertificateError
        If they contradict each other, and there is no certificate: none was found in the time, or
        it cannot be written. The report is its attribute `result`.
    """
    instance = instance_of(instance, k, arguments, check_constraints)
    if certificate is not None:
        from sdpbb.run.checks import check_certifiable

        check_certifiable(instance, certificate)
    time_left = at_most(no_limit, checked_seconds(time_limit))
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
        forced = _forced(instance, contraction, time_left)
        numbers, is_complete = redundant(instance, time_left)
        catalogue = Catalogue(instance)
        left_out = tuple(catalogue.statement(number) for number in numbers)
    report = ConstraintReport(
        instance=instance,
        is_feasible=known,
        conflict=diagnosis.conflict,
        groups=groups,
        forced=forced,
        redundant=left_out,
        is_complete=is_complete,
        warnings=tuple(suspicions(instance)),
    )
    if certificate is not None and known is False:
        try:
            _certify(instance, time_limit, certificate)
        except CertificateError as error:
            raise CertificateError(str(error), report) from error.__cause__
    return report


def _forced(
    instance: Instance, contraction: Contraction, time_left: TimeLeft
) -> tuple[ForcedPair, ...]:
    found = []
    for position, pair in enumerate(forced_pairs(instance, contraction)):
        if position < EXPLAINED and time_left() > 0.0:
            found.append(forced_pair(instance, pair, min(EXPLANATION, max(time_left(), 0.1))))
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


def _certify(instance: Instance, time_limit: float, path: FilePath) -> None:
    """Have the engine find a proof of infeasibility that the checker confirms."""
    from sdpbb.run.certificates.writer import CertificateOrder
    from sdpbb.run.parameters import SolverParameters
    from sdpbb.run.solver import solve_and_certify

    # Bounds on costs are of no use where there is no clustering; column generation knows of others.
    # Prices of soft pairs it does not know.
    parameters = SolverParameters(
        bounding="hybrid" if instance.has_soft_constraints else "colgen", time_limit=time_limit
    )
    order = CertificateOrder(path, only=SolutionStatus.INFEASIBLE)
    result = solve_and_certify(instance, parameters, order=order)
    if result.status is not SolutionStatus.INFEASIBLE:
        raise CertificateError(
            f"{shown_path(path)}: not written, as no proof was found within {time_limit:g} s"
        )
