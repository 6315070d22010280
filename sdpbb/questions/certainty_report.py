"""Certainty of points as values, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Instance
from sdpbb.questions.report import SHOWN, StudyReport, figure, table_of
from sdpbb.runtime.document import Document, Facts, Part, Picture, Text, Tone, Verdict
from sdpbb.runtime.results import plain, values_of
from sdpbb.runtime.values import counted
from sdpbb.search.result import Result, row_ids

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("row", "cluster", "state", "costs_at_least", "costs_at_most", "may_join")
CERTAIN, UNCERTAIN, OPEN = "certain", "uncertain", "open"
LEGEND = (
    "A point is certain if it is with the anchor of its cluster, the point nearest to its mean, in "
    "every clustering within {share} of the best one; this is proven.\n"
    "It is uncertain if a clustering within {share} that has it elsewhere is known.\n"
    "Costs: what it costs at least and at most to have it elsewhere; may join: the clusters, "
    "beside its own, that are not ruled out."
)


@dataclass(frozen=True, eq=False, repr=False)
class CertaintyReport(StudyReport):
    """Report on the certainty of each point.

    Attributes
    ----------
    result : of the instance. Without a clustering nothing is known of points, and arrays are empty
    instance : the instance
    within : the share of its cost by which clusterings may cost more
    anchors : (k,) the point of each cluster that is nearest to its mean
    at_least, at_most : (n,) bounds on what it costs, beyond the optimum, that a point is not with
        its anchor; inf for none known, at_least is inf where it is impossible
    certain : (n,) whether the point is with its anchor in every clustering that costs at most
        (1 + within) times as much as that of the result
    uncertain : (n,) whether a clustering that cheap is known in which it is not
    may_join : (n, k) anchors with which a point may be in such a clustering, as far as is known
    anchors_apart : (k, k) pairs of anchors that share a cluster in no clustering that cheap
    interrupted : whether an interrupt ended the run
    seconds : of the whole run
    problems : a line for each point whose run failed
    """

    result: Result
    instance: Instance
    within: float
    anchors: NDArray[np.intp]
    at_least: NDArray[np.float64]
    at_most: NDArray[np.float64]
    certain: NDArray[np.bool_]
    uncertain: NDArray[np.bool_]
    may_join: NDArray[np.bool_]
    anchors_apart: NDArray[np.bool_]
    interrupted: bool
    seconds: float
    problems: tuple[str, ...] = ()

    title = "Certainty of points"
    nothing = "nothing is known of points"
    columns = COLUMNS

    @classmethod
    def of_nothing(
        cls, result: Result, instance: Instance, within: float, interrupted: bool
    ) -> CertaintyReport:
        """Return the report on an instance for which no clustering was found."""
        points, pairs = np.empty(0, bool), np.empty((0, 0), bool)
        known = (np.empty(0, np.intp), np.empty(0), np.empty(0), points, points, pairs, pairs)
        seconds = result.statistics.wall_seconds
        return cls(result, instance, within, *known, interrupted, seconds)

    @property
    def labels(self) -> NDArray[np.intp]:
        """Labels (n,) of the clustering that the report is about."""
        assert self.result.partition is not None
        return self.result.partition.labels

    @property
    def is_complete(self) -> bool:
        """True if the clustering is optimal, and the state of every point known."""
        return self.is_solved and bool((self.certain | self.uncertain).all())

    @property
    def states(self) -> NDArray[np.str_]:
        """State (n,) of each point: "certain", "uncertain" or "open"."""
        return np.where(self.certain, CERTAIN, np.where(self.uncertain, UNCERTAIN, OPEN))

    @property
    def stable(self) -> NDArray[np.bool_]:
        """True where a cluster, (k,), is the same in every clustering within the share.

        It is if all of its points are certain, and no other point may join it.
        """
        others, k = self._others(), len(self.anchors)
        unsure = np.bincount(self.labels[~self.certain], minlength=k)
        apart = self.anchors_apart.sum(axis=1) == k - 1
        return np.asarray((unsure == 0) & ~others.any(axis=0) & apart)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each point; those that cannot be elsewhere cost nothing known."""
        if self.result.partition is None:
            return []
        others = [" ".join(map(str, np.flatnonzero(row).tolist())) for row in self._others()]
        columns = (
            row_ids(self.instance.origin, len(self.labels)),
            *map(plain, (self.labels, self.states, self.at_least, self.at_most)),
            np.where(self.certain, "", others).tolist(),
        )
        return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        figures = ("status", "termination", "objective", "lower_bound", "gap")
        known = () if self.result.partition is None else ("labels", "anchors", "stable")
        return (
            values_of(self.result, *figures)
            | values_of(self, "within", "is_complete", "interrupted", *known)
            | {"points": self.to_rows()}
            | values_of(self, "problems", "seconds", "result.parameters", "result.version")
        )

    def document(self, top: int = SHOWN) -> Document:
        """Return how many points and clusters are certain, and the points that are not.

        top : rows of the table
        """
        name = self.instance.name
        if self.result.partition is None:
            return self.without_clustering(name)
        share, n = _percent(self.within), len(self.labels)
        number = int(self.certain.sum())
        tone = Tone(f"{number} of {n} points are certain", "good" if number == n else "fair")
        text = (
            f"{number} of {n} points keep their cluster in every clustering that costs at most "
            f"{share} more than the one found. This is proven."
        )
        parts: list[Part] = [Verdict("Status", tone, text), Facts(self.facts())]
        parts.append(Text(LEGEND.format(share=share), "list"))
        description = f"Points by state: {number} of {n} are certain."
        caption = (
            "Certain points are filled; uncertain ones have a red outline, open ones a dark one."
        )
        parts.append(Picture(description, caption, self._picture))
        unsure = np.flatnonzero(~self.certain)
        if len(unsure) and top:
            order = unsure[np.lexsort((self.at_most[unsure], self.at_least[unsure]))]
            cells: dict[str, Callable[[dict[str, Any]], str]] = {
                "row": lambda row: str(row["row"]),
                "cluster": lambda row: str(row["cluster"]),
                "state": lambda row: row["state"],
                "costs at least": lambda row: figure(row["costs_at_least"], ".4g"),
                "at most": lambda row: figure(row["costs_at_most"], ".4g") or "-",
                "may join": lambda row: row["may_join"],
            }
            rows = self.to_rows()
            listed = [rows[i] for i in order.tolist()]
            parts.append(table_of(listed, cells, "Points that are not certain", top))
        return Document(self.title, parts, name)

    def findings(self) -> list[tuple[str, str]]:
        counts = [(CERTAIN, self.certain), (UNCERTAIN, self.uncertain & ~self.certain)]
        counts.append((OPEN, ~(self.certain | self.uncertain)))
        facts = [
            (state.capitalize(), f"{counted(int(which.sum()), 'point')} ({which.mean():.1%})")
            for state, which in counts
            if which.any()
        ]
        stable = int(self.stable.sum())
        return [*facts, ("Stable clusters", f"{stable} of {len(self.anchors)}")]

    def _others(self) -> NDArray[np.bool_]:
        others = self.may_join.copy()
        others[np.arange(len(others)), self.labels] = False
        return others

    def _picture(self) -> Axes:
        from sdpbb.plots import plot_certainty

        return plot_certainty(self.instance, self.labels, self.states, self.anchors)


def _percent(share: float) -> str:
    return f"{100.0 * share:.6g} %"
