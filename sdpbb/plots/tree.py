"""Picture of the branch-and-bound tree of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import ParameterError
from sdpbb.plots.style import BLUE, INK, ORANGE, PALE, PAPER, RED, add_legend, axes_or_new, finish
from sdpbb.search.events import NodeEnd
from sdpbb.search.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# How a node was left: marker, colour, colour of the edge, text of the legend.
LOOKS = {
    NodeEnd.BRANCHED: ("o", PALE, PALE, "branched"),
    NodeEnd.CLOSED: ("o", BLUE, BLUE, "closed by its bound"),
    NodeEnd.INFEASIBLE: ("D", ORANGE, ORANGE, "infeasible"),
    NodeEnd.LOST: ("X", RED, RED, "lost with its worker"),
    NodeEnd.UNPROVEN: ("X", ORANGE, ORANGE, "left with a gap"),
    NodeEnd.OPEN: ("o", PAPER, INK, "open"),
}


def plot_tree(trace: Trace, ax: Axes | None = None) -> Axes:
    """Plot the tree of a run, one layer for each depth, coloured by how its nodes were left.

    A full line leads to the child in which two points share a cluster, a dashed one to that in
    which they do not. A run that was resumed begins with the nodes that were open then, one beside
    the other.

    Raises
    ------
    ParameterError
        If the trace has no nodes: the run ended before its search had begun.
    BackendUnavailable
        Without matplotlib.
    """
    if not trace.nodes:
        raise ParameterError("the run ended before its search began: there is no tree")
    places = layered([node.parent for node in trace.nodes])
    right, depth = places.max(axis=0)
    width, height = np.clip([4.1 + 0.1 * right, 2.0 + 0.4 * depth], [7.2, 3.4], [14.0, 7.5])
    ax = axes_or_new(ax, (width, height))
    from matplotlib.collections import LineCollection
    from matplotlib.ticker import MaxNLocator

    for together, style, text in ((True, "-", "must-link"), (False, (0, (3, 2)), "cannot-link")):
        edges = [
            (places[node.parent], places[position])
            for position, node in enumerate(trace.nodes)
            if node.parent is not None and node.together is together
        ]
        if edges:
            thickness = 1.1 if len(edges) < 100 else 0.6
            look: dict[str, Any] = {"linestyles": [style], "linewidths": thickness, "label": text}
            ax.add_collection(LineCollection(edges, colors=PALE, **look))
    # At this many points of width, leaves do not hide each other.
    size = float(np.clip(40.0 * width / (right + 1.0), 2.2, 8.0))
    for end, (marker, colour, edge, text) in LOOKS.items():
        chosen = [node.end is end for node in trace.nodes]
        if any(chosen):
            x, y = places[chosen].T
            area = size**2 if end is not NodeEnd.BRANCHED else 0.6 * size**2
            shape: dict[str, Any] = {
                "s": area,
                "marker": marker,
                "linewidths": min(1.2, size / 4),
                "zorder": 3,
            }
            ax.scatter(x, y, c=colour, edgecolors=edge, label=f"{text} ({sum(chosen)})", **shape)
    margin = max(0.7, 0.02 * right)
    ax.set_xlim(-margin, right + margin)
    ax.set_ylim(depth + 0.45, -0.45)
    ax.set_xticks([])
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_ylabel("Depth")
    finish(ax)
    ax.spines["bottom"].set_visible(False)
    add_legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4)
    return ax


def layered(parents: Sequence[int | None]) -> NDArray[np.float64]:
    """Return the coordinates (n, 2) of the nodes of a forest.

    The first is the number of the place from the left, in which leaves stand one beside the other
    and parents in the middle above their children; the second is the depth.

    parents : the position of each node's parent, which is before the node's own; None for a root
    """
    places = np.zeros((len(parents), 2))
    children: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(node)
            places[node, 1] = places[parent, 1] + 1
    waiting, n_leaves = [node for node, parent in enumerate(parents) if parent is None][::-1], 0
    while waiting:
        node = waiting.pop()
        waiting += children[node][::-1]
        if not children[node]:
            places[node, 0], n_leaves = n_leaves, n_leaves + 1
    for node in reversed(range(len(parents))):
        if children[node]:
            places[node, 0] = places[children[node], 0].mean()
    return places
