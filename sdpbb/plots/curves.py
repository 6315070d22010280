"""Curves: the bounds of a run over time, and the costs of a sweep over the number of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import ParameterError
from sdpbb.plots.style import BLUE, RED, add_legend, axes_or_new, finish
from sdpbb.search.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The curves are drawn on to this multiple of the run's time, so that those of a run that ended with
# its first bound can be seen.
LONGER = 1.05
# Bounds below this share of the best cost, and costs above this multiple, are let go out of view.
LOW, HIGH = 0.5, 1.5
FOUND = "Best clustering found"


def plot_bounds(trace: Trace, ax: Axes | None = None) -> Axes:
    """Plot the incumbent's cost and the proven lower bound as steps over the seconds of the run.

    The gap between them is shaded; a dot marks each new incumbent. What holds at the end of the run
    is drawn on a little. Bounds far below the best cost, and costs far above, are out of view.

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
    rows = [(point.seconds, point.lower, point.upper) for point in trace.points]
    rows.append((LONGER * rows[-1][0] or 1.0, *rows[-1][1:]))
    seconds, lower, upper = np.array(rows).T
    is_new = np.append(True, upper[1:] < np.minimum.accumulate(upper)[:-1]) & np.isfinite(upper)
    lower, upper = (np.where(np.isfinite(bound), bound, np.nan) for bound in (lower, upper))
    shade: dict[str, Any] = {"step": "post", "color": BLUE, "alpha": 0.14, "linewidth": 0}
    ax.fill_between(seconds, lower, upper, label="Gap", **shade)
    for bound, colour, text in ((upper, RED, FOUND), (lower, BLUE, "Proven lower bound")):
        ax.step(seconds, bound, where="post", color=colour, linewidth=1.8, label=text)
    ax.plot(seconds[is_new], upper[is_new], "o", color=RED, markersize=4)
    ax.set_xlabel("Time (s)")
    ax.set_ylabel("Sum of squares")
    ax.set_xlim(left=0.0)
    ax.set_ylim(*_view(lower, upper))
    ax.ticklabel_format(axis="y", useOffset=False)
    finish(ax, grid="y")
    add_legend(ax)
    return ax


def _view(
    lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> tuple[float | None, float | None]:
    """Return the shown part of the vertical axis; None where matplotlib may choose."""
    if np.isnan(upper).all() or np.isnan(lower).all():
        return None, None
    best = float(np.nanmin(upper))
    shown = [*lower[lower >= LOW * best], *upper[upper <= HIGH * best]]
    margin = 0.06 * (max(shown) - min(shown))
    if margin <= 1e-9 * best:  # the bounds met at once
        return None, None
    return min(shown) - margin, max(shown) + margin


def plot_sweep(rows: Sequence[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Plot the least cost at each number of clusters.

    The interval that is proven to hold it is a bar from the lower bound to the cost of the
    clustering found, which cannot be seen where they meet.

    rows : of `SweepReport.to_rows()`

    Raises
    ------
    ParameterError
        If no k has a clustering.
    BackendUnavailable
        Without matplotlib.
    """
    found = [row for row in rows if row["objective"] is not None]
    if not found:
        raise ParameterError("no k has a clustering: there is nothing to draw")
    ax = axes_or_new(ax)
    from matplotlib.ticker import MaxNLocator

    k = np.array([row["k"] for row in found])
    cost = np.array([row["objective"] for row in found], np.float64)
    bound = np.array([row["lower_bound"] or 0.0 for row in found], np.float64)
    bound = np.minimum(bound, cost)
    ax.vlines(k, bound, cost, color=BLUE, linewidth=4.0, alpha=0.45, label="Proven interval")
    ax.plot(k, cost, "o-", color=RED, markersize=4.5, linewidth=1.4, label=FOUND)
    ax.set_xlabel("Number of clusters k")
    ax.set_ylabel("Cost")
    ax.set_ylim(bottom=0.0)
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    ax.set_xlim(k.min() - 0.5, k.max() + 0.5)
    finish(ax, grid="y")
    add_legend(ax, loc="upper right")
    return ax
