"""The commands `sdpbb solve` and `sdpbb resume`: a run of the engine, and its files."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.engine import EngineOptions, engine_options
from sdpbb.app.cli.exits import ExitCode, exit_code
from sdpbb.app.cli.inputs import InstanceOptions
from sdpbb.app.cli.outputs import CertifiedOutputs, import_engine, running

if TYPE_CHECKING:
    from sdpbb.problem import Instance
    from sdpbb.runtime.document import Document
    from sdpbb.search.events import Event, Observer
    from sdpbb.search.result import Result

LABELS_HINT = (
    "Labels          not written: "
    "--labels OUT.csv writes the cluster of each point, --json OUT the result"
)


def solve(
    data: options.Data,
    /,
    *,
    inputs: InstanceOptions = InstanceOptions(),
    engine: EngineOptions = EngineOptions(),
    checkpoint: options.Checkpoint = None,
    outputs: CertifiedOutputs = CertifiedOutputs(),
    quiet: options.Quiet = False,
) -> ExitCode:
    """Find the best clustering of the points in DATA, and prove that it is optimal.

    By default all cores are used: threads for many blocks, processes for runs that branch after a
    few seconds. Runs with --workers 1 are repeatable.
    """
    # The engine is imported last: what is wrong with the input is told without the wait.
    parameters = engine.parameters()
    outputs.check([data, inputs.constraints, engine.file], checkpoint)
    instance = inputs.read(data, quiet)

    import_engine()
    from sdpbb.run import solver

    return _report(
        lambda observer, interrupt: solver.solve(
            instance,
            parameters,
            observer,
            interrupt,
            checkpoint,
            certificate=outputs.certificate,
        ),
        outputs,
        quiet,
        instance,
    )


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
    outputs: CertifiedOutputs = CertifiedOutputs(),
    quiet: options.Quiet = False,
) -> ExitCode:
    """Resume a run from its checkpoint FILE, and keep saving to it.

    Options that are not given stay as they were. A run that stopped at a limit needs a higher one
    to continue. A finished run prints its result again.
    """
    outputs.check([], checkpoint, resumed=file)

    import_engine()
    from sdpbb.run import solver
    from sdpbb.run.checkpoint import read_checkpoint

    instance = None if outputs.html is None else read_checkpoint(file).instance
    return _report(
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


def _report(
    run: Callable[[Observer, threading.Event], Result],
    outputs: CertifiedOutputs,
    quiet: bool,
    instance: Instance | None = None,
) -> ExitCode:
    """Run, report and write the result; return the exit status.

    instance : the one that is solved, for a page on it
    """
    from sdpbb.search.events import Finished, all_of

    trace = None
    if outputs.html is not None:
        from sdpbb.search.trace import Trace

        trace = Trace()
    failures: list[SystemExit] = []

    def document(result: Result) -> Document:
        from sdpbb.plots.pages import run_document

        return result.document() if instance is None else run_document(instance, result, trace)

    def write(event: Event) -> None:
        """Write what there is before the certificate, which may take a while or fail."""
        if isinstance(event, Finished):
            result = event.result
            labels = None if result.partition is None else result.partition.labels
            files = outputs.labelling(labels, result.origin, quiet)
            try:
                outputs.write(result, *files, outputs.page(partial(document, result)))
            except SystemExit as failure:
                failures.append(failure)

    with running(outputs, quiet) as current:
        observers: list[Observer] = [current.progress(summarise=True), write]
        if trace is not None:
            observers.insert(1, trace)
        result = run(all_of(*observers), current.interrupt)
        if result.partition is not None and outputs.json is None and outputs.labels is None:
            current.tell(LABELS_HINT)
    if failures:
        raise failures[0]
    return exit_code(result)
