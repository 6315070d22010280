"""Costs over the number of clusters, with what is proven of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sdpbb.errors import ParameterError
from sdpbb.plots.style import BLUE, RED, add_legend, axes_or_new, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    ax.plot(k, cost, "o-", color=RED, markersize=4.5, linewidth=1.4, label="Best clustering found")
    ax.set_xlabel("Number of clusters k")
    ax.set_ylabel("Cost")
    ax.set_ylim(bottom=0.0)
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    ax.set_xlim(k.min() - 0.5, k.max() + 0.5)
    finish(ax, grid="y")
    add_legend(ax, loc="upper right")
    return ax
