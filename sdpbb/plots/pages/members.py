"""Means and members of clusters, for the page."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np

from sdpbb.problem import Instance, Partition
from sdpbb.problem.formats import labels_file
from sdpbb.runtime.markup import Markup, details, element, markup, paragraph, table
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
