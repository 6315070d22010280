"""The parameters of a run, composed of those of its components."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import ParameterError
from sdpbb.search.parameters import HeuristicSchedule


@dataclass(frozen=True)
class SolverParameters:
    """What `sdpbb.solve` is asked for.

    Parameters
    ----------
    gap : stop when (upper - lower) / upper is at most this, >= 0. Differences below the rounding of
        double precision, relative to the total sum of squares, cannot be resolved whatever the gap
    time_limit : seconds, > 0
    node_limit : nodes whose bound is computed, >= 1; None for no limit
    seed : of all random choices, >= 0
    sdp, heuristics : parameters of the components

    Raises
    ------
    ParameterError
    """

    gap: float = 1e-4
    time_limit: float = math.inf
    node_limit: int | None = None
    seed: int = 0
    sdp: SdpParameters = field(default_factory=SdpParameters)
    heuristics: HeuristicSchedule = field(default_factory=HeuristicSchedule)

    def __post_init__(self) -> None:
        if not 0.0 <= self.gap < 1.0:
            raise ParameterError(f"gap = {self.gap}: expected a number in [0, 1)")
        if not self.time_limit > 0.0:
            raise ParameterError(f"time limit = {self.time_limit}: expected seconds > 0")
        if self.node_limit is not None and self.node_limit < 1:
            raise ParameterError(f"node limit = {self.node_limit}: expected at least 1")
        if self.seed < 0:
            raise ParameterError(f"seed = {self.seed}: expected an integer >= 0")

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values."""
        return asdict(self)
