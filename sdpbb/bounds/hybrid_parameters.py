"""The numbers of the bound that has both kinds. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.errors import ParameterError


@dataclass(frozen=True)
class HybridParameters:
    """How the two are combined.

    small : with at most so many blocks per cluster, columns are generated: the semidefinite bound
        is then only begun, for their first prices
    first_iterations : of the semidefinite bound there
    """

    small: float = 8.0
    first_iterations: int = 60

    def __post_init__(self) -> None:
        if not self.small >= 0.0 or self.first_iterations < 1:
            raise ParameterError(f"hybrid parameters out of their domain: {self}")
