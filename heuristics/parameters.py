"""How the heuristics search. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.archive.stored import stored
from sdpbb.domains import check_fields, wrong


@stored
@dataclass(frozen=True)
class MultiStartParameters:
    """How IPC-k-means searches.

    Parameters
    ----------
    n_starts : number of sets of initial centres, >= 1
    n_relocations : after these, how often the best clustering has one of its centres put elsewhere
        to begin again from there, >= 0
    max_iterations : assignment steps from one set of centres, >= 1; a few suffice almost always
    local_search : whether the clusterings are improved by exchanges along Kempe chains
    assignment_time_limit : seconds of one run for integer programmes in the assignments, > 0, inf
        for no limit; the time left until the run's end where that is less. Only components of the
        cannot-link graph that are too dense for dynamic programming and for a short branch and
        bound need them, and only on these may a run depend on the machine as well as on the seed.
    """

    n_starts: int = 10
    n_relocations: int = 50
    max_iterations: int = 100
    local_search: bool = True
    assignment_time_limit: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self, infinite={"assignment_time_limit"})
        for name, least in {"n_starts": 1, "n_relocations": 0, "max_iterations": 1}.items():
            value = getattr(self, name)
            if value < least:
                raise wrong(name, value, f"an integer of at least {least}")
        if not self.assignment_time_limit > 0:
            raise wrong("assignment_time_limit", self.assignment_time_limit, "a number > 0")
