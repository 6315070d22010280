"""Draw a run, a clustering, a batch or a sweep."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import EPILOGUE, ExitCode, fail
from sdpbb.app.cli.help import command
from sdpbb.app.cli.inputs import InstanceOptions
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.runtime.files import output_problem, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes


Out = Annotated[
    str,
    options.option(metavar="FILE", help="File of the picture: .png, .svg or .pdf."),
]
Title = Annotated[str | None, options.option(metavar="TEXT", help="A title above the picture.")]
TraceFile = Annotated[
    str,
    options.argument("TRACE", help="File that 'sdpbb solve --trace' wrote."),
]
LabelsToDraw = Annotated[
    str | None,
    options.option(metavar="FILE", help="Labels, one per line, in the order of the points."),
]


@options.grouped
class DrawnInputs(InstanceOptions):
    """Options on the files of points to draw, whose number of clusters makes no difference."""

    k: Annotated[int, Parameter(parse=False)] = 1


@command
def bounds(trace: TraceFile, /, *, out: Out, title: Title = None) -> None:
    """Draw the best cost and the proven lower bound of a run over time."""
    with _picture(out, title, trace) as draw:
        from sdpbb.plots import plot_bounds
        from sdpbb.search.trace import read_trace

        draw(plot_bounds(read_trace(trace)))


@command
def tree(trace: TraceFile, /, *, out: Out, title: Title = None) -> None:
    """Draw the branch-and-bound tree of a run, nodes coloured by their end."""
    with _picture(out, title, trace) as draw:
        from sdpbb.plots import plot_tree
        from sdpbb.search.trace import read_trace

        draw(plot_tree(read_trace(trace)))


@command
def clusters(
    data: options.Data,
    /,
    *,
    out: Out,
    labels: LabelsToDraw = None,
    column: options.LabelsColumn = None,
    inputs: DrawnInputs = DrawnInputs(),
    title: Title = None,
) -> None:
    """Draw the points in two principal components with their clusters and their constraints.

    Points with two features are drawn as they are. Violated constraints are red.
    """
    with _picture(out, title) as draw:
        from sdpbb.plots import plot_clusters

        instance = inputs.read(data)
        draw(plot_clusters(instance, inputs.labels(instance, labels, column)))


@command
def profile(
    results: Annotated[
        list[str],
        options.argument(
            "RESULTS",
            help="Results of 'sdpbb batch', one or several: the folder, or results.csv in it.",
        ),
    ],
    /,
    *,
    out: Out,
    by: Annotated[
        str | None,
        options.option(
            metavar="COLUMN",
            help="A curve for each value of this column, such as bounding.",
            default="one for each file",
        ),
    ] = None,
    title: Title = None,
) -> None:
    """Draw how many instances of a batch were solved within which time."""
    with _picture(out, title) as draw:
        from sdpbb.plots import plot_profile
        from sdpbb.plots.profile import read_solved_runs

        draw(plot_profile(read_solved_runs([_table(path) for path in results], by)))


@command
def sweep(
    results: Annotated[
        str,
        options.argument(
            "SWEEP", help="File that 'sdpbb sweep --json' wrote, or the folder of the sweep."
        ),
    ],
    /,
    *,
    out: Out,
    title: Title = None,
) -> None:
    """Draw the costs of a sweep over k, with proven intervals and measures."""
    file = results
    if os.path.isdir(results):
        from sdpbb.questions.sweep import VALUES

        file = os.path.join(results, VALUES)
    with _picture(out, title, file) as draw:
        from sdpbb.plots import plot_sweep
        from sdpbb.plots.sweep import read_sweep

        draw(plot_sweep(read_sweep(file)))


plot = App("plot", help=__doc__, help_epilogue=EPILOGUE, version_flags=[])
for position, kind in enumerate((bounds, tree, clusters, profile, sweep)):
    kind.sort_key = position
    plot.command(kind)


@contextmanager
def _picture(out: str, title: str | None, file: str = "") -> Iterator[Callable[[Axes], None]]:
    """Refuse a file that cannot be written before anything is read, and yield what writes it.

    file : that is drawn, which errors of drawing name
    """
    from sdpbb.plots.style import format_problem, require_matplotlib, save, set_title

    def draw(ax: Axes) -> None:
        if title is not None:
            set_title(ax, title)
        try:
            save(ax, out)
        except OSError as error:
            problem = f"could not be written ({error.strerror or error})"
            fail(ExitCode.BAD_INPUT, f"{shown_path(out)}: {problem}")

    if problem := format_problem(out):
        raise ParameterError(f"--out {problem}")
    if problem := output_problem(out):
        raise InstanceError(problem)
    require_matplotlib()
    try:
        yield draw
    except ParameterError as error:
        if not file:
            raise
        raise InstanceError(f"{shown_path(file)}: {error}") from None


def _table(path: str) -> str:
    """The table of results that is meant: that of a folder's batch, or the file itself."""
    if not os.path.isdir(path):
        return path
    from sdpbb.questions.batch.batch import TABLE

    table = os.path.join(path, TABLE)
    if not os.path.isfile(table):
        raise InstanceError(
            f"{shown_path(path)}: is a folder without {TABLE}; expected one that 'sdpbb batch' has "
            "written, or a table of results"
        )
    return table
