"""Parameters of the heuristics. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.archive.stored import stored
from sdpbb.declaration import Parameters, parameter


@stored
@dataclass(frozen=True)
class MultiStartParameters(Parameters):
    """Search of IPC-k-means: starts from k-means++, swaps of centres, relocations of the best."""

    n_starts: int = parameter(10, "Number of sets of initial centres.", ge=1)
    n_relocations: int = parameter(
        50,
        "After these, how often one of the best clustering's centres is put elsewhere, to begin "
        "again from there.",
        ge=0,
    )
    swap_effort: float = parameter(
        1.0,
        "The search over swaps of centres ends when this many times k min(4 k, 100) of them, "
        "one after the other, have not improved; that from each start sooner. 0 for no search.",
        reason="Near each centre there are some dozen places for another one.",
        ge=0,
        le=1000,
    )
    max_iterations: int = parameter(
        100,
        "Assignment steps from one set of centres, at most.",
        reason="A few suffice almost always.",
        ge=1,
    )
    local_search: bool = parameter(
        True, "Whether clusterings are improved by exchanges along Kempe chains."
    )
    assignment_time_limit: float = parameter(
        1.0,
        "Seconds of one run for integer programmes in the assignments; less where less is left of "
        "the run.",
        reason="Only components of the cannot-link graph that are too dense for dynamic "
        "programming and for a short branch and bound need them, and only on these may a run "
        "depend on the machine as well as on the seed.",
        gt=0,
        infinite=True,
    )


@stored
@dataclass(frozen=True)
class HeuristicSchedule(Parameters):
    """Efforts of the exact solver's search for upper bounds."""

    before: MultiStartParameters = parameter(
        lambda: MultiStartParameters(n_starts=5, n_relocations=4),
        "Search at the root before its bound.",
        reason="Without it nothing could stop early.",
    )
    during: MultiStartParameters = parameter(
        lambda: MultiStartParameters(n_starts=3, n_relocations=4, swap_effort=0.3),
        "Search from the relaxation's solution.",
    )
