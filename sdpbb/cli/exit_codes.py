"""What the exit status says, and errors as one line on standard error."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Container, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn

from sdpbb.cli.streams import say
from sdpbb.errors import (
    BackendFailure,
    BackendUnavailable,
    InstanceError,
    ParameterError,
    SdpbbError,
)
from sdpbb.interruption import INTERRUPTED

if TYPE_CHECKING:
    from heuristics.result import HeuristicResult
    from sdpbb.result import Result


# In the environment, "1" stands for --debug.
DEBUG = "SDPBB_DEBUG"


class ExitCode(IntEnum):
    """What the command's exit status says."""

    OPTIMAL = 0
    FOUND = 0
    USAGE = 2
    BAD_INPUT = 3
    LIMIT = 10
    LIMIT_WITHOUT_CLUSTERING = 11
    INFEASIBLE = 20
    BACKEND_FAILURE = 69
    INTERNAL_ERROR = 70
    INTERRUPTED = INTERRUPTED


EXIT_CODES: Mapping[ExitCode, str] = {
    ExitCode.OPTIMAL: "proven optimal within the gap",
    ExitCode.USAGE: "the command line or the value of an option is wrong",
    ExitCode.BAD_INPUT: "an input file is wrong, or an output file cannot be written",
    ExitCode.LIMIT: "stopped at a limit with a clustering that is not proven optimal",
    ExitCode.LIMIT_WITHOUT_CLUSTERING: "stopped at a limit without a clustering",
    ExitCode.INFEASIBLE: "proven that no clustering keeps the constraints",
    ExitCode.BACKEND_FAILURE: "a solver, the worker processes or the Dask cluster failed",
    ExitCode.INTERNAL_ERROR: "internal error; --debug shows where",
    ExitCode.INTERRUPTED: "interrupted: once, what was found is written; twice, at once",
}

# Heuristics prove no clustering optimal.
_HEURISTIC_MEANINGS = {
    ExitCode.FOUND: "a clustering was found; how many constraints it violates is said",
    ExitCode.LIMIT_WITHOUT_CLUSTERING: "no clustering was found, nor a proof that there is none",
    ExitCode.INFEASIBLE: "proven that no clustering keeps the hard constraints",
    ExitCode.BACKEND_FAILURE: "a solver failed or is not there",
}
HEURISTIC_EXIT_CODES: Mapping[ExitCode, str] = {
    code: _HEURISTIC_MEANINGS.get(code, meaning)
    for code, meaning in EXIT_CODES.items()
    if code is not ExitCode.LIMIT
}


def epilog(meanings: Mapping[ExitCode, str]) -> str:
    """The paragraph of a help text on exit statuses."""
    # \b keeps the paragraph as it is.
    return "\b\nExit status:\n" + "\n".join(
        f"  {code.value:>3}  {meaning}" for code, meaning in meanings.items()
    )


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


def heuristic_exit_code(result: HeuristicResult) -> ExitCode:
    """The exit status that tells a shell what the result of a heuristic says."""
    from heuristics.result import HeuristicStatus, Stop

    match result.status:
        case HeuristicStatus.INFEASIBLE:
            return ExitCode.INFEASIBLE
        case _ if result.stop is Stop.INTERRUPTED:
            return ExitCode.INTERRUPTED
        case HeuristicStatus.FOUND:
            return ExitCode.FOUND
        case HeuristicStatus.NOT_FOUND:
            return ExitCode.LIMIT_WITHOUT_CLUSTERING


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn exceptions into one line on standard error and an exit status."""
    try:
        yield
    except ParameterError as error:
        fail(ExitCode.USAGE, of_option(error))
    except InstanceError as error:
        fail(ExitCode.BAD_INPUT, str(error))
    except KeyboardInterrupt:
        fail(ExitCode.INTERRUPTED, "interrupted")
    except Exception as error:
        if os.environ.get(DEBUG) == "1":
            raise
        detail = " ".join(str(error).split())
        if isinstance(error, (BackendFailure, BackendUnavailable)):
            fail(ExitCode.BACKEND_FAILURE, detail)
        kind = "" if isinstance(error, SdpbbError) else f"{type(error).__name__}: "
        fail(
            ExitCode.INTERNAL_ERROR,
            f"internal error: {kind}{detail} (--debug shows where; please report it)",
        )


def of_option(error: SdpbbError, parameters: Container[str] = ()) -> str:
    """A message on a parameter, `name = value: ...`, as one on the option of that name, or on
    `--option name=value` for those in parameters; other messages as they are."""
    message = str(error)
    found = re.match(r"([a-z_]+) = ", message)
    if found is None:
        return message
    name = found[1]
    if name in parameters:
        return f"--option {name}={message[found.end() :]}"
    option = "-k" if name == "k" else f"--{name.replace('_', '-')}"
    return f"{option} {message[found.end() :]}"


def fail(code: ExitCode, message: str) -> NoReturn:
    """End with an exit status and one line."""
    say(f"error: {message}")
    sys.exit(code)
