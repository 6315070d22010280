"""Clusterings on a plane: with their constraints, or by the certainty of their points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.errors import ParameterError
from sdpbb.plots.style import (
    COLOURS,
    INK,
    MARKERS,
    MORE_COLOURS,
    PALE,
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


@dataclass(frozen=True, eq=False)
class DrawnPairs:
    """Constraints of one kind.

    pairs : (p, 2) row numbers
    wrong : (p,) bool, whether they are violated, or conflict with others
    together : whether they are must-links
    """

    name: str
    pairs: NDArray[np.intp]
    wrong: NDArray[np.bool_]
    together: bool


def plot_clusters(
    instance: Instance,
    labels: ArrayLike | Partition | None = None,
    ax: Axes | None = None,
    conflicting: Iterable[tuple[int, int]] = (),
) -> Axes:
    """Plot the points of a clustering, with the constraints.

    The points are in their first two principal components, or in their own plane if they have two
    features. Must-links are full, cannot-links dashed, violated ones in red.

    A cross is the mean of a cluster. Of more than `MOST_PAIRS` constraints of a kind, a sample is
    drawn, violated ones first, and the legend says so.

    Parameters
    ----------
    labels : (n,) integers, or a `Partition`; None for points and constraints alone
    conflicting : pairs of row numbers whose constraints contradict each other, drawn in red as well
        where there are no labels

    Raises
    ------
    ParameterError
        If there is another number of labels than of points.
    BackendUnavailable
        Without matplotlib.
    """
    partition = _partition(instance, labels)
    known = np.zeros(instance.n_points, np.intp) if partition is None else partition.labels
    ax, places = _plane_axes(instance, known, ax)
    wrong = frozenset(conflicting)
    for kind in _kinds(instance, partition, wrong):
        _draw_pairs(kind, "violated" if partition is not None else "conflicting", places, ax)
    if partition is None:
        _draw_points(places, PALE, "o", "points", instance.n_points, ax)
    else:
        _draw_clusters(places, partition, instance.weights, ax)
    add_legend(ax, outside=True)
    return ax


def _plane_axes(
    instance: Instance, labels: NDArray[np.intp], ax: Axes | None
) -> tuple[Axes, NDArray[np.float64]]:
    """Return ax, or new axes, for the points in a plane, and their places (n, 2)."""
    plane, ax = plane_of(instance, labels), axes_or_new(ax, SIZE)
    ax.set_xlabel(plane.names[0])
    ax.set_ylabel(plane.names[1])
    ax.margins(0.05)
    if instance.n_features == 1:
        ax.set_yticks(range(int(labels.max()) + 1))
    finish(ax)
    return ax, plane.places


def _partition(instance: Instance, labels: ArrayLike | Partition | None) -> Partition | None:
    if labels is None:
        return None
    partition = labels if isinstance(labels, Partition) else Partition(np.asarray(labels))
    if len(partition.labels) != instance.n_points:
        raise ParameterError(
            f"labels = ...: {len(partition.labels)} labels; expected {instance.n_points}, one per "
            "point"
        )
    return partition


def _kinds(
    instance: Instance, partition: Partition | None, conflicting: frozenset[tuple[int, int]]
) -> list[DrawnPairs]:
    """Return the constraints by kind.

    Wrong are those that the partition violates, or without one, the conflicting ones.
    """
    given = (
        ("must-link", instance.must_link, True),
        ("cannot-link", instance.cannot_link, False),
        ("soft must-link", instance.soft_must_link.pairs, True),
        ("soft cannot-link", instance.soft_cannot_link.pairs, False),
    )
    kinds = []
    for name, pairs, together in given:
        if partition is None:
            wrong = np.array([(i, j) in conflicting for i, j in pairs.tolist()], bool)
        else:
            label = partition.labels[pairs]
            wrong = (label[:, 0] == label[:, 1]) != together
        kinds.append(DrawnPairs(name, pairs, wrong, together))
    return kinds


def _draw_pairs(kind: DrawnPairs, word: str, places: NDArray[np.float64], ax: Axes) -> None:
    """Draw the pairs of one kind.

    word : for the wrong ones
    """
    from matplotlib.collections import LineCollection

    for wrong in (False, True):
        pairs = kind.pairs[kind.wrong == wrong]
        if not len(pairs):
            continue
        drawn = pairs[:: -(-len(pairs) // MOST_PAIRS)]
        name = f"{word} {kind.name}" if wrong else kind.name
        sample = f", {len(drawn):,} drawn" if len(drawn) < len(pairs) else ""
        look: dict[str, Any] = (
            {"colors": RED, "linewidths": 1.8, "zorder": 2.5}
            if wrong
            else {"colors": INK, "linewidths": 0.9, "alpha": _alpha(len(drawn)), "zorder": 1.5}
        )
        ax.add_collection(
            LineCollection(
                list(places[drawn]),
                linestyles=["-" if kind.together else DASHES],
                label=f"{name} ({len(pairs):,}{sample})",
                **look,
            )
        )


def _alpha(n: int) -> float:
    """Return the opacity of lines: the more lines, the fainter."""
    return float(np.clip(8.0 / np.sqrt(max(n, 1)), 0.12, 0.6))


def _draw_clusters(
    places: NDArray[np.float64],
    partition: Partition,
    weights: NDArray[np.float64] | None,
    ax: Axes,
) -> None:
    n = partition.n_clusters
    mass = np.ones(len(places)) if weights is None else weights
    for cluster in range(n):
        members = places[partition.labels == cluster]
        text = f"cluster {cluster} ({len(members):,})" if n <= MOST_NAMED else ""
        _draw_points(members, *look_of(cluster, n), text, len(places), ax)
    clusters = [np.flatnonzero(partition.labels == c) for c in range(n)]
    centres = np.array([np.average(places[of], axis=0, weights=mass[of]) for of in clusters])
    ax.scatter(
        centres[:, 0],
        centres[:, 1],
        marker="X",
        s=90,
        c=INK,
        edgecolors=PAPER,
        linewidths=1.0,
        zorder=4,
        label=f"means of the {n} clusters",
    )


def look_of(cluster: int, n_clusters: int) -> tuple[str, str]:
    """Return the colour and the marker of a cluster.

    Of up to six clusters each tells them apart; of up to twelve all have different colours, and two
    markers; of more, both together tell up to 84 apart.
    """
    if n_clusters <= len(COLOURS):
        return COLOURS[cluster], MARKERS[cluster % len(MARKERS)]
    turn = cluster // len(COLOURS)
    return MORE_COLOURS[cluster % len(MORE_COLOURS)], MARKERS[turn % len(MARKERS)]


def _draw_points(
    places: NDArray[np.float64], colour: str, marker: str, text: str, n: int, ax: Axes
) -> None:
    """Draw the points of one cluster.

    n : points of all clusters; the more, the smaller
    """
    ax.scatter(
        places[:, 0],
        places[:, 1],
        s=float(np.clip(500.0 / np.sqrt(n), 4.0, 28.0)),
        c=colour,
        marker=marker,
        edgecolors=PAPER,
        linewidths=0.4 if n <= MOST_OUTLINED else 0.0,
        zorder=3,
        label=text or None,
        rasterized=n > MOST_DRAWN_POINTS,
    )


@dataclass(frozen=True, eq=False)
class Plane:
    """Positions of points in a picture.

    places : (n, 2)
    names : of the two axes
    """

    places: NDArray[np.float64]
    names: tuple[str, str]


def plane_of(instance: Instance, labels: NDArray[np.intp]) -> Plane:
    """Return the points in a plane: their two features, or their first two principal components.

    The latter come with the share of the variance that these explain. Points with one feature stand
    above each other by their labels (n,).
    """
    origin = instance.origin
    named = tuple(as_label(name) for name in origin.feature_names)
    if instance.n_features == 2:
        points = origin.in_user_units(instance.points)
        first, second = named or ("First feature", "Second feature")
        return Plane(points, (first, second))
    if instance.n_features == 1:
        points = origin.in_user_units(instance.points)
        return Plane(
            np.column_stack([points[:, 0], labels.astype(np.float64)]),
            (named[0] if named else "Feature", "Cluster"),
        )
    scores, shares = principal_components(instance)
    first, second = (f"{100 * share:.1f}% of the variance" for share in shares)
    return Plane(
        scores, (f"First principal component ({first})", f"Second principal component ({second})")
    )


def principal_components(instance: Instance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first two principal components of the points, (n, 2), and their shares (2,).

    The shares are of the variance that they explain; 0 where all points coincide.

    The points are turned so that the coordinate of largest magnitude is positive in both.
    """
    centred = instance.centred
    unit = np.abs(centred).max() or 1.0  # no square over- or underflows
    left, values, _ = np.linalg.svd(centred / unit, full_matrices=False)
    scores = np.zeros((instance.n_points, 2))
    rank = min(2, len(values))
    scores[:, :rank] = unit * left[:, :rank] * values[:rank]
    extreme = np.take_along_axis(scores, np.abs(scores).argmax(axis=0)[None], axis=0)
    scores *= np.where(extreme < 0, -1.0, 1.0)
    shares = np.zeros(2)
    total = (values**2).sum()
    if total > 0:
        shares[:rank] = values[:rank] ** 2 / total
    return scores, shares


# Area of a point's marker; of anchors.
AREA, ANCHOR = 30.0, 110.0
STATES = (("certain", INK, 0.0), ("uncertain", RED, 1.8), ("open", INK, 1.2))
"""States of points, the colour of their outline and its width."""


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
    (ax, places), k = _plane_axes(instance, labels, ax), len(anchors)
    for state, colour, width in STATES:
        is_named = True
        for cluster in range(k):
            members = np.flatnonzero((labels == cluster) & (states == state))
            if not len(members):
                continue
            own, marker = look_of(cluster, k)
            ax.scatter(
                places[members, 0],
                places[members, 1],
                s=AREA,
                marker=marker,
                c=own if state == "certain" else PAPER,
                edgecolors=PAPER if state == "certain" else colour,
                linewidths=max(width, 0.4),
                zorder=3,
                label=f"{state} ({int((states == state).sum()):,})" if is_named else None,
            )
            is_named = False
    for cluster, anchor in enumerate(anchors.tolist()):
        own, marker = look_of(cluster, k)
        x, y = places[anchor].tolist()
        name = None if cluster else f"anchors of the {k} clusters"
        ax.scatter(x, y, s=ANCHOR, marker=marker, c=own, edgecolors=INK, zorder=4, label=name)
    add_legend(ax, outside=True)
    return ax
