"""The application: its commands, exit statuses, and errors as one line.

A standard stream that fails does not end a run.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import traceback
from collections.abc import Container, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NoReturn, Self, TextIO

from cyclopts import App, CycloptsError, MissingArgumentError

from sdpbb.app.cli.options import OPTIONS
from sdpbb.errors import (
    BackendFailure,
    BackendUnavailable,
    CertificateError,
    FileInUse,
    InstanceError,
    ParameterError,
    SdpbbError,
)
from sdpbb.run.parameters import SHORT_NAMES
from sdpbb.runtime import interruption
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.version import installed_version

if TYPE_CHECKING:
    from sdpbb.search.result import Result

COMMANDS = {
    **dict.fromkeys(("solve", "resume"), "solve"),
    "heuristic": "heuristic",
    "gap": "solve",
    **dict.fromkeys(("batch", "check", "price", "certainty", "sweep"), "questions"),
    "verify": "solve",
    "generate": "generate",
    "suggest": "questions",
    **dict.fromkeys(("parameters", "doctor"), "doctor"),
}
"""Commands in the order of the help text, and their modules."""

HELP = ("-h", "--help")


def application() -> App:
    """Return the application. A command is imported when it is first needed."""
    app = App(
        "sdpbb",
        help="Exact minimum sum-of-squares clustering with constraints on pairs and clusters, "
        "and published heuristics.",
        help_flags=HELP,
        help_format="markdown",
        help_epilogue="Exit status: see 'sdpbb --help'.",
        version=lambda: f"sdpbb {installed_version()}",
        version_flags=["--version"],
        group_parameters=OPTIONS,
        suppress_keyboard_interrupt=False,
    )
    for position, (name, module) in enumerate(COMMANDS.items()):
        app.command(f"sdpbb.app.cli.{module}:{name}", name=name, sort_key=position)
    for option in ("--help", "--version"):
        app[option].group = OPTIONS
    return app


def main() -> None:
    """Run the command line; the process starts in `sdpbb.__main__`."""
    for stream in (sys.stdout, sys.stderr):
        # A file name that the terminal cannot show must not end a run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    with one_line_errors():
        sys.exit(_call(application(), sys.argv[1:]))


def _call(app: App, arguments: list[str]) -> ExitCode | None:
    """Run the command of a command line; return its exit status, None for success."""
    if not arguments or arguments[0] in HELP:
        app.help_epilogue = EPILOGUE
        for name in COMMANDS:  # whose docstrings are in the help text
            app[name]
    if not arguments:
        from rich.console import Console

        app.help_print([], console=Console(stderr=True))
        return ExitCode.USAGE
    try:
        status: ExitCode | None = app(
            arguments, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        if isinstance(error.__cause__, ParameterError):  # of the value of an option
            raise error.__cause__ from None
        text = " ".join((_absence(error) or str(error)).split())
        shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
        words = " ".join(["sdpbb", *(error.command_chain or ())])
        fail(ExitCode.USAGE, f"{shown} See '{words} --help'.")
    return status


def _absence(error: CycloptsError) -> str | None:
    """Return the message on a missing argument; None for other errors."""
    argument = error.argument
    if not isinstance(error, MissingArgumentError) or argument is None:
        return None
    if error.keyword is not None or argument.tokens or error.unused_tokens:
        return None  # an option without its value, or perhaps one in other letters
    metavar = argument.parameter.metavar if argument.field_info.is_positional else None
    return f"{metavar or argument.name} is missing."


def say(line: str) -> None:
    """Print a line on standard error, if it is open."""
    try:
        print(line, file=sys.stderr)
    except OSError:
        discard(sys.stderr)


class ForgivingStream:
    """Standard stream whose failure does not end the run.

    Its reader may leave (`sdpbb ... | head`), its disk may be full. From then on the text is
    dropped. If the reader has left, the event on_closed is set.
    """

    def __init__(self, name: str, on_closed: threading.Event | None) -> None:
        self._stream = getattr(sys, name)
        self._name = name
        self._on_closed = on_closed

    def write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            discard(self._stream)
            if self._on_closed is not None:
                self._on_closed.set()
        except OSError as error:
            discard(self._stream)
            say(f"the log stops here: {self._name}: {error.strerror}")

    def flush(self) -> None:
        """Do nothing, as `write` flushes."""


def discard(stream: TextIO) -> None:
    """Discard buffered and future output."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class ExitCode(IntEnum):
    """Exit status with its meaning, the same for all commands."""

    meaning: str

    def __new__(cls, value: int, meaning: str = "") -> Self:
        member = int.__new__(cls, value)
        member._value_, member.meaning = value, meaning
        return member

    OPTIMAL = 0, "what was asked for is proven, found, verified or written"
    FOUND = OPTIMAL
    UNANSWERED = 1, "a part of a batch or a study failed, or 'doctor' found a problem"
    USAGE = 2, "the command line is wrong, or a package that it needs is missing"
    BAD_INPUT = 3, "an input file is wrong, or an output file cannot be written"
    REJECTED = 4, "'verify' rejects the certificate"
    LIMIT = 10, "stopped at a limit: bounds are valid, but not all is proven"
    LIMIT_WITHOUT_CLUSTERING = 11, "stopped at a limit without a clustering"
    INFEASIBLE = 20, "proven that no clustering satisfies the constraints"
    BACKEND_FAILURE = 69, "a solver, the worker processes, the Dask cluster or MPI failed"
    INTERNAL_ERROR = 70, "internal error, with its traceback: please report it"
    INTERRUPTED = (
        interruption.INTERRUPTED,
        "interrupted: results so far are saved (second Ctrl-C: exit immediately)",
    )
    TERMINATED = interruption.TERMINATED, "terminated (SIGTERM): results so far are saved"


STATUSES = {
    "optimal": ExitCode.OPTIMAL,
    "feasible": ExitCode.LIMIT,
    "infeasible": ExitCode.INFEASIBLE,
    "unknown": ExitCode.LIMIT_WITHOUT_CLUSTERING,
}
"""Exit statuses by the status of a result or a certificate."""

EPILOGUE = "Exit status:\n\n" + "\n".join(f"- {one.value} {one.meaning}" for one in ExitCode)
"""List of exit statuses, in Markdown, for the help text of the application."""


def interrupted() -> ExitCode:
    """Return the exit status of a command that a signal ended early."""
    return ExitCode(interruption.exit_status())


def exit_code(result: Result) -> ExitCode:
    """Return the exit status of a result."""
    is_proven = result.status.value in ("optimal", "infeasible")
    if result.termination.value == "interrupted" and not is_proven:
        return interrupted()
    return STATUSES[result.status.value]


def study_exit_code(report: Any) -> ExitCode:
    """Return the exit status of the report on a study or a batch."""
    if report.interrupted:
        return interrupted()
    result = getattr(report, "result", None)  # of the instance that jobs begin with, if they do
    if result is not None and result.objective is None:
        return exit_code(result)
    if report.problems:
        return ExitCode.UNANSWERED
    return ExitCode.OPTIMAL if report.is_complete else ExitCode.LIMIT


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn exceptions into one line on standard error and an exit status.

    An internal error has its traceback before the line.
    """
    try:
        yield
    except FileInUse as error:
        fail(ExitCode.BAD_INPUT, str(error).removeprefix("checkpoint = "))
    except ParameterError as error:
        fail(ExitCode.USAGE, of_option(error))
    except InstanceError as error:
        fail(ExitCode.BAD_INPUT, str(error))
    except KeyboardInterrupt:
        fail(ExitCode.INTERRUPTED, "interrupted")
    except Exception as error:
        detail = " ".join(str(error).split())
        # A certificate could not be written, on a full disk for example.
        of_file = isinstance(error, CertificateError) and error.__cause__
        if isinstance(of_file, (OSError, MemoryError)):
            fail(ExitCode.BAD_INPUT, detail)
        if isinstance(error, BackendUnavailable) and error.extra:
            fail(ExitCode.USAGE, detail)
        if isinstance(error, (BackendFailure, BackendUnavailable)):
            fail(ExitCode.BACKEND_FAILURE, detail)
        if isinstance(error, OSError):
            if not error.filename:
                discard(sys.stdout)
            file = shown_path(error.filename) if error.filename else "standard output"
            fail(ExitCode.BAD_INPUT, f"{file}: {error.strerror or detail}")
        say(traceback.format_exc())
        kind = "" if isinstance(error, SdpbbError) else f"{type(error).__name__}: "
        fail(ExitCode.INTERNAL_ERROR, f"internal error: {kind}{detail} (please report it)")


def of_option(
    error: SdpbbError, parameters: Container[str] = (), placed: Container[str] = ()
) -> str:
    """Return a message on a parameter, `name = value: ...`, as a message on an option.

    The option has that name, or is `--option name=value` for names in parameters. Other messages
    are returned as they are.

    placed : names that may follow a place in the message, `FILE: name = value: ...`
    """
    message = str(error)
    found = re.match(r"(.*?: )?([a-z_.]+) = (True: )?", message)
    if found is None or (found[1] and found[2] not in placed):
        return message
    name = {path: short for short, path in SHORT_NAMES.items()}.get(found[2], found[2])
    if "." in name:  # in a file of parameters
        return message
    if name in parameters:
        return f"--option {name}={message[found.end(2) + 3 :]}"
    option = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
    return f"{found[1] or ''}{option}{': ' if found[3] else ' '}{message[found.end() :]}"


def fail(code: ExitCode, message: str) -> NoReturn:
    """End the process with an exit status and one line."""
    say(f"error: {message}")
    sys.exit(code)
