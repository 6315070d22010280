"""A run of the engine, told of while it lasts and written when it ends."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TextIO, cast

import typer

from sdpbb import __version__
from sdpbb.cli.exit_codes import ExitCode, exit_code
from sdpbb.cli.outputs import CertifiedOutputs
from sdpbb.cli.streams import say
from sdpbb.interruption import finish_on_signal

if TYPE_CHECKING:
    from sdpbb.problem import Instance
    from sdpbb.result import Result
    from sdpbb.search.events import Event, Observer
    from sdpbb.traces.trace import Trace

TraceOut = Annotated[
    str | None,
    typer.Option(
        metavar="OUT",
        help="Write the bounds over time and the tree as JSON, for 'sdpbb plot'; '-' as for "
        "--json.",
    ),
]
ReportOut = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="OUT",
        help="Write a page of HTML on the run, with pictures; needs matplotlib (the extra 'plot').",
    ),
]


@dataclass(frozen=True)
class RunOutputs(CertifiedOutputs):
    """The files to write of a run of the engine: its proof, what went on in it, a page on it."""

    trace: str | None = None
    html: str | None = None

    @property
    def paths(self) -> list[str]:
        own = (self.trace, self.html)
        return [*super().paths, *(path for path in own if path is not None)]

    def check(self, inputs: list[str], checkpoint: str | None, resumed: str | None = None) -> None:
        """As `Outputs.check`; also whether pictures can be drawn, if they are asked for."""
        super().check(inputs, checkpoint, resumed)
        if self.html is not None:
            from sdpbb.plots import require_matplotlib

            require_matplotlib()

    def of_run(
        self, instance: Instance | None, result: Result, trace: Trace | None
    ) -> list[tuple[str, Callable[[], str]]]:
        """The files of a run, and what makes their text."""
        texts: list[tuple[str, Callable[[], str]]] = []
        if self.trace is not None and trace is not None:
            texts.append((self.trace, trace.to_json))
        if self.html is not None and instance is not None:
            from sdpbb.html_report import html_report

            command = shlex.join(["sdpbb", *sys.argv[1:]])
            texts.append((self.html, lambda: html_report(instance, result, trace, command)))
        return texts


def report(
    run: Callable[[Observer, threading.Event], Result],
    outputs: RunOutputs,
    quiet: bool,
    instance: Instance | None = None,
) -> ExitCode:
    """Run, show and write what comes of it; the exit status.

    instance : what is solved, for a page on it
    """
    from sdpbb.report import ProgressTable
    from sdpbb.search.events import Finished, all_of
    from sdpbb.traces.trace import Trace

    interrupt = threading.Event()
    log = outputs.log(interrupt)
    observer = _say_errors if quiet else ProgressTable(cast(TextIO, log), __version__)
    trace = None if outputs.trace is None and outputs.html is None else Trace()
    failures: list[SystemExit] = []

    def write(event: Event) -> None:
        """Write what there is before the certificate, which may take a while or fail."""
        if isinstance(event, Finished):
            result = event.result
            labels = None if result.partition is None else result.partition.labels
            others = outputs.of_run(instance, result, trace)
            try:
                outputs.write(result, labels, quiet, others)
            except SystemExit as failure:
                failures.append(failure)

    observers = [observer, write] if trace is None else [observer, trace, write]
    with finish_on_signal(interrupt):
        result = run(all_of(*observers), interrupt)
    if failures:
        raise failures[0]
    return exit_code(result)


def _say_errors(event: Event) -> None:
    """The observer of a quiet run."""
    from sdpbb.report import checkpoint_failure
    from sdpbb.search.events import CheckpointFailed

    if isinstance(event, CheckpointFailed):
        say(checkpoint_failure(event))
