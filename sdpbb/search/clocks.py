"""Limits of a run, and budgets of time and cores of its evaluations."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.memory import resident_mebibytes
from sdpbb.runtime.time_left import RUN_CLOCK, Clock
from sdpbb.search.result import Termination

# Seconds between two measurements of the memory, which take milliseconds.
MEMORY_SECONDS = 0.25


def occupied_mebibytes() -> float:
    """Return the memory of this process and its descendants in MiB, measured a moment ago."""
    return _measured(int(time.perf_counter() / MEMORY_SECONDS))


@lru_cache(maxsize=1)
def _measured(moment: int) -> float:
    return resident_mebibytes()


@dataclass(frozen=True)
class Limits(Clock):
    """Limits of a run: time, nodes, memory, and an interrupt by the user.

    limit : of the time, since `started`. A resumed run counts from its first start
    stop : whether the user has interrupted the run
    node_limit : nodes evaluated, or None
    memory_limit : MiB of all processes of the run together
    """

    node_limit: int | None = None
    memory_limit: float = math.inf

    def urgent(self) -> Termination | None:
        """Return the reason to end even the evaluation of a node.

        An evaluation in this process ends after its present step, and in another process at once.
        """
        if self.stop():
            return Termination.INTERRUPTED
        return Termination.TIME_LIMIT if self.seconds >= self.limit else None

    def reached(self, n_nodes: int) -> Termination | None:
        """Return the reason not to begin another node."""
        if self.node_limit is not None and n_nodes >= self.node_limit:
            return Termination.NODE_LIMIT
        if self.memory_limit < math.inf and occupied_mebibytes() > self.memory_limit:
            return Termination.MEMORY_LIMIT
        return self.urgent()


def _ignore(labels: NDArray[np.intp], cost: float, source: str) -> None:
    """Ignore a clustering."""


@dataclass(frozen=True)
class Budget(Clock):
    """Time limits of an evaluation, and its cores.

    Picklable without `stop` and `found`.

    limit : seconds until the end of the run. No step begins after it, and it cuts heuristics and
        integer programmes short
    stop : for a caller in the same process
    slice : seconds until the evaluation pauses, after at least one step
    found : receives each better clustering of the points as it is found: labels, cost, source
    may_bound : whether to bound the node, or only to run what comes before
    cores : that the evaluation may use; the result does not depend on their number
    """

    slice: float = math.inf
    found: Callable[[NDArray[np.intp], float, str], None] = _ignore
    may_bound: bool = True
    cores: int = 1

    def begin(self) -> Budget:
        """Return the same budget, starting now."""
        return replace(self, started=RUN_CLOCK())

    def left(self) -> Budget:
        """Return what remains of the budget, for the next of several evaluations."""
        used = self.seconds
        return replace(self, slice=self.slice - used, limit=self.limit - used)

    @property
    def has_used_slice(self) -> bool:
        """True once the evaluation is to pause."""
        return self.seconds >= self.slice or self.is_over

    def has_used(self, share: float) -> bool:
        """Return whether this share of the time is over, or the run is to end."""
        return self.is_over or self.seconds >= share * self.limit


ENDLESS = Budget()
