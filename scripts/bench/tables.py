"""Tables in Markdown, where they stand in the documentation, and pictures.

A table is a heading and a cell for each column; a cell is a function of the rows of one line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.bench.rows import Row, chosen, numbers

Cell = Callable[[list[Row]], object]
Curves = Mapping[str, tuple[Sequence[float], Sequence[float], Mapping[str, Any]]]
"""Labels, with x, y and style of their curves."""
# Colours are told apart up to here.
MANY_CURVES = 10
LEGEND: dict[str, Any] = {"fontsize": "small", "frameon": False}
STARTS_WITH = "<!-- table: {} -->"
PLACE = re.compile(r"^<!-- table: (?P<name>[^>]*?) -->\n.*?^<!-- end -->$", re.M | re.S)


def table(
    groups: Iterable[list[Row]], cells: Mapping[str, Cell], text: Iterable[int] = (0,)
) -> list[str]:
    """Return a line for each group of rows.

    text : positions of the columns that are aligned to the left; the others are numbers
    """
    return markdown(list(cells), ([cell(own) for cell in cells.values()] for own in groups), text)


def each(known: Iterable[Row]) -> list[list[Row]]:
    """Return groups of one row."""
    return [[row] for row in known]


def value(column: str, form: str = "", scale: float = 1.0) -> Cell:
    """Return a cell with the value of the first row: as it is, or as a number in a format."""

    def cell(own: list[Row]) -> str:
        found = own[0][column]
        return f"{float(found) * scale:{form}}" if form and found else found

    return cell


def values(*columns: str) -> dict[str, Cell]:
    """Return cells with the values of the first row, under the names of their columns."""
    return {column: value(column) for column in columns}


def over(column: str, what: Callable[[list[float]], float], form: str, scale: float = 1.0) -> Cell:
    """Return a cell with a statistic of a column; "-" without a value."""

    def cell(own: list[Row]) -> str:
        found = numbers(own, column)
        return f"{what(found) * scale:{form}}" if found else "-"

    return cell


def count(**wanted: str) -> Cell:
    """Return a cell with the number of rows that have the wanted values."""
    return lambda own: len(chosen(own, **wanted))


def span(found: Iterable[float], form: str = "g", between: str = " to ") -> str:
    """Return the least and the largest value, once if they look the same; "" of none."""
    told = [f"{one:{form}}" for one in sorted(found)]
    return between.join(dict.fromkeys((*told[:1], *told[-1:])))


def machines(known: list[Row]) -> str:
    """Return the processors and the versions that rows were measured with."""
    names, versions = (sorted({r[c] for r in known if r[c]}) for c in ("cpu", "version"))
    return f"Processors: {', '.join(names)}. Versions: {', '.join(versions)}."


def geometric_mean(found: Iterable[float]) -> float:
    """Return the geometric mean of positive values; nan of none."""
    logarithms = [math.log(one) for one in found]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else math.nan


def markdown(
    head: Sequence[str], lines: Iterable[Sequence[object]], text: Iterable[int] = (0,)
) -> list[str]:
    """Return the lines of a table in Markdown; columns at the positions `text` are no numbers."""
    left = set(text)
    rule = ["---" if position in left else "---:" for position in range(len(head))]
    return [f"| {' | '.join(map(str, cells))} |" for cells in (head, rule, *lines)]


def written(page: str, made: Mapping[str, Sequence[str]]) -> str:
    """Return the text of a page with tables made anew, each between its comment and an end."""

    def part(found: re.Match[str]) -> str:
        if found["name"] not in made:
            return found[0]
        lines = [STARTS_WITH.format(found["name"]), "", *made[found["name"]], "", "<!-- end -->"]
        return "\n".join(lines)

    return PLACE.sub(part, page)


def draw(
    path: Path,
    panels: Sequence[tuple[Curves, Mapping[str, Any]]],
    size: tuple[float, float],
    is_step: bool = False,
    columns: int = 5,
    is_shared: bool = True,
    **options: Any,
) -> None:
    """Draw panels beside each other, and one legend of all labels below.

    panels : curves, and what is set of the axes of each
    is_shared : whether a label is the same in all panels; otherwise each has a legend of its own
    options : of `Figure.subplots`
    """
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    colours = matplotlib.colormaps["tab20"].colors
    handles = {}
    for axes, (curves, settings) in zip(
        figure.subplots(1, len(panels), squeeze=False, **options)[0], panels, strict=True
    ):
        if len(curves) > MANY_CURVES:
            axes.set_prop_cycle(color=colours)
        for label, (x, y, style) in curves.items():
            if is_step and "marker" not in style:
                (handles[label],) = axes.step(x, y, where="post", label=label, **style)
            else:
                (handles[label],) = axes.plot(x, y, label=label, **style)
        axes.set(**settings)
        axes.grid(alpha=0.3)
        if not is_shared:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), **LEGEND, ncols=columns)
    if is_shared:
        below = {"loc": "outside lower center", "ncols": columns}
        figure.legend(handles.values(), handles, **below, **LEGEND)
    figure.savefig(path, dpi=120)
