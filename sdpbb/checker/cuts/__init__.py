"""Valid inequalities of a certificate, a file for each family.

Their matrices are computed from the blocks that they are made of, so that they are valid by
construction. A family of the engine (`sdpbb.bounds.sdp.cuts`) has its twin here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import sum_down
from ..fields import ArrayKey
from ..rejection import Rejected
from ..soft import SoftPrices
from .capacities import PointCapacities, WeightCapacities
from .capacity_cliques import PointCapacityCliques, WeightCapacityCliques
from .cliques import Cliques
from .complements import Complements
from .family import CheckedCuts, ClusterLimits, Marks, Reals, TermSums
from .listed_cliques import LargestCliques, SmallestCliques
from .pentagons import Pentagons
from .point_rows import LeastPointRows, MostPointRows
from .size_pairs import SizePairs
from .sizes import LeastPoints, ListedSizes, MostPoints
from .soft_pairs import SoftCannotLinkTerms, SoftMustLinkTerms
from .stars import Stars

FAMILIES: tuple[type[CheckedCuts], ...] = (
    Stars,
    Cliques,
    Complements,
    Pentagons,
    SoftCannotLinkTerms,
    SoftMustLinkTerms,
    MostPoints,
    LeastPoints,
    ListedSizes,
    MostPointRows,
    LeastPointRows,
    SizePairs,
    LargestCliques,
    SmallestCliques,
    PointCapacities,
    WeightCapacities,
    PointCapacityCliques,
    WeightCapacityCliques,
)
"""The families, in the order of their multipliers. New ones are added at the end."""

# Pairs of blocks in all stars and cliques, at most: their products take seconds.
_PRODUCTS = 2**27
# The arrays of all cuts of m blocks have min(64 (m^2 + 100,000), 2^24) entries together, at most.
_ENTRIES_PER_PAIR, _MAX_ENTRIES = 64, 2**24


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts of a node: one entry for each of `FAMILIES`, in their order."""

    families: tuple[CheckedCuts, ...]

    @classmethod
    def of(cls, k: int, *families: CheckedCuts) -> Cuts:
        """Return these families, and no cuts of the others."""
        given = {type(family): family for family in families}
        return cls(tuple(given[kind] if kind in given else kind.none(k) for kind in FAMILIES))

    @classmethod
    def of_arrays(cls, k: int, arrays: Mapping[str, NDArray[Any]]) -> Cuts:
        """Return the cuts whose arrays have the names of `KEYS`.

        Families without any have no cuts.
        """
        found = [
            kind(*(arrays[key.name] for key in kind.KEYS))
            for kind in FAMILIES
            if kind.KEYS[0].name in arrays
        ]
        return cls.of(k, *found)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays by their names, in the order of a file.

        Those of optional families are among them if they have cuts.
        """
        return {
            key.name: array
            for family in self.families
            if len(family) or not family.IS_OPTIONAL
            for key, array in zip(family.KEYS, family.arrays, strict=True)
        }

    def __len__(self) -> int:
        return sum(map(len, self.families))

    def check(
        self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None = None
    ) -> None:
        """Raise `Rejected` unless every cut is a valid inequality.

        It has to be valid for k clusters of blocks of these weights (m,) with these cannot-links
        (m, m), and limits on the sizes or weights of clusters if there are any.
        """
        arrays = [array for family in self.families for array in family.arrays]
        require_moderate(len(weights), [array.shape for array in arrays])
        for family in self.families:
            family.check(k, weights, adjacency, limits)
        if sum(family.n_products for family in self.families) > _PRODUCTS:
            raise Rejected(f"the cuts have more than {_PRODUCTS} pairs of blocks")

    def capped(self, t: Reals, weights: Reals, soft: SoftPrices | None) -> Reals:
        """Return multipliers, those of terms of soft pairs at most what these prices allow."""
        parts = []
        for family, part in self._parts(t):
            caps = family.caps(soft, weights)
            parts.append(part if caps is None else np.minimum(part, caps))
        return np.concatenate(parts)

    def right_hand_side(
        self, t: Reals, weights: Reals, k: int, limits: ClusterLimits | None = None
    ) -> float:
        """Return at most the sum of multipliers times right-hand sides."""
        sides = (
            family.right_hand_sides(part, weights, k)
            if limits is None
            else family.sides_within(part, weights, k, limits)
            for family, part in self._parts(t)
        )
        return sum_down(itertools.chain.from_iterable(sides))

    def sums(
        self, t: Reals, weights: Reals, adjacency: Marks, limits: ClusterLimits | None = None
    ) -> tuple[Reals, Reals, Reals]:
        """Return sum_c t_c B_c (m, m), the same of absolute values, and the numbers of terms.

        Every term is rounded once at most, so an entry of s terms of the first is off by at most
        gamma_(s + 1) times that of the second.
        """
        sums = TermSums(len(weights), limits)
        for family, part in self._parts(t):
            family.add_to(sums, part, weights, adjacency)
        return tuple(np.triu(A) + np.triu(A, 1).T for A in sums.matrices)  # type: ignore[return-value]

    def _parts(self, t: Reals) -> Iterator[tuple[CheckedCuts, Reals]]:
        """Yield each family, with its multipliers."""
        first = 0
        for family in self.families:
            yield family, t[first : first + len(family)]
            first += len(family)


def cut_keys(present: Collection[str]) -> list[ArrayKey]:
    """Return the arrays of cuts in a file that has the keys `present`, in their order.

    Families that older files do not know may be missing.
    """
    return [
        key
        for kind in FAMILIES
        if not kind.IS_OPTIONAL or any(key.name in present for key in kind.KEYS)
        for key in kind.KEYS
    ]


def count_cuts(shapes: Mapping[str, tuple[int, ...]], m: int) -> int:
    """Return the number of cuts of m blocks in arrays of these shapes.

    `Rejected` where these would take much memory.
    """
    found = [
        (kind, [shapes[key.name] for key in kind.KEYS])
        for kind in FAMILIES
        if kind.KEYS[0].name in shapes
    ]
    require_moderate(m, itertools.chain.from_iterable(these for _, these in found))
    return sum(kind.count(these) for kind, these in found)


def require_moderate(m: int, shapes: Iterable[tuple[int, ...]]) -> None:
    """Raise `Rejected` where arrays of these shapes, of the cuts of m blocks, take much memory."""
    most = min(_ENTRIES_PER_PAIR * (m * m + 100_000), _MAX_ENTRIES)
    if sum(map(math.prod, shapes)) > most:
        raise Rejected(f"the cuts have more than {most} entries")
