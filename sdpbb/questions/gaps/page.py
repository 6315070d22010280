"""Document of labels with their instance: how far they are from the best clustering, and why."""

from __future__ import annotations

import numpy as np

from heuristics.measures import adjusted_rand_index
from sdpbb.plots.pages.clusters import LONGEST, clustering, conflict, member_lists
from sdpbb.plots.pages.run import proof, question, reproduction
from sdpbb.problem import Instance, Partition
from sdpbb.questions.gaps.report import GapReport
from sdpbb.runtime.document import Document, Part, Section, Table, Text
from sdpbb.runtime.values import shortened
from sdpbb.search.trace import Trace

# Violated constraints, and clusters of either clustering, that are listed; names of a constraint.
MOST_VIOLATIONS, MOST_CLUSTERS, MOST_NAMES = 100, 30, 8


def gap_document(instance: Instance, report: GapReport, trace: Trace | None = None) -> Document:
    """Return the document of a report with sections on the instance, the labels and the run.

    trace : an observer of the run, for the bounds over time and the tree; None to leave them out
    """
    brief, result = report.document(), report.result
    parts = [*brief.parts, question(instance, result)]
    if result.infeasibility is not None:
        parts.append(conflict(instance, result))
    parts += _violated(report)
    parts.append(clustering(instance, report.partition, "The clustering of the labels"))
    if result.partition is not None:
        parts.append(_best(instance, report.partition, result.partition))
    parts += [*proof(result, trace), reproduction(result)]
    return Document(brief.title, parts, instance.name)


def _violated(report: GapReport) -> list[Section]:
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
    more = len(report.violations) - len(rows)
    columns = ["Constraint", "Rows", "Stated at"]
    parts: list[Part] = [Table(columns, rows, "Violated constraints", more)]
    if more > 0:
        parts.append(Text("The file of --json has all.", "note"))
    return [Section("Constraints that the labels violate", parts)]


def _best(instance: Instance, given: Partition, best: Partition) -> Section:
    """Return the section on the best clustering found: where it differs from the labels."""
    heading = "The best clustering found"
    if given == best:
        return Section(heading, [Text("It is the labels themselves.")])
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
    parts: list[Part] = [Text(text), Table(["", *columns], rows, "Points of both")]
    if max(counts.shape) > MOST_CLUSTERS:
        parts.append(Text(f"Clusters from {MOST_CLUSTERS} on are left out.", "note"))
    return Section(heading, [*parts, member_lists(instance, best)])
