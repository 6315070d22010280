"""The commands `sdpbb solve` and `sdpbb resume`, and the application that all belong to."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TextIO, cast

import typer

from sdpbb import __version__
from sdpbb.cli import options
from sdpbb.cli.exit_codes import (
    EXIT_CODES,
    HEURISTIC_EXIT_CODES,
    ExitCode,
    epilog,
    exit_code,
    fail,
    one_line_errors,
)
from sdpbb.cli.heuristic import heuristic
from sdpbb.cli.inputs import instance_of
from sdpbb.cli.options import Bounding, BranchingRule, given, usable_cores
from sdpbb.cli.outputs import Outputs
from sdpbb.cli.streams import discard, say
from sdpbb.errors import InstanceError
from sdpbb.files import shown_path
from sdpbb.interruption import finish_on_ctrl_c

if TYPE_CHECKING:
    from sdpbb.parameters import SolverParameters
    from sdpbb.problem import Instance
    from sdpbb.result import Result
    from sdpbb.search.events import Event, Observer

EPILOG = epilog(EXIT_CODES)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)


def main() -> None:
    """The command line; the process starts in `sdpbb.__main__`."""
    for stream in (sys.stdout, sys.stderr):
        # A file name that the terminal's encoding lacks must not end a run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="sdpbb")
    except OSError as error:  # of a help text: everything else is caught where it happens
        discard(sys.stdout)
        fail(ExitCode.BAD_INPUT, f"standard output: {error.strerror}")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sdpbb {__version__}")
        raise typer.Exit


@app.callback()
def sdpbb(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Exact minimum sum-of-squares clustering with constraints on pairs and on clusters, and the
    published heuristics for it."""


@app.command(epilog=EPILOG)
def solve(
    data: options.Data,
    k: options.Clusters = None,
    constraints: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Lines 'ML i j' and 'CL i j' with row numbers from 0, 'GAMMA x' (maximum "
            "diameter), 'DELTA x' (minimum separation); on single clusters, with --bounding colgen "
            "or hybrid: 'MAXSIZE n', 'OVERLAP l i j ...', 'DIFFERENCE l i j ...', "
            "'SOFTCL l i j i j ...'.",
        ),
    ] = None,
    gap: Annotated[
        float, typer.Option(metavar="G", help="Stop when (upper - lower) / upper is at most G.")
    ] = 1e-4,
    time_limit: options.TimeLimit = None,
    node_limit: options.NodeLimit = None,
    memory_limit: options.MemoryLimit = None,
    seed: options.Seed = 0,
    bounding: Annotated[
        Bounding,
        typer.Option(
            help="Where lower bounds come from: the semidefinite relaxation; column generation, "
            "for many small clusters and constraints on clusters; or the first, then clusters."
        ),
    ] = Bounding.SDP,
    branching: Annotated[
        BranchingRule,
        typer.Option(
            help="How the pair to branch on is chosen: by bounding the children of several "
            "candidates for a short while, or by the relaxation's solution alone."
        ),
    ] = BranchingRule.MOST_UNDECIDED,
    fixing: Annotated[
        bool,
        typer.Option(
            "--fixing/--no-fixing", help="Fix pairs that every better clustering links one way."
        ),
    ] = True,
    workers: options.Workers = None,
    dask: options.Dask = None,
    checkpoint: options.Checkpoint = None,
    json: options.Json = None,
    labels: options.Labels = None,
    quiet: options.Quiet = False,
) -> None:
    """Find and prove the best clustering of the points in DATA.

    Without --workers, as many processes are used as there are cores, but only for runs that
    branch after a few seconds; with one, runs are repeatable.
    """
    with one_line_errors():
        # The engine is imported last: what is wrong with the input is told without the wait.
        if workers is None and dask is None:
            workers = usable_cores()
        limits = given(time_limit=time_limit, node_limit=node_limit, memory_limit=memory_limit)
        executors = given(workers=workers, dask=dask)
        parameters = _parameters(
            branching, fixing, gap=gap, seed=seed, bounding=bounding.value, **limits, **executors
        )
        outputs = Outputs(json, labels)
        outputs.check([path for path in (data, constraints) if path is not None], checkpoint)
        instance = instance_of(data, k, constraints)
        _refuse_soft_constraints(instance, constraints)

        from sdpbb import solver

        code = _report(
            lambda observer, interrupt: solver.solve(
                instance, parameters, observer, interrupt, checkpoint
            ),
            outputs,
            quiet,
        )
    raise typer.Exit(code)


@app.command(epilog=EPILOG)
def resume(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", show_default=False, help="What 'sdpbb solve --checkpoint' has written."
        ),
    ],
    time_limit: options.TimeLimit = None,
    node_limit: options.NodeLimit = None,
    memory_limit: options.MemoryLimit = None,
    workers: options.Workers = None,
    dask: options.Dask = None,
    checkpoint: options.Checkpoint = None,
    json: options.Json = None,
    labels: options.Labels = None,
    quiet: options.Quiet = False,
) -> None:
    """Go on with a run from its checkpoint FILE, and write to it.

    What is not given is as it was. A run that stopped at a limit goes on with a higher one; a run
    that was finished is reported again.
    """
    with one_line_errors():
        from sdpbb.archive import read_header

        changes = given(
            time_limit=time_limit,
            node_limit=node_limit,
            memory_limit=memory_limit,
            workers=workers,
            dask=dask,
        )
        read_header(file, "checkpoint")  # the quick part of the reading
        outputs = Outputs(json, labels)
        outputs.check([], checkpoint, resumed=file)

        from sdpbb import solver

        code = _report(
            lambda observer, interrupt: solver.resume(
                file,
                observer,
                interrupt,
                checkpoint,
                **changes,  # type: ignore[arg-type]
            ),
            outputs,
            quiet,
        )
    raise typer.Exit(code)


app.command(epilog=epilog(HEURISTIC_EXIT_CODES))(heuristic)


def _report(
    run: Callable[[Observer, threading.Event], Result], outputs: Outputs, quiet: bool
) -> ExitCode:
    """Run, show and write what comes of it; the exit status."""
    from sdpbb.report import ProgressTable

    interrupt = threading.Event()
    log = outputs.log(interrupt)
    observer = _say_errors if quiet else ProgressTable(cast(TextIO, log), __version__)
    with finish_on_ctrl_c(interrupt):
        result = run(observer, interrupt)
        labels = None if result.partition is None else result.partition.labels
        outputs.write(result, labels, quiet)
    return exit_code(result)


def _say_errors(event: Event) -> None:
    """The observer of a quiet run."""
    from sdpbb.report import checkpoint_failure
    from sdpbb.search.events import CheckpointFailed

    if isinstance(event, CheckpointFailed):
        say(checkpoint_failure(event))


def _parameters(branching: BranchingRule, fixing: bool, **asked: Any) -> SolverParameters:
    from sdpbb.parameters import SolverParameters
    from sdpbb.search.parameters import STRONG_BRANCHING, BranchingParameters, SearchParameters

    rule = STRONG_BRANCHING if branching is BranchingRule.STRONG else BranchingParameters()
    return SolverParameters(search=SearchParameters(branching=rule, fixing=fixing), **asked)


def _refuse_soft_constraints(instance: Instance, constraints: str | None) -> None:
    if instance.has_soft_constraints:
        raise InstanceError(
            f"{shown_path(constraints or '')}: soft constraints (SML, SCL), and only hard ones can "
            "be solved exactly; expected ML and CL, or 'sdpbb heuristic pccc', which weighs them"
        )
