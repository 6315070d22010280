"""The command `sdpbb`."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO, cast

import typer

from sdpbb import __version__
from sdpbb.errors import InstanceError, ParameterError, SdpbbError
from sdpbb.files import output_problem, shown_path, write_atomically
from sdpbb.interruption import INTERRUPTED, finish_on_ctrl_c

if TYPE_CHECKING:
    from sdpbb.parameters import SolverParameters
    from sdpbb.problem import Instance
    from sdpbb.result import Result

# What stands for standard output where a file to write is asked for.
STDOUT = "-"


class ExitCode(IntEnum):
    """What the command's exit status says."""

    OPTIMAL = 0
    USAGE = 2
    BAD_INPUT = 3
    LIMIT = 10
    LIMIT_WITHOUT_CLUSTERING = 11
    INFEASIBLE = 20
    INTERNAL_ERROR = 70
    INTERRUPTED = INTERRUPTED


EXIT_CODES = {
    ExitCode.OPTIMAL: "proven optimal within the gap",
    ExitCode.USAGE: "the command line or the value of an option is wrong",
    ExitCode.BAD_INPUT: "an input file is wrong, or an output file cannot be written",
    ExitCode.LIMIT: "stopped at a limit with a clustering that is not proven optimal",
    ExitCode.LIMIT_WITHOUT_CLUSTERING: "stopped at a limit without a clustering",
    ExitCode.INFEASIBLE: "proven that no clustering keeps the constraints",
    ExitCode.INTERNAL_ERROR: "internal error; SDPBB_DEBUG=1 in the environment shows where",
    ExitCode.INTERRUPTED: "interrupted: once, what was found is written; twice, at once",
}
# \b keeps the help's paragraph as it is.
EPILOG = "\b\nExit status:\n" + "\n".join(
    f"  {code.value:>3}  {meaning}" for code, meaning in EXIT_CODES.items()
)

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
        _discard(sys.stdout)
        _fail(ExitCode.BAD_INPUT, f"standard output: {error.strerror}")


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
    """Exact minimum sum-of-squares clustering with must-link and cannot-link constraints."""


@app.command(epilog=EPILOG)
def solve(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="Points: a first line 'n d k' or 'n d' and n rows of d numbers, or CSV.",
        ),
    ],
    k: Annotated[
        int | None,
        typer.Option("-k", metavar="K", help="Number of clusters.", show_default="as DATA says"),
    ] = None,
    constraints: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Lines 'ML i j' and 'CL i j' with row numbers from 0, 'GAMMA x' (maximum "
            "diameter), 'DELTA x' (minimum separation).",
        ),
    ] = None,
    gap: Annotated[
        float, typer.Option(metavar="G", help="Stop when (upper - lower) / upper is at most G.")
    ] = 1e-4,
    time_limit: Annotated[
        float, typer.Option(metavar="S", help="Stop after S seconds.", show_default="none")
    ] = math.inf,
    node_limit: Annotated[
        int | None, typer.Option(metavar="N", help="Stop after N nodes.", show_default="none")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the random choices.")] = 0,
    json: Annotated[
        str | None,
        typer.Option(
            metavar="OUT",
            help="Write the result as JSON; '-' is standard output, and sends the log to standard "
            "error.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="OUT",
            help="Write the labels, one per line, in the order of DATA, if there is a clustering; "
            "'-' as for --json.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Find and prove the best clustering of the points in DATA."""
    with _one_line_errors():
        # The engine is imported last: what is wrong with the input is told without the wait.
        parameters = _parameters(gap=gap, time_limit=time_limit, node_limit=node_limit, seed=seed)
        outputs = [path for path in (json, labels) if path is not None]
        _check_outputs(outputs, [path for path in (data, constraints) if path is not None])
        instance = _instance(data, k, constraints)

        from sdpbb import solver
        from sdpbb.report import ProgressTable
        from sdpbb.search.events import ignore

        interrupt = threading.Event()
        # With its reader gone and no file asked for, nobody waits for the result.
        on_closed = None if outputs else interrupt
        log = _ForgivingStream("stderr" if STDOUT in outputs else "stdout", on_closed)
        observer = ignore if quiet else ProgressTable(cast(TextIO, log), __version__)
        with finish_on_ctrl_c(interrupt):
            result = solver.solve(instance, parameters, observer, interrupt)
            _write_outputs(result, json, labels)
            if labels is not None and result.partition is None and not quiet:
                _say(f"no clustering: {shown_path(labels)} was not written")
    raise typer.Exit(exit_code(result))


def _parameters(**options: Any) -> SolverParameters:
    from sdpbb.parameters import SolverParameters

    try:
        return SolverParameters(**options)
    except ParameterError as error:
        raise ParameterError(_of_option(error)) from None


def _instance(data: str, k: int | None, constraints: str | None) -> Instance:
    from sdpbb.problem.formats import read_instance

    try:
        return read_instance(data, k, constraints)
    except InstanceError as error:
        if k is None or not str(error).startswith("k = "):
            raise
        # Less than 1 is never right, more than n is wrong for these data.
        kind = ParameterError if k < 1 else InstanceError
        raise kind(_of_option(error)) from None


def _of_option(error: SdpbbError) -> str:
    """A message on a parameter, `name = value: ...`, as one on the option of that name."""
    name, rest = str(error).split(" = ", 1)
    return f"{'-k' if name == 'k' else '--' + name.replace('_', '-')} {rest}"


def exit_code(result: Result) -> ExitCode:
    """The exit status that tells a shell what a result says."""
    from sdpbb.result import SolutionStatus, Termination

    match result.status:
        case SolutionStatus.OPTIMAL:
            return ExitCode.OPTIMAL
        case SolutionStatus.INFEASIBLE:
            return ExitCode.INFEASIBLE
        case _ if result.termination is Termination.INTERRUPTED:
            return ExitCode.INTERRUPTED
        case SolutionStatus.FEASIBLE:
            return ExitCode.LIMIT
        case SolutionStatus.UNKNOWN:
            return ExitCode.LIMIT_WITHOUT_CLUSTERING


def _check_outputs(outputs: list[str], inputs: list[str]) -> None:
    """Refuse, before a long run, outputs that could not be written or would destroy something."""
    seen = {os.path.realpath(path): "an input" for path in inputs}
    for path in outputs:
        real = path if path == STDOUT else os.path.realpath(path)
        if real in seen:
            raise ParameterError(
                f"{shown_path(path)}: is {seen[real]} already; expected another file"
            )
        seen[real] = "an output"
        problem = None if path == STDOUT else output_problem(path)
        if problem:
            raise InstanceError(problem)


def _write_outputs(result: Result, json: str | None, labels: str | None) -> None:
    from sdpbb.problem.formats import labels_text
    from sdpbb.report import result_json

    texts = []
    if json is not None:
        texts.append((json, result_json(result)))
    if labels is not None and result.partition is not None:
        texts.append((labels, labels_text(result.partition.labels)))
    problems = []
    for path, text in texts:
        try:
            _write(path, text)
        except OSError as error:  # the other one may still be written
            name = "standard output" if path == STDOUT else shown_path(path)
            problems.append(f"{name}: could not be written ({error.strerror or error})")
    if problems:
        _fail(ExitCode.BAD_INPUT, "; ".join(problems))


def _write(path: str, text: str) -> None:
    if path != STDOUT:
        write_atomically(path, text)
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        _discard(sys.stdout)
        raise


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn exceptions into one line on standard error and an exit status."""
    try:
        yield
    except ParameterError as error:
        _fail(ExitCode.USAGE, str(error))
    except InstanceError as error:
        _fail(ExitCode.BAD_INPUT, str(error))
    except KeyboardInterrupt:
        _fail(ExitCode.INTERRUPTED, "interrupted")
    except Exception as error:
        if os.environ.get("SDPBB_DEBUG") == "1":
            raise
        kind = "" if isinstance(error, SdpbbError) else f"{type(error).__name__}: "
        detail = " ".join(str(error).split())
        _fail(
            ExitCode.INTERNAL_ERROR,
            f"internal error: {kind}{detail} (set SDPBB_DEBUG=1 to see where, and report it)",
        )


def _fail(code: ExitCode, message: str) -> NoReturn:
    _say(f"error: {message}")
    sys.exit(code)


def _say(line: str) -> None:
    try:
        print(line, file=sys.stderr)
    except OSError:
        _discard(sys.stderr)


class _ForgivingStream:
    """A standard stream whose failure does not end the run: its reader may leave (`sdpbb ... |
    head`), its disk may be full.

    From then on the text is dropped; if it was the reader, and there is an event on_closed, that is
    set.
    """

    def __init__(self, name: str, on_closed: threading.Event | None) -> None:
        self._stream = getattr(sys, name)
        self._name = name
        self._on_closed = on_closed

    def write(self, text: str) -> None:
        self._guarded(lambda: self._stream.write(text))

    def flush(self) -> None:
        self._guarded(self._stream.flush)

    def _guarded(self, action: Callable[[], object]) -> None:
        try:
            action()
        except BrokenPipeError:
            _discard(self._stream)
            if self._on_closed is not None:
                self._on_closed.set()
        except OSError as error:
            _discard(self._stream)
            _say(f"the log is not written any more: {self._name}: {error.strerror}")


def _discard(stream: TextIO) -> None:
    """Send what is still buffered, and all that follows, to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
