"""Effort of a search: the share of its limits that it may take, and a function that may end it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

AtStep = Callable[[], None]
"""Called between the steps of a search, which take a fraction of a second each.

An exception that it raises ends the search.
"""


def go_on() -> None:
    """Let a search go on: no time limit, no interrupt."""


@dataclass(frozen=True)
class Effort:
    """Effort of the searches for one bound.

    share : of the limits on nodes and clusters
    at_step : called between steps; what it raises ends the search
    """

    share: float = 1.0
    at_step: AtStep = go_on

    def of(self, limit: int) -> int:
        """Return the share of a limit."""
        return int(self.share * limit)


FULL = Effort()
"""All of the limits, without an end."""
