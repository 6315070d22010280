"""Report on the constraints of an instance, as values and as a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sdpbb.problem import Instance
from sdpbb.problem.statements import Conflict, Statement
from sdpbb.problem.textfile import name_in_file
from sdpbb.runtime.document import Document, Facts, Part, Section, Table, Text, Tone, Verdict
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.results import Reported, values_of
from sdpbb.runtime.values import counted

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
class ForcedPair:
    """Two points that share a cluster in every clustering that keeps the constraints.

    No path of must-links connects them.

    Attributes
    ----------
    rows, names : the points, by number and as the user calls them
    reasons : constraints that force them together, none of which can be left out; () if that was
        not decided in time
    """

    rows: tuple[int, int]
    names: tuple[str, ...]
    reasons: tuple[Statement, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain values; rows are named as the user does."""
        return values_of(self, "rows:names", "reasons")


@dataclass(frozen=True)
class ConstraintReport(Reported):
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
        return (
            {"instance": instance.name}
            | values_of(instance, "n_points", "n_features", "k")
            | {
                "n_must_link": len(instance.must_link),
                "n_cannot_link": len(instance.cannot_link),
                "n_on_clusters": len(instance.cluster_constraints),
            }
            | values_of(instance, "min_size")
            | {"max_size": min(maxima, default=None)}
            | values_of(instance, "sizes", "min_weight", "max_weight")
            | values_of(self, "is_feasible", "conflict", "groups", "forced", "redundant")
            | values_of(self, "is_complete", "warnings")
        )

    def document(self) -> Document:
        """Return the facts on the constraints, then the conflict or what they imply."""
        instance = self.instance
        constraints = [
            counted(len(instance.must_link), "must-link"),
            counted(len(instance.cannot_link), "cannot-link"),
        ]
        if instance.other_constraints:
            on_clusters = counted(len(instance.other_constraints), "constraint")
            constraints.append(f"{on_clusters} on clusters")
        sizes = f"{counted(instance.n_points, 'point')}, {counted(instance.n_features, 'feature')}"
        facts = [
            ("Data", f"{shown_path(instance.name) or 'unnamed'}: {sizes}, k = {instance.k}"),
            ("Constraints", ", ".join([*constraints, *instance.stated_limits])),
        ]
        parts: list[Part] = [Facts(facts), self._verdict()]
        if self.groups is not None:
            parts.append(Facts(_facts(self.groups)))
        if self.conflict is not None:
            parts.append(Text(str(self.conflict), "verbatim"))
        if self.forced:
            heading = counted(len(self.forced), "pair")
            parts.append(
                Section(f"{heading} of points forced together without must-links", [*self._pairs()])
            )
        if self.redundant:
            heading = counted(len(self.redundant), "constraint")
            parts.append(Section(f"{heading} that the others imply", [_table(self.redundant)]))
        if not self.is_complete:
            parts.append(Text("The time was too short to find all implied constraints."))
        if self.warnings:
            shown, more = self.warnings[:SHOWN], max(0, len(self.warnings) - SHOWN)
            lines = [*shown, *([f"... and {more} more"] if more else [])]
            parts.append(Section("Please check", [Text("\n".join(lines), "list")]))
        return Document("Check of constraints", parts, instance.name)

    def _verdict(self) -> Verdict:
        k = self.instance.k
        if self.is_feasible is None:
            tone = Tone("Not known", "fair")
            text = "unknown: found neither a clustering that satisfies them nor a proof of conflict"
        elif self.is_feasible:
            tone = Tone("Feasible", "good")
            text = f"feasible: a clustering into k = {k} clusters satisfies them"
        else:
            tone = Tone("Infeasible", "bad")
            text = f"infeasible: no clustering into k = {k} clusters satisfies them"
        return Verdict("Status", tone, text)

    def _pairs(self) -> Iterator[Part]:
        """Yield the forced pairs, each with the constraints that force it."""
        for pair in self.forced[:SHOWN]:
            names = " and ".join(map(name_in_file, pair.names))
            yield Section(f"{names}, by", [_table(pair.reasons)]) if pair.reasons else Text(names)
        if len(self.forced) > SHOWN:
            yield Text(f"... and {len(self.forced) - SHOWN} more")

    def __repr__(self) -> str:
        known = {True: "feasible", False: "infeasible", None: "feasibility unknown"}
        told = [known[self.is_feasible]]
        if self.conflict is not None:
            told.append(f"{counted(len(self.conflict.members), 'constraint')} in conflict")
        told.append(f"{len(self.redundant)} implied by others")
        told.append(counted(len(self.warnings), "warning"))
        return f"<ConstraintReport: {', '.join(told)}>"


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


def _table(statements: Sequence[Statement]) -> Table:
    """Return a table of constraints: where each is stated, and what it says."""
    rows = [[statement.place, statement.text] for statement in statements[:SHOWN]]
    return Table((), rows, more=len(statements) - len(rows))
