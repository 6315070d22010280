"""Why a search may stop before it is finished."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from sdpbb.result import Termination


@dataclass(frozen=True)
class Limits:
    """Time, nodes, and the user's wish.

    time_limit : seconds since `started`
    node_limit : nodes evaluated, or None
    interrupt : set by whoever wants the run to end
    """

    time_limit: float
    node_limit: int | None
    interrupt: threading.Event
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def urgent(self) -> Termination | None:
        """The reason to leave even a node that is being evaluated."""
        if self.interrupt.is_set():
            return Termination.INTERRUPTED
        if self.seconds >= self.time_limit:
            return Termination.TIME_LIMIT
        return None

    def reached(self, n_nodes: int) -> Termination | None:
        """The reason not to begin another node."""
        if self.node_limit is not None and n_nodes >= self.node_limit:
            return Termination.NODE_LIMIT
        return self.urgent()
