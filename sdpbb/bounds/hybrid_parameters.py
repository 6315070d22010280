"""The numbers of the bound that has both kinds. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.errors import ParameterError


@dataclass(frozen=True)
class HybridParameters:
    """How the two are combined.

    small : with at most so many blocks per cluster, columns are generated where the semidefinite
        bound has stalled
    easy_steps : where pricing looks easy, column generation comes first; after so many steps it did
        not turn out to be, and the semidefinite bound goes on. 100 to 500 points in the plane, and
        those in 4 and 8 dimensions that column generation is faster on, take 27 to 185 steps
    """

    small: float = 8.5
    easy_steps: int = 250

    def __post_init__(self) -> None:
        if not self.small >= 0.0:
            raise ParameterError(f"small = {self.small}: expected a number >= 0")
        if self.easy_steps < 0:
            raise ParameterError(f"easy_steps = {self.easy_steps}: expected an integer >= 0")
