"""`check_constraints`: feasibility, implications and warnings, with a certificate of a conflict."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import CertificateError
from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.problem.colouring.exact import Colourability
from sdpbb.problem.colouring.graph import greedy_clique, sparse_graph
from sdpbb.problem.graph import connected_components, distinct_edges, spanning_forest
from sdpbb.problem.instance import instance_of
from sdpbb.problem.sources import InstanceArguments
from sdpbb.problem.statements import Catalogue, Statement, place_of_pair
from sdpbb.problem.textfile import name_in_file
from sdpbb.questions.checks.report import ConstraintReport, ForcedPair, Groups
from sdpbb.run.explanation.explain import checked_seconds, diagnose
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.time_left import TimeLeft, at_most, no_limit
from sdpbb.runtime.values import counted
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
        from sdpbb.run.arguments import check_certifiable

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


def forced_pairs(instance: Instance, contraction: Contraction) -> list[tuple[int, int]]:
    """Return the pairs (i, j) of points that propagation has found to share a cluster.

    Each point is the first of its must-linked group. There is one pair for each group, with the
    first of those it is joined with.
    """
    n = instance.n_points
    group = connected_components(n, instance.must_link)
    first = np.unique(group, return_index=True)[1]
    joined = contraction.representatives[contraction.block_of[first]]
    return [(int(i), int(j)) for i, j in zip(joined, first, strict=True) if i != j]


def forced_pair(instance: Instance, pair: tuple[int, int], seconds: float) -> ForcedPair:
    """Return a forced pair with its reasons.

    These are the constraints that contradict a cannot-link between the two points.
    """
    names = tuple(instance.origin.rows(pair))
    apart = np.concatenate([instance.cannot_link, np.array([pair])])
    conflict = diagnose(replace(instance, cannot_link=apart), seconds).conflict
    if conflict is None:
        return ForcedPair(pair, names)
    added = ("cannot_link", len(apart) - 1)
    reasons = tuple(m for m in conflict.members if (m.argument, m.position) != added)
    return ForcedPair(pair, names, reasons)


def redundant(instance: Instance, time_left: TimeLeft) -> tuple[list[int], bool]:
    """Return must-links and cannot-links that can be left out together, as the others imply them.

    They are those stated one by one; those stated last are left out.

    Returns
    -------
    their numbers in a `Catalogue`, in increasing order; whether the time was enough to try all.
    Those are found that propagation finds: there may be more.
    """
    catalogue = Catalogue(instance)
    stated = catalogue.stated_pairs
    left_out = set(_implied_pairs(catalogue)).intersection(stated) | catalogue.stated_and_implied
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility) or not forced_pairs(instance, contraction):
        return sorted(left_out), True
    for number in reversed(stated):
        if time_left() <= 0.0:
            return sorted(left_out), False
        if number not in left_out and is_implied(catalogue, number, left_out):
            left_out.add(number)
    return sorted(left_out), True


def is_implied(catalogue: Catalogue, number: int, left_out: Collection[int] = ()) -> bool:
    """Return whether propagation finds that other constraints imply a must-link or a cannot-link.

    The others are without some that are left out.
    """
    others = [i for i in range(len(catalogue)) if i != number and i not in left_out]
    contraction = contract(catalogue.restricted(others))
    if isinstance(contraction, Infeasibility):
        return True
    must_link, cannot_link, _ = catalogue.split([number])
    if len(must_link):
        i, j = contraction.block_of[must_link[0]]
        return bool(i == j)
    apart = np.sort(contraction.block_of[cannot_link[0]])
    return bool((contraction.cannot_link == apart).all(axis=1).any())


def _implied_pairs(catalogue: Catalogue) -> Iterator[int]:
    """Return the numbers of the pairs that earlier pairs imply.

    They are must-links whose ends earlier ones connect, and cannot-links between groups of
    must-linked points that an earlier one, or a maximum diameter, keeps apart.
    """
    n, p = catalogue.instance.n_points, len(catalogue.must_link)
    yield from sorted(set(range(p)) - set(spanning_forest(n, catalogue.must_link)))
    group = connected_components(n, catalogue.must_link)
    # Diameters first: they stay in any case.
    q = len(catalogue.instance.cannot_link)
    order = np.concatenate([np.arange(q, len(catalogue.cannot_link)), np.arange(q)])
    edges = np.sort(group[catalogue.cannot_link[order]], axis=1)
    _, first = np.unique(edges @ [n, 1], return_index=True)
    yield from (p + order[np.setdiff1d(np.arange(len(edges)), first)]).tolist()


# Repeated lines, and cannot-links between equal points, that are listed one by one.
LISTED = 100


def suspicions(instance: Instance) -> Iterator[str]:
    """Yield a warning for each suspicious fact, on one line.

    Suspicious are pairs stated twice or both ways, cannot-links between equal points, equal points,
    constant features.
    """
    yield from _stated_both_ways(instance)
    for argument in ("must_link", "cannot_link"):
        yield from _repeated(instance, argument)
    if instance.has_soft_constraints:
        n_soft = len(instance.soft_must_link) + len(instance.soft_cannot_link)
        yield f"{counted(n_soft, 'soft constraint')} not checked"
    _, first, same = np.unique(instance.points, axis=0, return_index=True, return_inverse=True)
    same = same.reshape(-1)
    yield from _apart_though_equal(instance, same)
    again = np.setdiff1d(np.arange(instance.n_points), first).tolist()
    if again:
        example = " equals ".join(
            map(name_in_file, instance.origin.rows((again[0], int(first[same[again[0]]]))))
        )
        and_more = f", and {len(again) - 1} more that equal earlier ones" if again[1:] else ""
        yield f"equal points: {example}{and_more}"
    if len(first) < instance.k:
        yield f"only {counted(len(first), 'different point')} for k = {instance.k} clusters"
    constant = np.flatnonzero(np.ptp(instance.points, axis=0) == 0)
    if len(constant):
        columns = ", ".join(map(str, constant[:LISTED]))
        yield f"the same value in all points: column {columns} of the features, counted from 0"


def _stated_both_ways(instance: Instance) -> Iterator[str]:
    must, cannot = distinct_edges(instance.must_link), distinct_edges(instance.cannot_link)
    n = instance.n_points
    both = np.isin(must @ [n, 1], cannot @ [n, 1])
    if both.any():
        yield f"{counted(int(both.sum()), 'pair')} stated both as a must-link and a cannot-link"


def _repeated(instance: Instance, argument: str) -> Iterator[str]:
    pairs: NDArray[np.intp] = getattr(instance, argument)
    _, first, inverse = np.unique(
        pairs @ [instance.n_points, 1], return_index=True, return_inverse=True
    )
    earlier = first[inverse.reshape(-1)]
    repeated = np.flatnonzero(earlier != np.arange(len(pairs)))
    for position in repeated[:LISTED].tolist():
        place = place_of_pair(instance, argument, position)
        before = place_of_pair(instance, argument, int(earlier[position]))
        yield f"{place} repeats {before}"
    if len(repeated) > LISTED:
        yield f"{len(repeated) - LISTED} more in {argument} repeat earlier ones"


def _apart_though_equal(instance: Instance, same: NDArray[np.intp]) -> Iterator[str]:
    """Yield a line for each cannot-link between equal points.

    same : (n,) a number for each point, equal for equal points
    """
    i, j = instance.cannot_link.T
    equal = np.flatnonzero(same[i] == same[j])
    catalogue = Catalogue(instance)
    for position in equal[:LISTED].tolist():
        statement = catalogue.statement(len(instance.must_link) + position)
        yield f"{statement}: these points are equal"
    if len(equal) > LISTED:
        yield f"{len(equal) - LISTED} more cannot-links between equal points"
