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
    available : MiB that there are; LITTLE at least where so little is needed
    short : what is done otherwise than asked; None for nothing
    """

    parameters: SolverParameters
    available: float
    short: MemoryShort | None = None

    @property
    def is_without_bound(self) -> bool:
        """True if no bound fits."""
        return self.short is not None and self.short.bounding is None


def memory_plan(
    parameters: SolverParameters,
    contraction: Contraction,
    is_resumed: bool,
    is_local: bool = True,
) -> MemoryPlan:
    """Choose workers and a bounding that fit the memory.

    There are fewer workers before another bounding, then a lighter bounding where one is good for
    the contraction, and no bound but the scatter inside blocks if nothing else fits.

    is_local : whether the workers share the memory of this machine
    is_resumed : whether nodes have started with the bounding asked for, so that no other can go on
    """
    asked = bounding_method(parameters.bounding, parameters.sdp)
    needed = _needed_mebibytes(asked, contraction)
    if needed <= LITTLE:  # it takes small runs longer to find out what there is
        return MemoryPlan(parameters, LITTLE)
    available = free_mebibytes()
    if math.isfinite(parameters.memory_limit):
        available = min(available, parameters.memory_limit - resident_mebibytes())
    names = [parameters.bounding]
    if not is_resumed and (lighter := asked.lighter(contraction)) is not None:
        names.append(cast(Bounding, lighter))
    n_blocks, workers = contraction.n_blocks, parameters.workers
    for name in names:
        bounding = bounding_method(name, parameters.sdp)
        taken = _needed_mebibytes(bounding, contraction)
        if taken > max(available, LITTLE):
            continue
        if is_local and n_blocks > bounding.most_blocks_here:  # no more workers than fit
            workers = min(workers, max(1, int(available / taken)))
        fitting = replace(parameters, bounding=name, workers=workers)
        short = MemoryShort(n_blocks, needed, available, name, workers)
        return MemoryPlan(fitting, available, None if fitting == parameters else short)
    short = MemoryShort(n_blocks, needed, available, None, workers)
    return MemoryPlan(parameters, available, short)


def _needed_mebibytes(bounding: BoundingMethod[Any], contraction: Contraction) -> float:
    """Return the MiB that a node takes: in this process, or in another one besides."""
    own = bounding.mebibytes(contraction)
    if contraction.n_blocks <= bounding.most_blocks_here:
        return own
    return WORKER + (1.0 + SENT) * own
