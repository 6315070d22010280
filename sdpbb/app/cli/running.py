"""Running of an engine command: log, signals, output files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, TextIO, cast

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import ExitCode, exit_code
from sdpbb.app.cli.outputs import CertifiedOutputs, Outputs
from sdpbb.app.cli.streams import ForgivingStream, say
from sdpbb.runtime.interruption import finish_on_signal
from sdpbb.runtime.lean_imports import lean_imports
from sdpbb.runtime.version import installed_version

if TYPE_CHECKING:
    from sdpbb.problem import Instance
    from sdpbb.runtime.document import Document
    from sdpbb.search.events import Event, Observer
    from sdpbb.search.result import Result

TraceOut = Annotated[
    str | None,
    options.option(
        metavar="OUT",
        help="Bounds over time and the tree as JSON, for 'sdpbb plot'.",
        group=options.OUTPUT,
    ),
]

LABELS_HINT = (
    "Labels          not written: "
    "--labels OUT.csv writes the cluster of each point, --json OUT the result"
)


@dataclass(frozen=True)
class Running:
    """A run in progress.

    interrupt : set by Ctrl-C and SIGTERM, and when nobody waits for the result any more
    """

    interrupt: threading.Event
    log: ForgivingStream
    quiet: bool

    def tell(self, text: str) -> None:
        """Write text to the log, unless the run is quiet."""
        if not self.quiet:
            self.log.write(f"{text}\n")
            self.log.flush()

    def progress(self, summarise: bool = False) -> Observer:
        """Return the observer that writes the progress table, unless the run is quiet."""
        from sdpbb.run.report import ProgressTable

        if self.quiet:
            return _say_errors
        return ProgressTable(cast(TextIO, self.log), installed_version(), summarise=summarise)


def import_engine() -> None:
    """Import the engine, without what its libraries import on the side."""
    with lean_imports():
        from sdpbb.run import solver  # noqa: F401


@contextmanager
def running(outputs: Outputs, quiet: bool) -> Iterator[Running]:
    """Within the block, Ctrl-C and SIGTERM end the run early instead of the process."""
    interrupt = threading.Event()
    with finish_on_signal(interrupt):
        yield Running(interrupt, outputs.log(interrupt), quiet)


@options.grouped
class RunOutputs(CertifiedOutputs):
    """Output files of a run of the engine: result, certificate, page and trace."""

    trace: TraceOut = None


def report(
    run: Callable[[Observer, threading.Event], Result],
    outputs: RunOutputs,
    quiet: bool,
    instance: Instance | None = None,
) -> ExitCode:
    """Run, report and write the result; return the exit status.

    instance : the one that is solved, for a page on it
    """
    from sdpbb.search.events import Finished, all_of

    trace = None
    if outputs.trace is not None or outputs.html is not None:
        from sdpbb.search.trace import Trace

        trace = Trace()
    failures: list[SystemExit] = []

    def page(result: Result) -> Document:
        from sdpbb.plots.pages.run import run_document

        return result.document() if instance is None else run_document(instance, result, trace)

    def write(event: Event) -> None:
        """Write what there is before the certificate, which may take a while or fail."""
        if isinstance(event, Finished):
            result = event.result
            labels = None if result.partition is None else result.partition.labels
            others = [] if trace is None else [(outputs.trace, trace.to_json)]
            try:
                outputs.write(result, quiet, labels, result.origin, others, partial(page, result))
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


def _say_errors(event: Event) -> None:
    """Observe a quiet run: only errors are written."""
    from sdpbb.run.report import checkpoint_failure
    from sdpbb.search.events import CheckpointFailed

    if isinstance(event, CheckpointFailed):
        say(checkpoint_failure(event))
