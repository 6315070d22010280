"""Construction of the `Result` of a finished run."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from sdpbb.errors import BackendFailure
from sdpbb.problem import Infeasibility, InfeasibilityKind, Instance, Partition, SoftViolations
from sdpbb.problem.colouring.exact import Colourability
from sdpbb.run.parameters import SolverParameters
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
from sdpbb.search.tree import Search, SearchStatistics

if TYPE_CHECKING:
    from sdpbb.problem.statements import Conflict

# Seconds to look for the constraints that cannot hold together: as many as are left to the run
# within these two numbers.
EXPLANATION, LEAST_EXPLANATION = 5.0, 1.0


def infeasible(
    proof: Infeasibility,
    instance: Instance,
    parameters: SolverParameters,
    seconds: float,
    n_blocks: int = 0,
    statistics: SearchStatistics | None = None,
) -> Result:
    """Return the result of a run that has proven that there is no clustering.

    Raises
    ------
    BackendFailure
        If there is one, so that an integer programming solver was wrong, or if one fails.
    """
    rows = tuple(instance.origin.rows(proof.points))
    return _result(
        instance,
        parameters,
        seconds,
        n_blocks,
        statistics,
        status=SolutionStatus.INFEASIBLE,
        termination=Termination.PROVEN_INFEASIBLE,
        lower_bound=None,
        infeasibility=replace(proof, rows=rows),
        conflict=_conflict(proof, instance, parameters.time_limit - seconds),
    )


def _conflict(proof: Infeasibility, instance: Instance, seconds_left: float) -> Conflict | None:
    """Return constraints that cannot hold together, if they are found in a few seconds."""
    from sdpbb.run.explanation.explain import diagnose  # seldom needed

    found = diagnose(instance, min(EXPLANATION, max(LEAST_EXPLANATION, seconds_left)))
    if found.verdict is Colourability.YES:
        raise BackendFailure(f"{proof}: contradicted by a clustering that has been found")
    return found.conflict


def unknown(
    limit: Termination,
    lower: float,
    instance: Instance,
    parameters: SolverParameters,
    seconds: float,
    n_blocks: int,
    statistics: SearchStatistics | None = None,
    notes: tuple[str, ...] = (),
) -> Result:
    """Return the result of a run that a limit ended before any clustering was found.

    It was not known either whether there is one; lower is proven for all there may be.
    """
    return _result(
        instance,
        parameters,
        seconds,
        n_blocks,
        statistics,
        status=SolutionStatus.UNKNOWN,
        termination=limit,
        lower_bound=lower,
        notes=notes,
    )


def of_search(
    search: Search,
    limit: Termination | None,
    instance: Instance,
    parameters: SolverParameters,
    seconds: float,
    n_blocks: int,
    notes: tuple[str, ...] = (),
) -> Result:
    """Return the result of a search that ended, at a limit or (None) with nothing left to do.

    notes : on what was done otherwise than asked
    """
    tree, statistics = search.tree, search.statistics
    if tree.is_exhausted:
        proof = Infeasibility(InfeasibilityKind.EXHAUSTED, n_nodes=statistics.n_nodes)
        return infeasible(proof, instance, parameters, seconds, n_blocks, statistics)
    assert tree.is_closed or limit is not None
    if tree.labels is None:
        assert limit is not None  # nothing is closed without a clustering
        return unknown(
            limit, tree.lower, instance, parameters, seconds, n_blocks, statistics, notes
        )
    partition = Partition(tree.labels)
    if not partition.is_feasible(instance):
        raise AssertionError("the incumbent violates a constraint")
    objective = partition.cost(instance)
    lower = bound_below(tree.bound_of_nodes, objective)
    gap = relative_gap(lower, objective)
    closed = tree.is_closed and gap <= max(parameters.gap, PRECISION)
    limited = Termination.PRECISION if limit is None or tree.is_closed else limit
    return _result(
        instance,
        parameters,
        seconds,
        n_blocks,
        statistics,
        status=SolutionStatus.OPTIMAL if closed else SolutionStatus.FEASIBLE,
        termination=Termination.GAP_CLOSED if closed else limited,
        partition=partition,
        objective=objective,
        lower_bound=lower,
        gap=gap,
        soft=SoftViolations.of(partition, instance),
        notes=notes,
        centers=instance.origin.in_user_units(partition.means(instance.points, instance.weights)),
    )


def _result(
    instance: Instance,
    parameters: SolverParameters,
    seconds: float,
    n_blocks: int,
    statistics: SearchStatistics | None = None,
    **proven: Any,
) -> Result:
    """Return a result without a clustering, but for what is given."""
    counters = asdict(statistics or SearchStatistics())
    without_clustering = {"partition": None, "objective": None, "gap": None}
    return Result(
        statistics=Statistics(wall_seconds=seconds, n_blocks=n_blocks, **counters),
        parameters=parameters.to_dict(),
        version=installed_version(),
        k=instance.k,
        origin=instance.origin,
        **(without_clustering | proven),
    )
