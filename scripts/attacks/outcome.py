"""What came of one case."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What a case came to, if nothing was wrong with it."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    FEASIBLE = "feasible"
    UNKNOWN = "unknown"
    ACCEPTED = "accepted"
    """A file was read, a part of an output written."""
    REFUSED = "refused"
    """With an error of the package, on one line."""
    FOUND = "FOUND"


class Outcome(NamedTuple):
    """signature, text : of what was found: what cases of one cause have in common, and how to see
    it again"""

    kind: Kind
    signature: str = ""
    text: str = ""


class Found(Exception):
    """Something is wrong.

    signature : one line without numbers of the case, so that cases of one cause have the same
    text : lines that reproduce it
    """

    def __init__(self, signature: str, text: str = "") -> None:
        super().__init__(signature)
        self.signature = signature
        self.text = text


class TooSlow(BaseException):
    """The patience of a part has ended. No Exception, so that nothing in the package catches it."""
