"""`check_constraints`: feasibility, implications and warnings, with a certificate of a conflict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import CertificateError
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.colouring import greedy_clique, sparse_graph
from sdpbb.problem.graph import connected_components, distinct_edges, spanning_forest
from sdpbb.problem.instance import instance_of
from sdpbb.problem.sources import InstanceArguments
from sdpbb.problem.statements import Catalogue, Conflict, Statement
from sdpbb.problem.textfile import name_in_file
from sdpbb.questions.report import Report, table_of
from sdpbb.run.explanation import checked_seconds, diagnose
from sdpbb.runtime.document import Document, Facts, Part, Section, Text, Tone, Verdict
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.results import values_of
from sdpbb.runtime.values import counted
from sdpbb.search.result import SolutionStatus

# Maximum lines of each kind in the text; the values hold all.
SHOWN = 10
# Maximum groups with cannot-links for the search for a clique, which needs a square matrix.
LARGEST_FOR_CLIQUES = 5_000


@dataclass(frozen=True)
class Groups:
    """Groups of points that constraints put together, and the feasible numbers of clusters.

    Attributes
    ----------
    n_groups : groups of points connected by must-links; single points count
    n_blocks : groups after merging the groups that propagation finds forced together
    together, apart : pairs of points that share a cluster, or never do, in every feasible
        clustering, as far as propagation finds them
    stated_together, stated_apart : numbers of stated pairs among them
    k_at_least, k_at_most : the constraints on pairs are infeasible for every k outside of this
        range
    """

    n_groups: int
    n_blocks: int
    together: int
    apart: int
    stated_together: int
    stated_apart: int
    k_at_least: int
    k_at_most: int

    def facts(self) -> Facts:
        """Return the figures in words."""
        joined = ""
        if self.n_groups > self.n_blocks:
            joined = f", {self.n_blocks} after merging groups forced together"
        rows = [("Groups", f"{self.n_groups} by must-links{joined}")]
        together, apart = (self.together, self.stated_together), (self.apart, self.stated_apart)
        for name, (number, stated) in (("Together", together), ("Apart", apart)):
            pairs = f"{counted(number, 'pair')} of points"
            rows.append((name, f"{pairs}: {stated} stated, {number - stated} implied"))
        clusters = f"every feasible k is from {self.k_at_least} to {self.k_at_most}"
        return Facts([*rows, ("Clusters", clusters)])


@dataclass(frozen=True, repr=False)
class ConstraintReport(Report):
    """Report on the constraints of an instance: feasibility, conflict, implications, warnings.

    Attributes
    ----------
    instance : the instance
    is_feasible : whether a clustering into exactly k clusters satisfies them; None if neither a
        clustering nor a proof was found
    conflict : a contradiction, if they are infeasible
    groups : what the constraints imply, unless they are infeasible
    forced : pairs (i, j) of rows that share a cluster in every feasible clustering, though no path
        of must-links connects them
    redundant : must-links and cannot-links that can be deleted together, as the others imply them
    warnings : suspicious facts, a line each
    """

    instance: Instance
    is_feasible: bool | None
    conflict: Conflict | None
    groups: Groups | None
    forced: tuple[tuple[int, int], ...]
    redundant: tuple[Statement, ...]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; rows are named as the user does."""
        instance = self.instance
        return (
            {"instance": instance.name}
            | values_of(instance, "n_points", "n_features", "k")
            | {
                "n_must_link": len(instance.must_link),
                "n_cannot_link": len(instance.cannot_link),
                "n_on_clusters": len(instance.cluster_constraints),
            }
            | values_of(instance, "min_size", "max_size", "sizes", "min_weight", "max_weight")
            | values_of(self, "is_feasible", "conflict", "groups")
            | {"forced": [list(instance.origin.rows(pair)) for pair in self.forced]}
            | values_of(self, "redundant", "warnings")
        )

    def document(self) -> Document:
        """Return the facts on the constraints, then the conflict or what they imply."""
        instance = self.instance
        sizes = f"{counted(instance.n_points, 'point')}, {counted(instance.n_features, 'feature')}"
        facts = [
            ("Data", f"{shown_path(instance.name) or 'unnamed'}: {sizes}, k = {instance.k}"),
            ("Constraints", ", ".join(instance.constraints_in_words)),
        ]
        words, kind, text = _VERDICTS[self.is_feasible]
        verdict = Verdict("Status", Tone(words, kind), text.format(instance.k))
        parts: list[Part] = [Facts(facts), verdict]
        if self.groups is not None:
            parts.append(self.groups.facts())
        if self.conflict is not None:
            parts.append(Text(str(self.conflict), "verbatim"))
        if self.forced:
            heading = f"{counted(len(self.forced), 'pair')} of points forced together"
            named = (map(name_in_file, instance.origin.rows(pair)) for pair in self.forced)
            lines = _lines([" and ".join(names) for names in named])
            parts.append(Section(f"{heading} without must-links", [lines]))
        if self.redundant:
            heading = counted(len(self.redundant), "constraint")
            cells = {"stated at": lambda one: one.place, "constraint": lambda one: one.text}
            table = table_of(self.redundant, cells, most=SHOWN)
            parts.append(Section(f"{heading} that the others imply", [table]))
        if self.warnings:
            parts.append(Section("Please check", [_lines(self.warnings)]))
        return Document("Check of constraints", parts, instance.name)


_VERDICTS: dict[bool | None, tuple[str, Literal["good", "fair", "bad"], str]] = {
    None: (
        "Not known",
        "fair",
        "unknown: found neither a clustering that satisfies them nor a proof of conflict",
    ),
    True: ("Feasible", "good", "feasible: a clustering into k = {} clusters satisfies them"),
    False: ("Infeasible", "bad", "infeasible: no clustering into k = {} clusters satisfies them"),
}


def _lines(lines: Sequence[str]) -> Text:
    """Return a list of the first SHOWN lines."""
    more = [f"... and {len(lines) - SHOWN:,} more"] if len(lines) > SHOWN else []
    return Text("\n".join([*lines[:SHOWN], *more]), "list")


def check_constraints(
    instance: Any,
    time_limit: float = 60.0,
    certificate: FilePath | None = None,
    *,
    k: int | None = None,
    **arguments: Unpack[InstanceArguments],
) -> ConstraintReport:
    """Check whether constraints are consistent, and return a contradiction or what they imply.

    Costs of clusterings are ignored.

    Parameters
    ----------
    instance : points, k and constraints as an `Instance`; or points alone, an array (n, d) or a
        data frame, with the constraints as further arguments. Soft constraints are ignored
    time_limit : seconds for the check, > 0; a certificate may use the same time again
    certificate : file for the proof that the constraints are contradictory, which
        `sdpbb.verify_certificate` checks; it is written only if they are
    k : number of clusters, of points
    arguments : constraints and options for points, as for `sdpbb.solve`

    Raises
    ------
    TypeError
        If an argument does not exist.
    InstanceError
        If points and constraints do not make a valid instance.
    ParameterError
        If time_limit is not a number above 0. If the certificate cannot be written, or if the
        constraints include code of the user.
    BackendFailure
        If the integer programming solver fails.
    CertificateError
        If the constraints are contradictory, but no proof was found in time or the file cannot be
        written. The report is its attribute `result`.
    """
    instance = instance_of(instance, k, arguments, check_constraints)
    if certificate is not None:
        from sdpbb.run.arguments import check_certifiable

        check_certifiable(instance, certificate)
    diagnosis = diagnose(instance, checked_seconds(time_limit))
    known = diagnosis.is_feasible
    contraction = contract(instance) if known is not False else None
    implied: dict[str, Any] = {"groups": None, "forced": (), "redundant": ()}
    if isinstance(contraction, Contraction):
        implied["groups"] = _groups(instance, contraction)
        implied["forced"] = tuple(forced_pairs(instance, contraction))
        implied["redundant"] = redundant(instance)
    warnings = tuple(suspicions(instance))
    report = ConstraintReport(instance, known, diagnosis.conflict, **implied, warnings=warnings)
    if certificate is not None and known is False:
        try:
            _certify(instance, time_limit, certificate)
        except CertificateError as error:
            raise CertificateError(str(error), report) from error.__cause__
    return report


def _groups(instance: Instance, contraction: Contraction) -> Groups:
    catalogue = Catalogue(instance)
    group = connected_components(instance.n_points, instance.must_link)
    n_groups = int(group.max()) + 1
    blocks, apart = np.bincount(contraction.block_of), contraction.cannot_link
    return Groups(
        n_groups=n_groups,
        n_blocks=contraction.n_blocks,
        together=int((blocks * (blocks - 1) // 2).sum()),
        apart=int((blocks[apart[:, 0]] * blocks[apart[:, 1]]).sum()),
        stated_together=len(distinct_edges(instance.must_link)),
        stated_apart=len(distinct_edges(catalogue.cannot_link)),
        k_at_least=_least_k(group, catalogue),
        k_at_most=n_groups,
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
    from sdpbb.run.solver import solve

    # Column generation can prove infeasibility, but does not support soft pairs here.
    parameters = SolverParameters(
        bounding="hybrid" if instance.has_soft_constraints else "colgen", time_limit=time_limit
    )
    order = CertificateOrder(path, only=SolutionStatus.INFEASIBLE)
    result = solve(instance, parameters, certificate=order)
    if result.status is not SolutionStatus.INFEASIBLE:
        raise CertificateError(
            f"{shown_path(path)}: not written, as no proof was found within {time_limit:g} s"
        )


def forced_pairs(instance: Instance, contraction: Contraction) -> list[tuple[int, int]]:
    """Return the pairs (i, j) of points that propagation has found to share a cluster.

    Each point is the first of its must-linked group. Each group has one pair, with the first group
    that it is joined to.
    """
    n = instance.n_points
    group = connected_components(n, instance.must_link)
    first = np.unique(group, return_index=True)[1]
    joined = contraction.representatives[contraction.block_of[first]]
    return [(int(i), int(j)) for i, j in zip(joined, first, strict=True) if i != j]


def redundant(instance: Instance) -> tuple[Statement, ...]:
    """Return must-links and cannot-links that can be deleted together, as the others imply them.

    Of constraints that imply each other, the last ones are returned. Only implications by groups of
    must-linked points and by maximum diameters are found: others may exist.
    """
    catalogue = Catalogue(instance)
    implied = set(_implied_pairs(catalogue)) | catalogue.stated_and_implied
    return tuple(map(catalogue.statement, sorted(implied.intersection(catalogue.stated_pairs))))


def _implied_pairs(catalogue: Catalogue) -> Iterator[int]:
    """Return the numbers of the pairs that earlier pairs imply.

    They are must-links whose ends earlier ones connect. They are also cannot-links between groups
    that an earlier cannot-link, or a maximum diameter, separates.
    """
    n, p = catalogue.instance.n_points, len(catalogue.must_link)
    yield from sorted(set(range(p)) - set(spanning_forest(n, catalogue.must_link)))
    group = connected_components(n, catalogue.must_link)
    # Diameters first: they cannot be deleted.
    q = len(catalogue.instance.cannot_link)
    order = np.concatenate([np.arange(q, len(catalogue.cannot_link)), np.arange(q)])
    edges = np.sort(group[catalogue.cannot_link[order]], axis=1)
    _, first = np.unique(edges @ [n, 1], return_index=True)
    yield from (p + order[np.setdiff1d(np.arange(len(edges)), first)]).tolist()


def suspicions(instance: Instance) -> Iterator[str]:
    """Yield a warning for each suspicious fact, on one line.

    These are soft constraints, which are not checked, cannot-links between equal points, and fewer
    different points than clusters.
    """
    if instance.has_soft_constraints:
        n_soft = len(instance.soft_must_link) + len(instance.soft_cannot_link)
        yield f"{counted(n_soft, 'soft constraint')} not checked"
    distinct, same = np.unique(instance.points, axis=0, return_inverse=True)
    i, j = same.reshape(-1)[instance.cannot_link].T
    catalogue = Catalogue(instance)
    for position in np.flatnonzero(i == j).tolist():
        statement = catalogue.statement(len(instance.must_link) + position)
        yield f"{statement}: these points are equal"
    if len(distinct) < instance.k:
        yield f"only {counted(len(distinct), 'different point')} for k = {instance.k} clusters"
