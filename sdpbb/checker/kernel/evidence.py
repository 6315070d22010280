"""Evidence for a lower bound: its kinds, the effort of searches, and the kind without values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .archive import Archive, Length
from .arithmetic import sum_down
from .blocks import Blocks
from .certificate import fields, number
from .geometry import Contracted

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

Written = tuple[list[Any], dict[str, NDArray[Any]]]
"""Evidence in a file: the list that a step has, and the arrays of the step."""


class Evidence(ABC):
    """Values that prove a lower bound on the cost of all clusterings of a node."""

    WORD: ClassVar[str]
    """The first of its list in a step."""
    PROOF: ClassVar[str]
    """The rule of docs/proof_rules.md that says what it proves."""
    STATES: ClassVar[tuple[str, ...]] = ()
    """Names of the numbers that follow the word."""

    @staticmethod
    def shapes(m: int) -> dict[str, tuple[tuple[str, ...], *tuple[Length, ...]]]:
        """Return the types and the shapes of its arrays about m blocks, by their names."""
        return {}

    @classmethod
    def read(cls, values: list[Any], arrays: Archive, m: int) -> Evidence:
        """Return the evidence of a step, about m blocks.

        values : what follows the word

        Raises
        ------
        Rejected
            If these are not what such evidence has. No array is read before its shape is checked.
        """
        stated = zip(cls.STATES, fields(values, *cls.STATES), strict=True)
        numbers = {name: number(value, name) for name, value in stated}
        taken = {name: arrays.take(name, *shape) for name, shape in cls.shapes(m).items()}
        return cls(**numbers, **taken)

    def written(self) -> Written:
        """Return the evidence as a step has it."""
        arrays = {name: getattr(self, name) for name in self.shapes(0)}
        return [self.WORD, *(getattr(self, name) for name in self.STATES)], arrays

    @property
    def rules_used(self) -> list[str]:
        """Names of the rules of docs/proof_rules.md that its bound rests on."""
        return [self.PROOF]

    @abstractmethod
    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        """Return a proven lower bound on the sum of squares of every clustering of the points.

        The clusterings are those of the state of a node, whose geometry is contracted.

        Parameters
        ----------
        effort : of searches

        Raises
        ------
        Rejected
            If the evidence holds no numbers, if what it states is not true, or if a search does
            not end within its limits. Arrays have the shapes that `read` demands.
        """


@dataclass(frozen=True)
class Scatter(Evidence):
    """Sum of squares inside the blocks, which every clustering that keeps them costs."""

    WORD: ClassVar = "scatter"
    PROOF: ClassVar = "scatter of blocks"

    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        return scatter_bound(contracted, blocks.adjacency)


def scatter_bound(contracted: Contracted, adjacency: NDArray[np.bool_]) -> float:
    """Return at most what every clustering costs that keeps blocks together, adjacent ones apart.

    It is the scatter inside the blocks, and what soft pairs cost in any case.
    """
    scatter = sum_down(contracted.scatter.tolist())
    return contracted.for_points(contracted.with_soft(scatter, adjacency))
