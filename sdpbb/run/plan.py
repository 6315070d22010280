"""Plan of a run: a bounding and workers that fit the memory, and whether subsets come first."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

from sdpbb.bounds.bound import BoundingMethod
from sdpbb.bounds.registry import Bounding, bounding_method
from sdpbb.problem import Contraction
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.memory import free_mebibytes, resident_mebibytes
from sdpbb.search.events import MemoryShort

# MiB of a worker process before its first task. And the share of a node's memory that this process
# occupies in addition, while the state of the node travels between both.
WORKER, SENT = 250.0, 0.35
# Smaller needs of memory, in MiB, are not planned: runs check their limit anyway.
LITTLE = 128.0


@dataclass(frozen=True)
class Plan:
    """Decisions on a run, made once, before anything large is allocated.

    parameters : as requested, but with a bounding and a number of workers that fit the memory
    bounding : method of these parameters
    n_blocks : of the contraction
    available : free MiB; LITTLE if less is needed
    begins_with_subsets : whether the root's first bound is the sum of the bounds of subsets
    shortage : report of the deviations from the request; None: no deviation
    """

    parameters: SolverParameters
    bounding: BoundingMethod[Any]
    n_blocks: int
    available: float = LITTLE
    begins_with_subsets: bool = False
    shortage: MemoryShort | None = None

    @property
    def may_bound(self) -> bool:
        """True if a bound of all blocks fits the memory."""
        return self.shortage is None or self.shortage.bounding is not None

    @property
    def has_long_steps(self) -> bool:
        """True if steps of bounding all blocks are known to take long."""
        return self.may_bound and self.n_blocks > self.bounding.most_blocks_here

    @property
    def is_small(self) -> bool:
        """True if there are no more blocks than in the largest subsets."""
        return self.n_blocks <= self.parameters.decomposition.largest


def planned(
    parameters: SolverParameters,
    contraction: Contraction,
    has_begun: bool = False,
    is_local: bool = True,
) -> Plan:
    """Return the plan of a run.

    If memory is short, first reduce the workers, then choose a lighter bounding that suits the
    contraction. If nothing fits, the only bound is the scatter inside blocks.

    A run begins with subsets if the parameters request it. The hybrid bound does so, too, if
    bounding all blocks takes long or does not fit the memory.

    has_begun : whether nodes have been bounded already; the bounding then stays as it is
    is_local : whether the workers share the memory of this machine
    """
    n_blocks, workers = contraction.n_blocks, parameters.workers
    asked = bounding_method(parameters.bounding, parameters.sdp)
    may_divide = parameters.bounding == "hybrid" and not has_begun
    is_large = parameters.decomposition.is_large(n_blocks, contraction.has_limits)
    by_subsets = parameters.bounding == "decomposition" and not has_begun
    by_subsets |= may_divide and is_large and not asked.is_quick(contraction)
    plan = Plan(parameters, asked, n_blocks, begins_with_subsets=by_subsets)
    needed = _needed_mebibytes(asked, contraction)
    if needed <= LITTLE:  # measuring the free memory would take small runs longer
        return plan
    available = free_mebibytes()
    if math.isfinite(parameters.memory_limit):
        available = min(available, parameters.memory_limit - resident_mebibytes())
    plan = replace(plan, available=available)
    names = [parameters.bounding]
    if not has_begun and (lighter := asked.lighter(contraction)) is not None:
        names.append(cast(Bounding, lighter))
    for name in names:
        bounding = bounding_method(name, parameters.sdp)
        taken = _needed_mebibytes(bounding, contraction)
        if taken > max(available, LITTLE):
            continue
        if is_local and n_blocks > bounding.most_blocks_here:  # workers that fit the memory
            workers = min(workers, max(1, int(available / taken)))
        fitting = replace(parameters, bounding=name, workers=workers)
        if fitting == parameters:
            return plan
        shortage = MemoryShort(n_blocks, needed, available, name, workers)
        return replace(plan, parameters=fitting, bounding=bounding, shortage=shortage)
    shortage = MemoryShort(n_blocks, needed, available, None, workers)
    return replace(plan, begins_with_subsets=by_subsets or may_divide, shortage=shortage)


def _needed_mebibytes(bounding: BoundingMethod[Any], contraction: Contraction) -> float:
    """Return the MiB that bounding a node needs, in this process and in a worker if it has one."""
    own = bounding.mebibytes(contraction)
    if contraction.n_blocks <= bounding.most_blocks_here:
        return own
    return WORKER + (1.0 + SENT) * own
