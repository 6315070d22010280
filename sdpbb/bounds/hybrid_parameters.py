"""The numbers of the bound that has both kinds. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.archive.stored import stored
from sdpbb.domains import check_fields, wrong


@stored
@dataclass(frozen=True)
class HybridParameters:
    """How the two are combined.

    small, high : with at most so many blocks per cluster, in at most so many effective dimensions
        of all blocks and of neighbours (inf for any), columns are generated to the end: where the
        semidefinite bound has stalled, or first where pricing looks easy besides
        (`CentreParameters`). Ratio of the semidefinite bound's seconds to those of column
        generation, 100 to 500 points, k = n / 8 to n / 4, median: 6.5 in 2 dimensions, 2.5 in 4,
        0.7 in 8 (docs/colgen_benchmark.md)
    easy_steps : after so many steps pricing was not easy, and the semidefinite bound goes on. The
        instances in 2 and 4 dimensions take 27 to 117
    tried_steps : elsewhere columns are generated for so many steps at most where the semidefinite
        bound has stalled, and not again in the rest of the tree if that has not ended; nor where
        exact pricing at its dual values has not (`EnumerationParameters`). Wine with k = 5 and 340
        constraints (68 blocks) ends after 100, and takes 8 seconds instead of 23
    """

    small: float = 8.5
    high: float = 5.0
    easy_steps: int = 150
    tried_steps: int = 120

    def __post_init__(self) -> None:
        check_fields(self, infinite={"small", "high"})
        for name in ("small", "high"):
            if getattr(self, name) < 0.0:
                raise wrong(name, getattr(self, name), "a number >= 0")
        for name in ("easy_steps", "tried_steps"):
            if getattr(self, name) < 0:
                raise wrong(name, getattr(self, name), "an integer >= 0")
