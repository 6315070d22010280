"""Parameters of the search. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.declaration import Parameters, parameter


@stored
@dataclass(frozen=True)
class SearchParameters(Parameters):
    """Parameters of the search besides bounding."""

    milp_solver: IntegerSolver = parameter(
        "auto",
        "Solver of integer programmes; auto: Gurobi for some if licensed, otherwise HiGHS.",
    )
    fixing: bool = parameter(True, "Add cannot-links that every better clustering satisfies.")
