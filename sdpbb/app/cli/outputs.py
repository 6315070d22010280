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

    json: options.Json = None
    labels: options.Labels = None
    html: options.Report = None

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
        self.check_kinds()
        taken = [path for path in (*inputs, resumed) if path is not None]
        seen = {os.path.realpath(path): "an input" for path in taken}
        for path in self.paths:
            _register(path, seen)
            _require(None if path == STDOUT else output_problem(path))
        if checkpoint == STDOUT:
            raise ParameterError(f"--checkpoint {STDOUT}: expected the name of a file")
        if resumed is not None and (checkpoint is None or _is_same(checkpoint, resumed)):
            _require(output_problem(resumed))
        elif checkpoint is not None:
            _register(checkpoint, seen)
            _require(new_file_problem(checkpoint))

    def check_kinds(self) -> None:
        """Raise an error if one of the kinds of files asked for cannot be made."""
        if self.html is not None:
            from sdpbb.plots.style import require_matplotlib

            require_matplotlib()

    def log(self, interrupt: threading.Event) -> ForgivingStream:
        """Return the stream for the log of a run.

        It sets interrupt when nobody waits for the result: its reader is gone, and no file was
        asked for.
        """
        return ForgivingStream(
            "stderr" if self.use_stdout else "stdout", None if self.paths else interrupt
        )

    def tell(self, text: str) -> None:
        """Write text to the log of a command that does not go on after it."""
        log = self.log(threading.Event())
        log.write(f"{text}\n")
        log.flush()

    def contents(
        self, result: Any, labels: NDArray[np.intp] | None, origin: Origin | None
    ) -> Iterator[Content]:
        """Yield the files of a result, and what makes their contents; None for those not asked for.

        labels : (n,), or None
        origin : what the user calls the points, for labels in a CSV file
        """
        yield self.json, lambda: _json(result)
        if labels is not None:
            yield self.labels, lambda: _labels(str(self.labels), labels, origin)

    def write(
        self,
        result: Any,
        quiet: bool,
        labels: NDArray[np.intp] | None = None,
        origin: Origin | None = None,
        others: Iterable[Content] = (),
        document: Callable[[], Document] | None = None,
        name: str = "",
    ) -> None:
        """Write what there is, and end with one line if something cannot be.

        result : with `to_dict`, or plain values, and with `document` for a page
        labels : (n,), or None, of which a line is told unless quiet
        origin : as for `contents`
        others : further files, and what makes their content once the first ones are written
        document : makes the document of which a page is written, instead of the result's own
        name : of the data, for a document without a name
        """
        contents = [*self.contents(result, labels, origin), *others]
        # Last, as drawing may fail.
        contents.append((self.html, lambda: _page((document or result.document)(), name)))
        written = {path: content for path, content in contents if path is not None}
        problems = []
        for path, content in written.items():
            try:
                _write(path, content())
            except OSError as error:  # the other one may still be written
                file = "standard output" if path == STDOUT else shown_path(path)
                problems.append(f"{file}: could not be written ({error.strerror or error})")
        if problems:
            fail(ExitCode.BAD_INPUT, "; ".join(problems))
        if self.labels is not None and self.labels not in written and not quiet:
            say(f"no clustering found: {shown_path(self.labels)} was not written")


@options.grouped
class JsonOutput(Outputs):
    """The result as JSON alone."""

    labels: options.Absent = None
    html: options.Absent = None


@options.grouped
class CertifiedOutputs(Outputs):
    """`Outputs` and the path of a certificate, which the engine writes itself."""

    certificate: options.Certificate = None

    def check_kinds(self) -> None:
        super().check_kinds()
        if self.certificate == STDOUT:
            raise ParameterError(f"--certificate {STDOUT}: expected the name of a file")


def _register(path: str, seen: dict[str, str]) -> None:
    real = path if path == STDOUT else os.path.realpath(path)
    if real in seen:
        raise ParameterError(f"{shown_path(path)}: is {seen[real]} already; expected another file")
    seen[real] = "an output"


def _is_same(path: str, other: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _require(problem: str | None) -> None:
    if problem:
        raise InstanceError(problem)


@options.grouped
class TableOutputs(Outputs):
    """Output files of a report that is a table."""

    labels: options.Absent = None
    csv: Annotated[
        str | None,
        options.option(
            metavar="OUT", help="Write the table as CSV; '-' as for --json.", group=options.OUTPUT
        ),
    ] = None

    def contents(self, result: Any, labels: Any, origin: Any) -> Iterator[Content]:
        yield from super().contents(result, labels, origin)
        yield self.csv, result.to_csv


def _json(result: Any) -> str:
    from sdpbb.runtime.results import plain

    return json_text(plain(result))


def _labels(path: str, labels: NDArray[np.intp], origin: Origin | None) -> str | bytes:
    """Return the content of a file of labels: CSV with the names of the points, or one a line."""
    from sdpbb.problem import Origin
    from sdpbb.problem.formats import labels_file, labels_text
    from sdpbb.search.result import row_ids

    if not path.lower().endswith(".csv"):
        return labels_text(labels)
    origin = Origin() if origin is None else origin
    return labels_file(labels, row_ids(origin, len(labels)), origin)


def _page(document: Document, name: str) -> str:
    from sdpbb.plots.pages.page import page

    named = document if document.name else dataclasses.replace(document, name=name)
    return page(named, command=shlex.join(["sdpbb", *sys.argv[1:]]))


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
