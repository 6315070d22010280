"""Terms of the prices of soft pairs: inequalities that a clustering may violate at a price.

    soft cannot-link ij    Z_hh - Z_ih - Z_jh >= 0
    soft must-link ij      Z_jh - Z_ih >= 0

A certificate states no soft pairs yet, so that none of them is valid there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..fields import ArrayKey
from ..rejection import Rejected
from .family import CheckedCuts, Marks, Reals, TermSums


@dataclass(frozen=True, eq=False)
class _SoftTerms(CheckedCuts):
    """Terms of soft pairs.

    blocks : (number, 3), rows i, j, h
    """

    blocks: NDArray[np.int32]

    def check(self, k: int, weights: Reals, adjacency: Marks) -> None:
        if len(self.blocks):
            raise Rejected("a term of a soft pair, and the certificate states none")

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        if len(self.blocks):
            raise Rejected("a term of a soft pair, and the certificate states none")


@dataclass(frozen=True, eq=False)
class SoftCannotLinkTerms(_SoftTerms):
    """Terms of soft cannot-links."""

    KEYS: ClassVar = (ArrayKey("soft_cannot_links", ("<i4",), 3),)


@dataclass(frozen=True, eq=False)
class SoftMustLinkTerms(_SoftTerms):
    """Terms of soft must-links."""

    KEYS: ClassVar = (ArrayKey("soft_must_links", ("<i4",), 3),)
