"""The command `sdpbb batch`."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from sdpbb import __version__
from sdpbb.cli import options
from sdpbb.cli.engine import read_parameters
from sdpbb.cli.exits import ExitCode, interrupted, meanings, one_line_errors
from sdpbb.cli.options import Bounding, SdpSolver
from sdpbb.cli.outputs import Outputs
from sdpbb.cli.streams import ForgivingStream
from sdpbb.interruption import finish_on_signal

if TYPE_CHECKING:
    from sdpbb.batch import BatchParameters, BatchResult, Job
    from sdpbb.batch.events import BatchObserver

# An instance that is proven infeasible has its answer.
EXITS = meanings(
    {
        ExitCode.OPTIMAL: "every instance is proven optimal within its gap, or proven infeasible",
        ExitCode.UNANSWERED: "an instance failed: its files are wrong, it crashed or was killed",
        ExitCode.BAD_INPUT: "the manifest is wrong, or the results cannot be written",
        ExitCode.LIMIT: "no instance failed, but one was stopped at a limit",
        ExitCode.BACKEND_FAILURE: "the worker processes cannot start",
    },
    without=[ExitCode.LIMIT_WITHOUT_CLUSTERING, ExitCode.INFEASIBLE],
)

Manifest = Annotated[
    str,
    typer.Argument(
        metavar="MANIFEST",
        show_default=False,
        help="What to solve: TOML with a table [[instance]] for each, and [defaults]; or CSV with "
        "a heading. The keys: data, constraints (paths or patterns, relative to MANIFEST), name, "
        "k, constraints_format, one_based, index_column, drop, and any parameter that 'sdpbb "
        "parameters' prints: gap, time_limit, sdp.solver.",
    ),
]
Folder = Annotated[
    str,
    typer.Option(
        "--out",
        metavar="DIR",
        show_default=False,
        help="The folder of the results: results.jsonl (a row as soon as it is there), "
        "results.csv, summary.txt, labels/NAME.txt, certificates/NAME.cert.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", help="Processes, each of which works on one instance at a time."),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on in a DIR that holds results: what has an answer is kept, and what was stopped "
        "by limits that are no higher now; everything else is done again.",
    ),
]
Gap = Annotated[
    float | None,
    typer.Option(
        metavar="G", help="Stop when (upper - lower) / upper is at most G, 1e-4 if nothing is said."
    ),
]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="S", help="Stop after S seconds of an instance.")
]
NodeLimit = Annotated[
    int | None, typer.Option(metavar="N", help="Stop after N nodes of an instance.")
]
MemoryLimit = Annotated[
    float | None,
    typer.Option(
        metavar="MIB",
        help="Stop when the process of an instance, the engine itself included, occupies more "
        "than MIB.",
    ),
]
ParametersFile = Annotated[
    str | None,
    typer.Option(
        "--parameters",
        metavar="FILE",
        help="Parameters of every instance in TOML, as 'sdpbb parameters --toml' prints them, but "
        "its workers and dask; MANIFEST and other options take precedence.",
    ),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Seed of the random choices.")]
BoundingOption = Annotated[
    Bounding | None,
    typer.Option("--bounding", help="Where lower bounds come from, as for 'sdpbb solve'."),
]
SdpSolverOption = Annotated[
    SdpSolver | None,
    typer.Option(
        "--sdp-solver",
        help="Who solves the semidefinite relaxations, as for 'sdpbb solve'.",
    ),
]
WithCertificates = Annotated[
    bool,
    typer.Option(
        "--certificates/--no-certificates",
        help="Write a proof of each result to certificates/NAME.cert, for 'sdpbb verify'.",
    ),
]
WithLabels = Annotated[bool, typer.Option("--labels/--no-labels", help="Write labels.")]
Grace = Annotated[
    float,
    typer.Option(
        metavar="S",
        help="Kill the process of an instance that has not come back S seconds after its time "
        "limit.",
    ),
]


def batch(
    manifest: Manifest,
    out: Folder,
    workers: Workers = None,
    resume: Resume = False,
    gap: Gap = None,
    time_limit: TimeLimit = None,
    node_limit: NodeLimit = None,
    memory_limit: MemoryLimit = None,
    seed: Seed = None,
    bounding: BoundingOption = None,
    sdp_solver: SdpSolverOption = None,
    parameters_file: ParametersFile = None,
    grace: Grace = 20.0,
    labels: WithLabels = True,
    certificates: WithCertificates = False,
    json: options.Json = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Solve every instance that MANIFEST names, each in isolation: a wrong file, a crash or a time
    limit is a row of the results, and not the end.

    --gap, the limits, --seed, --bounding and --sdp-solver are for every instance, and take
    precedence over MANIFEST. Without --workers, as many processes are used as there are cores.
    """
    with one_line_errors():
        from sdpbb.batch import BatchParameters, read_manifest
        from sdpbb.batch.folder import FILES

        parameters = BatchParameters(
            workers=options.usable_cores() if workers is None else workers,
            resume=resume,
            labels=labels,
            grace=grace,
            certificates=certificates,
        )
        outputs = Outputs(json, None)
        files = [manifest, *options.files(parameters_file)]
        outputs.check([*files, *(os.path.join(out, name) for name in FILES)], None)
        overrides = options.given(
            gap=gap,
            time_limit=time_limit,
            node_limit=node_limit,
            memory_limit=memory_limit,
            seed=seed,
            bounding=None if bounding is None else bounding.value,
            sdp_solver=None if sdp_solver is None else sdp_solver.value,
        )
        base = None if parameters_file is None else read_parameters(parameters_file)[0]
        jobs = read_manifest(manifest, overrides, base)
        code = _run(jobs, out, parameters, outputs, quiet)
    raise typer.Exit(code)


def _run(
    jobs: list[Job], folder: str, parameters: BatchParameters, outputs: Outputs, quiet: bool
) -> ExitCode:
    """Run, show and write what comes of it; the exit status."""
    from sdpbb.batch import run_batch

    interrupt = threading.Event()
    with finish_on_signal(interrupt), _observer(outputs, quiet) as observer:
        result = run_batch(jobs, folder, parameters, observer, interrupt)
        outputs.write(result, None, quiet)
    return batch_exit_code(result)


@contextmanager
def _observer(outputs: Outputs, quiet: bool) -> Iterator[BatchObserver]:
    from sdpbb.batch.display import LiveDisplay, PlainLines
    from sdpbb.batch.events import ignore

    stream = sys.stderr if outputs.use_stdout else sys.stdout
    if quiet:
        yield ignore
    elif stream.isatty() and os.environ.get("TERM") != "dumb":
        from rich.console import Console

        with LiveDisplay(Console(file=stream), __version__) as display:
            yield display
    else:
        # A reader who leaves does not end the batch: its results are in files.
        name = "stderr" if outputs.use_stdout else "stdout"
        yield PlainLines(ForgivingStream(name, None), __version__)


def batch_exit_code(result: BatchResult) -> ExitCode:
    """Return the exit status that tells a shell what came of a batch."""
    if result.interrupted:
        return interrupted()
    if result.failed:
        return ExitCode.UNANSWERED
    return ExitCode.LIMIT if result.stopped else ExitCode.OPTIMAL
