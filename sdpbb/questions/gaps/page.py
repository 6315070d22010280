"""Page on labels: how far they are from the best clustering, and the constraints they violate."""

from __future__ import annotations

import numpy as np

from heuristics.measures import adjusted_rand_index
from sdpbb.plots.pages.clusters import LONGEST, clustering, conflict, member_lists
from sdpbb.plots.pages.page import page
from sdpbb.plots.pages.sections import (
    ReportedRun,
    proof,
    question,
    reproduction,
    seconds_text,
    tiles,
)
from sdpbb.plots.style import require_matplotlib
from sdpbb.problem import Instance, Partition
from sdpbb.questions.gaps.report import GapReport, LabelVerdict, verdict_in_words
from sdpbb.runtime.markup import Markup, element, paragraph, section, table
from sdpbb.runtime.values import percent_up, rounded_down, shortened
from sdpbb.search.traces.trace import Trace

# Violated constraints, and clusters of either clustering, that are listed; names of a constraint.
MOST_VIOLATIONS, MOST_CLUSTERS, MOST_NAMES = 100, 30, 8

_VERDICTS = {
    LabelVerdict.OPTIMAL: ("Proven optimal", "optimal"),
    LabelVerdict.NOT_OPTIMAL: ("Not optimal", "feasible"),
    LabelVerdict.UNDECIDED: ("Not proven optimal", "feasible"),
    LabelVerdict.NOT_COMPARABLE: ("Not comparable", "infeasible"),
    LabelVerdict.INFEASIBLE: ("No clustering satisfies the constraints", "infeasible"),
}
"""Verdicts in a few words, and the tone of the page for each."""


def gap_page(
    instance: Instance, report: GapReport, trace: Trace | None = None, command: str = ""
) -> str:
    """Return a page on labels.

    It has the verdict, the proven interval, the clusters of the labels, the constraints that they
    violate, and how the best clustering found differs. It refers to no other file.

    Parameters
    ----------
    instance, report : what the labels are of, and what came of them
    trace : an observer of the run, for the bounds over time and the tree; None to leave them out
    command : what was typed to have it run

    Raises
    ------
    BackendUnavailable
        Without matplotlib.
    """
    require_matplotlib()
    run = ReportedRun(instance, report.result, trace, command)
    parts = [_opening(run, report), question(run)]
    if report.result.infeasibility is not None:
        parts.append(conflict(run))
    else:
        parts.append(_interval(instance, report))
    parts += _violated(report)
    parts.append(clustering(run, report.partition, "The clustering of the labels"))
    if report.result.partition is not None:
        parts.append(_best(instance, report.partition, report.result.partition))
    parts += [proof(run), reproduction(run)]
    title = f"{instance.name or 'unnamed'}: gap of labels"
    return page(title, parts, report.result.version)


def _opening(run: ReportedRun, report: GapReport) -> Markup:
    """Return the section of the name, the verdict and the figures."""
    words, tone = _VERDICTS[report.verdict]
    box = Markup.joined([paragraph(element("strong", words)), paragraph(verdict_in_words(report))])
    return Markup.joined(
        [
            paragraph("Gap of labels from the best clustering", class_="kicker"),
            element("h1", run.instance.name or "Unnamed instance"),
            element("div", box, class_=f"verdict {tone}"),
            _tiles(run.instance, report),
        ]
    )


def _tiles(instance: Instance, report: GapReport) -> Markup:
    result = report.result
    values = [(f"{result.cost_name.capitalize()} of the labels", f"{report.objective:.10g}")]
    if report.lower_bound is not None:
        values.append(("Proven lower bound", rounded_down(report.lower_bound, 10)))
    if report.gap is not None:
        values.append(("Gap", percent_up(report.gap)))
    if report.soft is not None:
        values.append(("Violated soft constraints", f"{report.soft.penalty:.10g}"))
    if instance.has_constraints:
        values.append(("Violated constraints", f"{len(report.violations):,}"))
    return tiles([*values, ("Time", seconds_text(result.statistics.wall_seconds))])


def _interval(instance: Instance, report: GapReport) -> Markup:
    """Return the section of the interval that the least cost lies in, beside that of the labels."""
    result, name = report.result, report.result.cost_name
    assert report.lower_bound is not None
    lower = rounded_down(report.lower_bound, 10)
    that = " that satisfies the constraints" if instance.has_constraints else ""
    if result.objective is None:
        text = f"No clustering{that} has a {name} below {lower}."
    else:
        text = (
            f"The least {name} of a clustering into {report.k:,} clusters{that} is proven to lie "
            f"between {lower} and {result.objective:.10g}."
        )
    if report.gap is None:
        text += " The labels are not such a clustering, so their own cost may be below it."
    costs = [("The labels", f"{report.objective:.10g}", report.objective)]
    if result.objective is not None:
        best = "The best clustering found"
        costs.append((best, f"{result.objective:.10g}", result.objective))
    costs.append(("Every clustering costs at least", lower, report.lower_bound))
    rows = [
        [what, cost, f"{100 * value / report.objective:.4f}%" if report.objective > 0 else ""]
        for what, cost, value in costs
    ]
    heading = ["", name.capitalize(), "Share of the labels' cost"]
    return section("What is proven", paragraph(text), table("Costs", heading, rows))


def _violated(report: GapReport) -> list[Markup]:
    """Return the section of the constraints that the labels violate, if there are any."""
    if not report.violations:
        return []
    rows = []
    for each in report.violations[:MOST_VIOLATIONS]:
        names = [shortened(row, LONGEST) for row in each.rows[:MOST_NAMES]]
        listed = ", ".join(names) + (", ..." if len(each.rows) > MOST_NAMES else "")
        if each.constraint:
            listed = f"{each.cluster_in_words}: {listed}"
        rows.append([shortened(each.constraint or each.kind, 2 * LONGEST), listed, each.place])
    shown = table("Violated constraints", ["Constraint", "Rows", "Stated at"], rows)
    more = len(report.violations) - len(rows)
    parts = [shown]
    if more > 0:
        parts.append(paragraph(f"{more:,} more are left out; --json has all.", class_="note"))
    return [section("Constraints that the labels violate", *parts)]


def _best(instance: Instance, given: Partition, best: Partition) -> Markup:
    """Return the section on the best clustering found: where it differs from the labels."""
    heading = "The best clustering found"
    if given == best:
        return section(heading, paragraph("It is the labels themselves."))
    index = adjusted_rand_index(given.labels, best.labels)
    text = (
        "Rows are the clusters of the labels, columns the clusters of the best clustering. "
        f"Entries are numbers of points. The adjusted Rand index of the two is {index:.3f}: 1 "
        "where they are the same, about 0 where they have nothing in common."
    )
    counts = np.zeros((given.n_clusters, best.n_clusters), np.intp)
    np.add.at(counts, (given.labels, best.labels), 1)
    columns = [f"Best {c}" for c in range(min(best.n_clusters, MOST_CLUSTERS))]
    rows = [
        [f"Cluster {c}", *(f"{n:,}" if n else "" for n in counts[c, :MOST_CLUSTERS])]
        for c in range(min(given.n_clusters, MOST_CLUSTERS))
    ]
    parts = [paragraph(text), table("Points of both", ["", *columns], rows)]
    if max(counts.shape) > MOST_CLUSTERS:
        note = f"Clusters from {MOST_CLUSTERS} on are left out."
        parts.append(paragraph(note, class_="note"))
    return section(heading, *parts, member_lists(instance, best))
