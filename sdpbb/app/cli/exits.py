"""Exit statuses of the commands, errors as one line, and standard streams that may fail."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn, TextIO

from sdpbb.errors import (
    BackendFailure,
    BackendUnavailable,
    CertificateError,
    FileInUse,
    InstanceError,
    ParameterError,
    SdpbbError,
)
from sdpbb.runtime import interruption
from sdpbb.runtime.files import shown_path

if TYPE_CHECKING:
    from sdpbb.search.result import Result


def say(line: str) -> None:
    """A line on standard error, if anybody hears it."""
    try:
        print(line, file=sys.stderr)
    except OSError:
        discard(sys.stderr)


class ForgivingStream:
    """Standard stream whose failure does not end the run.

    Its reader may leave (`sdpbb ... | head`), its disk may be full.

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
            discard(self._stream)
            if self._on_closed is not None:
                self._on_closed.set()
        except OSError as error:
            discard(self._stream)
            say(f"the log stops here: {self._name}: {error.strerror}")


def discard(stream: TextIO) -> None:
    """Send what is still buffered, and all that follows, to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class ExitCode(IntEnum):
    """Exit status of a command."""

    OPTIMAL = 0
    FOUND = 0
    UNANSWERED = 1
    USAGE = 2
    BAD_INPUT = 3
    REJECTED = 4
    LIMIT = 10
    LIMIT_WITHOUT_CLUSTERING = 11
    INFEASIBLE = 20
    BACKEND_FAILURE = 69
    INTERNAL_ERROR = 70
    INTERRUPTED = interruption.INTERRUPTED
    TERMINATED = interruption.TERMINATED


EXIT_CODES: Mapping[ExitCode, str] = {
    ExitCode.OPTIMAL: "what was asked for is proven, found, verified or written",
    ExitCode.UNANSWERED: "a part of a batch or a study failed, or 'doctor' found a problem",
    ExitCode.USAGE: "the command line is wrong, or a package that it needs is missing",
    ExitCode.BAD_INPUT: "an input file is wrong, or an output file cannot be written",
    ExitCode.REJECTED: "'verify' rejects the certificate",
    ExitCode.LIMIT: "stopped at a limit: bounds are valid, but not all is proven",
    ExitCode.LIMIT_WITHOUT_CLUSTERING: "stopped at a limit without a clustering",
    ExitCode.INFEASIBLE: "proven that no clustering satisfies the constraints",
    ExitCode.BACKEND_FAILURE: "a solver, the worker processes, the Dask cluster or MPI failed",
    ExitCode.INTERNAL_ERROR: "internal error, with its traceback: please report it",
    ExitCode.INTERRUPTED: "interrupted: results so far are saved (second Ctrl-C: exit immediately)",
    ExitCode.TERMINATED: "terminated (SIGTERM): results so far are saved",
}
"""Meanings of the exit statuses, the same for all commands."""

EPILOGUE = "Exit status:\n\n" + "\n".join(
    f"- {code.value} {meaning}" for code, meaning in EXIT_CODES.items()
)
"""List of exit statuses, in Markdown, for help texts."""


def interrupted() -> ExitCode:
    """Return the exit status of a command that has finished early, as a signal asked it to."""
    return ExitCode(interruption.exit_status())


def exit_code(result: Result) -> ExitCode:
    """Return the exit status that tells a shell what a result says."""
    from sdpbb.search.result import SolutionStatus, Termination

    match result.status:
        case SolutionStatus.OPTIMAL:
            return ExitCode.OPTIMAL
        case SolutionStatus.INFEASIBLE:
            return ExitCode.INFEASIBLE
        case _ if result.termination is Termination.INTERRUPTED:
            return interrupted()
        case SolutionStatus.FEASIBLE:
            return ExitCode.LIMIT
        case SolutionStatus.UNKNOWN:
            return ExitCode.LIMIT_WITHOUT_CLUSTERING


def study_exit_code(
    was_interrupted: bool,
    problems: Sequence[object],
    is_complete: bool,
    result: Result | None = None,
) -> ExitCode:
    """Return the exit status that tells a shell what came of a study.

    problems : of jobs that failed
    is_complete : whether every job has its answer
    result : of the instance that its jobs begin with, if they do
    """
    if was_interrupted:
        return interrupted()
    if result is not None and result.objective is None:
        return exit_code(result)
    if problems:
        return ExitCode.UNANSWERED
    return ExitCode.OPTIMAL if is_complete else ExitCode.LIMIT


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
        # The certificate of a run that has ended: a disk is full, say.
        of_file = isinstance(error, CertificateError) and error.__cause__
        if isinstance(of_file, (OSError, MemoryError)):
            fail(ExitCode.BAD_INPUT, detail)
        if isinstance(error, BackendUnavailable) and error.extra:
            fail(ExitCode.USAGE, detail)
        if isinstance(error, (BackendFailure, BackendUnavailable)):
            fail(ExitCode.BACKEND_FAILURE, detail)
        if isinstance(error, OSError):
            discard(sys.stdout)
            file = shown_path(error.filename) if error.filename else "standard output"
            fail(ExitCode.BAD_INPUT, f"{file}: {error.strerror or detail}")
        say(traceback.format_exc())
        kind = "" if isinstance(error, SdpbbError) else f"{type(error).__name__}: "
        fail(ExitCode.INTERNAL_ERROR, f"internal error: {kind}{detail} (please report it)")


def of_option(
    error: SdpbbError, parameters: Container[str] = (), placed: Container[str] = ()
) -> str:
    """Return a message on a parameter, `name = value: ...`, as one on an option.

    It is the option of that name, or `--option name=value` for those in parameters. Other messages
    are returned as they are.

    placed : names of which the message may say a place before, `FILE: name = value: ...`
    """
    message = str(error)
    found = re.match(r"(.*?: )?([a-z_.]+) = (True: )?", message)
    if found is None or (found[1] and found[2] not in placed):
        return message
    from sdpbb.run.parameters import SHORT_NAMES  # of messages alone

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
