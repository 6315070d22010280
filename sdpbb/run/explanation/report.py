"""Report on the constraints of an instance, as values and as a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sdpbb.problem import Instance
from sdpbb.problem.statements import Conflict, Statement, table
from sdpbb.problem.textfile import name_in_file
from sdpbb.run.explanation.implications import ForcedPair
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.markup import card
from sdpbb.runtime.values import counted, json_text

# Lines of each kind that the text shows; all of them are in the values.
SHOWN = 10


@dataclass(frozen=True)
class Groups:
    """Figures on the points that constraints put together and keep apart.

    Attributes
    ----------
    n_groups : groups of points connected by must-links, single points included
    n_large, n_in_large, largest : those of two points or more, the points in them, and the number
        of points of the largest
    n_blocks : groups when those that propagation finds forced together are one
    together, apart : pairs of points that share a cluster, or do not, in every clustering that
        keeps the constraints, as far as propagation finds them
    stated_together, stated_apart : those of them that are stated
    n_components, largest_component : components of the graph of all pairs stated, those of one
        point left aside, and the number of points of the largest
    k_at_least, k_at_most : no number of clusters outside of these allows the constraints on pairs
    """

    n_groups: int
    n_large: int
    n_in_large: int
    largest: int
    n_blocks: int
    together: int
    apart: int
    stated_together: int
    stated_apart: int
    n_components: int
    largest_component: int
    k_at_least: int
    k_at_most: int


@dataclass(frozen=True)
class ConstraintReport:
    """Report on the constraints of an instance: feasibility, conflict, implications, warnings.

    Attributes
    ----------
    instance : whose they are
    is_feasible : whether a clustering into exactly k clusters keeps them; None if neither a
        clustering nor a proof was found, in time or as far as is tried
    conflict : why not
    groups : what they come to, unless they are found infeasible
    forced : pairs that share a cluster though no path of must-links connects them, the first
        of them with the reasons
    redundant : must-links and cannot-links that can be left out together, as the others imply them
    is_complete : whether the time was enough to look for all of these
    warnings : what deserves a second look, a line each
    """

    instance: Instance
    is_feasible: bool | None
    conflict: Conflict | None
    groups: Groups | None
    forced: tuple[ForcedPair, ...]
    redundant: tuple[Statement, ...]
    is_complete: bool
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; rows are named as the user does.

        `max_size` is the least of all that are stated, those among the constraints on clusters
        included.
        """
        instance = self.instance
        maxima = instance.stated_maxima
        maxima += [] if instance.max_size is None else [instance.max_size]
        return {
            "instance": instance.name,
            "n_points": instance.n_points,
            "n_features": instance.n_features,
            "k": instance.k,
            "n_must_link": len(instance.must_link),
            "n_cannot_link": len(instance.cannot_link),
            "n_on_clusters": len(instance.cluster_constraints),
            "min_size": instance.min_size,
            "max_size": min(maxima, default=None),
            "sizes": None if instance.sizes is None else list(instance.sizes),
            "min_weight": instance.min_weight,
            "max_weight": instance.max_weight,
            "is_feasible": self.is_feasible,
            "conflict": None if self.conflict is None else self.conflict.to_dict(),
            "groups": None if self.groups is None else asdict(self.groups),
            "forced": [pair.to_dict() for pair in self.forced],
            "redundant": [statement.to_dict() for statement in self.redundant],
            "is_complete": self.is_complete,
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """Return `to_dict()` as one JSON object, one line per key."""
        return json_text(self.to_dict())

    def __str__(self) -> str:
        summary = "\n".join(f"{name:<15} {text}" for name, text in _summary(self))
        return "\n\n".join([summary, *_sections(self)])

    def __repr__(self) -> str:
        known = {True: "feasible", False: "infeasible", None: "feasibility unknown"}
        told = [known[self.is_feasible]]
        if self.conflict is not None:
            told.append(f"{counted(len(self.conflict.members), 'constraint')} in conflict")
        told.append(f"{len(self.redundant)} implied by others")
        told.append(counted(len(self.warnings), "warning"))
        return f"<ConstraintReport: {', '.join(told)}>"

    def _repr_html_(self) -> str:
        """Return a table, as notebooks show it."""
        return card("Check of constraints", _summary(self), "\n\n".join(_sections(self)))


def _summary(report: ConstraintReport) -> list[tuple[str, str]]:
    """Return the facts by name."""
    instance = report.instance
    constraints = [
        counted(len(instance.must_link), "must-link"),
        counted(len(instance.cannot_link), "cannot-link"),
    ]
    if instance.other_constraints:
        on_clusters = counted(len(instance.other_constraints), "constraint")
        constraints.append(f"{on_clusters} on clusters")
    constraints += instance.stated_limits
    lines = [
        (
            "Data",
            f"{shown_path(instance.name) or 'unnamed'}: {counted(instance.n_points, 'point')}, "
            f"{counted(instance.n_features, 'feature')}, k = {instance.k}",
        ),
        ("Constraints", ", ".join(constraints)),
        ("Status", _status(report)),
    ]
    if report.groups is not None:
        lines += _facts(report.groups)
    return lines


def _status(report: ConstraintReport) -> str:
    k = report.instance.k
    if report.is_feasible is None:
        return "unknown: found neither a clustering that satisfies them nor a proof of conflict"
    if report.is_feasible:
        return f"feasible: a clustering into k = {k} clusters satisfies them"
    return f"infeasible: no clustering into k = {k} clusters satisfies them"


def _facts(groups: Groups) -> list[tuple[str, str]]:
    forced = groups.n_groups - groups.n_blocks
    joined = f", {groups.n_blocks} after merging groups forced together" if forced else ""
    in_large = f" ({groups.n_in_large} points, the largest {groups.largest})"
    return [
        (
            "Groups",
            f"{groups.n_groups} by must-links{joined}; {groups.n_large} of two points or more"
            + (in_large if groups.n_large else ""),
        ),
        ("Together", _pairs(groups.together, groups.stated_together)),
        ("Apart", _pairs(groups.apart, groups.stated_apart)),
        ("Components", _components(groups)),
        ("Clusters", f"every feasible k is from {groups.k_at_least} to {groups.k_at_most}"),
    ]


def _pairs(number: int, stated: int) -> str:
    return f"{counted(number, 'pair')} of points: {stated} stated, {number - stated} implied"


def _components(groups: Groups) -> str:
    if not groups.n_components:
        return "0"
    return f"{groups.n_components}, the largest of {groups.largest_component} points"


def _sections(report: ConstraintReport) -> list[str]:
    """Return the lists of the report, each under a heading."""
    sections = []
    if report.conflict is not None:
        sections.append(str(report.conflict))
    if report.forced:
        sections.append("\n".join(_forced(report.forced)))
    if report.redundant:
        heading = f"{counted(len(report.redundant), 'constraint')} that the others imply:"
        sections.append("\n".join([heading, *_first(table(report.redundant))]))
    if not report.is_complete:
        sections.append("The time was too short to find all implied constraints.")
    if report.warnings:
        sections.append("\n".join(["Please check:", *_first(_indented(report.warnings))]))
    return sections


def _forced(forced: Sequence[ForcedPair]) -> list[str]:
    lines = [f"{counted(len(forced), 'pair')} of points forced together without must-links:"]
    for pair in forced[:SHOWN]:
        i, j = map(name_in_file, pair.names)
        lines.append(f"  {i} and {j}{', by' if pair.reasons else ''}")
        lines += table(pair.reasons, indent="    ")
    return lines + _more(len(forced))


def _first(lines: list[str]) -> list[str]:
    return lines[:SHOWN] + _more(len(lines))


def _more(number: int) -> list[str]:
    return [f"  ... and {number - SHOWN} more"] if number > SHOWN else []


def _indented(texts: Sequence[str]) -> list[str]:
    return [f"  {text}" for text in texts]
