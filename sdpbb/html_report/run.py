"""What a page tells of."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.problem import Instance
from sdpbb.result import Result
from sdpbb.traces.trace import Trace


@dataclass(frozen=True)
class ReportedRun:
    """A run that has ended.

    trace : what the run did; None if nobody watched
    command : what was typed; "" for a run from Python
    """

    instance: Instance
    result: Result
    trace: Trace | None
    command: str
