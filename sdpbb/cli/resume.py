"""The command `sdpbb resume`."""

from __future__ import annotations

from typing import Annotated

import typer

from sdpbb.cli import options
from sdpbb.cli.exits import EXIT_CODES, one_line_errors
from sdpbb.cli.options import given
from sdpbb.cli.running import ReportOut, RunOutputs, TraceOut, report

EXITS = EXIT_CODES


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
    certificate: options.Certificate = None,
    json: options.Json = None,
    labels: options.Labels = None,
    trace: TraceOut = None,
    html: ReportOut = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
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
        outputs = RunOutputs(json, labels, certificate, trace, html)
        outputs.check([], checkpoint, resumed=file)

        from sdpbb import solver
        from sdpbb.checkpoint import read_checkpoint

        instance = None if html is None else read_checkpoint(file).instance
        code = report(
            lambda observer, interrupt: solver.resume(
                file,
                observer,
                interrupt,
                checkpoint,
                certificate,
                **changes,  # type: ignore[arg-type]
            ),
            outputs,
            quiet,
            instance,
        )
    raise typer.Exit(code)
