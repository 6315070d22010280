"""The numbers of the search. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass, field

from heuristics.parameters import IPCKMeansParameters


@dataclass(frozen=True)
class HeuristicSchedule:
    """When upper bounds are looked for, and how hard.

    before : at the root before its bound, without which nothing could stop early
    during : from the relaxation's solution, at `iterations` of the bounding of every node and when
        it is left
    """

    before: IPCKMeansParameters = field(
        default_factory=lambda: IPCKMeansParameters(n_starts=5, n_relocations=10)
    )
    during: IPCKMeansParameters = field(
        default_factory=lambda: IPCKMeansParameters(n_starts=3, n_relocations=10)
    )
    iterations: tuple[int, ...] = (60, 160, 320)
