"""Efforts of the heuristics. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

SOLVER_HELP = (
    'Solver of integer programmes; "auto" is Gurobi if it is installed and licensed, otherwise '
    "HiGHS."
)


@dataclass(frozen=True)
class MultiStartParameters:
    """Efforts of a multi-start: starts, swaps of centres, relocations of the best clustering.

    Attributes
    ----------
    n_starts : sets of initial centres, >= 0. 0: start from the known clustering alone
    n_relocations : restarts after these, >= 0: each moves one centre of the best clustering
    swap_effort : the search over swaps of centres stops after this many times k min(4 k, 100) swaps
        in a row without improvement, as each centre has a few dozen places near it. 0: no search
    local_search : whether exchanges along Kempe chains improve clusterings
    assignment_time_limit : seconds of integer programmes in one run, never more than the time left.
        Dense components of the cannot-link graph need them, and limits with cannot-links. Only then
        does a run depend on the machine as well as on the seed
    """

    n_starts: int = 10
    n_relocations: int = 50
    swap_effort: float = 1.0
    local_search: bool = True
    assignment_time_limit: float = 1.0


@dataclass(frozen=True)
class HeuristicSchedule:
    """Efforts of the exact solver's search for upper bounds.

    Attributes
    ----------
    before : at the root before its bound
    during : from the relaxation's solution
    limited : at the root from the relaxation's solution if sizes or weights are limited; also
        before the bound if the root has many blocks. At most 2 k^2 restarts in a row without
        improvement. Active limits make many local optima
    """

    before: MultiStartParameters = MultiStartParameters(n_starts=5, n_relocations=4)
    during: MultiStartParameters = MultiStartParameters(3, n_relocations=4, swap_effort=0.3)
    limited: MultiStartParameters = MultiStartParameters(n_starts=3, n_relocations=100)
