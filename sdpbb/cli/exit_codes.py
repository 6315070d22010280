"""What the exit status says, and errors as one line on standard error."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Container, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn

from sdpbb import interruption
from sdpbb.cli.streams import say
from sdpbb.errors import (
    BackendFailure,
    BackendUnavailable,
    CertificateError,
    FileInUse,
    InstanceError,
    ParameterError,
    SdpbbError,
)

if TYPE_CHECKING:
    from heuristics.result import HeuristicResult
    from sdpbb.batch import BatchResult
    from sdpbb.result import Result


# In the environment, "1" stands for --debug.
DEBUG = "SDPBB_DEBUG"


class ExitCode(IntEnum):
    """What the command's exit status says."""

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


# Of commands that write what they have found until then, and of those that do not.
_FINISHED = {
    ExitCode.INTERRUPTED: "interrupted: once, what was found is written; twice, at once",
    ExitCode.TERMINATED: "terminated (SIGTERM): what was found is written",
}
_LEFT = {
    ExitCode.INTERRUPTED: "interrupted: nothing was written",
    ExitCode.TERMINATED: "terminated (SIGTERM): nothing was written",
}

EXIT_CODES: Mapping[ExitCode, str] = {
    ExitCode.OPTIMAL: "proven optimal within the gap",
    ExitCode.USAGE: "the command line or the value of an option is wrong",
    ExitCode.BAD_INPUT: "an input file is wrong, or an output file cannot be written",
    ExitCode.LIMIT: "stopped at a limit with a clustering that is not proven optimal",
    ExitCode.LIMIT_WITHOUT_CLUSTERING: "stopped at a limit without a clustering",
    ExitCode.INFEASIBLE: "proven that no clustering keeps the constraints",
    ExitCode.BACKEND_FAILURE: "a solver, the worker processes or the Dask cluster failed",
    ExitCode.INTERNAL_ERROR: "internal error; --debug shows where",
    **_FINISHED,
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

# How good the labels are is said in words and figures, not by the exit status.
_GAP_MEANINGS = {
    ExitCode.OPTIMAL: "proven how far LABELS is from the best clustering, which it may be itself",
    ExitCode.LIMIT: "stopped at a limit: the gap holds, but may be smaller in truth",
    ExitCode.LIMIT_WITHOUT_CLUSTERING: "stopped at a limit without a clustering to compare with",
}
GAP_EXIT_CODES: Mapping[ExitCode, str] = {
    code: _GAP_MEANINGS.get(code, meaning) for code, meaning in EXIT_CODES.items()
}

# An instance that is proven infeasible has its answer.
BATCH_EXIT_CODES: Mapping[ExitCode, str] = {
    ExitCode.OPTIMAL: "every instance is proven optimal within its gap, or proven infeasible",
    ExitCode.UNANSWERED: "an instance failed: its files are wrong, it crashed or was killed",
    ExitCode.USAGE: EXIT_CODES[ExitCode.USAGE],
    ExitCode.BAD_INPUT: "the manifest is wrong, or the results cannot be written",
    ExitCode.LIMIT: "no instance failed, but one was stopped at a limit",
    ExitCode.BACKEND_FAILURE: "the worker processes cannot start",
    ExitCode.INTERNAL_ERROR: EXIT_CODES[ExitCode.INTERNAL_ERROR],
    **_FINISHED,
}

PLOT_EXIT_CODES: Mapping[ExitCode, str] = {
    ExitCode.FOUND: "the picture was written",
    ExitCode.USAGE: EXIT_CODES[ExitCode.USAGE],
    ExitCode.BAD_INPUT: "an input file is wrong, or the picture cannot be written",
    ExitCode.LIMIT_WITHOUT_CLUSTERING: "whether there is a clustering was not found out in time",
    ExitCode.INFEASIBLE: EXIT_CODES[ExitCode.INFEASIBLE],
    ExitCode.BACKEND_FAILURE: "matplotlib is not installed, or a solver failed",
    ExitCode.INTERNAL_ERROR: EXIT_CODES[ExitCode.INTERNAL_ERROR],
    **_LEFT,
}

CHECK_EXIT_CODES: Mapping[ExitCode, str] = {
    ExitCode.FOUND: "there is a clustering that keeps the constraints",
    ExitCode.USAGE: EXIT_CODES[ExitCode.USAGE],
    ExitCode.BAD_INPUT: EXIT_CODES[ExitCode.BAD_INPUT],
    ExitCode.LIMIT_WITHOUT_CLUSTERING: "whether there is one was not found out in time",
    ExitCode.INFEASIBLE: EXIT_CODES[ExitCode.INFEASIBLE],
    ExitCode.BACKEND_FAILURE: "a solver failed",
    ExitCode.INTERNAL_ERROR: EXIT_CODES[ExitCode.INTERNAL_ERROR],
    **_LEFT,
}

PRICE_EXIT_CODES: Mapping[ExitCode, str] = {
    ExitCode.OPTIMAL: "every price is known to the gap",
    ExitCode.USAGE: EXIT_CODES[ExitCode.USAGE],
    ExitCode.BAD_INPUT: EXIT_CODES[ExitCode.BAD_INPUT],
    ExitCode.LIMIT: "stopped at a limit: some prices are known less well, or not at all",
    ExitCode.LIMIT_WITHOUT_CLUSTERING: EXIT_CODES[ExitCode.LIMIT_WITHOUT_CLUSTERING],
    ExitCode.INFEASIBLE: EXIT_CODES[ExitCode.INFEASIBLE],
    ExitCode.BACKEND_FAILURE: "a solver or the worker processes failed",
    ExitCode.INTERNAL_ERROR: EXIT_CODES[ExitCode.INTERNAL_ERROR],
    **_FINISHED,
}

GENERATE_EXIT_CODES: Mapping[ExitCode, str] = {
    ExitCode.FOUND: "the constraints were drawn and written",
    ExitCode.USAGE: EXIT_CODES[ExitCode.USAGE],
    ExitCode.BAD_INPUT: EXIT_CODES[ExitCode.BAD_INPUT],
    ExitCode.BACKEND_FAILURE: "pyarrow, which reads Parquet, is not installed",
    ExitCode.INTERNAL_ERROR: EXIT_CODES[ExitCode.INTERNAL_ERROR],
    **_LEFT,
}

VERIFY_EXIT_CODES: Mapping[ExitCode, str] = {
    ExitCode.OPTIMAL: "verified: the clustering is optimal within the gap",
    ExitCode.USAGE: EXIT_CODES[ExitCode.USAGE],
    ExitCode.BAD_INPUT: EXIT_CODES[ExitCode.BAD_INPUT],
    ExitCode.REJECTED: "rejected: the certificate does not prove what it says of the instance",
    ExitCode.LIMIT: "verified: a clustering that is not proven optimal, and a lower bound",
    ExitCode.LIMIT_WITHOUT_CLUSTERING: "verified: a lower bound, without a clustering",
    ExitCode.INFEASIBLE: "verified: no clustering keeps the constraints",
    ExitCode.BACKEND_FAILURE: "pyarrow, which reads Parquet, is not installed",
    ExitCode.INTERNAL_ERROR: EXIT_CODES[ExitCode.INTERNAL_ERROR],
    ExitCode.INTERRUPTED: "interrupted: nothing was verified",
    ExitCode.TERMINATED: "terminated (SIGTERM): nothing was verified",
}


def epilog(meanings: Mapping[ExitCode, str]) -> str:
    """The paragraph of a help text on exit statuses."""
    # \b keeps the paragraph as it is.
    return "\b\nExit status:\n" + "\n".join(
        f"  {code.value:>3}  {meaning}" for code, meaning in meanings.items()
    )


def interrupted() -> ExitCode:
    """The exit status of a command that has finished early, as a signal asked it to."""
    return ExitCode(interruption.exit_status())


def exit_code(result: Result) -> ExitCode:
    """The exit status that tells a shell what a result says."""
    from sdpbb.result import SolutionStatus, Termination

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


def heuristic_exit_code(result: HeuristicResult) -> ExitCode:
    """The exit status that tells a shell what the result of a heuristic says."""
    from heuristics.result import HeuristicStatus, Stop

    match result.status:
        case HeuristicStatus.INFEASIBLE:
            return ExitCode.INFEASIBLE
        case _ if result.stop is Stop.INTERRUPTED:
            return interrupted()
        case HeuristicStatus.FOUND:
            return ExitCode.FOUND
        case HeuristicStatus.NOT_FOUND:
            return ExitCode.LIMIT_WITHOUT_CLUSTERING


def batch_exit_code(result: BatchResult) -> ExitCode:
    """The exit status that tells a shell what came of a batch."""
    if result.interrupted:
        return interrupted()
    if result.failed:
        return ExitCode.UNANSWERED
    return ExitCode.LIMIT if result.stopped else ExitCode.OPTIMAL


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn exceptions into one line on standard error and an exit status."""
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
        if isinstance(error, CertificateError) and isinstance(
            error.__cause__, (OSError, MemoryError)
        ):
            fail(ExitCode.BAD_INPUT, detail)
        if os.environ.get(DEBUG) == "1":
            raise
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
