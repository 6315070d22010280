"""Files that commands read and write, their log, and the signals that end them early."""

from __future__ import annotations

import dataclasses
import os
import shlex
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TextIO, cast

from sdpbb.app.cli import options
from sdpbb.app.cli.app import ForgivingStream, discard, of_option, say
from sdpbb.errors import InstanceError, InstanceNote, InstanceWarning, ParameterError
from sdpbb.runtime.declaration import own_declarations
from sdpbb.runtime.files import new_file_problem, output_problem, shown_path, write_atomically
from sdpbb.runtime.interruption import finish_on_signal, lean_imports
from sdpbb.runtime.reading import Reading
from sdpbb.runtime.values import json_text
from sdpbb.runtime.version import installed_version

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sdpbb.problem import Instance, Origin
    from sdpbb.problem.formats import PointTable
    from sdpbb.runtime.document import Document
    from sdpbb.search.events import Event, Observer

# Name of a file that means standard output.
STDOUT = "-"
# Seconds between two lines of the same kind.
INTERVAL = 5.0

READING = tuple(own_declarations(Reading))
"""Names of the options of reading."""


@contextmanager
def reading_files(quiet: bool = False) -> Iterator[None]:
    """Context manager for reading files within the free memory.

    Warnings of this package become lines on standard error, and notes, too, unless quiet.
    """
    from sdpbb.runtime.memory import within_free_memory

    with warnings.catch_warnings(record=True) as caught, within_free_memory():
        warnings.simplefilter("always", InstanceWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, InstanceNote):
            if not quiet:
                say(f"note: {warning.message}")
        elif issubclass(warning.category, InstanceWarning):
            say(f"warning: {warning.message}")
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


@options.declared_options(Reading, *READING, with_defaults=False)
class InstanceOptions:
    """Options on the files of an instance, except its data."""

    k: options.Clusters = None
    constraints: options.Constraints = None
    # Whether the instance is for several k. Then sizes cannot be listed.
    of_several_k = False

    @property
    def reading(self) -> Reading:
        """The options of reading the files.

        Raises
        ------
        ParameterError
            If the value of one is outside of its domain.
        """
        return Reading.of(options.given(**{name: getattr(self, name) for name in READING}))

    def read(self, data: str, quiet: bool = False) -> Instance:
        """The instance.

        quiet : no notes on defaults; warnings are printed in any case

        Errors are the errors of `points` and `instance`.
        """
        return self.instance(data, self.points(data, quiet), quiet)

    def points(self, data: str, quiet: bool = False) -> PointTable:
        """The points of the instance; quiet as for `read`.

        Raises
        ------
        InstanceError, ParameterError, BackendUnavailable
            As `instance`.
        """
        from sdpbb.problem.files.points import read_table

        reading = self.reading
        if reading.standardize and not quiet:
            say("note: columns are standardized: costs and distances are in these units")
        try:
            with reading_files(quiet):
                return read_table(data, reading)
        except InstanceError as error:
            raise InstanceError(of_option(error, placed=READING)) from None

    def labels(
        self, instance: Instance, path: str | None, column: str | None
    ) -> NDArray[np.intp] | None:
        """Return the labels (n,) of the points of an instance in a file; None without a file.

        column : of the file, if it is a table
        """
        if path is not None:
            return self.read_labels(path, column, instance.n_points, instance.origin)
        if column is not None:
            raise ParameterError(f"column = {column!r}: expected a file of labels with it")
        return None

    def read_labels(
        self, path: str, column: str | None, n_points: int, origin: Origin, quiet: bool = False
    ) -> NDArray[np.intp]:
        """Return the labels (n,) of points in a file; the origin has the names of the rows.

        quiet : as for `read`
        """
        from sdpbb.problem.formats import read_labels

        with reading_files(quiet):
            encoding = self.reading.encoding
            return read_labels(path, n_points, column, origin=origin, encoding=encoding)

    def instance(self, data: str, points: PointTable, quiet: bool = False) -> Instance:
        """The instance of points that were read; quiet as for `read`.

        Raises
        ------
        InstanceError, ParameterError
            If a file, or an option of reading it, is wrong.
        BackendUnavailable
            If a package for reading a file is not installed.

        Prints a warning on valid but suspicious input.
        """
        from sdpbb.problem import Instance

        try:
            with reading_files(quiet):
                return Instance.from_table(
                    points, self.k, self.constraints, self.reading, data, self.of_several_k
                )
        except InstanceError as error:
            if self.k is None or not str(error).startswith("k = "):
                raise
            # k < 1 is wrong in itself, k > n is wrong for these data.
            kind = ParameterError if self.k < 1 else InstanceError
            raise kind(of_option(error)) from None


Content = tuple[str | None, Callable[[], str | bytes]]
"""Path of a file, or None, and a function that makes its content."""


@options.grouped
class Outputs:
    """The files to write, or STDOUT; None: not requested."""

    json: Annotated[
        str | None,
        options.output(help="The result as JSON. '-' is standard output."),
    ] = None
    quiet: options.Quiet = False

    @property
    def paths(self) -> list[str]:
        """The requested files."""
        own = (getattr(self, field.name) for field in dataclasses.fields(self))
        return [path for path in own if isinstance(path, str)]

    @property
    def use_stdout(self) -> bool:
        """True if a result goes to standard output, so that the log must not."""
        return STDOUT in self.paths

    def check(
        self,
        inputs: Iterable[str | None],
        checkpoint: str | None = None,
        resumed: str | None = None,
    ) -> None:
        """Refuse, before a long run, outputs that cannot be written or would overwrite an input.

        inputs : files that are read, or None
        resumed : checkpoint of a resumed run, which is also written if checkpoint is None
        """
        # The engine writes these itself.
        own = {"certificate": getattr(self, "certificate", None), "checkpoint": checkpoint}
        for name, path in own.items():
            if path == STDOUT:
                raise ParameterError(f"--{name} {STDOUT}: expected the name of a file")
        taken = [path for path in (*inputs, resumed) if path is not None]
        seen = {os.path.realpath(path): "an input" for path in taken}
        problems = []
        for path in self.paths:
            _register(path, seen)
            problems.append(None if path == STDOUT else output_problem(path))
        kept = checkpoint or resumed
        if kept and resumed and os.path.realpath(kept) == os.path.realpath(resumed):
            problems.append(output_problem(resumed))
        elif checkpoint is not None:
            _register(checkpoint, seen)
            problems.append(new_file_problem(checkpoint))
        for problem in filter(None, problems):
            raise InstanceError(problem)

    def log(self, interrupt: threading.Event | None = None) -> ForgivingStream:
        """Return the stream for the log; it sets interrupt once its reader has left."""
        return ForgivingStream("stderr" if self.use_stdout else "stdout", interrupt)

    def tell(self, text: str) -> None:
        """Write text to the log, unless the command is quiet."""
        if not self.quiet:
            self.log().write(f"{text}\n")

    def write(self, result: Any, *others: Content) -> None:
        """Write all files that can be written.

        result : with `to_dict`, or plain values
        others : further files, whose contents are made once the first ones are written

        Raises
        ------
        InstanceError
            On the files that could not be written.
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
            raise InstanceError("; ".join(problems))


@options.grouped
class PageOutputs(Outputs):
    """Output files: the result as JSON, and as a page."""

    html: Annotated[
        str | None,
        options.output("--report", help="A page of HTML with pictures. Needs the extra 'plot'."),
    ] = None

    def check(self, *files: Any, **named: Any) -> None:
        if self.html is not None:
            from sdpbb.plots.pictures import require_matplotlib

            require_matplotlib()
        super().check(*files, **named)

    def page(self, document: Callable[[], Document]) -> Content:
        """Return the page; write it last, as drawing may fail."""

        def content() -> str:
            from sdpbb.plots.pages import page

            return page(document(), command=shlex.join(["sdpbb", *sys.argv[1:]]))

        return self.html, content


@options.grouped
class LabelOutputs(PageOutputs):
    """Output files: the result as JSON, as a page, and its labels."""

    labels: Annotated[
        str | None,
        options.output(
            help="A label per line; a .csv has the names of points, with the separators of DATA. "
            "'-' as for --json."
        ),
    ] = None

    def labelling(self, labels: NDArray[np.intp] | None, origin: Origin | None) -> Content:
        """Return the file of labels: CSV with the names of the points, or one label per line.

        labels : labels (n,); None: print that nothing is written
        origin : names of the points
        """
        if self.labels is not None and labels is None and not self.quiet:
            say(f"no clustering found: {shown_path(self.labels)} was not written")

        def content() -> str | bytes:
            assert labels is not None
            from sdpbb.problem import Origin
            from sdpbb.problem.formats import labels_file, labels_text

            if not str(self.labels).lower().endswith(".csv"):
                return labels_text(labels)
            return labels_file(labels, origin or Origin())

        return None if labels is None else self.labels, content


Certificate = Annotated[
    str | None, options.output(help="A proof that 'sdpbb verify' checks without the solver.")
]


@options.grouped
class CertifiedOutputs(LabelOutputs):
    """Output files of a run of the engine, which writes the certificate itself."""

    certificate: Certificate = None


@options.grouped
class TableOutputs(PageOutputs):
    """Output files of a report that is a table."""

    csv: Annotated[str | None, options.output(help="The table as CSV. '-' as for --json.")] = None

    def write_report(self, report: Any, document: Document, *others: Content) -> None:
        """Write a report: its table, further files, and its page."""
        table, page = (self.csv, report.to_csv), self.page(lambda: document)
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

    interrupt : set by Ctrl-C, by SIGTERM, and once the reader of the log has left
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

    def tell_now_and_then(self, text: str) -> None:
        """Write text to the log, unless the last such text was less than INTERVAL ago."""
        now = time.monotonic()
        if now - self.told > INTERVAL:
            self.told = now
            self.tell(text)

    def progress(self, summarise: bool = False) -> Observer:
        """Return the observer that writes the progress table; for a quiet run, only warnings."""
        from sdpbb.run.report import WARNINGS, ProgressTable, notice

        def say_warnings(event: Event) -> None:
            if isinstance(event, WARNINGS) and (text := notice(event)):
                say(text)

        if self.quiet:
            return say_warnings
        return ProgressTable(cast(TextIO, self.log), installed_version(), summarise=summarise)


def import_engine() -> None:
    """Import the engine, without optional imports of its libraries."""
    with lean_imports():
        from sdpbb.run import solver  # noqa: F401


@contextmanager
def running(outputs: Outputs, has_folder: bool = False) -> Iterator[Running]:
    """Within the block, Ctrl-C and SIGTERM end the run early instead of the process.

    So does a reader who leaves, if no file is to be written.

    has_folder : whether the run writes files into a folder
    """
    interrupt = threading.Event()
    is_awaited = has_folder or outputs.paths
    with finish_on_signal(interrupt):
        yield Running(interrupt, outputs.log(None if is_awaited else interrupt), outputs.quiet)
