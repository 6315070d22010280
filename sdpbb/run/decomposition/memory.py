"""Memory of the subsets of a level: of their bounding, and of the evidence of a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sdpbb.bounds.bound import matrices_mebibytes
from sdpbb.bounds.method import BoundingMethod
from sdpbb.errors import ParameterError
from sdpbb.problem import Infeasibility, Instance, contract

# MiB that the evidence of a certificate may take, of the 8192 that the checker allows, and its part
# of the memory: a file is compressed in memory.
LARGEST_FILE, EVIDENCE = 7000.0, 0.4
# Matrices over the blocks of a subset that its bounding takes beside those of a root: its state has
# two, which are sent to and fro between slices, and are copied by both processes.
COPIES = 14
# Subsets at the same time where memory does not count.
UNLIMITED = 10**6


@dataclass(frozen=True)
class SubsetMemory:
    """Memory for subsets.

    n_blocks : of all subsets together
    free_mebibytes : for all subsets that are bounded at the same time
    is_certified : whether the evidence of all subsets is kept
    """

    n_blocks: int
    free_mebibytes: float
    is_certified: bool

    def check_certificate(self, most: int) -> None:
        """Check that a certificate holds the evidence of subsets of so many blocks at most.

        Raises
        ------
        ParameterError
            If it does not.
        """
        size = self._evidence_mebibytes(most)
        if self.is_certified and size > LARGEST_FILE:
            raise ParameterError(
                f"certificate = ...: not possible, as the proof takes {size:,.0f} MiB, and a "
                f"certificate holds {LARGEST_FILE:,.0f}"
            )

    def holds_evidence(self, most: int) -> bool:
        """Return whether the evidence of subsets of so many blocks at most fits, if it is kept."""
        largest = min(LARGEST_FILE, EVIDENCE * self.free_mebibytes)
        return not self.is_certified or self._evidence_mebibytes(most) <= largest

    def _evidence_mebibytes(self, most: int) -> float:
        """Return the size of the evidence: a triangle of single-precision numbers for each."""
        return 2.0 * self.n_blocks * most / 2**20

    def most_tasks(self, bounding: BoundingMethod[Any], largest: Instance) -> int:
        """Return how many subsets can be bounded at the same time.

        largest : instance of the largest subset
        """
        contraction = contract(largest)
        if isinstance(contraction, Infeasibility):
            return UNLIMITED
        copies = matrices_mebibytes(COPIES, contraction.n_blocks)
        return int(self.free_mebibytes / (bounding.mebibytes(contraction) + copies))
