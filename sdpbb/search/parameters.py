"""Parameters of the search. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from heuristics.parameters import MultiStartParameters
from sdpbb.archive.stored import stored
from sdpbb.declaration import Parameters, parameter


@stored
@dataclass(frozen=True)
class HeuristicSchedule(Parameters):
    """Times and efforts of the search for upper bounds."""

    before: MultiStartParameters = parameter(
        lambda: MultiStartParameters(n_starts=5, n_relocations=10),
        "Search at the root before its bound.",
        reason="Without it nothing could stop early.",
    )
    during: MultiStartParameters = parameter(
        lambda: MultiStartParameters(n_starts=3, n_relocations=10),
        "Search from the relaxation's solution.",
    )
    iterations: tuple[int, ...] = parameter(
        (60, 160, 320),
        "Iterations of the bounding of every node at which the relaxation's solution is used, "
        "besides its end.",
    )


@stored
@dataclass(frozen=True)
class SearchParameters(Parameters):
    """The search besides bounding."""

    heuristics: HeuristicSchedule = parameter(
        HeuristicSchedule, "Times and efforts of the search for upper bounds."
    )
    fixing: bool = parameter(True, "Fix pairs that every better clustering links one way.")
