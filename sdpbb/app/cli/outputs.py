"""Output files of a command, its log, and the signals that end it early."""

from __future__ import annotations

import dataclasses
import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TextIO, cast

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import ExitCode, ForgivingStream, discard, fail, say
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.runtime.files import new_file_problem, output_problem, shown_path, write_atomically
from sdpbb.runtime.interruption import finish_on_signal
from sdpbb.runtime.startup import lean_imports
from sdpbb.runtime.values import json_text
from sdpbb.runtime.version import installed_version

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sdpbb.problem import Origin
    from sdpbb.runtime.document import Document
    from sdpbb.search.events import Event, Observer

# What stands for standard output where a file to write is asked for.
STDOUT = "-"
# Seconds between two lines of the same kind.
INTERVAL = 5.0

Content = tuple[str | None, Callable[[], str | bytes]]
"""Path of a file, None for one not asked for, and what makes its content."""


@options.grouped
class Outputs:
    """The files to write, or STDOUT; None for those not asked for."""

    json: Annotated[
        str | None,
        options.output(
            help="The result as JSON. '-': standard output, with the log on standard error."
        ),
    ] = None

    @property
    def paths(self) -> list[str]:
        """The files asked for."""
        own = (getattr(self, field.name) for field in dataclasses.fields(self))
        return [path for path in own if path is not None]

    @property
    def use_stdout(self) -> bool:
        """True if standard output is taken, so that the log must go elsewhere."""
        return STDOUT in self.paths

    def check(
        self,
        inputs: Iterable[str | None],
        checkpoint: str | None = None,
        resumed: str | None = None,
    ) -> None:
        """Refuse, before a long run, outputs that could not be written or would destroy something.

        inputs : files that are read; None for those not asked for
        resumed : the checkpoint of a run that goes on, which is written to as well without another
        """
        taken = [path for path in (*inputs, resumed) if path is not None]
        seen = {os.path.realpath(path): "an input" for path in taken}
        problems = []
        for path in self.paths:
            _register(path, seen)
            problems.append(None if path == STDOUT else output_problem(path))
        if checkpoint == STDOUT:
            raise ParameterError(f"--checkpoint {STDOUT}: expected the name of a file")
        kept = checkpoint or resumed
        if kept and resumed and os.path.realpath(kept) == os.path.realpath(resumed):
            problems.append(output_problem(resumed))
        elif checkpoint is not None:
            _register(checkpoint, seen)
            problems.append(new_file_problem(checkpoint))
        for problem in filter(None, problems):
            raise InstanceError(problem)

    def log(self, interrupt: threading.Event | None = None) -> ForgivingStream:
        """Return the stream for the log of a run.

        It sets interrupt when nobody waits for the result: its reader is gone, and no file was
        asked for.
        """
        on_closed = None if self.paths else interrupt
        return ForgivingStream("stderr" if self.use_stdout else "stdout", on_closed)

    def tell(self, text: str) -> None:
        """Write text to the log of a command that does not go on after it."""
        log = self.log()
        log.write(f"{text}\n")
        log.flush()

    def write(self, result: Any, *others: Content) -> None:
        """Write what there is, and end with one line if something cannot be.

        result : with `to_dict`, or plain values
        others : further files, and what makes their content once the first ones are written
        """
        from sdpbb.runtime.results import plain

        problems = []
        own: Content = self.json, lambda: json_text(plain(result))
        for path, content in (own, *others):
            if path is None:
                continue
            try:
                _write(path, content())
            except OSError as error:  # the other one may still be written
                file = "standard output" if path == STDOUT else shown_path(path)
                problems.append(f"{file}: could not be written ({error.strerror or error})")
        if problems:
            fail(ExitCode.BAD_INPUT, "; ".join(problems))


@options.grouped
class PageOutputs(Outputs):
    """The result as JSON, and as a page."""

    html: Annotated[
        str | None,
        options.output("--report", help="A page of HTML with pictures. Needs the extra 'plot'."),
    ] = None

    def check(self, *files: Any, **named: Any) -> None:
        if self.html is not None:
            from sdpbb.plots.pictures import require_matplotlib

            require_matplotlib()
        super().check(*files, **named)

    def page(self, document: Callable[[], Document], name: str = "") -> Content:
        """Return the page, which is to be written last, as drawing may fail.

        name : of the data, for a document without a name
        """

        def content() -> str:
            from sdpbb.plots.pages import page

            made = document()
            named = made if made.name else dataclasses.replace(made, name=name)
            return page(named, command=shlex.join(["sdpbb", *sys.argv[1:]]))

        return self.html, content


@options.grouped
class LabelOutputs(PageOutputs):
    """The result as JSON, as a page, and its labels."""

    labels: Annotated[
        str | None,
        options.output(
            help="A label per line; a .csv has the names of points, in the format of DATA. '-' as "
            "for --json."
        ),
    ] = None

    def labelling(
        self, labels: NDArray[np.intp] | None, origin: Origin | None, quiet: bool
    ) -> list[Content]:
        """Return the file of labels: CSV with the names of the points, or one a line.

        labels : (n,); None: nothing is written, and a line says so unless quiet
        origin : what the user calls the points
        """
        if self.labels is not None and labels is None and not quiet:
            say(f"no clustering found: {shown_path(self.labels)} was not written")
        if self.labels is None or labels is None:
            return []

        def content() -> str | bytes:
            from sdpbb.problem import Origin
            from sdpbb.problem.formats import labels_file, labels_text

            if not str(self.labels).lower().endswith(".csv"):
                return labels_text(labels)
            known = origin or Origin()
            return labels_file(labels, known)

        return [(self.labels, content)]


Certificate = Annotated[
    str | None, options.output(help="A proof that 'sdpbb verify' checks without the engine.")
]


def check_certificate(path: str | None) -> None:
    """Raise the error for a certificate on standard output: the engine writes it itself."""
    if path == STDOUT:
        raise ParameterError(f"--certificate {STDOUT}: expected the name of a file")


@options.grouped
class CertifiedOutputs(LabelOutputs):
    """Output files of a run of the engine, which writes the certificate itself."""

    certificate: Certificate = None

    def check(self, *files: Any, **named: Any) -> None:
        check_certificate(self.certificate)
        super().check(*files, **named)


@options.grouped
class TableOutputs(PageOutputs):
    """Output files of a report that is a table."""

    csv: Annotated[
        str | None, options.output(help="Write the table as CSV; '-' as for --json.")
    ] = None

    def write_report(
        self, report: Any, document: Document, *others: Content, name: str = ""
    ) -> None:
        """Write a report: its table, further files, and its page; name as for `page`."""
        table, page = (self.csv, report.to_csv), self.page(lambda: document, name)
        self.write(report, table, *others, page)


def _register(path: str, seen: dict[str, str]) -> None:
    real = path if path == STDOUT else os.path.realpath(path)
    if real in seen:
        raise ParameterError(f"{shown_path(path)}: is {seen[real]} already; expected another file")
    seen[real] = "an output"


def _write(path: str, content: str | bytes) -> None:
    if path != STDOUT:
        write_atomically(path, content)
        return
    assert isinstance(content, str)  # a table in the encoding of the data has a name in .csv
    try:
        sys.stdout.write(content)
        sys.stdout.flush()
    except OSError:
        discard(sys.stdout)
        raise


@dataclasses.dataclass
class Running:
    """A run in progress.

    interrupt : set by Ctrl-C and SIGTERM, and when nobody waits for the result any more
    told : time of the last line of `tell_now_and_then`
    """

    interrupt: threading.Event
    log: ForgivingStream
    quiet: bool
    told: float = dataclasses.field(default_factory=time.monotonic)

    def tell(self, text: str) -> None:
        """Write text to the log, unless the run is quiet."""
        if not self.quiet:
            self.log.write(f"{text}\n")
            self.log.flush()

    def tell_now_and_then(self, text: str) -> None:
        """Write text to the log, unless a text like it was written a moment ago."""
        now = time.monotonic()
        if now - self.told > INTERVAL:
            self.told = now
            self.tell(text)

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


def _say_errors(event: Event) -> None:
    """Observe a quiet run: only errors are written."""
    from sdpbb.run.report import notice
    from sdpbb.search.events import CheckpointFailed

    if isinstance(event, CheckpointFailed):
        say(notice(event))
