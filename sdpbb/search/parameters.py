"""The numbers of the search. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass, field

from heuristics.parameters import MultiStartParameters
from sdpbb.archive.stored import stored
from sdpbb.domains import check_fields
from sdpbb.errors import ParameterError


@stored
@dataclass(frozen=True)
class HeuristicSchedule:
    """When upper bounds are looked for, and how hard.

    before : at the root before its bound, without which nothing could stop early
    during : from the relaxation's solution, at `iterations` of the bounding of every node and when
        it is left
    """

    before: MultiStartParameters = field(
        default_factory=lambda: MultiStartParameters(n_starts=5, n_relocations=10)
    )
    during: MultiStartParameters = field(
        default_factory=lambda: MultiStartParameters(n_starts=3, n_relocations=10)
    )
    iterations: tuple[int, ...] = (60, 160, 320)

    def __post_init__(self) -> None:
        check_fields(self)


@stored
@dataclass(frozen=True)
class BranchingParameters:
    """How the pair to branch on is chosen.

    n_candidates : the most undecided pair with 1 (PC-SOS-SDP, section 3.1); with more, so many
        pairs are candidates, and their children are bounded for a short while before one is chosen
        (strong branching). That makes trees smaller by up to a half, but a child's whole evaluation
        is so short that it takes longer: by 50 % on eight sets with trees
    probe_steps : how long, in evaluations of the bound
    """

    n_candidates: int = 1
    probe_steps: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
        if self.n_candidates < 1 or self.probe_steps < 1:
            raise ParameterError(f"branching parameters out of their domain: {self}")


STRONG_BRANCHING = BranchingParameters(n_candidates=10)


@stored
@dataclass(frozen=True)
class SearchParameters:
    """What the search does besides bounding.

    fixing : whether pairs are fixed that every better clustering links the same way
    """

    heuristics: HeuristicSchedule = field(default_factory=HeuristicSchedule)
    branching: BranchingParameters = field(default_factory=BranchingParameters)
    fixing: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
