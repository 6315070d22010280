"""Report on labels: verdict, gap and the figures behind them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from sdpbb.problem import Partition, SoftViolations
from sdpbb.problem.partition import Violation
from sdpbb.runtime.document import Document, Facts, Part, Text, Tone, Verdict
from sdpbb.runtime.results import Reported, values_of
from sdpbb.runtime.values import counted, percent_down, percent_up, rounded_down, seconds_text
from sdpbb.search.result import PRECISION, Result, SolutionStatus, clusters_in_pandas, stopped_by

if TYPE_CHECKING:
    import pandas as pd

# Significant digits of costs.
DIGITS = 12
# Violated constraints that are printed; all of them are in the report itself.
SHOWN_VIOLATIONS = 5


class LabelVerdict(Enum):
    """Verdict on labels: whether they are proven to be optimal."""

    OPTIMAL = "optimal"
    """Proven: they keep the constraints, and a valid lower bound lies within the gap asked for."""
    NOT_OPTIMAL = "not_optimal"
    """A better clustering that keeps the constraints was found."""
    UNDECIDED = "undecided"
    """Neither: the run was stopped before."""
    NOT_COMPARABLE = "not_comparable"
    """They violate a constraint, or do not have k clusters."""
    INFEASIBLE = "infeasible"
    """No clustering keeps the constraints."""


_TONES = {
    LabelVerdict.OPTIMAL: Tone("Proven optimal", "good"),
    LabelVerdict.NOT_OPTIMAL: Tone("Not optimal", "fair"),
    LabelVerdict.UNDECIDED: Tone("Not proven optimal", "fair"),
    LabelVerdict.NOT_COMPARABLE: Tone("Not comparable", "bad"),
    LabelVerdict.INFEASIBLE: Tone("No clustering satisfies the constraints", "bad"),
}


@dataclass(frozen=True, eq=False, repr=False)
class GapReport(Reported):
    """Report on the gap between labels and the best clustering into k clusters.

    The best one keeps the constraints.

    Attributes
    ----------
    k : number of clusters that was asked for
    partition : the clustering that the labels stand for
    objective : of the labels, as that of a `Result`: their sum of squares, plus the weights of the
        soft constraints that they violate
    violations : the constraints that they violate
    gap : (objective - lower_bound) / objective, at least 0: what share of it any clustering can
        save. None for labels that are not comparable
    saving : the share that the best clustering found does save, at least 0 and at most the gap;
        None for labels that are not comparable
    result : the run: the lower bound, the best clustering found, why it stopped, what it took
    soft : the soft constraints that the labels violate; None without soft constraints
    """

    k: int
    partition: Partition
    objective: float
    violations: tuple[Violation, ...]
    gap: float | None
    saving: float | None
    result: Result
    soft: SoftViolations | None = None

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the labels."""
        return self.partition.n_clusters

    @property
    def is_comparable(self) -> bool:
        """True if the labels have k clusters and keep every constraint.

        Their sum of squares is an upper bound on the least then.
        """
        return self.n_clusters == self.k and not self.violations

    @property
    def lower_bound(self) -> float | None:
        """Bound proven for all clusterings that keep the constraints; None if there is none."""
        return self.result.lower_bound

    @property
    def difference(self) -> float | None:
        """Difference objective - lower_bound, in squared units of the points.

        It is negative for labels that are cheap because they violate constraints or have more
        clusters. None without a bound.
        """
        return None if self.lower_bound is None else self.objective - self.lower_bound

    @property
    def proven_optimal(self) -> bool:
        """True if the labels are an optimum, within the gap that was asked for."""
        within = max(self.result.gap_asked, PRECISION)
        closed = self.result.status is SolutionStatus.OPTIMAL
        return closed and self.gap is not None and self.gap <= within

    @property
    def verdict(self) -> LabelVerdict:
        """The verdict on the labels."""
        if self.result.status is SolutionStatus.INFEASIBLE:
            return LabelVerdict.INFEASIBLE
        if self.saving is None:
            return LabelVerdict.NOT_COMPARABLE
        if self.proven_optimal:
            return LabelVerdict.OPTIMAL
        return LabelVerdict.NOT_OPTIMAL if self.saving > PRECISION else LabelVerdict.UNDECIDED

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON.

        `best` is the run with its labels (`Result.to_dict`).
        """
        soft = () if self.soft is None else ("soft",)
        return self._figures() | values_of(self, "violations", *soft, "best:result")

    def to_row(self) -> dict[str, Any]:
        """Return a row of a table, as plain values; those of the run have the prefix `best_`."""
        best = {f"best_{name}": value for name, value in self.result.to_row().items()}
        return self._figures() | {"n_violations": len(self.violations)} | best

    def to_pandas(self) -> pd.DataFrame:
        """Return the clusters of the points: a row for each, named as the user does.

        Columns are `given`, the cluster of the labels, and `best`, that of the best clustering
        found, if there is one. (`to_row` is what a table of several reports has of this one.)

        Raises
        ------
        BackendUnavailable
            Without pandas.
        """
        best = {} if self.result.partition is None else {"best": self.result.partition}
        return clusters_in_pandas({"given": self.partition} | best, self.result.origin)

    def _figures(self) -> dict[str, Any]:
        judged = ("verdict", "proven_optimal", "comparable:is_comparable", "k", "n_clusters")
        costs = ("objective", "lower_bound", "gap", "difference", "saving")
        return values_of(self, *judged, *costs)

    def document(self) -> Document:
        """Return the verdict and the figures behind it.

        `sdpbb.questions.gaps.page` has more sections of the instance and the labels.
        """
        verdict = Verdict("Verdict", _TONES[self.verdict], verdict_in_words(self))
        parts: list[Part] = [verdict, Facts(self._facts())]
        if self.result.conflict is not None:
            parts.append(Text(str(self.result.conflict), "verbatim"))
        return Document("Gap of labels", parts)

    def _facts(self) -> list[tuple[str, str]]:
        """Return the figures behind the verdict, by name."""
        facts = [(self.result.cost_name.capitalize(), f"{self.objective:.{DIGITS}g}")]
        if self.soft is not None:
            facts.append(("Soft violated", str(self.soft)))
        facts += [("Violated", text) for text in _shown_violations(self.violations)]
        if self.lower_bound is not None:
            facts.append(("Lower bound", rounded_down(self.lower_bound, DIGITS)))
        if self.gap is not None:
            facts.append(("Gap", percent_up(self.gap)))
        elif self.difference is not None:
            facts.append(("Difference", f"{self.difference:.6g}: cost minus lower bound"))
        if self.result.objective is not None:
            facts.append(("Best clustering", _best(self)))
        facts.append(("Nodes", str(self.result.statistics.n_nodes)))
        facts.append(("Time", seconds_text(self.result.statistics.wall_seconds)))
        return facts

    def __repr__(self) -> str:
        told = [self.verdict.value.replace("_", " ")]
        told.append(f"{self.result.cost_name} {self.objective:.6g}")
        if self.gap is not None:
            told.append(f"gap {percent_up(self.gap)}")
        return f"<GapReport: {', '.join(told)}>"


def verdict_in_words(report: GapReport) -> str:
    """Return the verdict in sentences.

    What is proven, or saved, is rounded so that the sentence stays true.
    """
    result = report.result
    if result.status is SolutionStatus.INFEASIBLE:
        # A conflict says more, below.
        proof = "" if result.conflict else f": {result.infeasibility}"
        return f"Proven: no clustering satisfies the constraints{proof}."
    sentences = _compared(report) if report.is_comparable else _not_compared(report)
    if result.status is not SolutionStatus.OPTIMAL:
        sentences.append(f"The run was stopped by {stopped_by(result.termination)}.")
    return " ".join(sentences)


def _compared(report: GapReport) -> list[str]:
    """Return sentences on labels that satisfy the constraints."""
    assert report.gap is not None
    assert report.saving is not None
    best = report.result.objective if report.saving > PRECISION else None
    sentences = [f"Your labels cost {report.objective:.{DIGITS}g}{_with_weights(report)}."]
    if report.gap == 0.0:
        return [*sentences, "They are proven optimal: no clustering is better."]
    limit = f"none is more than {percent_up(report.gap)} better"
    if report.gap >= 1.0:
        limit = "no lower bound above 0 is proven"
    if best is not None:
        less = percent_down(report.saving)
        found = f"A clustering that costs {best:.{DIGITS}g} exists ({less} less)"
        sentences.append(f"{found}; {limit}.")
    if report.proven_optimal:
        within = 100.0 * max(report.result.gap_asked, PRECISION)
        proven = f"They are proven optimal within {within:g}%"
        sentences.append(f"{proven}: {limit}." if best is None else f"{proven}, the gap requested.")
    elif best is None:
        sentences.append(f"No better clustering was found; {limit}.")
    return sentences


def _not_compared(report: GapReport) -> list[str]:
    """Return sentences on labels that are not a clustering as the constraints and k want it."""
    result, reasons = report.result, []
    if report.n_clusters != report.k:
        have = counted(report.n_clusters, "cluster")
        reasons.append(f"have {have} instead of k = {report.k}")
    if report.violations:
        reasons.append(f"violate {counted(len(report.violations), 'constraint')}")
    such = f"clustering into {counted(report.k, 'cluster')}"
    if report.violations:
        such += " that satisfies the constraints"
    sentences = [
        f"Your labels {' and '.join(reasons)}, so they have no gap.",
        f"They cost {report.objective:.{DIGITS}g}{_with_weights(report)}.",
    ]
    lower, best = report.lower_bound, result.objective
    least = None
    if lower is not None and math.isfinite(lower):
        least = f"Every {such} costs at least {rounded_down(max(0.0, lower), DIGITS)}"
    if best is not None:
        found = f"{best:.{DIGITS}g}"
        least = f"{least}; one that costs {found} exists" if least else f"A {such} costs {found}"
    return [*sentences, f"{least}."] if least else sentences


def _with_weights(report: GapReport) -> str:
    """Return a remark on costs that are not sums of squares alone."""
    if report.soft is None:
        return ""
    return ", with the weights of violated soft constraints"


def _shown_violations(violated: tuple[Violation, ...]) -> list[str]:
    shown = [str(violation) for violation in violated[:SHOWN_VIOLATIONS]]
    if len(violated) > SHOWN_VIOLATIONS:
        shown.append(f"and {len(violated) - SHOWN_VIOLATIONS} more")
    return shown


def _best(report: GapReport) -> str:
    result = report.result
    proven = "proven optimal" if result.status is SolutionStatus.OPTIMAL else "not proven optimal"
    same = ", the labels themselves" if result.partition == report.partition else ""
    return f"{result.objective:.{DIGITS}g}, {proven}{same}"
