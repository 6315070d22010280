"""What of a run fits the memory, found out before anything large is allocated."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sdpbb.bounds.colgen.bounding import ColgenBounding, is_easy_to_price
from sdpbb.bounds.hybrid import HybridBounding
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.executors.memory import free_mebibytes, resident_mebibytes
from sdpbb.parameters import SolverParameters
from sdpbb.problem import Contraction
from sdpbb.search.workforce import MOST_BLOCKS

# What a worker process occupies before its first task; and of a node's bounding, the share that
# this process holds besides while its state is sent to and fro.
WORKER, SENT = 250.0, 0.35
# MiB that are not planned for: the limit is looked at while the run lasts.
LITTLE = 128.0


@dataclass(frozen=True)
class MemoryPlan:
    """What a run does in the memory that it has.

    parameters : as asked for, but with a bounding and a number of workers that fit
    needed, available : MiB that bounding a node as asked for would take, and that there are
    is_without_bound : whether no bound fits
    """

    parameters: SolverParameters
    needed: float
    available: float
    is_without_bound: bool = False


def bounding_of(parameters: SolverParameters) -> SdpBounding | ColgenBounding | HybridBounding:
    """What bounds the nodes of a run."""
    if parameters.bounding == "colgen":
        return ColgenBounding(parameters.colgen, parameters.sdp)
    if parameters.bounding == "hybrid":
        return HybridBounding(parameters.sdp, parameters.colgen, parameters.hybrid)
    return SdpBounding(parameters.sdp)


def memory_plan(
    parameters: SolverParameters, contraction: Contraction, is_resumed: bool
) -> MemoryPlan:
    """Choose what fits: fewer workers before another bounding, columns alone where pricing is easy,
    and no bound but the scatter inside blocks if nothing else does.

    is_resumed : whether nodes have begun with the bounding asked for, so that no other can go on
    """
    available = free_mebibytes()
    if math.isfinite(parameters.memory_limit):
        available = min(available, parameters.memory_limit - resident_mebibytes())
    needed = _needed(bounding_of(parameters), contraction)
    candidates = [parameters]
    easy = is_easy_to_price(contraction, parameters.colgen.centre)
    if parameters.bounding == "hybrid" and easy and not is_resumed:
        candidates.append(replace(parameters, bounding="colgen"))
    for candidate in candidates:
        taken = _needed(bounding_of(candidate), contraction)
        if taken <= max(available, LITTLE):
            fitting = _with_workers(candidate, contraction, int(available / taken))
            return MemoryPlan(fitting, needed, available)
    return MemoryPlan(parameters, needed, available, is_without_bound=True)


def _with_workers(
    parameters: SolverParameters, contraction: Contraction, most: int
) -> SolverParameters:
    """No more local workers than fit, where that matters; one in any case."""
    if contraction.n_blocks <= MOST_BLOCKS or parameters.dask is not None:
        return parameters
    return replace(parameters, workers=min(parameters.workers, max(1, most)))


def _needed(
    bounding: SdpBounding | ColgenBounding | HybridBounding, contraction: Contraction
) -> float:
    """MiB that a node takes: in this process, or in another one besides."""
    own = bounding.mebibytes(contraction)
    if contraction.n_blocks <= MOST_BLOCKS:
        return own
    return WORKER + (1.0 + SENT) * own
