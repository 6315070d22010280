"""Kinds of evidence for a lower bound, and the limit on the checker's searches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .arithmetic import sum_down
from .blocks import Blocks
from .certificate import Record
from .geometry import Contracted

AtStep = Callable[[], None]
"""Function called between the steps of a search, which take a fraction of a second each.

An exception that it raises ends the search.
"""


def no_limit() -> None:
    """Do nothing: no limit on time, no interrupt."""


@dataclass
class Steps:
    """Steps of one search, counted as it takes them.

    most : steps that it may take
    at_step : called between them; what it raises ends the search
    """

    most: int
    at_step: AtStep = no_limit
    taken: int = 0

    def take(self, number: int = 1) -> bool:
        """Count steps; return whether the search may take them."""
        self.at_step()
        self.taken += number
        return self.taken <= self.most


@dataclass(frozen=True)
class Effort:
    """Effort of the searches for one bound.

    share : of the limits on nodes and clusters
    at_step : as of `Steps`
    """

    share: float = 1.0
    at_step: AtStep = no_limit

    def steps(self, limit: int) -> Steps:
        """Return the steps of a search with the share of a limit."""
        return Steps(int(self.share * limit), self.at_step)


FULL = Effort()
"""Full limits on steps, no limit on time."""


class Evidence(Record):
    """Values that prove a lower bound on the cost of all clusterings of a node."""

    @property
    def rules_used(self) -> list[str]:
        """Names of the rules of docs/proof_rules.md that its bound rests on."""
        return [self.PROOF]

    @abstractmethod
    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        """Return a proven lower bound on the cost of every clustering of a node.

        Parameters
        ----------
        contracted, blocks : geometry and state of the node
        effort : of searches

        Raises
        ------
        Rejected
            If a value is not a number, a statement is false, or a search needs more steps. Arrays
            have the shapes that `read` demands.
        """


@dataclass(frozen=True)
class Scatter(Evidence):
    """Evidence without values: every clustering costs the sum of squares inside the blocks."""

    WORD: ClassVar = "scatter"
    PROOF: ClassVar = "scatter of blocks"

    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        return scatter_bound(contracted, blocks.adjacency)


def scatter_bound(contracted: Contracted, adjacency: NDArray[np.bool_]) -> float:
    """Return a lower bound on the cost of every clustering of the blocks.

    It is the scatter inside the blocks, and the constant of soft pairs (`soft`).

    adjacency : (m, m) cannot-linked pairs of blocks
    """
    scatter = sum_down(contracted.scatter.tolist())
    return contracted.for_points(contracted.with_soft(scatter, adjacency))
