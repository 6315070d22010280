"""Pictures of a trace: the bounds of a run over time, and its branch-and-bound tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import ParameterError
from sdpbb.plots.style import (
    BLUE,
    INK,
    ORANGE,
    PALE,
    PAPER,
    RED,
    SIZE,
    add_legend,
    axes_or_new,
    finish,
)
from sdpbb.search.events import NodeEnd
from sdpbb.search.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The curves are drawn on to this multiple of the run's time, so that those of a run that ended with
# its first bound can be seen.
LONGER = 1.05
# Bounds below this share of the best cost, and costs above this multiple, are let go out of view.
LOW, HIGH = 0.5, 1.5


def plot_bounds(trace: Trace, ax: Axes | None = None) -> Axes:
    """Plot the incumbent's cost and the proven lower bound as steps over the seconds of the run.

    The gap between them is shaded; a dot marks each new incumbent. What holds at the end of the run
    is drawn on a little.

    Bounds far below the best cost, and costs far above, which the beginning of a run may have, are
    out of view.

    Raises
    ------
    ParameterError
        If the trace has no points: the run ended before it had a bound.
    BackendUnavailable
        Without matplotlib.
    """
    if not trace.points:
        raise ParameterError("the run ended before it had bounds: there is nothing to draw")
    ax = axes_or_new(ax)
    seconds, lower, upper = (
        np.array([getattr(point, name) for point in trace.points])
        for name in ("seconds", "lower", "upper")
    )
    lower[~np.isfinite(lower)] = np.nan
    upper[~np.isfinite(upper)] = np.nan
    found = _improvements(upper)
    dots = seconds[found], upper[found]
    end = LONGER * seconds[-1] or 1.0
    seconds = np.append(seconds, end)
    lower, upper = (np.append(bound, bound[-1]) for bound in (lower, upper))
    ax.fill_between(
        seconds, lower, upper, step="post", color=BLUE, alpha=0.14, linewidth=0, label="Gap"
    )
    ax.step(seconds, upper, where="post", color=RED, linewidth=1.8, label="Best clustering found")
    ax.step(seconds, lower, where="post", color=BLUE, linewidth=1.8, label="Proven lower bound")
    ax.plot(*dots, "o", color=RED, markersize=4)
    ax.set_xlabel("Time (s)")
    ax.set_ylabel("Sum of squares")
    ax.set_xlim(left=0.0)
    ax.set_ylim(*_view(lower, upper))
    ax.ticklabel_format(axis="y", useOffset=False)
    finish(ax, grid="y")
    add_legend(ax)
    return ax


def _improvements(upper: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return positions at which a cost is less than all before it."""
    known = np.where(np.isnan(upper), np.inf, upper)
    before = np.concatenate([[np.inf], np.minimum.accumulate(known)[:-1]])
    return np.flatnonzero(known < before)


def _view(
    lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> tuple[float | None, float | None]:
    """Return the shown part of the vertical axis; None where matplotlib may choose."""
    if np.isnan(upper).all() or np.isnan(lower).all():
        return None, None
    best = float(np.nanmin(upper))
    shown = [value for value in lower if value >= LOW * best]
    shown += [value for value in upper if value <= HIGH * best]
    margin = 0.06 * (max(shown) - min(shown))
    if margin <= 1e-9 * best:  # the bounds met at once
        return None, None
    return min(shown) - margin, max(shown) + margin


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
    n_leaves, depth = int(places[:, 0].max()) + 1, int(places[:, 1].max())
    width, height = np.clip([4.0 + 0.1 * n_leaves, 2.0 + 0.4 * depth], [7.2, 3.4], [14.0, 7.5])
    ax = axes_or_new(ax, (width, height))
    _draw_edges(trace, places, ax)
    size = _marker_size(ax, n_leaves)
    for end, (marker, colour, edge, text) in LOOKS.items():
        chosen = [node.end is end for node in trace.nodes]
        if any(chosen):
            ax.scatter(
                places[chosen, 0],
                places[chosen, 1],
                s=0.6 * size if end is NodeEnd.BRANCHED else size,
                marker=marker,
                c=colour,
                edgecolors=edge,
                linewidths=min(1.2, np.sqrt(size) / 4),
                label=f"{text} ({sum(chosen)})",
                zorder=3,
            )
    _set_axes(ax, places)
    return ax


def _marker_size(ax: Axes, n_leaves: int) -> float:
    """Return the size of markers, in square points, at which leaves do not hide each other."""
    from matplotlib.figure import Figure

    figure = ax.figure
    width = figure.get_figwidth() if isinstance(figure, Figure) else SIZE[0]
    return float(np.clip(0.7 * 72.0 * width / n_leaves * 0.8, 2.2, 8.0) ** 2)


def _draw_edges(trace: Trace, places: NDArray[np.float64], ax: Axes) -> None:
    from matplotlib.collections import LineCollection

    for together, style, text in ((True, "-", "must-link"), (False, (0, (3, 2)), "cannot-link")):
        edges = [
            (places[node.parent], places[position])
            for position, node in enumerate(trace.nodes)
            if node.parent is not None and node.together is together
        ]
        if edges:
            width = 1.1 if len(edges) < 100 else 0.6
            ax.add_collection(
                LineCollection(edges, colors=PALE, linestyles=[style], linewidths=width, label=text)
            )


def _set_axes(ax: Axes, places: NDArray[np.float64]) -> None:
    from matplotlib.ticker import MaxNLocator

    right, depth = places.max(axis=0)
    margin = max(0.7, 0.02 * right)
    ax.set_xlim(-margin, right + margin)
    ax.set_ylim(depth + 0.45, -0.45)
    ax.set_xticks([])
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_ylabel("Depth")
    finish(ax)
    ax.spines["bottom"].set_visible(False)
    add_legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4)


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
    for number, leaf in enumerate(_leaves(parents, children)):
        places[leaf, 0] = number
    for node in reversed(range(len(parents))):
        if children[node]:
            places[node, 0] = np.mean([places[child, 0] for child in children[node]])
    return places


def _leaves(parents: Sequence[int | None], children: list[list[int]]) -> list[int]:
    """Return the leaves from left to right."""
    leaves = []
    waiting = [node for node, parent in enumerate(parents) if parent is None][::-1]
    while waiting:
        node = waiting.pop()
        if children[node]:
            waiting += children[node][::-1]
        else:
            leaves.append(node)
    return leaves
