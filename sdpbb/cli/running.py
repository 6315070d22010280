"""A run of the engine, told of while it lasts and written when it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO, cast

from sdpbb import __version__
from sdpbb.cli.exit_codes import ExitCode, exit_code
from sdpbb.cli.outputs import Outputs
from sdpbb.cli.streams import say
from sdpbb.interruption import finish_on_ctrl_c

if TYPE_CHECKING:
    from sdpbb.result import Result
    from sdpbb.search.events import Event, Observer


def report(
    run: Callable[[Observer, threading.Event], Result], outputs: Outputs, quiet: bool
) -> ExitCode:
    """Run, show and write what comes of it; the exit status."""
    from sdpbb.report import ProgressTable

    interrupt = threading.Event()
    log = outputs.log(interrupt)
    observer = _say_errors if quiet else ProgressTable(cast(TextIO, log), __version__)
    with finish_on_ctrl_c(interrupt):
        result = run(observer, interrupt)
        labels = None if result.partition is None else result.partition.labels
        outputs.write(result, labels, quiet)
    return exit_code(result)


def _say_errors(event: Event) -> None:
    """The observer of a quiet run."""
    from sdpbb.report import checkpoint_failure
    from sdpbb.search.events import CheckpointFailed

    if isinstance(event, CheckpointFailed):
        say(checkpoint_failure(event))
