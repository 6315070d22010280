"""Construction of the `Result` of a finished run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sdpbb.errors import BackendFailure
from sdpbb.problem import Infeasibility, InfeasibilityKind, Instance, Partition, SoftViolations
from sdpbb.run.checkpoint import RunState
from sdpbb.runtime.version import installed_version
from sdpbb.search.result import (
    PRECISION,
    Result,
    SolutionStatus,
    Statistics,
    Termination,
    bound_below,
    relative_gap,
)
from sdpbb.search.tree import Tree

if TYPE_CHECKING:
    from sdpbb.problem.statements import Conflict

# Seconds to look for the constraints that are infeasible together: as many as remain to the run
# within these two numbers.
EXPLANATION, LEAST_EXPLANATION = 5.0, 1.0


def of_run(
    state: RunState,
    limit: Termination | None,
    seconds: float,
    n_blocks: int,
    notes: tuple[str, ...] = (),
) -> Result:
    """Return the result of a run that ended at a limit, or (None) with nothing left to do.

    seconds : of the run
    notes : on deviations from the request

    Raises
    ------
    BackendFailure
        If an integer programming solver was wrong, or fails: a clustering contradicts the proof
        that there is none.
    """
    search, proof = state.search, state.infeasibility
    counted = Statistics() if search is None else search.statistics
    common: dict[str, Any] = {
        "statistics": replace(counted, wall_seconds=seconds, n_blocks=n_blocks),
        "parameters": state.parameters.to_dict(),
        "version": installed_version(),
        "k": state.instance.k,
        "origin": state.instance.origin,
    }
    if search is not None and search.tree.is_exhausted:
        proof = Infeasibility(InfeasibilityKind.EXHAUSTED, n_nodes=counted.n_nodes)
    if proof is not None:
        seconds_left = state.parameters.time_limit - seconds
        return Result(**_infeasible(proof, state.instance, seconds_left), **common)
    if search is None or search.tree.labels is None:
        assert limit is not None  # nothing is closed without a clustering
        lower = 0.0 if search is None else search.tree.lower
        unknown = SolutionStatus.UNKNOWN
        return Result(unknown, limit, None, None, lower, None, notes=notes, **common)
    return Result(**_found(search.tree, limit, state), notes=notes, **common)


def _infeasible(proof: Infeasibility, instance: Instance, seconds_left: float) -> dict[str, Any]:
    """Return what is proven if there is no clustering, with conflicting constraints if found."""
    return {
        "status": SolutionStatus.INFEASIBLE,
        "termination": Termination.PROVEN_INFEASIBLE,
        **dict.fromkeys(("partition", "objective", "gap", "lower_bound")),
        "infeasibility": replace(proof, rows=tuple(instance.origin.rows(proof.points))),
        "conflict": _conflict(proof, instance, seconds_left),
    }


def _conflict(proof: Infeasibility, instance: Instance, seconds_left: float) -> Conflict | None:
    """Return constraints that are infeasible together, if they are found in a few seconds."""
    from sdpbb.run.explanation import diagnose  # seldom needed

    found = diagnose(instance, min(EXPLANATION, max(LEAST_EXPLANATION, seconds_left)))
    if found.is_feasible:
        raise BackendFailure(f"{proof}: contradicted by a clustering that has been found")
    return found.conflict


def _found(tree: Tree, limit: Termination | None, state: RunState) -> dict[str, Any]:
    """Return what is proven of the incumbent of a search."""
    assert tree.is_closed or limit is not None
    assert tree.labels is not None
    instance, partition = state.instance, Partition(tree.labels)
    if not partition.is_feasible(instance):
        raise AssertionError("the incumbent violates a constraint")
    objective = partition.cost(instance)
    lower = bound_below(tree.bound_of_nodes, objective)
    gap = relative_gap(lower, objective)
    closed = tree.is_closed and gap <= max(state.parameters.gap, PRECISION)
    limited = Termination.PRECISION if limit is None or tree.is_closed else limit
    means = partition.means(instance.points, instance.weights)
    return {
        "status": SolutionStatus.OPTIMAL if closed else SolutionStatus.FEASIBLE,
        "termination": Termination.GAP_CLOSED if closed else limited,
        "partition": partition,
        "objective": objective,
        "lower_bound": lower,
        "gap": gap,
        "soft": SoftViolations.of(partition, instance),
        "centers": instance.origin.in_user_units(means),
    }
