"""Sections on the points: clusters, means, members; or the conflict."""

from __future__ import annotations

import math

import numpy as np

from heuristics.measures import silhouettes
from sdpbb.plots import plot_clusters
from sdpbb.problem import Instance, Partition
from sdpbb.problem.coordinates import members_of, sum_of_squares
from sdpbb.runtime.document import Part, Picture, Section, Table, Text
from sdpbb.runtime.values import amount, shortened
from sdpbb.search.result import Result

# Features and clusters of the table of means, and features from which on it is folded away; members
# that are named of each cluster.
MOST_FEATURES, MOST_COLUMNS, MOST_UNFOLDED, MOST_MEMBERS = 100, 40, 30, 500
LONGEST = 60


def means_table(instance: Instance, partition: Partition) -> Section:
    """Return the means of clusters by feature, in the user's units."""
    origin = instance.origin
    means = origin.in_user_units(partition.means(instance.points, instance.weights))
    d, k = instance.n_features, partition.n_clusters
    names = origin.feature_names or tuple(f"feature {j}" for j in range(1, d + 1))
    rows = [
        [shortened(names[j], LONGEST), *(f"{value:.5g}" for value in means[:MOST_COLUMNS, j])]
        for j in range(min(d, MOST_FEATURES))
    ]
    heading = ["Feature", *(f"Cluster {c}" for c in range(min(k, MOST_COLUMNS)))]
    shown = Table(heading, rows, more=max(0, d - MOST_FEATURES))
    left_out = f"{max(0, k - MOST_COLUMNS):,} more clusters are left out."
    parts: list[Part] = [shown, *([Text(left_out, "note")] if k > MOST_COLUMNS else [])]
    return Section("Means of the clusters", parts, d > MOST_UNFOLDED)


def member_lists(instance: Instance, partition: Partition) -> Section:
    """Return the members of each cluster by name."""
    parts: list[Part] = []
    for cluster in range(min(partition.n_clusters, MOST_COLUMNS)):
        members = np.flatnonzero(partition.labels == cluster).tolist()
        named = [shortened(instance.origin.row(i), LONGEST) for i in members[:MOST_MEMBERS]]
        more = len(members) - len(named)
        text = ", ".join(named) + (f", and {more:,} more" if more > 0 else "")
        heading = f"Cluster {cluster}: {amount(len(members), 'point')}"
        parts.append(Section(heading, [Text(text)], folded=True))
    if partition.n_clusters > MOST_COLUMNS:
        more = partition.n_clusters - MOST_COLUMNS
        parts.append(Text(f"{more:,} more clusters are left out.", "note"))
    return Section("Members", parts)


# Clusters that have a row each; points whose silhouettes are computed.
MOST_CLUSTERS, MOST_SILHOUETTES = 500, 5_000
_SILHOUETTE = (
    " The silhouette is between -1 and 1: near 1 where a cluster's points are far from the next "
    "cluster; its mean over all points is {:.3f}."
)


def conflict(instance: Instance, result: Result) -> Section:
    """Return the section with a picture of the constraints that cannot be satisfied together."""
    members = () if result.conflict is None else result.conflict.members
    pairs = [(member.rows[0], member.rows[1]) for member in members if member.rows]
    red = "; contradictory ones are red" if pairs else ""
    picture = Picture(
        "The points on a plane, with lines for the constraints.",
        f"The points and their constraints{red}. {_projection(instance)}",
        lambda: plot_clusters(instance, conflicting=pairs),
    )
    return Section("Why there is no clustering", [picture])


def clustering(
    instance: Instance, partition: Partition, heading: str = "The clustering"
) -> Section:
    """Return the section of the clusters: tables, a picture and members."""
    n_violated = sum(len(violated) for violated in partition.violations(instance))
    n_constraints = len(instance.must_link) + len(instance.cannot_link)
    kept = []
    if n_violated:
        violated = f"{n_violated:,} of {n_constraints:,} are violated"
        kept = [Text(f"Of the constraints on pairs, {violated}.")]
    elif n_constraints:
        kept = [Text(f"All constraints on pairs are satisfied ({n_constraints:,}).")]
    lines = ", with lines for the constraints" if n_constraints else ""
    description = (
        f"{amount(instance.n_points, 'point')} in {amount(partition.n_clusters, 'cluster')} on "
        f"a plane{lines}; the table above has the sizes."
    )
    lines = "Must-links are full lines, cannot-links dashed ones. " if n_constraints else ""
    picture = Picture(
        description,
        f"{lines}{_projection(instance)}",
        lambda: plot_clusters(instance, partition),
    )
    parts: list[Part] = [
        *kept,
        means_table(instance, partition),
        *_cluster_table(instance, partition),
        picture,
        member_lists(instance, partition),
    ]
    return Section(heading, parts)


def _projection(instance: Instance) -> str:
    if instance.n_features <= 2:
        return ""
    return (
        f"The {instance.n_features:,} features are projected onto the two directions of largest "
        "variance; clusters that seem to overlap may be apart in the others."
    )


def _cluster_table(instance: Instance, partition: Partition) -> tuple[Table, Text]:
    costs = _within(instance, partition)
    total = costs.sum()
    each = None
    if instance.n_points <= MOST_SILHOUETTES:
        each = silhouettes(instance.points, partition.labels)
    rows: list[list[str]] = []
    for cluster in range(min(partition.n_clusters, MOST_CLUSTERS)):
        members = partition.labels == cluster
        size = int(members.sum())
        mass = float(size if instance.weights is None else instance.weights[members].sum())
        share = costs[cluster] / total if total > 0 else 0.0
        rows.append(
            [
                str(cluster),
                f"{size:,}",
                f"{100 * size / instance.n_points:.1f}%",
                f"{costs[cluster]:.6g}",
                f"{100 * share:.1f}%",
                f"{math.sqrt(costs[cluster] / mass):.4g}",
                *([] if each is None else [f"{each[members].mean():.3f}"]),
            ]
        )
    heading = [
        "Cluster",
        "Points",
        "Share of points",
        "Within sum of squares",
        "Share of it",
        "RMS distance",
    ]
    heading += [] if each is None else ["Silhouette"]
    note = (
        "Clusters are numbered by their first point, as in the labels. The RMS distance is the "
        "root of the mean squared distance of a cluster's points to its mean."
        f"{_SILHOUETTE.format(each.mean()) if each is not None else ''}"
    )
    more = partition.n_clusters - len(rows)
    return Table(heading, rows, "The clusters", more), Text(note, "note")


def _within(instance: Instance, partition: Partition) -> np.ndarray:
    """Return the sums of squares inside the clusters, (k,), weighted if points are."""
    points, weights = instance.points, instance.weights
    costs = np.zeros(partition.n_clusters)
    for cluster, members in enumerate(members_of(partition.labels)):
        of_each = None if weights is None else weights[members]
        costs[cluster] = sum_of_squares(points[members], of_each)
    return costs
