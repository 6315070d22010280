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
        'Solver of integer programmes; "auto" is Gurobi for some of them if it is installed and '
        "licensed, otherwise HiGHS.",
    )
    fixing: bool = parameter(
        True, "Add as cannot-links the pairs that are apart in every better clustering."
    )
