"""Ways to run `solve` on an instance, and what its result must say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st

import sdpbb
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.problem.checker_rules import foreign_constraints
from sdpbb.run.parameters import SearchParameters
from tests.constants import (
    ALL_COLUMNS,
    EASY,
    FEW_COLUMNS,
    FEW_PLACES,
    HARD,
    NO_ENUMERATION,
    NODES_PER_SLICE,
    TINY_SUBSETS,
    constants,
)
from tests.enumeration import Truth
from tests.trees import CHOICE, go_over_at_once

# Constants that send a node to other methods: to branching, to other stages, to short slices.
STEPS: Mapping[str, Mapping[str, Any]] = {
    "as they are": {},
    "branching": {**NO_ENUMERATION, **HARD, **ALL_COLUMNS},
    "columns": {**EASY, **ALL_COLUMNS},
    "no columns": {**HARD, **FEW_COLUMNS},
    "short slices": {NODES_PER_SLICE: 5},
    "no stars": {"bounds.sdp.cuts.stars.PER_BLOCK": 0},
    "places": FEW_PLACES,
    "one round": {"bounds.sdp.bounding.MAX_ROUNDS": 1},
}


class Way(NamedTuple):
    """How an instance is solved.

    hasty : so few iterations that many nodes branch
    steps : a key of `STEPS`
    pauses : whether the run is abandoned after each node and resumed from its checkpoint
    certified : whether it leaves a certificate
    solver : of semidefinite relaxations
    fixing : whether pairs are fixed
    workers : processes; if there are two, they do all of the work
    """

    bounding: str = "hybrid"
    gap: float = 1e-6
    hasty: bool = False
    steps: str = "as they are"
    pauses: bool = False
    certified: bool = False
    solver: str = "admm"
    fixing: bool = True
    workers: int = 1

    def solve(self, instance: sdpbb.Instance, folder: Any, **more: Any) -> sdpbb.Result:
        """Solve the instance; the checkpoint and the certificate are in the folder.

        more : parameters of the run
        """
        parameters = sdpbb.SolverParameters(
            bounding=self.bounding,
            gap=self.gap,
            sdp=SdpParameters(solver=self.solver, **{"max_iterations": 20} if self.hasty else {}),
            decomposition=TINY_SUBSETS,
            search=SearchParameters(fixing=self.fixing),
            certify=self.certified,
            workers=self.workers,
            **{"node_limit": 1 if self.pauses else None} | more,
        )
        proof = folder / "proof" if self.certified else None
        checkpoint = folder / "run" if self.pauses else None
        others = {CHOICE.removeprefix("sdpbb."): go_over_at_once} if self.workers > 1 else {}
        with constants({**STEPS[self.steps], **others}):
            result = sdpbb.solve(instance, parameters, checkpoint=checkpoint, certificate=proof)
            while self.pauses and result.termination is sdpbb.Termination.NODE_LIMIT:
                assert_true(result, Truth(instance))
                limit = result.statistics.n_nodes + 1
                result = sdpbb.resume(checkpoint, node_limit=limit, certificate=proof)
        return result

    def refusal(self, instance: sdpbb.Instance) -> str | None:
        """What the message says if the instance cannot be solved in this way."""
        if self.bounding == "sdp" and instance.has_constraints_beyond_sizes:
            return "expected 'colgen', 'hybrid' or 'decomposition'"
        if foreign_constraints(instance.cluster_constraints):
            if self.pauses:
                return r"hold a constraint of your own class \(ForbiddenSets\)$"
            if self.certified:
                return "is a constraint of your own"
        return None


def ways(**fixed: Any) -> st.SearchStrategy[Way]:
    """All ways of one process, but for the fields that are given."""
    fields: dict[str, st.SearchStrategy[Any]] = {
        "bounding": st.sampled_from(["hybrid", "sdp", "colgen", "decomposition"]),
        "gap": st.sampled_from([1e-6, 1e-9]),
        "hasty": st.booleans(),
        "steps": st.sampled_from(list(STEPS)),
        "pauses": st.booleans(),
        "certified": st.booleans(),
        "solver": st.sampled_from(["admm", "admm", "admm", "clarabel", "scs"]),
        "fixing": st.booleans(),
        "workers": st.just(1),
    }
    return st.builds(Way, **fields | {name: st.just(value) for name, value in fixed.items()})


def assert_true(result: sdpbb.Result, truth: Truth) -> None:
    """What any result says must be true, wherever the run ended."""
    if result.status is sdpbb.SolutionStatus.INFEASIBLE:
        assert not truth.is_feasible
        assert (result.partition, result.objective, result.gap) == (None, None, None)
        assert result.lower_bound is None
        assert result.infeasibility is not None
        return
    if result.partition is not None:
        labels = result.partition.labels
        assert truth.has(labels)
        assert result.objective == pytest.approx(truth.cost_of(labels), rel=1e-9, abs=0.0)
    if truth.optimum is not None:
        assert result.lower_bound <= truth.optimum * (1.0 + 1e-12)


def assert_proven(result: sdpbb.Result, truth: Truth, gap: float) -> None:
    """The result of a run without limits: the optimum, or that there is no clustering."""
    assert_true(result, truth)
    if not truth.is_feasible:
        assert result.status is sdpbb.SolutionStatus.INFEASIBLE
        return
    assert result.status is sdpbb.SolutionStatus.OPTIMAL
    assert result.termination is sdpbb.Termination.GAP_CLOSED
    assert 0.0 <= result.gap <= gap
    assert result.objective <= truth.optimum * (1.0 + gap) * (1.0 + 1e-9)
