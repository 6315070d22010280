"""Sections of the page that show points: the clustering, or the conflict."""

from __future__ import annotations

import math

import numpy as np

from heuristics.measures import silhouettes
from sdpbb.plots import plot_clusters
from sdpbb.plots.clusters import group_of, look_of
from sdpbb.plots.pages.drawings import COLOURS, inline_svg
from sdpbb.plots.pages.members import LONGEST, means_table, member_lists, named_points, swatch
from sdpbb.plots.pages.run import ReportedRun, amount
from sdpbb.plots.pages.tight import tight_constraints
from sdpbb.plots.pages.zoom import zooming_figure
from sdpbb.problem import Instance, Partition
from sdpbb.problem.coordinates import members_of, sum_of_squares
from sdpbb.runtime.markup import Markup, element, figure, markup, paragraph, section, table
from sdpbb.runtime.values import shortened

# Clusters that are told of one by one; points whose names are in the picture, whose silhouettes
# are computed; tight constraints that are listed.
MOST_CLUSTERS, MOST_TITLED, MOST_SILHOUETTES, MOST_TIGHT = 500, 5_000, 5_000, 20
_SILHOUETTE = (
    " The silhouette is between -1 and 1: near 1 where a cluster's points are far from the next "
    "cluster; its mean over all points is {:.3f}."
)


def conflict(run: ReportedRun) -> Markup:
    """Return the section that says why there is no clustering."""
    found = run.result.conflict
    if found is None:
        parts = [paragraph(f"The proof: {run.result.infeasibility}.")]
    else:
        parts = [
            paragraph("These constraints cannot hold together:"),
            element("pre", str(found)),
        ]
    pairs = [] if found is None else [member.rows for member in found.members if member.rows]
    axes = plot_clusters(run.instance, conflicting=[(rows[0], rows[1]) for rows in pairs])
    drawn = inline_svg(axes, "points", "The points on a plane, with lines for the constraints.")
    red = "; those that cannot hold together are red" if pairs else ""
    caption = f"The points and their constraints{red}. {_projection(run.instance)}"
    return section("Why there is no clustering", *parts, figure(drawn, caption))


def clustering(run: ReportedRun, partition: Partition, heading: str = "The clustering") -> Markup:
    """Return the section of the clusters, as a picture and a table."""
    instance = run.instance
    n_violated = sum(len(violated) for violated in partition.violations(instance))
    n_constraints = len(instance.must_link) + len(instance.cannot_link)
    kept = []
    if n_violated:
        violated = f"{n_violated:,} of {n_constraints:,} are violated"
        kept = [paragraph(f"Of the constraints on pairs, {violated}.")]
    elif n_constraints:
        kept = [paragraph(f"All constraints on pairs are kept ({n_constraints:,}).")]
    lines = ", with lines for the constraints" if n_constraints else ""
    description = (
        f"{amount(instance.n_points, 'point')} in {amount(partition.n_clusters, 'cluster')} on "
        f"a plane{lines}; the table above has the sizes."
    )
    titles = None
    if instance.n_points <= MOST_TITLED:
        named = named_points(instance, partition)
        titles = {group_of(cluster): texts for cluster, texts in named.items()}
    drawn = zooming_figure(
        inline_svg(plot_clusters(instance, partition), "clusters", description, titles),
        f"{'Must-links are full lines, cannot-links dashed ones. ' if n_constraints else ''}"
        f"{_projection(instance)}",
    )
    return section(
        heading,
        *kept,
        means_table(instance, partition),
        *_cluster_table(instance, partition),
        drawn,
        member_lists(instance, partition),
        *_tight(instance, partition),
    )


def _tight(instance: Instance, partition: Partition) -> list[Markup]:
    """Return the table of the constraints that keep a point from a cluster where it costs less."""
    found = tight_constraints(instance, partition)
    if found is None or not len(instance.must_link) + len(instance.cannot_link):
        return []
    heading = element("h3", "Constraints that were tight")
    if not found:
        none = "None: no point alone would cost less elsewhere, if one of its constraints were not."
        return [heading, paragraph(none)]
    origin = instance.origin
    rows: list[list[str | Markup]] = []
    for each in found[:MOST_TIGHT]:
        names = [shortened(origin.row(row), LONGEST) for row in each.rows]
        text = f"{_KINDS[each.kind]} {names[0]}, {names[1]}"
        place = origin.place(each.kind, *each.rows)
        moved = f"{shortened(origin.row(each.moved), LONGEST)} to cluster {each.cluster}"
        rows.append([text, place, moved, f"{each.saving:.4g}"])
    more = len(found) - len(rows)
    note = (
        "They keep a point from a cluster where it alone would cost less: by how much the sum of "
        "squares would fall if this point moved and no other. What a constraint costs in truth, "
        "'sdpbb price' proves."
        f"{f' {more:,} more are left out.' if more else ''}"
    )
    columns = ["Constraint", "Stated at", "Would move", "Saving"]
    return [heading, table("Tight constraints", columns, rows), paragraph(note, class_="note")]


_KINDS = {"must_link": "must-link", "cannot_link": "cannot-link"}


def _projection(instance: Instance) -> str:
    if instance.n_features <= 2:
        return ""
    return (
        f"The {instance.n_features:,} features are projected onto the two directions of largest "
        "variance; clusters that seem to overlap may be apart in the others."
    )


def _cluster_table(instance: Instance, partition: Partition) -> tuple[Markup, Markup]:
    costs = _within(instance, partition)
    total = costs.sum()
    each = None
    if instance.n_points <= MOST_SILHOUETTES:
        each = silhouettes(instance.points, partition.labels)
    rows: list[list[str | Markup]] = []
    for cluster in range(min(partition.n_clusters, MOST_CLUSTERS)):
        of = partition.labels == cluster
        size = int(of.sum())
        mass = float(size if instance.weights is None else instance.weights[of].sum())
        share = costs[cluster] / total if total > 0 else 0.0
        rows.append(
            [
                _named(cluster, partition.n_clusters),
                f"{size:,}",
                f"{100 * size / instance.n_points:.1f}%",
                f"{costs[cluster]:.6g}",
                f"{100 * share:.1f}%",
                f"{math.sqrt(costs[cluster] / mass):.4g}",
                *([] if each is None else [f"{each[of].mean():.3f}"]),
            ]
        )
    heading = ["Cluster", "Points", "Share", "Within sum of squares", "Share", "RMS distance"]
    heading += [] if each is None else ["Silhouette"]
    more = partition.n_clusters - len(rows)
    note = (
        "Clusters are numbered by their first point, as in the labels. The RMS distance is the "
        "root of the mean squared distance of a cluster's points to its mean."
        f"{_SILHOUETTE.format(each.mean()) if each is not None else ''}"
        f"{f' {more:,} more are left out.' if more else ''}"
    )
    return table("The clusters", heading, rows), paragraph(note, class_="note")


def _named(cluster: int, n_clusters: int) -> Markup:
    colour, marker = look_of(cluster, n_clusters)
    return Markup(swatch(COLOURS.get(colour, colour), marker).html + markup(str(cluster)).html)


def _within(instance: Instance, partition: Partition) -> np.ndarray:
    """Return the sums of squares inside the clusters, (k,), weighted if points are."""
    points, weights = instance.points, instance.weights
    costs = np.zeros(partition.n_clusters)
    for cluster, members in enumerate(members_of(partition.labels)):
        of_each = None if weights is None else weights[members]
        costs[cluster] = sum_of_squares(points[members], of_each)
    return costs
