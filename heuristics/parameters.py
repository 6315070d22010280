"""Efforts of the heuristics. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

SOLVER_HELP = (
    'Solver of integer programmes; "auto" is Gurobi if it is installed and licensed, otherwise '
    "HiGHS."
)


@dataclass(frozen=True)
class MultiStartParameters:
    """Search of IPC-k-means: starts from k-means++, swaps of centres, relocations of the best.

    Attributes
    ----------
    n_starts : sets of initial centres, >= 1
    n_relocations : restarts after these, >= 0: each moves one centre of the best clustering
    swap_effort : the search over swaps of centres stops after this many times k min(4 k, 100) swaps
        in a row without improvement: there are a few dozen places for another centre near each. 0:
        no search
    local_search : whether clusterings are improved by exchanges along Kempe chains
    assignment_time_limit : seconds of integer programmes in one run, never more than the time left.
        Only dense components of the cannot-link graph need them, and only there a run depends on
        the machine as well as on the seed
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
    before : at the root before its bound; without it a run cannot stop early
    during : from the relaxation's solution
    limited : at the root from the relaxation's solution if sizes or weights are limited; also
        before the bound if the root has many blocks. At most 2 k^2 restarts in a row without
        improvement. Limits that bind make many local optima; roots that are proven at once do
        without
    """

    before: MultiStartParameters = MultiStartParameters(n_starts=5, n_relocations=4)
    during: MultiStartParameters = MultiStartParameters(3, n_relocations=4, swap_effort=0.3)
    limited: MultiStartParameters = MultiStartParameters(n_starts=3, n_relocations=100)
