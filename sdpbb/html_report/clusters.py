"""Sections of the page that show points: the clustering, or the conflict."""

from __future__ import annotations

import math

import numpy as np

from sdpbb.html_report.drawings import COLOURS, inline_svg
from sdpbb.html_report.run import ReportedRun, amount
from sdpbb.markup import Markup, element, figure, markup, paragraph, section, table
from sdpbb.plots import plot_clusters
from sdpbb.plots.clusters import look_of
from sdpbb.problem import Instance, Partition
from sdpbb.problem.coordinates import members_of, sum_of_squares

# Clusters that are told of one by one.
MOST_CLUSTERS = 500


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


def clustering(run: ReportedRun, partition: Partition) -> Markup:
    """Return the section of the clusters, as a picture and a table."""
    instance = run.instance
    n_violated = sum(len(violated) for violated in partition.violations(instance))
    n_constraints = len(instance.must_link) + len(instance.cannot_link)
    if not n_constraints:
        kept = "There are no constraints on pairs."
    elif n_violated:
        kept = f"Of the constraints on pairs, {n_violated:,} of {n_constraints:,} are violated."
    else:
        kept = f"All constraints on pairs are kept ({n_constraints:,})."
    description = (
        f"{amount(instance.n_points, 'point')} in {amount(partition.n_clusters, 'cluster')} on "
        "a plane, with lines for the constraints; the table below has the sizes."
    )
    drawn = figure(
        inline_svg(plot_clusters(instance, partition), "clusters", description),
        f"{'Must-links are full lines, cannot-links dashed ones. ' if n_constraints else ''}"
        f"{_projection(instance)}",
    )
    return section("The clustering", paragraph(kept), drawn, *_cluster_table(instance, partition))


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
            ]
        )
    heading = ["Cluster", "Points", "Share", "Within sum of squares", "Share", "RMS distance"]
    more = partition.n_clusters - len(rows)
    note = (
        "Clusters are numbered by their first point, as in the labels. The RMS distance is the "
        "root of the mean squared distance of a cluster's points to its mean."
        f"{f' {more:,} more are left out.' if more else ''}"
    )
    return table("The clusters", heading, rows), paragraph(note, class_="note")


def _named(cluster: int, n_clusters: int) -> Markup:
    colour = look_of(cluster, n_clusters)[0]
    of_page = f"background:{COLOURS.get(colour, colour)}"
    swatch = element("span", "", class_="swatch", style=of_page, aria_hidden="true")
    return Markup(swatch.html + markup(str(cluster)).html)


def _within(instance: Instance, partition: Partition) -> np.ndarray:
    """Return the sums of squares inside the clusters, (k,), weighted if points are."""
    points, weights = instance.points, instance.weights
    costs = np.zeros(partition.n_clusters)
    for cluster, members in enumerate(members_of(partition.labels)):
        of_each = None if weights is None else weights[members]
        costs[cluster] = sum_of_squares(points[members], of_each)
    return costs
