"""Performance profile: the share of instances solved over time, from tables of results."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.plots.style import COLOURS, RED, add_legend, as_label, axes_or_new, finish
from sdpbb.problem.textfile import open_text
from sdpbb.runtime.files import FilePath, shown_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Times below this, in seconds, are drawn as this: the axis is logarithmic.
SHORTEST = 1e-3
STYLES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))


@dataclass(frozen=True)
class SolvedRuns:
    """Runs of one solver, or with one set of parameters.

    Parameters
    ----------
    name : what the legend calls them
    seconds : of those that were solved: to proven optimality, or proven infeasible
    n : of all, solved or not
    """

    name: str
    seconds: tuple[float, ...]
    n: int

    def __post_init__(self) -> None:
        if self.n < max(1, len(self.seconds)):
            raise ParameterError(f"{self.name}: {len(self.seconds)} solved runs of {self.n}")


def plot_profile(groups: Sequence[SolvedRuns], ax: Axes | None = None) -> Axes:
    """Plot, for each group of runs, the share that was solved within t seconds, over t.

    The cumulative distribution of solution times: a curve that is higher solves more, one that is
    farther left solves sooner. (A performance profile after E. D. Dolan, J. J. Moré, Benchmarking
    optimization software with performance profiles, 2002, without the division by the fastest
    time, which would make a curve depend on the others.)

    Raises
    ------
    ParameterError
        Without groups.
    BackendUnavailable
        Without matplotlib.
    """
    if not groups:
        raise ParameterError("no runs to draw a profile of")
    ax = axes_or_new(ax)
    times = np.array([second for group in groups for second in group.seconds] or [1.0])
    left, right = max(times.min() / 1.6, SHORTEST), max(times.max() * 1.6, 2 * SHORTEST)
    colours = (*COLOURS, RED)
    for number, group in enumerate(groups):
        solved = np.sort(np.maximum(group.seconds, SHORTEST))
        ax.step(
            np.concatenate([[left], solved, [right]]),
            np.concatenate([[0.0], np.arange(1, len(solved) + 1), [len(solved)]]) / group.n * 100,
            where="post",
            color=colours[number % len(colours)],
            linestyle=STYLES[number // len(colours) % len(STYLES)],
            linewidth=1.9,
            label=f"{as_label(group.name)} ({len(solved)} of {group.n})",
        )
    _set_times(ax, left, right)
    ax.set_ylim(0.0, 102.0)
    ax.set_xlabel("Time (s)")
    ax.set_ylabel("Solved within that time (%)")
    finish(ax, grid="both")
    add_legend(ax, loc="best")
    return ax


def _set_times(ax: Axes, left: float, right: float) -> None:
    """Set a logarithmic axis from left to right, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.set_xlim(left, right)
    subs = (1.0, 2.0, 5.0) if right < 300.0 * left else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=subs))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


# Of runs that have an answer: the optimum, or that there is no clustering.
SOLVED = ("optimal", "infeasible")


def read_solved_runs(paths: Sequence[FilePath], by: str | None = None) -> list[SolvedRuns]:
    """Read the runs in tables of results, the files `results.csv` of `sdpbb batch`.

    Parameters
    ----------
    by : the column whose values make the groups, over all files; None for one group per file, of
        its name

    Raises
    ------
    InstanceError
        If a file is not there, or is not such a table, or has no such column.
    """
    groups: dict[str, list[float | None]] = {}
    for path in paths:
        for group, seconds in _runs(path, by):
            groups.setdefault(group, []).append(seconds)
    return [
        SolvedRuns(name, tuple(s for s in seconds if s is not None), len(seconds))
        for name, seconds in groups.items()
    ]


def _runs(path: FilePath, by: str | None) -> list[tuple[str, float | None]]:
    """Return the group of each run in a table, and its seconds, None if it was not solved."""
    name = shown_path(path)
    with open_text(path) as file:
        try:
            rows = list(csv.DictReader(file, restval=""))
            runs = [(row.get(by or "", name), _seconds(row)) for row in rows]
        except (csv.Error, KeyError, TypeError, ValueError):
            runs = []
    if not runs:
        raise InstanceError(f"{name}: holds no runs; expected results.csv of 'sdpbb batch'")
    if by is not None and by not in rows[0]:
        raise InstanceError(f"{name}: no column {by!r}; expected one of its heading")
    return runs


def _seconds(row: Mapping[str, str]) -> float | None:
    """Return the seconds of a run, None if it was not solved; or raise a ValueError."""
    if row["status"] not in SOLVED:
        return None
    if not 0.0 <= (seconds := float(row["wall_seconds"])) < math.inf:
        raise ValueError
    return seconds
