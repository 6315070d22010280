"""Short looks at an instance with one more pair, by the semidefinite bound of all its blocks."""

from __future__ import annotations

import math
from typing import Any

from threadpoolctl import threadpool_limits

from sdpbb.bounds.registry import bounding_method
from sdpbb.problem import Contraction, Infeasibility
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.executors.memory import free_mebibytes
from sdpbb.runtime.time_left import TimeLeft


def fits_one_matrix(contraction: Contraction, parameters: SolverParameters) -> bool:
    """Return whether each worker can bound all blocks at once, and soon: runs need no subsets."""
    n_blocks, has_limits = contraction.n_blocks, contraction.has_limits
    needed = parameters.workers * bounding_method("sdp").mebibytes(contraction)
    is_large = parameters.decomposition.is_large(n_blocks, has_limits)
    return not is_large and needed <= free_mebibytes()


def has_long_steps(contraction: Contraction) -> bool:
    """Return whether a step of the bound takes so long that it belongs in another process."""
    return contraction.n_blocks > bounding_method("sdp").most_blocks_here


def look(
    contraction: Contraction | Infeasibility,
    above: float,
    time_left: TimeLeft,
    n_steps: int,
    warm_start: Any = None,
) -> float:
    """Return a lower bound that n_steps evaluations prove, or fewer if they come to `above`.

    It is inf if there is no clustering, and -inf if there are too few blocks for the bound.

    warm_start : dual values of a similar contraction, or None
    """
    if isinstance(contraction, Infeasibility):
        return math.inf
    if contraction.n_blocks <= contraction.k:  # the engine counts
        return -math.inf
    with threadpool_limits(1):
        run = bounding_method("sdp").start(contraction, warm_start)
        for _ in range(n_steps):
            progress = run.advance(above, time_left)
            if progress.bound.value >= above or progress.stalled or time_left() <= 0:
                break
    return progress.bound.value
