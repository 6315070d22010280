"""Parameters of the decomposition bound. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.declaration import Parameters, parameter


@stored
@dataclass(frozen=True)
class DecompositionParameters(Parameters):
    """Decomposition bound: the sum of the bounds of subsets, small ones first."""

    least_blocks: int = parameter(
        1000,
        "Minimum blocks for starting with bounds of subsets automatically.",
        ge=2,
    )
    least_limited: int = parameter(
        2000,
        "The same where sizes or weights of clusters are limited.",
        reason="Subsets know of greatest sizes alone. 1,000 points in eight dimensions in clusters "
        "of 180 to 220: 12.0 percent after 45 seconds, and 8.3 without subsets.",
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
    accuracy: float = parameter(
        0.5,
        "Accuracy of the bound of a subset, as a share of the loss of the decomposition itself.",
        reason="Larger subsets, which lose less, come next.",
        gt=0,
        le=1,
    )
    largest_gap: float = parameter(5e-2, "Maximum relative gap of a subset.", gt=0, lt=1)
    least_gap: float = parameter(
        0.25,
        "Minimum relative gap of a subset, as a share of the gap of the run.",
        gt=0,
        le=1,
    )
    seconds_factor: float = parameter(
        4.0,
        "Stop bounding a subset once it takes this many times as long as others of its size; its "
        "bound counts.",
        gt=1,
        infinite=True,
    )
    max_pricing_slices: int = parameter(
        1,
        "Maximum slices of exact pricing for enumeration in a subset.",
        reason="Open subsets are bounded again as parts of larger ones.",
        ge=1,
    )

    def is_large(self, n_blocks: int, has_limits: bool) -> bool:
        """Return whether runs of so many blocks begin with subsets by themselves.

        has_limits : whether sizes or weights of clusters are limited
        """
        return n_blocks >= (self.least_limited if has_limits else self.least_blocks)
