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
    tried_steps : where clusters are larger, columns are generated for so many steps at most where
        the semidefinite bound has stalled, and not again in the rest of the tree if that has not
        ended. Wine with k = 5 and 340 constraints (68 blocks) ends after 100, and takes 9 seconds
        for 23; in vain they take 1 second on glass and 4 on accent (164 and 254 blocks, k = 6)
    """

    small: float = 8.5
    easy_steps: int = 250
    tried_steps: int = 120

    def __post_init__(self) -> None:
        if not self.small >= 0.0:
            raise ParameterError(f"small = {self.small}: expected a number >= 0")
        for name in ("easy_steps", "tried_steps"):
            if getattr(self, name) < 0:
                raise ParameterError(f"{name} = {getattr(self, name)}: expected an integer >= 0")
