"""Costs over the number of clusters, with what is proven of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sdpbb.errors import ParameterError
from sdpbb.plots.style import (
    BLUE,
    GREEN,
    ORANGE,
    PAPER,
    RED,
    SIZE,
    add_legend,
    axes_or_new,
    finish,
    require_matplotlib,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = Sequence[Mapping[str, Any]]


def plot_sweep(rows: Rows, ax: Axes | None = None) -> Axes:
    """Plot the least cost at each number of clusters.

    The interval that is proven to hold it is a bar from the lower bound to the cost of the
    clustering found, which cannot be seen where they meet. Without `ax`, silhouettes and adjusted
    Rand indices between neighbours are drawn below, where there are any.

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
    measured = any(row[name] is not None for row in found for name in ("silhouette", "agreement"))
    if ax is None and measured:
        ax, below = _two_axes()
        _draw_measures(found, below)
    else:
        ax = axes_or_new(ax)
        ax.set_xlabel("Number of clusters k")
    _draw_costs(found, ax)
    return ax


def _two_axes() -> tuple[Axes, Axes]:
    require_matplotlib()
    from matplotlib.figure import Figure

    width, height = SIZE
    figure = Figure(figsize=(width, 1.35 * height), layout="constrained", facecolor=PAPER)
    above, below = figure.subplots(2, sharex=True, height_ratios=[3, 2])
    for ax in (above, below):
        ax.set_facecolor("none")
    return above, below


def _draw_costs(rows: Rows, ax: Axes) -> None:
    k = np.array([row["k"] for row in rows])
    cost = np.array([row["objective"] for row in rows], np.float64)
    bound = np.array([row["lower_bound"] or 0.0 for row in rows], np.float64)
    bound = np.minimum(bound, cost)
    ax.vlines(k, bound, cost, color=BLUE, linewidth=4.0, alpha=0.45, label="Proven interval")
    ax.plot(k, cost, "o-", color=RED, markersize=4.5, linewidth=1.4, label="Best clustering found")
    ax.set_ylabel("Cost")
    ax.set_ylim(bottom=0.0)
    ax.ticklabel_format(axis="y", useOffset=False)
    _set_ks(ax, k)
    finish(ax, grid="y")
    add_legend(ax, loc="upper right")


def _draw_measures(rows: Rows, ax: Axes) -> None:
    for name, label, colour, marker in (
        ("silhouette", "Silhouette", GREEN, "s"),
        ("agreement", "Adjusted Rand index to the previous k", ORANGE, "^"),
    ):
        points = [(row["k"], row[name]) for row in rows if row[name] is not None]
        if points:
            k, value = zip(*points, strict=True)
            ax.plot(
                k, value, f"{marker}-", color=colour, markersize=4.5, linewidth=1.4, label=label
            )
    ax.set_xlabel("Number of clusters k")
    ax.set_ylabel("Measure")
    ax.set_ylim(top=1.05)
    _set_ks(ax, np.array([row["k"] for row in rows]))
    finish(ax, grid="y")
    add_legend(ax, loc="best")


def _set_ks(ax: Axes, k: np.ndarray[Any, Any]) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    ax.set_xlim(k.min() - 0.5, k.max() + 0.5)
