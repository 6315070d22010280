"""Evaluation of one job of a batch in a worker process."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from sdpbb.errors import InstanceWarning
from sdpbb.questions.batch.job import Job
from sdpbb.questions.study import Outcome, solved
from sdpbb.runtime.executors import worker
from sdpbb.runtime.executors.memory import within_free_memory

if TYPE_CHECKING:
    from sdpbb.search.result import Result

# Constraints of a conflict that a message names.
SHOWN = 6
# Fields of a result that are fields of a row.
MEASURED = (
    *("status", "termination", "objective", "lower_bound", "gap"),
    *("n_nodes", "n_blocks", "wall_seconds", "root_gap", "root_seconds"),
)


def evaluate(job: Job, certificate: str | None) -> Outcome:
    """Read and solve the instance of a job.

    Its time limit begins with a step of the worker, when the instance has been read; the worker's
    interrupt ends the run with what was found.

    Parameters
    ----------
    job : the instance and its parameters
    certificate : the file for the proof, or None

    Returns
    -------
    Fields of a `Row`, with "labels" as the content of their file or None, and "certificate" as
    whether there is one.
    """
    from sdpbb.problem.formats import read_instance

    with warnings.catch_warnings(record=True) as caught, within_free_memory():
        warnings.simplefilter("always")
        reading = job.reading.to_dict()
        instance = read_instance(job.data, job.k, job.constraints, **reading)
    worker.tell_step()
    outcome = solved(instance, job.parameters, certificate=certificate)
    result: Result = outcome.value
    messages = [outcome.message] if outcome.message else []
    messages += [str(w.message) for w in caught if issubclass(w.category, InstanceWarning)]
    if result.infeasibility is not None:
        messages.insert(0, _proof(result))
    messages += result.notes
    values = result.to_dict()
    fields: dict[str, Any] = {name: values[name] for name in MEASURED}
    fields |= {
        "n_points": instance.n_points,
        "n_features": instance.n_features,
        "k": instance.k,
        "n_must_link": len(instance.must_link),
        "n_cannot_link": len(instance.cannot_link),
        "labels": _labels(result),
        "message": " ".join("; ".join(messages).split()),
        "certificate": certificate is not None and not outcome.message,
    }
    return Outcome(fields)


def _proof(result: Result) -> str:
    """Return why there is no clustering, with conflicting constraints if some are known."""
    conflict = result.conflict
    if conflict is None:
        return str(result.infeasibility)
    shown = [f"{member.place} {member.text}" for member in conflict.members[:SHOWN]]
    if len(conflict.members) > SHOWN:
        shown.append(f"and {len(conflict.members) - SHOWN} more")
    return f"{conflict.heading}: {', '.join(shown)}"


def _labels(result: Result) -> bytes | None:
    """Return the content of the file of labels; None without a clustering."""
    from sdpbb.problem.formats import labels_file
    from sdpbb.search.result import row_ids

    if result.partition is None:
        return None
    labels = result.partition.labels
    return labels_file(labels, row_ids(result.origin, len(labels)), result.origin)
