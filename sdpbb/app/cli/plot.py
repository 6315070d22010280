"""Draw a run, a clustering, a relaxation, a batch or a sweep."""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import NOTHING_WRITTEN, ExitCode, epilog, fail, meanings, say
from sdpbb.app.cli.help import command
from sdpbb.app.cli.inputs import InstanceOptions, labels_of
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.runtime.files import output_problem, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes


EXITS = meanings(
    {
        ExitCode.FOUND: "the picture was written",
        ExitCode.BAD_INPUT: "an input file is wrong, or the picture cannot be written",
        ExitCode.LIMIT_WITHOUT_CLUSTERING: "the time was too short to find a clustering or a "
        "proof that none exists",
        ExitCode.BACKEND_FAILURE: "a solver failed",
        **NOTHING_WRITTEN,
    },
    without=[ExitCode.LIMIT],
)

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


@command(EXITS)
def bounds(trace: TraceFile, /, *, out: Out, title: Title = None) -> None:
    """Draw the best cost and the proven lower bound of a run over time."""
    with _picture(out, title, trace) as draw:
        from sdpbb.plots import plot_bounds
        from sdpbb.search.trace import read_trace

        draw(plot_bounds(read_trace(trace)))


@command(EXITS)
def tree(trace: TraceFile, /, *, out: Out, title: Title = None) -> None:
    """Draw the branch-and-bound tree of a run, nodes coloured by their end."""
    with _picture(out, title, trace) as draw:
        from sdpbb.plots import plot_tree
        from sdpbb.search.trace import read_trace

        draw(plot_tree(read_trace(trace)))


@command(EXITS)
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
        draw(plot_clusters(instance, labels_of(instance, labels, column, inputs)))


@command(EXITS)
def matrix(
    data: options.Data,
    /,
    *,
    out: Out,
    labels: Annotated[
        str | None,
        options.option(
            metavar="FILE",
            help="Labels to sort by, one per line; they must satisfy the must-links.",
            default="labels of a heuristic",
        ),
    ] = None,
    column: options.LabelsColumn = None,
    inputs: InstanceOptions = InstanceOptions(),
    time_limit: Annotated[
        float | None, options.option(metavar="S", help="Improve the relaxation for S seconds.")
    ] = None,
    title: Title = None,
) -> None:
    """Solve the semidefinite relaxation at the root and draw its matrix Z, sorted by cluster.

    Squares of full colour are clusters that the relaxation is sure of; what is paler is left to
    branching. Constraints may be on pairs only: limits on sizes or weights are refused.
    """
    with _picture(out, title) as draw:
        from sdpbb.plots import plot_matrix

        if time_limit is not None and not time_limit > 0:
            raise ParameterError(f"time_limit = {time_limit}: expected more than 0 seconds")
        instance = inputs.read(data)
        chosen = labels_of(instance, labels, column, inputs)
        from sdpbb.plots.matrix import solved_relaxation
        from sdpbb.problem import Infeasibility
        from sdpbb.runtime.jit import clock_stopped_by_compiler

        limit = math.inf if time_limit is None else time_limit
        told = partial(say, "Compiling kernels: once per machine and version")
        with clock_stopped_by_compiler(told):
            solved = solved_relaxation(instance, chosen, limit)
        if solved is None:
            message = "the time was too short to find a clustering or a proof that none exists"
            fail(ExitCode.LIMIT_WITHOUT_CLUSTERING, message)
        if isinstance(solved, Infeasibility):
            fail(ExitCode.INFEASIBLE, f"no clustering satisfies the constraints: {solved}")
        draw(plot_matrix(solved.affinity, solved.labels))


@command(EXITS)
def profile(
    results: Annotated[
        list[str],
        options.argument(
            "RESULTS",
            help="Results of 'sdpbb batch', one or several: the folder, or results.csv or "
            "results.jsonl in it.",
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


@command(EXITS)
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
        from sdpbb.questions.sweeps.report import VALUES

        file = os.path.join(results, VALUES)
    with _picture(out, title, file) as draw:
        from sdpbb.plots import plot_sweep
        from sdpbb.plots.sweep import read_sweep

        draw(plot_sweep(read_sweep(file)))


plot = App("plot", help=__doc__, help_epilogue=epilog(EXITS), version_flags=[])
for position, kind in enumerate((bounds, tree, clusters, matrix, profile, sweep)):
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
