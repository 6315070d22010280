"""Soft pairs that a clustering violates, and the two parts of what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.instance import Instance
from sdpbb.problem.partition import Partition
from sdpbb.runtime.values import counted

Triple = tuple[int, int, float]


@dataclass(frozen=True)
class SoftViolations:
    """Soft pairs that a clustering violates, and the two parts of what it costs.

    Attributes
    ----------
    sum_of_squares, penalty : the parts of the cost; the second is the sum of the weights below
    must_link, cannot_link : the violated pairs (i, j, weight), by row numbers from 0
    n_must_link, n_cannot_link : all soft pairs of the instance
    """

    sum_of_squares: float
    penalty: float
    must_link: tuple[Triple, ...]
    cannot_link: tuple[Triple, ...]
    n_must_link: int
    n_cannot_link: int

    @classmethod
    def of(cls, partition: Partition, instance: Instance) -> SoftViolations | None:
        """Return those of a clustering; None where the instance has no soft pairs."""
        if not instance.has_soft_constraints:
            return None
        apart, together = partition.soft_violations(instance)
        penalty = partition.penalty(instance)
        return cls(
            partition.cost(instance.without_soft_pairs()),
            penalty,
            _triples(instance.soft_must_link, apart.tolist()),
            _triples(instance.soft_cannot_link, together.tolist()),
            len(instance.soft_must_link),
            len(instance.soft_cannot_link),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "sum_of_squares": self.sum_of_squares,
            "penalty": self.penalty,
            "violated_must_link": [list(triple) for triple in self.must_link],
            "violated_cannot_link": [list(triple) for triple in self.cannot_link],
            "n_must_link": self.n_must_link,
            "n_cannot_link": self.n_cannot_link,
        }

    def __str__(self) -> str:
        return (
            f"{len(self.must_link)} of {counted(self.n_must_link, 'soft must-link')}, "
            f"{len(self.cannot_link)} of {counted(self.n_cannot_link, 'soft cannot-link')}, "
            f"weight {self.penalty:.10g}"
        )


def _triples(soft: SoftPairs, positions: list[int]) -> tuple[Triple, ...]:
    pairs, weights = soft.pairs[positions].tolist(), soft.weights[positions].tolist()
    return tuple((i, j, weight) for (i, j), weight in zip(pairs, weights, strict=True))
