"""Parameters of an assignment step. Light: nothing is imported that compiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.declaration import Parameters, parameter

TABLE_BUDGET = 1_000_000
"""Entries of dynamic programming for one component, sum over its blocks of q^(|S|+1). At about
55 ns each this is 55 ms, which is what HiGHS takes for an easy component of that density."""

MAX_ROWS = 10_000
"""Rows of an integer programme. Of larger ones HiGHS finds nothing better than the local search;
and what it takes for their presolve, half a second for these, it looks at no clock."""

ROWS_PER_SECOND = 20_000
"""Rows presolved in about a second: larger programmes are not begun in the time left."""

SOLVER_HELP = (
    'Solver of integer programmes; "auto" is Gurobi if it is installed and licensed, otherwise '
    "HiGHS."
)


@dataclass(frozen=True)
class AssignmentParameters(Parameters):
    """Parameters of an assignment step."""

    solver: IntegerSolver = parameter("auto", SOLVER_HELP)
    table_budget: float = parameter(
        TABLE_BUDGET,
        "Maximum entries of dynamic programming for one component.",
        ge=0,
        infinite=True,
    )
    time_limit: float = parameter(
        math.inf,
        "Time limit of one assignment step by a search or an integer programme.",
        gt=0,
        infinite=True,
    )
    max_rows: int = parameter(
        MAX_ROWS,
        "Maximum rows of an integer programme. The local search takes larger components.",
        ge=0,
    )
