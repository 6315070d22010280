"""The numbers of the bound that has both kinds. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.errors import ParameterError


@dataclass(frozen=True)
class HybridParameters:
    """How the two are combined.

    small : with at most so many blocks per cluster, columns are generated where the semidefinite
        bound has stalled
    """

    small: float = 8.5

    def __post_init__(self) -> None:
        if not self.small >= 0.0:
            raise ParameterError(f"small = {self.small}: expected a number >= 0")
