"""The numbers of the search. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass, field

from heuristics.parameters import IPCKMeansParameters
from sdpbb.errors import ParameterError


@dataclass(frozen=True)
class HeuristicSchedule:
    """When upper bounds are looked for, and how hard.

    before : at the root before its bound, without which nothing could stop early
    during : from the relaxation's solution, at `iterations` of the bounding of every node and when
        it is left
    """

    before: IPCKMeansParameters = field(
        default_factory=lambda: IPCKMeansParameters(n_starts=5, n_relocations=10)
    )
    during: IPCKMeansParameters = field(
        default_factory=lambda: IPCKMeansParameters(n_starts=3, n_relocations=10)
    )
    iterations: tuple[int, ...] = (60, 160, 320)


@dataclass(frozen=True)
class BranchingParameters:
    """How the pair to branch on is chosen.

    n_candidates : pairs whose children are both bounded for a short while before one is chosen;
        with 1 it is the rule of PC-SOS-SDP, section 3.1, by itself
    probe_steps : how long, in evaluations of the bound
    """

    n_candidates: int = 10
    probe_steps: int = 1

    def __post_init__(self) -> None:
        if self.n_candidates < 1 or self.probe_steps < 1:
            raise ParameterError(f"branching parameters out of their domain: {self}")


@dataclass(frozen=True)
class SearchParameters:
    """What the search does besides bounding.

    fixing : whether pairs are fixed that every better clustering links the same way
    worth_bounding_again : a node is bounded again, before it is branched on, when this many pairs
        per block were fixed
    """

    heuristics: HeuristicSchedule = field(default_factory=HeuristicSchedule)
    branching: BranchingParameters = field(default_factory=BranchingParameters)
    fixing: bool = True
    worth_bounding_again: float = 0.25
