"""Interface of a family of valid inequalities in a certificate, and sums of their matrices."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..fields import ArrayKey
from ..rejection import Rejected
from ..sizes import SizeLimits
from ..soft import SoftPrices
from ..weight_bounds import BlockSizes, WeightBounds

Reals = NDArray[np.float64]
AnyIntegers = NDArray[np.integer]
Marks = NDArray[np.bool_]
ClusterLimits = SizeLimits | WeightBounds
"""Limits on the weights of clusters: numbers of points, or bounds on what they weigh."""

# Terms that are added at a time, to bound the memory that long stars take.
_TERMS_AT_ONCE = 2**22


class BlockLists(NamedTuple):
    """Blocks that cuts are made of, as compressed rows.

    Those of cut c are blocks[start[c] : start[c + 1]]. Pentagons and capacity cuts have parts of
    blocks besides: rows (place, block, measure of the part), of cut c from part_start[c] on.
    """

    start: NDArray[np.int64]
    blocks: NDArray[np.int32]
    part_start: NDArray[np.int64]
    parts: NDArray[np.int64]


class CheckedCuts(ABC):
    """Cuts of one family in a certificate, by the blocks they are made of.

    They are inequalities over the clustering matrix Z of the blocks of a node (Z_ij = 1 / |C| for
    two blocks of a cluster C of |C| points, else 0).

    A subclass is a frozen dataclass of the arrays that `KEYS` names, in the same order.
    """

    KEYS: ClassVar[tuple[ArrayKey, ...]]
    """The arrays of the family in a file."""
    IS_OPTIONAL: ClassVar[bool] = True
    """Whether a file without any of the keys has no cuts of the family; older files have not."""

    @classmethod
    def none(cls, k: int) -> CheckedCuts:
        """Return no cuts of the family."""
        return cls(*(key.empty(k) for key in cls.KEYS))

    @classmethod
    def of_lists(cls, lists: BlockLists, k: int) -> CheckedCuts:
        """Return the cuts that are made of these blocks."""
        columns = cls.KEYS[0].columns_for(k)
        return cls(lists.blocks if columns is None else lists.blocks.reshape(-1, columns))  # type: ignore[call-arg]

    @classmethod
    def count(cls, shapes: Sequence[tuple[int, ...]]) -> int:
        """Return the number of cuts in arrays of these shapes."""
        return shapes[0][0] if shapes[0] else 0

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """Arrays of the cuts, in the order of `KEYS`."""
        return [getattr(self, entry.name) for entry in dataclasses.fields(self)]  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.count([array.shape for array in self.arrays])

    @abstractmethod
    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        """Raise `Rejected` unless every cut is valid.

        It has to be valid for k clusters of blocks of these weights (m,) with these cannot-links
        (m, m) and limits on sizes.
        """

    def caps(self, soft: SoftPrices | None, weights: Reals) -> Reals | None:
        """Return what each multiplier (number of cuts,) may be at most; None for anything.

        Only terms of soft pairs, which clusterings may violate at these prices, have caps.
        """
        return None

    @property
    def n_products(self) -> int:
        """Pairs of blocks that the terms of the cuts are products of; 0 where these are few."""
        return 0

    @abstractmethod
    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        """Add the matrices of the cuts times t, (number of cuts,)."""

    def sides_within(self, t: Reals, weights: Reals, k: int, limits: ClusterLimits) -> list[float]:
        """Return what `right_hand_sides` does where sizes of clusters are limited."""
        return self.right_hand_sides(t, weights, k)

    def right_hand_sides(self, t: Reals, weights: Reals, k: int) -> list[float]:
        """Return numbers whose sum is at most that of t times the right-hand sides.

        None where these are 0.
        """
        return []


@dataclass(frozen=True, eq=False)
class CutsOnLists(CheckedCuts):
    """Cuts on lists of blocks of any length.

    start : (number + 1,) int64
    blocks : those of cut c are blocks[start[c] : start[c + 1]]
    """

    start: NDArray[np.int64]
    blocks: NDArray[np.int32]

    @classmethod
    def none(cls, k: int) -> Self:
        return cls(np.zeros(1, np.int64), np.empty(0, np.int32))

    @classmethod
    def of_lists(cls, lists: BlockLists, k: int) -> Self:
        return cls(lists.start, lists.blocks)

    @classmethod
    def count(cls, shapes: Sequence[tuple[int, ...]]) -> int:
        return shapes[0][0] - 1


def require_blocks(blocks: AnyIntegers, m: int) -> None:
    """Raise `Rejected` unless these are numbers of m blocks."""
    if blocks.dtype.kind != "i" or (blocks < 0).any() or (blocks >= m).any():
        raise Rejected(f"a cut has a block outside of 0..{m - 1}")


def require_lists(
    start: AnyIntegers, shape: tuple[int, ...], what: str, count: int | None = None
) -> None:
    """Raise `Rejected` unless these are the starts of lists, and the end of the last one.

    shape : of the array that has the entries of all lists, one after the other
    what : the lists, in messages
    count : number of lists; None for any
    """
    if start.ndim != 1 or start.dtype.kind != "i" or len(start) == 0 or start[0] != 0:
        raise Rejected(f"the starts of {what} are no list of whole numbers that begins with 0")
    if count is not None and len(start) != count + 1:
        raise Rejected(f"there are {len(start) - 1} lists of {what}, not one for each cut")
    length = math.prod(shape)
    if start.min() < 0 or start.max() > length:  # their differences could overflow
        raise Rejected(f"the starts of {what}: expected numbers in 0..{length}")
    if (np.diff(start) < 0).any() or shape != (start[-1],):
        raise Rejected(f"the starts of {what} do not fit their entries")


def list_products(
    first: AnyIntegers, second: AnyIntegers
) -> Iterator[tuple[AnyIntegers, AnyIntegers, AnyIntegers]]:
    """Yield all pairs of an entry of a list and one of another, for the two lists of each cut.

    first, second : starts of the lists, (number of cuts + 1,)

    Yields the cut of each pair, and the positions of both entries.
    """
    widths = np.diff(second)
    ends = np.cumsum(np.diff(first) * widths)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, _TERMS_AT_ONCE):
        pair = np.arange(begin, min(begin + _TERMS_AT_ONCE, total))
        owner = np.searchsorted(ends, pair, side="right")
        row, column = np.divmod(pair - ends[owner], widths[owner])
        yield owner, first[owner + 1] + row, second[owner] + column


class TermSums:
    """Sums of terms at the entries of the upper triangle of an (m, m) matrix.

    They are those of the terms and of their absolute values, and the number of terms.

    limits : on the sizes of clusters or their weights, which terms may depend on; None for none
    """

    def __init__(self, m: int, limits: ClusterLimits | None = None) -> None:
        self.m, self.limits = m, limits
        self.matrices = (np.zeros((m, m)), np.zeros((m, m)), np.zeros((m, m)))

    @property
    def sizes(self) -> BlockSizes | None:
        """Limits on the points of clusters where these are not what the blocks weigh, or None."""
        return self.limits.sizes if isinstance(self.limits, WeightBounds) else None

    def add_products(self, blocks: AnyIntegers, signs: Reals, t: Reals) -> None:
        """Add half of t_c (y y' - diag(y)) for the rows of blocks.

        y is the sum of signs_p 1_(block p). Added are products of two different positions, and what
        remains of equal ones where the sign is -1.
        """
        length = blocks.shape[1]
        p, q = np.triu_indices(length, 1)
        at_once = max(1, _TERMS_AT_ONCE // length**2)
        for first in range(0, len(blocks), at_once):
            some, weights_of = blocks[first : first + at_once], t[first : first + at_once]
            i, j = some[:, p], some[:, q]
            values = np.outer(weights_of, signs[p] * signs[q])
            values[i != j] *= 0.5
            self.add(i.ravel(), j.ravel(), values.ravel())
            for at in np.flatnonzero(signs < 0.0):
                self.add(some[:, at], some[:, at], weights_of)

    def add_matrices(self, values: Reals, counts: Reals) -> None:
        """Add symmetric sums (m, m) of terms of one sign, and the numbers of these."""
        for matrix, terms in zip(self.matrices, (values, np.abs(values), counts), strict=True):
            matrix += terms

    def add(self, i: AnyIntegers, j: AnyIntegers, values: Reals, roundings: float = 1.0) -> None:
        """Add values (number,) at the entries (i, j), each rounded so many times at most."""
        m = self.m
        position = np.minimum(i, j).astype(np.int64) * m + np.maximum(i, j)
        for matrix, terms in zip(
            self.matrices, (values, np.abs(values), roundings * (values != 0.0)), strict=True
        ):
            matrix += np.bincount(position, terms, m * m).reshape(m, m)
