"""Clusterings on a plane: with their constraints, or by the certainty of their points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.errors import ParameterError
from sdpbb.plots.style import (
    COLOURS,
    INK,
    MARKERS,
    MORE_COLOURS,
    PAPER,
    RED,
    add_legend,
    as_label,
    axes_or_new,
    finish,
)
from sdpbb.problem import Instance, Partition

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Pairs of a kind that are drawn at most; the violated ones first.
MOST_PAIRS = 2_000
# Clusters that the legend names.
MOST_NAMED = 14
# More points than this are stored as an image within an SVG.
MOST_DRAWN_POINTS = 5_000
# Points are outlined, which keeps neighbours apart, unless there are more.
MOST_OUTLINED = 1_000
SIZE = (8.2, 5.0)
DASHES = (0, (3, 2))
# Area of the marker of an anchor.
ANCHOR = 110.0
STATES = (("certain", PAPER, 0.4), ("uncertain", RED, 1.8), ("open", INK, 1.2))
"""States of points, the colour of their outline and its width."""


def plot_clusters(
    instance: Instance, labels: ArrayLike | Partition, ax: Axes | None = None
) -> Axes:
    """Plot the points of a clustering, with the constraints.

    The points are in their first two principal components, or in their own plane if they have two
    features. Must-links are full, cannot-links dashed, violated ones in red.

    A cross is the mean of a cluster. Of more than `MOST_PAIRS` constraints of a kind, a sample is
    drawn, and the legend says so.

    labels : (n,) integers, or a `Partition`

    Raises
    ------
    ParameterError
        If there is another number of labels than of points.
    BackendUnavailable
        Without matplotlib.
    """
    partition = labels if isinstance(labels, Partition) else Partition(np.asarray(labels))
    n, k = len(partition.labels), partition.n_clusters
    if n != instance.n_points:
        expected = f"expected {instance.n_points}, one per point"
        raise ParameterError(f"labels = ...: {n} labels; {expected}")
    ax, places = _plane_axes(instance, partition.labels, ax)
    for name, pairs, together in (
        ("must-link", instance.must_link, True),
        ("cannot-link", instance.cannot_link, False),
        ("soft must-link", instance.soft_must_link.pairs, True),
        ("soft cannot-link", instance.soft_cannot_link.pairs, False),
    ):
        i, j = partition.labels[pairs].T
        is_kept, style = (i == j) == together, "-" if together else DASHES
        _draw_pairs(pairs[is_kept], name, style, places, ax)
        _draw_pairs(pairs[~is_kept], f"violated {name}", style, places, ax, is_wrong=True)
    for cluster in range(k):
        members = places[partition.labels == cluster]
        text = f"cluster {cluster} ({len(members):,})" if k <= MOST_NAMED else ""
        _draw_points(members, look_of(cluster, k), text, n, ax)
    means, text = partition.means(places, instance.weights), f"means of the {k} clusters"
    _draw_points(means, (INK, "X"), text, k, ax, s=90.0, linewidths=1.0, zorder=4)
    add_legend(ax, outside=True)
    return ax


def plot_certainty(
    instance: Instance,
    labels: NDArray[np.intp],
    states: NDArray[np.str_],
    anchors: NDArray[np.intp],
    ax: Axes | None = None,
) -> Axes:
    """Plot the points of a clustering in a plane, as `plot_clusters` does, by their certainty.

    Certain points are filled, uncertain ones have a red outline, open ones an outline in ink; the
    anchors of the clusters are large.

    labels, states, anchors : (n,), (n,) and (k,), as in a `CertaintyReport`

    Raises
    ------
    BackendUnavailable
        Without matplotlib.
    """
    (ax, places), n, k = _plane_axes(instance, labels, ax), len(labels), len(anchors)
    for state, outline, width in STATES:
        text = f"{state} ({int((states == state).sum()):,})"
        for cluster in range(k):
            members = places[(labels == cluster) & (states == state)]
            if len(members):
                colour, marker = look_of(cluster, k)
                look = (colour if state == "certain" else PAPER, marker)
                _draw_points(members, look, text, n, ax, edgecolors=outline, linewidths=width)
                text = ""
    text = f"anchors of the {k} clusters"
    for cluster, anchor in enumerate(anchors.tolist()):
        look = look_of(cluster, k)
        _draw_points(places[[anchor]], look, text, n, ax, s=ANCHOR, edgecolors=INK, zorder=4)
        text = ""
    add_legend(ax, outside=True)
    return ax


def look_of(cluster: int, n_clusters: int) -> tuple[str, str]:
    """Return the colour and the marker of a cluster.

    Of up to six clusters each tells them apart; of up to twelve all have different colours, and two
    markers; of more, both together tell up to 84 apart.
    """
    if n_clusters <= len(COLOURS):
        return COLOURS[cluster], MARKERS[cluster % len(MARKERS)]
    turn = cluster // len(COLOURS)
    return MORE_COLOURS[cluster % len(MORE_COLOURS)], MARKERS[turn % len(MARKERS)]


def plane_of(
    instance: Instance, labels: NDArray[np.intp]
) -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Return places (n, 2) of the points, and the names of the axes.

    These are two features, or the first two principal components, with the share of the variance
    that they explain. Points with one feature stand above each other by their labels (n,).
    """
    origin = instance.origin
    named = tuple(as_label(name) for name in origin.feature_names)
    if instance.n_features > 2:
        scores, shares = principal_components(instance)
        first, second = (f"{100 * share:.1f}% of the variance" for share in shares)
        return scores, (f"First principal component ({first})", f"Second ({second})")
    points = origin.in_user_units(instance.points)
    if instance.n_features == 2:
        first, second = named or ("First feature", "Second feature")
        return points, (first, second)
    places = np.column_stack([points[:, 0], labels.astype(np.float64)])
    return places, (named[0] if named else "Feature", "Cluster")


def principal_components(instance: Instance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first two principal components of the points, (n, 2), and their shares (2,).

    The shares are of the variance that they explain; 0 where all points coincide. The points are
    turned so that the coordinate of largest magnitude is positive in both.
    """
    centred = instance.centred
    unit = np.abs(centred).max() or 1.0  # no square over- or underflows
    left, values, _ = np.linalg.svd(centred / unit, full_matrices=False)
    scores, shares, rank = np.zeros((instance.n_points, 2)), np.zeros(2), min(2, len(values))
    scores[:, :rank] = unit * left[:, :rank] * values[:rank]
    extreme = np.take_along_axis(scores, np.abs(scores).argmax(axis=0)[None], axis=0)
    scores *= np.where(extreme < 0, -1.0, 1.0)
    shares[:rank] = values[:rank] ** 2 / ((values**2).sum() or 1.0)
    return scores, shares


def _plane_axes(
    instance: Instance, labels: NDArray[np.intp], ax: Axes | None
) -> tuple[Axes, NDArray[np.float64]]:
    """Return ax, or new axes, for the points in a plane, and their places (n, 2)."""
    (places, names), ax = plane_of(instance, labels), axes_or_new(ax, SIZE)
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    ax.margins(0.05)
    if instance.n_features == 1:
        ax.set_yticks(range(int(labels.max()) + 1))
    finish(ax)
    return ax, places


def _draw_pairs(
    pairs: NDArray[np.intp],
    name: str,
    style: Any,
    places: NDArray[np.float64],
    ax: Axes,
    is_wrong: bool = False,
) -> None:
    """Draw pairs (p, 2) of one kind: the more, the fainter; violated ones in red."""
    from matplotlib.collections import LineCollection

    if not len(pairs):
        return
    drawn = pairs[:: -(-len(pairs) // MOST_PAIRS)]
    sample = f", {len(drawn):,} drawn" if len(drawn) < len(pairs) else ""
    alpha = float(np.clip(8.0 / np.sqrt(len(drawn)), 0.12, 0.6))
    look: dict[str, Any] = {"colors": INK, "linewidths": 0.9, "alpha": alpha, "zorder": 1.5}
    if is_wrong:
        look = {"colors": RED, "linewidths": 1.8, "zorder": 2.5}
    text = f"{name} ({len(pairs):,}{sample})"
    lines = LineCollection(list(places[drawn]), linestyles=[style], label=text, **look)
    ax.add_collection(lines)


def _draw_points(
    places: NDArray[np.float64], look: tuple[str, str], text: str, n: int, ax: Axes, **other: Any
) -> None:
    """Draw points of one colour and marker.

    text : of the legend, or ""
    n : points of all clusters; the more, the smaller
    other : arguments of `scatter` that differ from the usual ones
    """
    colour, marker = look
    usual: dict[str, Any] = {
        "s": float(np.clip(500.0 / np.sqrt(n), 4.0, 28.0)),
        "edgecolors": PAPER,
        "linewidths": 0.4 if n <= MOST_OUTLINED else 0.0,
        "zorder": 3,
        "rasterized": n > MOST_DRAWN_POINTS,
    }
    look_and_text: dict[str, Any] = {"c": colour, "marker": marker, "label": text or None}
    ax.scatter(places[:, 0], places[:, 1], **look_and_text, **usual | other)
