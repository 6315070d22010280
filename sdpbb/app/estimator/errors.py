"""Errors of the estimator: each is one of Python's own, too, as scikit-learn's callers expect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sdpbb.errors import InstanceError, ParameterError, SdpbbError
from sdpbb.run.report import stopped_by
from sdpbb.search.result import Result

# Constraints that the message on an infeasible instance names.
SHOWN_MEMBERS = 8


class InvalidInstance(InstanceError, ValueError):
    """An InstanceError of an estimator, where scikit-learn's callers expect a ValueError."""


class InvalidParameter(ParameterError, ValueError):
    """A ParameterError of an estimator, where scikit-learn's callers expect a ValueError."""


class NoClusteringFound(SdpbbError, RuntimeError):
    """A fit was stopped before there was any clustering, or a proof that there is none."""


@contextmanager
def as_value_errors() -> Iterator[None]:
    """Context manager: errors on instances and parameters are ValueErrors as well."""
    try:
        yield
    except InstanceError as error:
        raise InvalidInstance(str(error)) from None
    except ParameterError as error:
        raise InvalidParameter(str(error)) from None


def without_clustering(result: Result) -> InvalidInstance | NoClusteringFound:
    """Return the error of a fit whose result has no clustering."""
    if result.infeasibility is not None:
        return InvalidInstance(f"no clustering satisfies the constraints: {_proof(result)}")
    return NoClusteringFound(
        f"stopped by {stopped_by(result.termination)}; found neither a clustering nor a proof "
        "that none exists; allow more time or fewer constraints"
    )


def _proof(result: Result) -> str:
    """Return a conflict of constraints, or the points that the proof rests on, on one line."""
    conflict = result.conflict
    if conflict is None:
        return str(result.infeasibility)
    members = [f"{member.text} ({member.place})" for member in conflict.members[:SHOWN_MEMBERS]]
    more = len(conflict.members) - SHOWN_MEMBERS
    if more > 0:
        members.append(f"and {more} more")
    return f"{conflict.heading}: {', '.join(members)}"
