"""Why a search may stop before it is finished."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sdpbb.result import Termination


class Sampled:
    """A measurement that takes a while itself: made again after `seconds` at the earliest, and the
    last one until then."""

    def __init__(self, measure: Callable[[], float], seconds: float = 1.0) -> None:
        self._measure = measure
        self._seconds = seconds
        self._measured_at = -math.inf
        self._last = math.nan

    def __call__(self) -> float:
        now = time.perf_counter()
        if now - self._measured_at >= self._seconds:
            self._last = self._measure()
            self._measured_at = now
        return self._last


@dataclass(frozen=True)
class Limits:
    """Time, nodes, memory, and the user's wish.

    time_limit : seconds since `started`, which for a resumed run lies as long ago as it has run
    node_limit : nodes evaluated, or None
    memory_limit : MiB of all processes of the run together, as `memory` measures them
    interrupt : set by whoever wants the run to end
    """

    time_limit: float = math.inf
    node_limit: int | None = None
    memory_limit: float = math.inf
    memory: Callable[[], float] = float
    interrupt: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit, at least a hundredth; None without one."""
        if self.time_limit == math.inf:
            return None
        return max(0.01, self.time_limit - self.seconds)

    def urgent(self) -> Termination | None:
        """The reason to leave even a node that is being evaluated: at the end of its present step
        in this process, and at once in another one."""
        if self.interrupt.is_set():
            return Termination.INTERRUPTED
        if self.seconds >= self.time_limit:
            return Termination.TIME_LIMIT
        return None

    def reached(self, n_nodes: int) -> Termination | None:
        """The reason not to begin another node."""
        if self.node_limit is not None and n_nodes >= self.node_limit:
            return Termination.NODE_LIMIT
        if self.memory_limit < math.inf and self.memory() > self.memory_limit:
            return Termination.MEMORY_LIMIT
        return self.urgent()
