"""Limits of a run, and the budgets of time and cores of the evaluations in it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.executors.memory import resident_mebibytes
from sdpbb.runtime.time_left import RUN_CLOCK
from sdpbb.search.result import Termination

# Seconds between two measurements of the memory, which take milliseconds.
MEMORY_SECONDS = 0.25


def occupied_mebibytes() -> float:
    """Return the memory of this process and its descendants, in MiB, as it was a moment ago."""
    return _measured(int(time.perf_counter() / MEMORY_SECONDS))


@lru_cache(maxsize=1)
def _measured(moment: int) -> float:
    return resident_mebibytes()


@dataclass(frozen=True)
class Limits:
    """Limits of a run: time, nodes, memory, and the user's wish.

    time_limit : seconds since `started`, which for a resumed run lies as long ago as it has run
    node_limit : nodes evaluated, or None
    memory_limit : MiB of all processes of the run together
    interrupt : set by whoever wants the run to end
    started : by the clock of runs
    """

    time_limit: float = math.inf
    node_limit: int | None = None
    memory_limit: float = math.inf
    interrupt: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=RUN_CLOCK)

    @property
    def seconds(self) -> float:
        """Seconds of the run until now."""
        return RUN_CLOCK() - self.started

    def time_left(self) -> float:
        """Return the seconds until the time limit, 0 once the run is to end; inf without one."""
        return 0.0 if self.urgent() is not None else self.time_limit - self.seconds

    def urgent(self) -> Termination | None:
        """Return the reason to leave even a node that is being evaluated.

        It is left at the end of its present step in this process, and at once in another one.
        """
        if self.interrupt.is_set():
            return Termination.INTERRUPTED
        if self.seconds >= self.time_limit:
            return Termination.TIME_LIMIT
        return None

    def reached(self, n_nodes: int) -> Termination | None:
        """Return the reason not to begin another node."""
        if self.node_limit is not None and n_nodes >= self.node_limit:
            return Termination.NODE_LIMIT
        if self.memory_limit < math.inf and occupied_mebibytes() > self.memory_limit:
            return Termination.MEMORY_LIMIT
        return self.urgent()


def _never() -> bool:
    return False


def _nobody(labels: NDArray[np.intp], cost: float, source: str) -> None:
    pass


@dataclass(frozen=True)
class Budget:
    """Time limits of an evaluation, from its beginning on, and its cores.

    Picklable without the two functions.

    slice : seconds until it is left, after a step at least, to be continued
    until_end : seconds until the run's end: not even a step is begun after it, and heuristics and
        integer programmes are cut short
    cancelled : asked between steps, for a caller in the same process
    found : told of each better clustering of the points as it is found: labels, cost, source
    bounds : whether the node is bounded, or only what comes before is done
    cores : that it may use; it comes to the same with any number
    started : when the evaluation was begun or continued, by the clock of runs in its process
    """

    slice: float = math.inf
    until_end: float = math.inf
    cancelled: Callable[[], bool] = _never
    found: Callable[[NDArray[np.intp], float, str], None] = _nobody
    bounds: bool = True
    cores: int = 1
    started: float = math.nan

    def begin(self) -> Budget:
        """Return the same budget, whose time runs from now on."""
        return replace(self, started=RUN_CLOCK())

    def left(self) -> Budget:
        """Return what is left of it, for the next of several evaluations."""
        used = self.seconds
        return replace(self, slice=self.slice - used, until_end=self.until_end - used)

    def is_over(self) -> bool:
        """Return whether the slice has ended."""
        return self.seconds >= self.slice or self.is_urgent()

    def is_urgent(self) -> bool:
        """Return whether the run is to end."""
        return self.cancelled() or self.seconds >= self.until_end

    def has_used(self, share: float) -> bool:
        """Return whether this share of the time that was left is over, or the run is to end."""
        return self.is_urgent() or self.seconds >= share * self.until_end

    def time_left(self) -> float:
        """Return the seconds until the run's end, 0 once it is to end; inf without a limit."""
        return 0.0 if self.is_urgent() else self.until_end - self.seconds

    @property
    def seconds(self) -> float:
        """Seconds since the evaluation was begun or continued."""
        return RUN_CLOCK() - self.started


ENDLESS = Budget()
