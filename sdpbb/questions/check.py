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

# Lines of each kind that the text shows; all of them are in the values.
SHOWN = 10
# Groups with cannot-links among which a clique is looked for, in a square matrix.
LARGEST_FOR_CLIQUES = 5_000


@dataclass(frozen=True)
class Groups:
    """Groups of points that constraints put together, and the numbers of clusters that they allow.

    Attributes
    ----------
    n_groups : groups of points connected by must-links, single points included
    n_blocks : groups when those that propagation finds forced together are one
    together, apart : pairs of points that share a cluster, or do not, in every clustering that
        satisfies the constraints, as far as propagation finds them
    stated_together, stated_apart : numbers of stated pairs among them
    k_at_least, k_at_most : no number of clusters outside of these allows the constraints on pairs
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
    instance : whose they are
    is_feasible : whether a clustering into exactly k clusters keeps them; None if neither a
        clustering nor a proof was found, in time or as far as is tried
    conflict : why not
    groups : what they come to, unless they are found infeasible
    forced : pairs (i, j) of rows that share a cluster in every clustering that keeps the
        constraints, though no path of must-links connects them
    redundant : must-links and cannot-links that can be left out together, as the others imply them
    warnings : what deserves a second look, a line each
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

    # Bounds on costs are of no use where there is no clustering; column generation knows of others.
    # Prices of soft pairs it does not know.
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

    Each point is the first of its must-linked group. There is one pair for each group, with the
    first of those it is joined with.
    """
    n = instance.n_points
    group = connected_components(n, instance.must_link)
    first = np.unique(group, return_index=True)[1]
    joined = contraction.representatives[contraction.block_of[first]]
    return [(int(i), int(j)) for i, j in zip(joined, first, strict=True) if i != j]


def redundant(instance: Instance) -> tuple[Statement, ...]:
    """Return must-links and cannot-links that can be left out together, as the others imply them.

    They are those stated one by one; those stated last are left out. Those are found that groups of
    must-linked points and maximum diameters imply: there may be more.
    """
    catalogue = Catalogue(instance)
    implied = set(_implied_pairs(catalogue)) | catalogue.stated_and_implied
    return tuple(map(catalogue.statement, sorted(implied.intersection(catalogue.stated_pairs))))


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


def suspicions(instance: Instance) -> Iterator[str]:
    """Yield a warning for each suspicious fact, on one line.

    Suspicious are soft constraints, which are not checked, cannot-links between equal points, and
    fewer different points than clusters.
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
