"""Parameters of the search. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.archive.stored import stored
from sdpbb.declaration import Parameters, parameter


@stored
@dataclass(frozen=True)
class SearchParameters(Parameters):
    """Parameters of the search besides bounding."""

    heuristic_iterations: tuple[int, ...] = parameter(
        (60, 160, 320),
        "Iterations of the bounding of every node at which upper bounds are looked for from the "
        "relaxation's solution, besides its end.",
    )
    fixing: bool = parameter(True, "Fix pairs that every better clustering links one way.")
