"""How an assignment step is solved. Light: nothing is imported that compiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sdpbb.errors import ParameterError

# Entries of dynamic programming for one component, sum over its blocks of q^(|S|+1). At about 55 ns
# each this is 55 ms, which is what HiGHS takes for an easy component of that density.
TABLE_BUDGET = 1_000_000
# Of larger programmes HiGHS finds nothing better than the local search; and what it takes for their
# presolve, half a second for these, it looks at no clock.
MAX_ROWS = 10_000
# So many rows are presolved in about a second: larger programmes are not begun in the time left.
ROWS_PER_SECOND = 20_000
SOLVERS = ("auto", "highs", "gurobi")


@dataclass(frozen=True)
class AssignmentParameters:
    """How an assignment step is solved.

    Parameters
    ----------
    solver : of integer programmes: "highs", "gurobi", or "auto" for Gurobi where it is installed
        and licensed and HiGHS elsewhere
    table_budget : entries of dynamic programming allowed to one component, >= 0
    time_limit : seconds of one assignment step for searches and integer programmes, > 0
    max_rows : of an integer programme, >= 0; larger components are left to the local search
    """

    solver: str = "auto"
    table_budget: float = TABLE_BUDGET
    time_limit: float = math.inf
    max_rows: int = MAX_ROWS

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise ParameterError(f"solver = {self.solver!r}: expected one of {', '.join(SOLVERS)}")
        if not self.table_budget >= 0:
            raise ParameterError(f"table_budget = {self.table_budget!r}: expected a number >= 0")
        if not self.time_limit > 0:
            raise ParameterError(f"time_limit = {self.time_limit!r}: expected a number > 0")
        if not self.max_rows >= 0:
            raise ParameterError(f"max_rows = {self.max_rows!r}: expected a number >= 0")
