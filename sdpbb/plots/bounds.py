"""Bounds of a run over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
