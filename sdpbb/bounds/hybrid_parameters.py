"""The numbers of the bound that has both kinds. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.errors import ParameterError


@dataclass(frozen=True)
class HybridParameters:
    """How the two are combined.

    small : with at most so many blocks per cluster, columns are generated where the semidefinite
        bound has stalled
    low : in at most so many effective dimensions, they are generated there in its place: pricing
        is then faster than the relaxation (planar data of 100 to 500 points)
    """

    small: float = 8.5
    low: float = 3.0

    def __post_init__(self) -> None:
        if not (self.small >= 0.0 and self.low >= 0.0):
            raise ParameterError(f"hybrid parameters out of their domain: {self}")
