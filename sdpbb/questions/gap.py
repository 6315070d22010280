"""`optimality_gap`: proven gap between any labels and the best clustering."""

from __future__ import annotations

import math
import numbers
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from heuristics.measures import adjusted_rand_index
from sdpbb.errors import CertificateError, InstanceError
from sdpbb.problem import Instance, Partition, SoftViolations
from sdpbb.problem.frames import column_of, columns_of, in_row_order, is_frame, note_noise
from sdpbb.problem.instance import instance_of
from sdpbb.problem.partition import Violation, violations
from sdpbb.problem.preparation import table_in_memory
from sdpbb.problem.sources import arguments_of
from sdpbb.questions.report import SHOWN, Report, bound_text
from sdpbb.run.arguments import SolveArguments, divided
from sdpbb.run.certificates.writer import CertificateOrder
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.runtime.document import Document, Facts, Part, Text, Tone, Verdict
from sdpbb.runtime.files import FilePath
from sdpbb.runtime.interruption import interruptible
from sdpbb.runtime.results import values_of
from sdpbb.runtime.values import counted, percent_down, percent_up, seconds_text
from sdpbb.search.events import Observer, ignore
from sdpbb.search.result import (
    PRECISION,
    Result,
    SolutionStatus,
    bound_below,
    relative_gap,
    stopped_by,
)
from sdpbb.search.trace import Trace

# Significant digits of costs.
DIGITS = 12
_EXPECTED = "expected one integer, number or text per point"


class LabelVerdict(Enum):
    """Verdict on labels: whether they are proven to be optimal."""

    OPTIMAL = "optimal"
    """Proven: they satisfy the constraints, and a lower bound is within the requested gap."""
    NOT_OPTIMAL = "not_optimal"
    """A better clustering that satisfies the constraints was found."""
    UNDECIDED = "undecided"
    """Neither: the run stopped before."""
    NOT_COMPARABLE = "not_comparable"
    """They violate a constraint, or do not have k clusters."""
    INFEASIBLE = "infeasible"
    """No clustering satisfies the constraints."""


_TONES = {
    LabelVerdict.OPTIMAL: Tone("Proven optimal", "good"),
    LabelVerdict.NOT_OPTIMAL: Tone("Not optimal", "fair"),
    LabelVerdict.UNDECIDED: Tone("Not proven optimal", "fair"),
    LabelVerdict.NOT_COMPARABLE: Tone("Not comparable", "bad"),
    LabelVerdict.INFEASIBLE: Tone("No clustering satisfies the constraints", "bad"),
}


@dataclass(frozen=True, eq=False, repr=False)
class GapReport(Report):
    """Report on the gap between labels and the best feasible clustering into k clusters.

    Attributes
    ----------
    k : requested number of clusters
    partition : the clustering that the labels stand for
    objective : cost of the labels, as in `Result`: their sum of squares, plus the weights of
        violated soft constraints
    violations : the constraints that the labels violate
    gap : (objective - lower_bound) / objective, at least 0: no clustering saves a larger share.
        None for labels that are not comparable
    saving : the share that the best clustering found saves, between 0 and the gap; None for labels
        that are not comparable
    result : result of the run: lower bound, best clustering, reason for the stop, statistics
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
        """True if the labels have k clusters and satisfy every constraint.

        Their cost is then an upper bound on the optimum.
        """
        return self.n_clusters == self.k and not self.violations

    @property
    def lower_bound(self) -> float | None:
        """Proven lower bound on the cost of all feasible clusterings, or None."""
        return self.result.lower_bound

    @property
    def proven_optimal(self) -> bool:
        """True if the labels are proven optimal within the requested gap."""
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
        """Return a row of a table, as plain values; values of the run have the prefix `best_`."""
        best = {f"best_{name}": value for name, value in self.result.to_row().items()}
        return self._figures() | {"n_violations": len(self.violations)} | best

    def _figures(self) -> dict[str, Any]:
        judged = ("verdict", "proven_optimal", "comparable:is_comparable", "k", "n_clusters")
        return values_of(self, *judged, "objective", "lower_bound", "gap", "saving")

    def document(self) -> Document:
        """Return the verdict and the figures behind it; `gap_document` has more sections."""
        result, n_hidden = self.result, len(self.violations) - SHOWN
        best = ""
        if result.objective is not None:
            proven = "" if result.status is SolutionStatus.OPTIMAL else "not "
            same = ", the labels themselves" if result.partition == self.partition else ""
            best = f"{result.objective:.{DIGITS}g}, {proven}proven optimal{same}"
        facts = [
            (result.cost_name.capitalize(), f"{self.objective:.{DIGITS}g}"),
            ("Soft violated", "" if self.soft is None else str(self.soft)),
            *(("Violated", str(violation)) for violation in self.violations[:SHOWN]),
            ("Violated", f"and {n_hidden} more" if n_hidden > 0 else ""),
            ("Lower bound", bound_text(self.lower_bound, DIGITS)),
            ("Gap", "" if self.gap is None else percent_up(self.gap)),
            ("Best clustering", best),
            ("Nodes", str(result.statistics.n_nodes)),
            ("Time", seconds_text(result.statistics.wall_seconds)),
        ]
        verdict = Verdict("Verdict", _TONES[self.verdict], verdict_in_words(self))
        parts: list[Part] = [verdict, Facts([fact for fact in facts if fact[1]])]
        if result.conflict is not None:
            parts.append(Text(str(result.conflict), "verbatim"))
        return Document("Gap of labels", parts)


def verdict_in_words(report: GapReport) -> str:
    """Return the verdict in sentences.

    Numbers are rounded so that the sentences stay true.
    """
    result = report.result
    if result.status is SolutionStatus.INFEASIBLE:
        # A conflict says more, below.
        proof = "" if result.conflict else f": {result.infeasibility}"
        return f"Proven: no clustering satisfies the constraints{proof}."
    weights = "" if report.soft is None else ", with the weights of violated soft constraints"
    costs = f"cost {report.objective:.{DIGITS}g}{weights}"
    if report.is_comparable:
        sentences = [f"Your labels {costs}.", _compared(report)]
    else:
        reasons = []
        if report.n_clusters != report.k:
            have = counted(report.n_clusters, "cluster")
            reasons.append(f"have {have} instead of k = {report.k}")
        if report.violations:
            reasons.append(f"violate {counted(len(report.violations), 'constraint')}")
        no_gap = f"Your labels {' and '.join(reasons)}, so they have no gap."
        sentences = [no_gap, f"They {costs}."]
    if result.status is not SolutionStatus.OPTIMAL:
        sentences.append(f"The run was stopped by {stopped_by(result.termination)}.")
    return " ".join(sentences)


def _compared(report: GapReport) -> str:
    """Return the sentence that compares the labels with the best clustering."""
    assert report.gap is not None
    assert report.saving is not None
    if report.gap == 0.0:
        return "They are proven optimal: no clustering is better."
    limit = f"none is more than {percent_up(report.gap)} better"
    if report.gap >= 1.0:
        limit = "no lower bound above 0 is proven"
    if report.proven_optimal:
        within = 100.0 * max(report.result.gap_asked, PRECISION)
        return f"They are proven optimal within {within:g}%: {limit}."
    if report.saving <= PRECISION:
        return f"No better clustering was found; {limit}."
    found = f"{report.result.objective:.{DIGITS}g} exists ({percent_down(report.saving)} less)"
    return f"A clustering that costs {found}; {limit}."


def gap_document(instance: Instance, report: GapReport, trace: Trace | None = None) -> Document:
    """Return the document of a report with sections on the instance, both clusterings and the run.

    trace : observer of the run, for the bounds over time and the tree; None: without them
    """
    from sdpbb.plots.pages import clustering, course, question

    brief, result, given = report.document(), report.result, report.partition
    parts = [*brief.parts, question(instance, result)]
    parts.append(clustering(instance, given, "The clustering of the labels"))
    if result.partition is not None and result.partition != given:
        index = adjusted_rand_index(given.labels, result.partition.labels)
        text = f"The adjusted Rand index with the labels is {index:.3f}: 1 for the same clusters."
        best = clustering(instance, result.partition, "The best clustering found")
        parts.append(replace(best, parts=[Text(text), *best.parts]))
    return Document(brief.title, [*parts, *course(result, trace)], instance.name)


def label_numbers(labels: Any, n_points: int) -> NDArray[np.intp]:
    """Return labels of any kind as integers (n,): 0, 1, ... by the first point of each.

    labels : a list, an array or a series of n numbers or texts. Equal values are one cluster; -1
        has no special meaning

    Raises
    ------
    InstanceError
        If the number of labels is wrong, or a label is missing or of another type.
    """
    if is_frame(labels):
        name = str(columns_of(labels)[0]) if columns_of(labels) else "cluster"
        raise InstanceError(f"labels: a data frame; expected one column of it, [{name!r}] say")
    given = labels.tolist() if hasattr(labels, "tolist") else labels
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InstanceError(f"labels: of type {type(given).__name__}; {_EXPECTED}")
    values = list(given)
    if len(values) != n_points:
        raise InstanceError(f"labels: {len(values)} of them; expected {n_points}, one per point")
    known: dict[Any, int] = {}
    for position, value in enumerate(values):
        is_nan = isinstance(value, float) and math.isnan(value)
        if is_nan or not isinstance(value, (numbers.Real, str)):
            found = "nan" if is_nan else f"of type {type(value).__name__}"
            raise InstanceError(f"labels[{position}] is {found}; {_EXPECTED}")
        known.setdefault(value, len(known))
    note_noise(sum(value in (-1, "-1") for value in values), n_points, "labels")
    return np.array([known[value] for value in values], np.intp)


def optimality_gap(
    points: Any,
    labels: Any,
    *,
    k: int | None = None,
    parameters: SolverParameters | None = None,
    observer: Observer = ignore,
    interrupt: threading.Event | None = None,
    certificate: FilePath | None = None,
    **arguments: Unpack[SolveArguments],
) -> GapReport:
    """Prove how far labels from any tool are from the best clustering.

    The run starts from the labels if they are comparable. It ends when they, or a better
    clustering, are proven optimal, or at a limit. The gap is valid in any case.

    Parameters
    ----------
    points : an array (n, d), or a data frame of pandas or polars, with constraints as further
        arguments; or an `Instance`
    labels : (n,) numbers or texts: a list, an array, a series. Equal values are one cluster, also
        -1, which some tools use for noise. A pandas series goes by its index if the rows of the
        points have names; all others go by position. If rows are dropped (missing="drop-rows"),
        labels of these rows are ignored
    k : number of clusters; None: the number of different labels
    parameters : as for `solve`
    observer, interrupt : as for `solve`
    certificate : file for the proof of the cost of the labels and of the lower bound. If the labels
        are not comparable, it is about the best clustering found

    Raises
    ------
    TypeError
        If an argument does not exist.
    InstanceError
        If points, labels, k or constraints are wrong. Infeasible constraints are not an error: the
        report says so (`sdpbb.LabelVerdict.INFEASIBLE`).
    CertificateError
        If the certificate cannot be written; the report is its attribute `result`.
    ParameterError, BackendFailure
        As for `solve`; also if an `Instance` is given with constraints.
    Interrupted
        As for `solve`, with the report on the run so far.
    """
    stated, parameters = divided(arguments, parameters, optimality_gap)
    instance, numbers = _instance(points, labels, k, stated)
    partition = Partition(numbers)
    violated = tuple(violations(instance, partition))
    is_comparable = partition.n_clusters == instance.k and not violated
    start = partition.labels if is_comparable else None
    about = partition if is_comparable else None
    order = None if certificate is None else CertificateOrder(certificate, about)

    def report(stop: threading.Event) -> GapReport:
        failure: CertificateError | None = None
        try:
            result = solve(instance, parameters, observer, stop, start=start, certificate=order)
        except CertificateError as error:
            failure, result = error, error.result
        cost = partition.cost(instance)
        gap, saving = _shares(instance, cost, result) if is_comparable else (None, None)
        soft = SoftViolations.of(partition, instance)
        found = GapReport(instance.k, partition, cost, violated, gap, saving, result, soft)
        if failure is not None:
            raise CertificateError(str(failure), found) from failure.__cause__
        return found

    return interruptible(interrupt, report)


def _instance(
    points: Any, labels: Any, k: int | None, stated: Mapping[str, Any]
) -> tuple[Instance, NDArray[np.intp]]:
    """Return the instance, and the labels (n,) as integers."""
    if isinstance(points, Instance):
        instance, n = instance_of(points, k, stated), points.n_points
        return instance, label_numbers(in_row_order(labels, n, instance.origin), n)
    table = table_in_memory(points, stated)
    n = len(table.points)
    ordered = in_row_order(labels, n, table.origin)
    if is_frame(points):
        _check_no_feature(points, labels, table.origin.feature_names)
    numbers = label_numbers(ordered, n)
    if k is None:
        k = int(numbers.max(initial=-1)) + 1
    return Instance(**arguments_of(table, k, stated)), numbers


def _check_no_feature(frame: Any, labels: Any, features: Sequence[str]) -> None:
    """Refuse labels that are also a feature column of the points."""
    name = getattr(labels, "name", None)
    if name is None or str(name) not in features:
        return
    same = [at for at, column in enumerate(columns_of(frame)) if column == name]
    if any(list(column_of(frame, at)) == list(labels) for at in same):
        raise InstanceError(
            f"points: the labels are their column {name!r}; expected points without it, or "
            f"drop=[{name!r}]"
        )


def _shares(instance: Instance, cost: float, result: Result) -> tuple[float, float]:
    """Return the gap and the saving of feasible labels with this cost."""
    assert result.lower_bound is not None
    assert result.objective is not None
    gap = relative_gap(bound_below(result.lower_bound, cost), cost)
    # The run started from the labels: the objective is at most their cost, up to rounding.
    return gap, relative_gap(min(result.objective, cost), cost)
