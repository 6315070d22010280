"""Parameters of the decomposition bound. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.declaration import Parameters, parameter

# Factor of the least number of blocks where sizes or weights of clusters are limited, as subsets
# know of greatest sizes alone. 1,000 points in eight dimensions in clusters of 180 to 220: 12.0
# percent after 45 seconds, and 8.3 without subsets.
LIMITED = 2


@stored
@dataclass(frozen=True)
class DecompositionParameters(Parameters):
    """Decomposition bound: the sum of the bounds of subsets, small ones first."""

    least_blocks: int = parameter(
        1000,
        "Minimum blocks for starting with bounds of subsets automatically.",
        ge=2,
    )
    smallest: int = parameter(
        150,
        "Approximate blocks of the smallest subsets; more for many clusters.",
        reason="They give the first bound.",
        ge=2,
    )
    per_cluster: int = parameter(12, "Minimum blocks per cluster of the smallest subsets.", ge=1)
    largest: int = parameter(
        4000,
        "Approximate blocks of the largest subsets; fewer if memory is short.",
        reason="An iteration takes about a second at this size.",
        ge=2,
    )

    def is_large(self, n_blocks: int, has_limits: bool) -> bool:
        """Return whether runs of so many blocks begin with subsets by themselves.

        has_limits : whether sizes or weights of clusters are limited
        """
        return n_blocks >= self.least_blocks * (LIMITED if has_limits else 1)
