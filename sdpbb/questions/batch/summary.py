"""Text summary of a batch."""

from __future__ import annotations

from sdpbb.questions.batch.outcome import BatchResult
from sdpbb.questions.batch.row import Row
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.rendering import plain_text
from sdpbb.runtime.values import percent_up, rounded_down
from sdpbb.runtime.version import installed_version


def summary(result: BatchResult) -> str:
    """Return the document of a batch as plain text, under a line with the version."""
    return f"sdpbb {installed_version()}\n\n{plain_text(result.document())}\n"


def short_line(row: Row) -> str:
    """Return the result of a job on one line."""
    if row.succeeded:
        return f"{shown_path(row.name)}: {_answer(row)}"
    return _failed(row) if row.termination is None else _stopped(row)


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
