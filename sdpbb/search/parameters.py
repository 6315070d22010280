"""The numbers of the search. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass, field

from heuristics.parameters import MultiStartParameters
from sdpbb.archive.stored import stored
from sdpbb.domains import check_fields


@stored
@dataclass(frozen=True)
class HeuristicSchedule:
    """When upper bounds are looked for, and how hard.

    before : at the root before its bound, without which nothing could stop early
    during : from the relaxation's solution, at `iterations` of the bounding of every node and when
        it is left
    """

    before: MultiStartParameters = field(
        default_factory=lambda: MultiStartParameters(n_starts=5, n_relocations=10)
    )
    during: MultiStartParameters = field(
        default_factory=lambda: MultiStartParameters(n_starts=3, n_relocations=10)
    )
    iterations: tuple[int, ...] = (60, 160, 320)

    def __post_init__(self) -> None:
        check_fields(self)


@stored
@dataclass(frozen=True)
class SearchParameters:
    """What the search does besides bounding.

    fixing : whether pairs are fixed that every better clustering links the same way
    """

    heuristics: HeuristicSchedule = field(default_factory=HeuristicSchedule)
    fixing: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
