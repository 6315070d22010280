"""Rows to test with."""

from __future__ import annotations

from typing import Any

from sdpbb.questions.batch.outcome import Row
from sdpbb.questions.study import Failure
from tests.studies.misbehaving import INFEASIBLE, INTERRUPTED, LIMITED, RESULT

ASKED: dict[str, Any] = {
    "name": "a",
    "message": "",
    "data": "a.txt",
    "constraints": None,
    "bounding": "sdp",
    "gap_asked": 1e-4,
    "seed": 0,
    "time_limit": None,
    "node_limit": None,
    "memory_limit": None,
    "attempts": 1,
    "version": "0",
    "key": "0123",
}


def row(**changes: Any) -> Row:
    """A row that is proven optimal, with changes."""
    return Row.from_dict({**ASKED, **RESULT, "labels": None, **changes})


def infeasible(**changes: Any) -> Row:
    return row(**{**INFEASIBLE, **changes})


def limited(**changes: Any) -> Row:
    return row(**{**LIMITED, "labels": None, **changes})


def interrupted(**changes: Any) -> Row:
    return row(**{**INTERRUPTED, "labels": None, **changes})


def failed(status: Failure = Failure.BAD_INPUT, **changes: Any) -> Row:
    return Row.from_dict({**ASKED, "status": status, "message": "it is bad", **changes})
