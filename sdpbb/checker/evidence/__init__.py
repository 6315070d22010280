"""Evidence for the bounds of a certificate: a file for each kind, with its values and its bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..container import StoredArray
from .enumerated import Enumerated
from .kind import Evidence
from .lagrangian import Lagrangian
from .scatter import Scatter
from .semidefinite import Semidefinite

__all__ = [
    "KINDS",
    "Enumerated",
    "Evidence",
    "Lagrangian",
    "Scatter",
    "Semidefinite",
    "Source",
]

KINDS: tuple[type[Evidence], ...] = (Semidefinite, Lagrangian, Enumerated, Scatter)


@dataclass(frozen=True)
class Source:
    """Evidence for k clusters whose arrays are still in the file."""

    kind: type[Evidence]
    k: int
    values: Mapping[str, float | StoredArray]

    @property
    def rules_used(self) -> list[str]:
        """Names of the rules that the evidence rests on."""
        return self.kind.rules_used(self._shapes)

    @property
    def _arrays(self) -> dict[str, StoredArray]:
        return {name: value for name, value in self.values.items() if type(value) is StoredArray}

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: array.shape for name, array in self._arrays.items()}

    def load(self, m: int) -> Evidence:
        """Return the evidence, on m blocks.

        `Rejected`, before anything is taken from the file, if its arrays are of other shapes.
        """
        self.kind.check_shapes(self._shapes, m)
        loaded = {name: array.load() for name, array in self._arrays.items()}
        return self.kind.of_values({**self.values, **loaded}, self.k)
