"""Sections of the page on points: clusters, means, members, tight constraints; or the conflict.

A must-link is tight if one of its points alone, a cannot-link if one of its points in the cluster
of the other, would lower the sum of squares while all other points stay where they are. This is a
look at single moves, and no price (`sdpbb price`), which is proven.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.measures import silhouettes
from sdpbb.plots import plot_clusters
from sdpbb.plots.clusters import group_of, look_of
from sdpbb.plots.pages.drawings import COLOURS, inline_svg, zooming_figure
from sdpbb.plots.pages.sections import ReportedRun, amount
from sdpbb.problem import Instance, Partition
from sdpbb.problem.coordinates import members_of, sum_of_squares
from sdpbb.problem.formats import labels_file
from sdpbb.runtime.markup import Markup, details, element, figure, markup, paragraph, section, table
from sdpbb.runtime.values import shortened

# Features and clusters of the table of means, and features from which on it is folded away; members
# that are named of each cluster; points whose labels are in the page as a file.
MOST_FEATURES, MOST_COLUMNS, MOST_UNFOLDED, MOST_MEMBERS, MOST_IN_FILE = 100, 40, 30, 500, 50_000
LONGEST = 60


def means_table(instance: Instance, partition: Partition) -> Markup:
    """Return the table of the means of clusters by feature, in the user's units."""
    origin = instance.origin
    means = origin.in_user_units(partition.means(instance.points, instance.weights))
    d, k = instance.n_features, partition.n_clusters
    names = origin.feature_names or tuple(f"feature {j}" for j in range(1, d + 1))
    rows = [
        [shortened(names[j], LONGEST), *(f"{value:.5g}" for value in means[:MOST_COLUMNS, j])]
        for j in range(min(d, MOST_FEATURES))
    ]
    heading = ["Feature", *(f"Cluster {c}" for c in range(min(k, MOST_COLUMNS)))]
    left_out = []
    if d > MOST_FEATURES:
        left_out.append(f"{d - MOST_FEATURES:,} more features")
    if k > MOST_COLUMNS:
        left_out.append(f"{k - MOST_COLUMNS:,} more clusters")
    shown = table("Means of the clusters", heading, rows)
    if left_out:
        note = paragraph(f"{' and '.join(left_out)} are left out.", class_="note")
        shown = Markup.joined([shown, note])
    return shown if d <= MOST_UNFOLDED else details(f"Means of the clusters, {d:,} features", shown)


def member_lists(instance: Instance, partition: Partition) -> Markup:
    """Return the members of each cluster by name, and a link that saves all labels as a file."""
    lists = []
    for cluster in range(min(partition.n_clusters, MOST_COLUMNS)):
        members = np.flatnonzero(partition.labels == cluster).tolist()
        named = [shortened(instance.origin.row(i), LONGEST) for i in members[:MOST_MEMBERS]]
        more = len(members) - len(named)
        text = ", ".join(named) + (f", and {more:,} more" if more > 0 else "")
        count = f"{len(members):,} point{'' if len(members) == 1 else 's'}"
        lists.append(details(f"Cluster {cluster}: {count}", paragraph(text, class_="members")))
    parts = [element("h3", "Members"), *lists]
    if partition.n_clusters > MOST_COLUMNS:
        more = partition.n_clusters - MOST_COLUMNS
        parts.append(paragraph(f"{more:,} more clusters are left out.", class_="note"))
    if instance.n_points <= MOST_IN_FILE:
        parts.append(paragraph(_download(instance, partition)))
    return element("div", Markup.joined(parts))


def _download(instance: Instance, partition: Partition) -> Markup:
    """Return a link whose address is the file of labels itself."""
    names = instance.origin.rows(range(instance.n_points))
    content = labels_file(partition.labels, names, instance.origin)
    return element(
        "a",
        "Save the clusters of all points as CSV",
        href=f"data:text/csv;base64,{base64.b64encode(content).decode('ascii')}",
        download="labels.csv",
    )


def named_points(instance: Instance, partition: Partition) -> dict[int, Sequence[str]]:
    """Return what is told of the points of each cluster in a picture, in their order."""
    return {
        cluster: [
            f"{instance.origin.row(i)} (cluster {cluster})"
            for i in np.flatnonzero(partition.labels == cluster).tolist()
        ]
        for cluster in range(partition.n_clusters)
    }


def swatch(colour: str, marker: str) -> Markup:
    """Return the mark of a cluster as in the picture: its colour and its shape."""
    path = _SHAPES.get(marker, _SHAPES["o"])
    drawn = f'<path d="{path}" fill="{markup(colour).html}"/>'
    return Markup(f'<svg class="swatch" viewBox="-6 -6 12 12" aria-hidden="true">{drawn}</svg>')


_SHAPES = {
    "o": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0",
    "s": "M-4.5 -4.5h9v9h-9z",
    "^": "M0 -5L5 4.5H-5z",
    "D": "M0 -5.5L5.5 0L0 5.5L-5.5 0z",
    "v": "M0 5L5 -4.5H-5z",
    "p": "M0 -5.2L5 -1.6L3.1 4.3H-3.1L-5 -1.6z",
    "h": "M0 -5.5L4.8 -2.7V2.7L0 5.5L-4.8 2.7V-2.7z",
}


# Points times clusters up to which single moves are looked at.
MOST_MOVES = 20_000_000


@dataclass(frozen=True)
class TightConstraint:
    """Constraint that keeps a point from a cluster where it costs less.

    kind : "must_link" or "cannot_link"
    rows : (i, j)
    moved, cluster : the point, and the cluster that it is kept from
    saving : by how much the sum of squares would be less
    """

    kind: str
    rows: tuple[int, int]
    moved: int
    cluster: int
    saving: float


def tight_constraints(instance: Instance, partition: Partition) -> list[TightConstraint] | None:
    """Return the tight constraints, the largest savings first; None where points are too many."""
    if instance.n_points * partition.n_clusters > MOST_MOVES:
        return None
    pairs = len(instance.must_link) + len(instance.cannot_link)
    if not pairs:
        return []
    savings = _savings(instance, partition)
    savings[savings <= 1e-12 * np.abs(savings).max(initial=0.0)] = 0.0
    labels = partition.labels
    found = []
    for i, j in instance.must_link.tolist():
        moved = max((i, j), key=lambda row: float(savings[row].max()))
        cluster = int(savings[moved].argmax())
        found.append(("must_link", i, j, moved, cluster))
    for i, j in instance.cannot_link.tolist():
        moved, other = max(
            ((i, j), (j, i)), key=lambda ends: float(savings[ends[0], labels[ends[1]]])
        )
        found.append(("cannot_link", i, j, moved, int(labels[other])))
    tight = [
        TightConstraint(kind, (i, j), moved, cluster, float(savings[moved, cluster]))
        for kind, i, j, moved, cluster in found
        if savings[moved, cluster] > 0.0
    ]
    return sorted(tight, key=lambda each: -each.saving)


def _savings(instance: Instance, partition: Partition) -> NDArray[np.float64]:
    """Return by how much each point alone in each other cluster lowers the sum of squares, (n, k).

    A point of weight w at a distance d from the mean of its cluster of weight W saves
    W w / (W - w) d^2, and costs V w / (V + w) e^2 at a distance e from that of another one of V.
    """
    points, labels, k = instance.points, partition.labels, partition.n_clusters
    weights = np.ones(len(points)) if instance.weights is None else instance.weights
    total = np.bincount(labels, weights, k)
    means = partition.means(points, instance.weights)
    squares = np.stack([((points - mean) ** 2).sum(axis=1) for mean in means], axis=1)
    costs = squares * (total * weights[:, None] / (total + weights[:, None]))
    rows = np.arange(len(points))
    left = total[labels] - weights
    own = squares[rows, labels]
    saved = np.zeros(len(points))
    rest = left > 1e-12 * total[labels]
    saved[rest] = own[rest] * total[labels[rest]] * weights[rest] / left[rest]
    savings = saved[:, None] - costs
    savings[rows, labels] = 0.0
    return savings


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
