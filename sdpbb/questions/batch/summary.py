"""Text summary of a batch."""

from __future__ import annotations

from sdpbb.questions.batch.outcome import NODES_SHIFT, SECONDS_SHIFT, BatchResult, Means
from sdpbb.questions.batch.row import Row, RowStatus
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.values import percent_up, rounded_down
from sdpbb.runtime.version import installed_version

MEANINGS = {
    RowStatus.OPTIMAL: "proven optimal within the gap",
    RowStatus.INFEASIBLE: "proven that no clustering satisfies the constraints",
    RowStatus.FEASIBLE: "stopped with a clustering, not proven optimal",
    RowStatus.UNKNOWN: "stopped without a clustering",
    RowStatus.BAD_INPUT: "files or parameters are wrong",
    RowStatus.FAILED: "a solver or this package failed, or memory ran out",
    RowStatus.CRASHED: "its worker process crashed, twice",
    RowStatus.TIMED_OUT: "killed, as it did not stop after its time limit",
}


def summary(result: BatchResult) -> str:
    """Return counts by status, means, and what has no answer, over several lines."""
    lines = [
        f"sdpbb {installed_version()}: batch of {_instances(result.n_jobs)}, "
        f"{_duration(result.wall_seconds)}",
        "",
    ]
    lines += [
        f"{status.value:<12}{count:>8}  {MEANINGS[status]}"
        for status, count in result.counts.items()
    ]
    if result.n_missing:
        lines.append(f"{'not done':<12}{result.n_missing:>8}  --resume continues with them")
    lines += _means(result)
    lines += _listed("Stopped:", [_stopped(row) for row in result.stopped])
    lines += _listed("Failed:", [_failed(row) for row in result.failed])
    return "\n".join(lines) + "\n"


def short_line(row: Row) -> str:
    """Return the result of a job on one line."""
    if row.succeeded:
        return f"{shown_path(row.name)}: {_answer(row)}"
    return _failed(row) if row.termination is None else _stopped(row)


def _means(result: BatchResult) -> list[str]:
    lines = [
        f"{name:<28}{means.n_rows:>9}{means.seconds:>12.3f}{means.nodes:>10.2f}"
        for name, means in _lines_of_means(result)
    ]
    if not lines:
        return []
    heading = f"{'Shifted geometric means of':<28}{'instances':>9}{'seconds':>12}{'nodes':>10}"
    shifts = f"(shifts: {SECONDS_SHIFT:g} s, {NODES_SHIFT:g} nodes)"
    return ["", heading, *lines, shifts]


def _lines_of_means(result: BatchResult) -> list[tuple[str, Means]]:
    answers, runs = result.means_of_answers(), result.means_of_runs()
    lines = [("optimal or infeasible", answers)] if answers.n_rows else []
    if runs.n_rows > answers.n_rows:
        lines.append(("these and the stopped ones", runs))
    return lines


def _listed(heading: str, lines: list[str]) -> list[str]:
    return ["", heading, *(f"  {line}" for line in lines)] if lines else []


def _answer(row: Row) -> str:
    took = f"{_seconds(row)}, {row.n_nodes} node{'' if row.n_nodes == 1 else 's'}"
    note = f" ({shown_path(row.message)})" if row.message else ""
    if row.objective is None:
        return f"{row.status.value}{note}, {took}"
    return f"{row.status.value} {row.objective:.12g}, gap {percent_up(row.gap)}, {took}{note}"


def _stopped(row: Row) -> str:
    by = (row.termination or "").replace("_", " ")
    if row.objective is None:
        found = "without a clustering"
    else:
        found = f"sum of squares {row.objective:.12g}, gap {percent_up(row.gap)}"
    bound = "" if row.lower_bound is None else f", lower bound {rounded_down(row.lower_bound, 12)}"
    name = shown_path(row.name)
    return f"{name}: {row.status.value}, {by} after {_seconds(row)}, {found}{bound}"


def _failed(row: Row) -> str:
    tries = f" (tried {row.attempts} times)" if row.attempts > 1 else ""
    return f"{shown_path(row.name)}: {row.status.value}: {shown_path(row.message)}{tries}"


def _seconds(row: Row) -> str:
    return "0 s" if row.wall_seconds is None else f"{row.wall_seconds:.2f} s"


def _instances(n: int) -> str:
    return f"{n} instance{'' if n == 1 else 's'}"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s"
