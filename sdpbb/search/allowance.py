"""How long the evaluation of a node may take, and who is told what it finds on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def _never() -> bool:
    return False


def _nobody(labels: NDArray[np.intp], cost: float, source: str) -> None:
    pass


@dataclass(frozen=True)
class Allowance:
    """How long an evaluation may take, from its beginning on.

    slice : seconds until it is left, after a step at least, to be continued
    left : seconds until the run's end: not even a step is begun after it, and heuristics and
        integer programmes are cut short
    cancelled : asked between steps, for a caller in the same process
    found : told of each better clustering of the points as it is found: labels, cost, source
    bounds : whether the node is bounded, or only what comes before is done
    """

    slice: float = math.inf
    left: float = math.inf
    cancelled: Callable[[], bool] = _never
    found: Callable[[NDArray[np.intp], float, str], None] = _nobody
    bounds: bool = True


ENDLESS = Allowance()


class Clock:
    """An allowance that is running out."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._started = time.perf_counter()
        self.found, self.bounds = allowance.found, allowance.bounds

    def is_over(self) -> bool:
        """Whether the slice has ended."""
        return self.seconds >= self._allowance.slice or self.is_urgent()

    def is_urgent(self) -> bool:
        """Whether the run is to end."""
        return self._allowance.cancelled() or self.seconds >= self._allowance.left

    def has_used(self, share: float) -> bool:
        """Whether this share of the time that was left is over, or the run is to end."""
        return self.is_urgent() or self.seconds >= share * self._allowance.left

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the run's end, at least a hundredth; None without a limit."""
        left = self._allowance.left
        return None if left == math.inf else max(0.01, left - self.seconds)

    def remainder(self) -> float:
        """Seconds until the run's end, 0 once it is to end; inf without a limit."""
        return 0.0 if self.is_urgent() else self._allowance.left - self.seconds

    @property
    def seconds(self) -> float:
        """Since the evaluation was begun, or continued."""
        return time.perf_counter() - self._started
