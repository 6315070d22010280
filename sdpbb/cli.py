"""The command `sdpbb`."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TextIO, cast

import typer

from sdpbb import __version__
from sdpbb.errors import InstanceError, ParameterError, SdpbbError
from sdpbb.files import output_problem, write_atomically

if TYPE_CHECKING:
    from sdpbb.result import Result


class ExitCode(IntEnum):
    """What the command's exit status says."""

    OPTIMAL = 0
    USAGE = 2
    BAD_INPUT = 3
    LIMIT = 10
    LIMIT_WITHOUT_CLUSTERING = 11
    INFEASIBLE = 20
    INTERNAL_ERROR = 70
    INTERRUPTED = 130


EXIT_CODES = {
    ExitCode.OPTIMAL: "proven optimal within the gap",
    ExitCode.USAGE: "the command line or the value of an option is wrong",
    ExitCode.BAD_INPUT: "an input file is wrong, or an output file cannot be written",
    ExitCode.LIMIT: "stopped at a limit with a clustering that is not proven optimal",
    ExitCode.LIMIT_WITHOUT_CLUSTERING: "stopped at a limit without a clustering",
    ExitCode.INFEASIBLE: "proven that no clustering keeps the constraints",
    ExitCode.INTERNAL_ERROR: "internal error; SDPBB_DEBUG=1 in the environment shows where",
    ExitCode.INTERRUPTED: "interrupted; what was found until then has been written",
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
    """The console entry point."""
    for stream in (sys.stdout, sys.stderr):
        # A file name that the terminal's encoding lacks must not end a run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="sdpbb")


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
        Path,
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
        Path | None,
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
        Path | None, typer.Option(metavar="OUT", help="Write the result as JSON.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write the labels, one per line, in the order of DATA."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Find and prove the best clustering of the points in DATA."""
    with _one_line_errors():
        # The engine is imported last: what is wrong with the input is told without the wait.
        from sdpbb.parameters import SolverParameters

        parameters = SolverParameters(
            gap=gap, time_limit=time_limit, node_limit=node_limit, seed=seed
        )
        outputs = [path for path in (json, labels) if path is not None]
        _check_outputs(outputs, [path for path in (data, constraints) if path is not None])

        from sdpbb.problem.formats import read_instance

        instance = read_instance(data, k, constraints)

        from sdpbb import solver
        from sdpbb.report import ProgressTable
        from sdpbb.search.events import ignore

        interrupt = threading.Event()
        # With its reader gone and no file asked for, nobody waits for the result.
        stdout = _ForgivingStdout(on_closed=None if outputs else interrupt)
        observer = ignore if quiet else ProgressTable(cast(TextIO, stdout), __version__)
        with _interrupt_on_ctrl_c(interrupt):
            result = solver.solve(instance, parameters, observer, interrupt)
            _write_outputs(result, json, labels)
    raise typer.Exit(exit_code(result))


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


def _check_outputs(outputs: list[Path], inputs: list[Path]) -> None:
    """Refuse, before a long run, outputs that could not be written or would destroy something."""
    seen = {os.path.realpath(path): "an input" for path in inputs}
    for path in outputs:
        real = os.path.realpath(path)
        if real in seen:
            raise ParameterError(f"{path}: is {seen[real]} already; expected another file")
        seen[real] = "an output"
        problem = output_problem(path)
        if problem:
            raise InstanceError(problem)


def _write_outputs(result: Result, json: Path | None, labels: Path | None) -> None:
    from sdpbb.problem.formats import write_labels
    from sdpbb.report import result_json

    try:
        if json is not None:
            write_atomically(json, result_json(result))
        if labels is not None and result.partition is not None:
            write_labels(labels, result.partition.labels)
    except OSError as error:
        _fail(ExitCode.BAD_INPUT, f"the result could not be written: {error}")


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
    print(f"error: {message}", file=sys.stderr)
    sys.exit(code)


@contextlib.contextmanager
def _interrupt_on_ctrl_c(interrupt: threading.Event) -> Iterator[None]:
    """Set the event on the first Ctrl-C; leave at once on the second."""

    def handle(signum: int, frame: object) -> None:
        if interrupt.is_set():
            os._exit(ExitCode.INTERRUPTED)
        interrupt.set()
        # Not print: the signal may have come in the middle of another write.
        os.write(2, b"\ninterrupted: finishing; press Ctrl-C again to leave at once\n")

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


class _ForgivingStdout:
    """Standard output whose reader may leave (`sdpbb ... | head`) without ending the run.

    From then on the text is dropped, and the event on_closed is set if there is one.
    """

    def __init__(self, on_closed: threading.Event | None) -> None:
        self._on_closed = on_closed

    def write(self, text: str) -> None:
        self._guarded(lambda: sys.stdout.write(text))

    def flush(self) -> None:
        self._guarded(sys.stdout.flush)

    def _guarded(self, action: Callable[[], object]) -> None:
        try:
            action()
        except BrokenPipeError:
            _discard_stdout()
            if self._on_closed is not None:
                self._on_closed.set()


def _discard_stdout() -> None:
    """Send what is still buffered, and all that follows, to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
