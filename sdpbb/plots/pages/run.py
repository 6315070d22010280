"""Verdict of a run in sentences, for the page."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.problem import Instance
from sdpbb.run.report import stopped_by
from sdpbb.runtime.values import percent_up, rounded_down
from sdpbb.search.result import Result, SolutionStatus
from sdpbb.search.traces.trace import Trace

VERDICTS = {
    SolutionStatus.OPTIMAL: "Proven optimal",
    SolutionStatus.FEASIBLE: "Not proven optimal",
    SolutionStatus.INFEASIBLE: "Proven infeasible",
    SolutionStatus.UNKNOWN: "Nothing found, nothing ruled out",
}


@dataclass(frozen=True)
class ReportedRun:
    """Run that has ended, with its instance and its trace.

    trace : what the run did; None if nobody watched
    command : what was typed; "" for a run from Python
    """

    instance: Instance
    result: Result
    trace: Trace | None
    command: str


def verdict(result: Result) -> str:
    """Return the verdict in a few words."""
    return VERDICTS[result.status]


def explanation(run: ReportedRun) -> str:
    """Return one or two sentences: what the verdict means, and no more than has been proven."""
    result, is_constrained = run.result, run.instance.has_constraints
    gap = f"{gap_text(result)} of its {result.cost_name}"
    bound = _bound(run)
    match result.status:
        case SolutionStatus.OPTIMAL if is_constrained:
            return (
                "The clustering keeps every constraint, and none that does is better by more than "
                f"{gap}: {bound}."
            )
        case SolutionStatus.OPTIMAL:
            return f"No other clustering is better by more than {gap}: {bound}."
        case SolutionStatus.FEASIBLE:
            keeps = "The clustering keeps every constraint, but one" if is_constrained else "One"
            return (
                f"The run was stopped by {_stopped_by(result)}. {keeps} that is better, by at most "
                f"{gap}, may exist: {bound}."
            )
        case SolutionStatus.INFEASIBLE:
            return "No clustering keeps all of the constraints."
        case SolutionStatus.UNKNOWN:
            return (
                f"The run was stopped by {_stopped_by(result)} before it had a clustering, or a "
                f"proof that there is none. If there is one, {bound}."
            )


def _bound(run: ReportedRun) -> str:
    """Return what the lower bound says; "" without one."""
    result = run.result
    if result.lower_bound is None:
        return ""
    that = " that keeps the constraints" if run.instance.has_constraints else ""
    bound = rounded_down(result.lower_bound, 12)
    return f"no clustering{that} has a {result.cost_name} below {bound}"


def gap_text(result: Result) -> str:
    """Return the gap in per cent, rounded up: no more is said than is proven."""
    return percent_up(result.gap)


def _stopped_by(result: Result) -> str:
    return stopped_by(result.termination).rstrip(",")


def amount(number: int, thing: str) -> str:
    """Return "1 node", "2 nodes" or "1,000 nodes"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
