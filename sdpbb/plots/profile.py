"""Performance profile: the share of instances solved over time, from tables of results."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.plots.style import COLOURS, RED, add_legend, as_label, axes_or_new, finish
from sdpbb.problem.textfile import open_text, shown
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
# The column of seconds goes by one of these names.
SECONDS = ("wall_seconds", "seconds")


def read_solved_runs(paths: Sequence[FilePath], by: str | None = None) -> list[SolvedRuns]:
    """Read the runs in tables of results, as `sdpbb batch` writes them.

    They are CSV with a heading, or one JSON object per line in files whose names end in `.jsonl`,
    where the last row of a name takes the place of those before.

    Parameters
    ----------
    by : the column whose values make the groups, over all files; None for one group per file, of
        its name (with its folder's, where two files share a name)

    Raises
    ------
    InstanceError
        If a file is not there or no such table. One line: the file, the line where there is one,
        what is wrong and what would be right.
    """
    groups: dict[str, list[float | None]] = {}
    for path, name in zip(paths, _names(paths), strict=True):
        for number, row in _rows(path):
            group = name if by is None else _field(row, by, path, number)
            seconds = _seconds(row, path, number)
            groups.setdefault(str(group), []).append(seconds)
    return [
        SolvedRuns(name, tuple(s for s in seconds if s is not None), len(seconds))
        for name, seconds in groups.items()
    ]


def _names(paths: Sequence[FilePath]) -> list[str]:
    stems = [Path(path).stem for path in paths]
    return [
        stem if stems.count(stem) == 1 else str(Path(path).with_suffix(""))
        for path, stem in zip(paths, stems, strict=True)
    ]


def _rows(path: FilePath) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the rows with their lines; at least one."""
    with open_text(path) as file:
        if Path(path).suffix.lower() == ".jsonl":
            rows = _of_json(file, path)
        else:
            reader = csv.DictReader(file)
            try:
                rows = [(reader.line_num, row) for row in reader]
            except csv.Error as error:
                raise InstanceError(f"{shown_path(path)}: is not CSV ({error})") from None
    if not rows:
        raise InstanceError(f"{shown_path(path)}: holds no runs; expected a row for each")
    return rows


def _of_json(file: Iterable[str], path: FilePath) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the last row of each name, and the rows without one."""
    last: dict[str | int, tuple[int, Mapping[str, Any]]] = {}
    for number, line in enumerate(file, start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise InstanceError(
                f"{shown_path(path)}:{number}: {shown(line.strip())}; expected a JSON object"
            )
        name = row.get("name")
        last[name if isinstance(name, str) else number] = number, row
    return list(last.values())


def _field(row: Mapping[str, Any], name: str, path: FilePath, number: int) -> Any:
    if name not in row:
        known = [str(key) for key in row if key is not None]
        close = get_close_matches(name, known, n=1)
        names = ", ".join(shown(key)[1:-1] for key in known[:12])
        others = f"one of {names}" if known else "a row of results"
        hint = f"{shown(close[0])}, perhaps" if close else others
        raise InstanceError(f"{shown_path(path)}:{number}: no column {name!r}; expected {hint}")
    return row[name]


def _seconds(row: Mapping[str, Any], path: FilePath, number: int) -> float | None:
    """Return the seconds of a run, or None if it was not solved."""
    if _field(row, "status", path, number) not in SOLVED:
        return None
    name = next((name for name in SECONDS if name in row), SECONDS[0])
    value = _field(row, name, path, number)
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        raise InstanceError(
            f"{shown_path(path)}:{number}: {name} is {shown(str(value))}; expected a number of "
            "seconds"
        )
    return seconds
