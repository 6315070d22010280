"""Memory plan of a run: a bounding and workers that fit, chosen before anything is allocated."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

from sdpbb.bounds.bound import BoundingMethod
from sdpbb.bounds.registry import Bounding, bounding_method
from sdpbb.problem import Contraction
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.executors.memory import free_mebibytes, resident_mebibytes
from sdpbb.search.events import MemoryShort

# MiB of a worker process before its first task; and the share of a node's bounding that this
# process holds besides while its state is sent to and fro.
WORKER, SENT = 250.0, 0.35
# MiB that are not planned for: the limit is looked at while the run lasts.
LITTLE = 128.0


@dataclass(frozen=True)
class MemoryPlan:
    """Bounding and workers of a run that fit the memory.

    parameters : as asked for, but with a bounding and a number of workers that fit
    needed, available : MiB that bounding a node as asked for would take, and that there are, LITTLE
        at least where so little is needed
    is_without_bound : whether no bound fits
    """

    parameters: SolverParameters
    needed: float
    available: float
    is_without_bound: bool = False

    def event(self, n_blocks: int) -> MemoryShort:
        """Return the event that tells of it."""
        return MemoryShort(
            n_blocks=n_blocks,
            needed=self.needed,
            available=self.available,
            bounding=None if self.is_without_bound else self.parameters.bounding,
            workers=self.parameters.workers,
        )


def memory_plan(
    parameters: SolverParameters,
    asked: BoundingMethod[Any],
    contraction: Contraction,
    is_resumed: bool,
    is_local: bool = True,
) -> MemoryPlan:
    """Choose workers and a bounding that fit the memory.

    There are fewer workers before another bounding, then a lighter bounding where one is good for
    the contraction, and no bound but the scatter inside blocks if nothing else fits.

    asked : the bounding method that the parameters ask for
    is_local : whether the workers share the memory of this machine
    is_resumed : whether nodes have started with the bounding asked for, so that no other can go on
    """
    needed = _needed_mebibytes(asked, contraction)
    if needed <= LITTLE:  # it takes small runs longer to find out what there is
        return MemoryPlan(parameters, needed, LITTLE)
    available = free_mebibytes()
    if math.isfinite(parameters.memory_limit):
        available = min(available, parameters.memory_limit - resident_mebibytes())
    candidates = [(parameters, asked)]
    lighter = None if is_resumed else asked.lighter(contraction)
    if lighter is not None:
        other = replace(parameters, bounding=cast(Bounding, lighter))
        candidates.append((other, bounding_method(lighter, other.sdp)))
    for candidate, bounding in candidates:
        taken = _needed_mebibytes(bounding, contraction)
        if taken <= max(available, LITTLE):
            works_locally = contraction.n_blocks <= bounding.most_blocks_here
            if not works_locally and is_local:  # no more workers than fit
                most = max(1, int(available / taken))
                candidate = replace(candidate, workers=min(candidate.workers, most))
            return MemoryPlan(candidate, needed, available)
    return MemoryPlan(parameters, needed, available, is_without_bound=True)


def _needed_mebibytes(bounding: BoundingMethod[Any], contraction: Contraction) -> float:
    """Return the MiB that a node takes: in this process, or in another one besides."""
    own = bounding.mebibytes(contraction)
    if contraction.n_blocks <= bounding.most_blocks_here:
        return own
    return WORKER + (1.0 + SENT) * own
