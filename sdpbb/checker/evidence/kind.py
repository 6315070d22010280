"""Interface of a kind of evidence."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..effort import FULL, Effort
from ..fields import ArrayKey, NumberKey
from ..geometry import Contracted
from ..rules import BlockRules

Shapes = Mapping[str, tuple[int, ...]]


class Evidence(ABC):
    """Values that prove a lower bound on the cost of all clusterings of a node.

    A subclass is a frozen dataclass. Its fields are the values that a file has under `KEYS`, unless
    it says otherwise.
    """

    KIND: ClassVar[str]
    KEYS: ClassVar[tuple[NumberKey | ArrayKey, ...]] = ()

    @classmethod
    def keys(cls, present: Collection[str]) -> tuple[NumberKey | ArrayKey, ...]:
        """Return the values of the evidence in a file with the keys `present`, in their order."""
        return cls.KEYS

    @classmethod
    @abstractmethod
    def check_shapes(cls, shapes: Shapes, m: int) -> None:
        """Raise `Rejected` unless arrays of these shapes fit m blocks and a moderate memory.

        None of them is taken from the file before.
        """

    @classmethod
    def of_values(cls, values: Mapping[str, Any], k: int) -> Evidence:
        """Return the evidence with these values, for k clusters."""
        return cls(**values)

    @classmethod
    @abstractmethod
    def rules_used(cls, shapes: Shapes) -> list[str]:
        """Return the names of the rules of docs/proof_rules.md that its bound rests on."""

    def values(self) -> dict[str, float | NDArray[Any]]:
        """Return the values of the evidence in a file, in their order."""
        return {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def bound(
        self,
        contracted: Contracted,
        k: int,
        adjacency: NDArray[np.bool_],
        rules: BlockRules = (),
        effort: Effort = FULL,
    ) -> float:
        """Return a proven lower bound on the sum of squares of every clustering of the points.

        The clusterings have exactly k clusters, keep the blocks together and adjacent ones apart,
        and their clusters keep the rules.

        Parameters
        ----------
        adjacency : (m, m) symmetric, the cannot-linked pairs of blocks
        rules : on clusters of blocks, besides
        effort : of searches

        Raises
        ------
        Rejected
            If the evidence is of the wrong shape or holds no numbers, if what it states is not
            true, or if a search does not end within its limits.
        """
