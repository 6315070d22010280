"""Points of a clustering by their certainty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sdpbb.plots.clusters import SIZE, look_of, plane_of
from sdpbb.plots.style import INK, PAPER, RED, add_legend, axes_or_new, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sdpbb.problem import Instance

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
    ax = axes_or_new(ax, SIZE)
    plane, k = plane_of(instance, labels), len(anchors)
    for state, colour, width in STATES:
        is_named = True
        for cluster in range(k):
            members = np.flatnonzero((labels == cluster) & (states == state))
            if not len(members):
                continue
            own, marker = look_of(cluster, k)
            ax.scatter(
                plane.places[members, 0],
                plane.places[members, 1],
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
        x, y = plane.places[anchor].tolist()
        name = None if cluster else f"anchors of the {k} clusters"
        ax.scatter(x, y, s=ANCHOR, marker=marker, c=own, edgecolors=INK, zorder=4, label=name)
    ax.set_xlabel(plane.names[0])
    ax.set_ylabel(plane.names[1])
    ax.margins(0.05)
    finish(ax)
    add_legend(ax, outside=True)
    return ax
