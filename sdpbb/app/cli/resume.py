"""The command `sdpbb resume`."""

from __future__ import annotations

from typing import Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.engine import engine_options
from sdpbb.app.cli.exits import EXIT_CODES, ExitCode
from sdpbb.app.cli.help import command
from sdpbb.app.cli.running import RunOutputs, import_engine, report

EXITS = EXIT_CODES


@engine_options(
    "time_limit",
    "node_limit",
    "memory_limit",
    "workers",
    "dask",
    "mpi",
    with_defaults=False,
)
class ResumedOptions(options.StatedOptions):
    """Parameters of a run that may differ when it is resumed."""


@command(EXITS)
def resume(
    file: Annotated[
        str,
        options.argument("FILE", help="File that 'sdpbb solve --checkpoint' wrote."),
    ],
    /,
    *,
    engine: ResumedOptions = ResumedOptions(),
    more_time: Annotated[
        float | None,
        options.option(
            metavar="S",
            help="Run for S seconds from now on, instead of --time-limit, which counts the whole "
            "run.",
        ),
    ] = None,
    checkpoint: options.Checkpoint = None,
    outputs: RunOutputs = RunOutputs(),
    quiet: options.Quiet = False,
) -> ExitCode:
    """Resume a run from its checkpoint FILE, and keep saving to it.

    Options that are not given stay as they were. A run that stopped at a limit needs a higher one
    to continue. A finished run prints its result again.
    """
    from sdpbb.runtime.archive.file import check_header

    check_header(file)  # the quick part of the reading
    outputs.check([], checkpoint, resumed=file)

    import_engine()
    from sdpbb.run import solver
    from sdpbb.run.checkpoint import read_checkpoint

    instance = None if outputs.html is None else read_checkpoint(file).instance
    return report(
        lambda observer, interrupt: solver.resume(
            file,
            observer,
            interrupt,
            checkpoint,
            outputs.certificate,
            more_time=more_time,
            **engine.stated(),
        ),
        outputs,
        quiet,
        instance,
    )
