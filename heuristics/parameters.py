"""Parameters of the heuristics. Light: nothing is imported that compiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.declaration import Parameters, parameter


@dataclass(frozen=True)
class MultiStartParameters(Parameters):
    """Search of IPC-k-means: starts from k-means++, swaps of centres, relocations of the best."""

    n_starts: int = parameter(10, "Number of sets of initial centres.", ge=1)
    n_relocations: int = parameter(
        50,
        "Restarts after these: each moves one centre of the best clustering to another place.",
        ge=0,
    )
    swap_effort: float = parameter(
        1.0,
        "The search over swaps of centres stops after this many times k min(4 k, 100) swaps in a "
        "row without improvement. 0: no search.",
        reason="There are a few dozen places for another centre near each.",
        ge=0,
        le=1000,
    )
    max_iterations: int = parameter(
        100,
        "Maximum assignment steps from one set of centres.",
        reason="A few are enough almost always.",
        ge=1,
    )
    local_search: bool = parameter(
        True, "Whether to improve clusterings by exchanges along Kempe chains."
    )
    assignment_time_limit: float = parameter(
        1.0,
        "Time limit for integer programmes in one run of the heuristic; never more than the time "
        "left.",
        reason="Only dense components of the cannot-link graph need integer programmes. Only "
        "there a run depends on the machine as well as on the seed.",
        gt=0,
        infinite=True,
    )


@dataclass(frozen=True)
class HeuristicSchedule(Parameters):
    """Efforts of the exact solver's search for upper bounds."""

    before: MultiStartParameters = parameter(
        lambda: MultiStartParameters(n_starts=5, n_relocations=4),
        "Search at the root before its bound.",
        reason="Without it a run cannot stop early.",
    )
    during: MultiStartParameters = parameter(
        lambda: MultiStartParameters(n_starts=3, n_relocations=4, swap_effort=0.3),
        "Search from the relaxation's solution.",
    )
    limited: MultiStartParameters = parameter(
        lambda: MultiStartParameters(n_starts=3, n_relocations=100),
        "Search at the root from the relaxation's solution if sizes or weights are limited; also "
        "before the bound if the root has many blocks. At most 2 k^2 restarts in a row without "
        "improvement.",
        reason="Limits that bind make many local optima. Roots that are proven at once do without.",
    )


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
