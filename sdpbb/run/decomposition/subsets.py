"""Subsets of the blocks: their tree, what is proven of each, and the level that is bounded now."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction
from sdpbb.run.certificates.proof import SubsetProof
from sdpbb.runtime.archive import stored


@stored
@dataclass(frozen=True, eq=False)
class SubsetTree:
    """Binary tree of subsets: the blocks in an order in which each subset is a range.

    Subset 1 has all blocks, and the halves of subset s are the subsets 2 s and 2 s + 1: those of
    one level, 2**level <= s < 2**(level + 1), are a partition of the blocks.

    order : (m,) the blocks
    bounds : (2**depth + 1,) where the smallest subsets begin and end in it
    """

    order: NDArray[np.intp]
    bounds: NDArray[np.intp]

    @property
    def depth(self) -> int:
        return (len(self.bounds) - 1).bit_length() - 1

    def blocks(self, subset: int) -> NDArray[np.intp]:
        """Return the blocks of a subset, in increasing order."""
        level = level_of(subset)
        width = 1 << (self.depth - level)
        first = (subset - (1 << level)) * width
        begin, end = self.bounds[[first, first + width]]
        return np.sort(self.order[begin:end])

    def subset_of(self, level: int) -> NDArray[np.intp]:
        """Return the subset (m,) of each block, of a level."""
        found = np.empty(len(self.order), dtype=np.intp)
        found[self.order] = np.repeat(np.arange(1 << level, 2 << level), self.n_blocks(level))
        return found

    def n_blocks(self, level: int) -> NDArray[np.intp]:
        """Return the number of blocks of each subset of a level."""
        return np.diff(self.bounds[:: 1 << (self.depth - level)])


def level_of(subset: int) -> int:
    """Return the level of a subset: 0 of that with all blocks."""
    return subset.bit_length() - 1


def subsets_at(level: int) -> range:
    """Return the subsets of a level."""
    return range(1 << level, 2 << level)


@stored
@dataclass(eq=False)
class SubsetBounds:
    """Proven bounds of subsets. The bound of the whole is the best sum that a partition has.

    tree : of the subsets, by whose numbers the arrays go; those have 2**(depth + 1) entries
    level : of the subsets that are bounded now
    proven : bound of each subset by itself, 0 before it has one
    seconds : that each subset has taken
    is_done : whether the subset is done with
    proofs : of subsets by their numbers, as text, those that the best sum needs; None if the run is
        not certified
    """

    tree: SubsetTree
    level: int
    proven: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    seconds: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    is_done: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))
    proofs: dict[str, SubsetProof] | None = None

    def __post_init__(self) -> None:
        if not len(self.proven):
            n = 2 << self.tree.depth
            self.proven, self.seconds = np.zeros(n), np.zeros(n)
            self.is_done = np.zeros(n, dtype=bool)

    @property
    def is_infeasible(self) -> bool:
        """True if a subset has no clustering, so that there is none at all."""
        return bool(np.isinf(self.proven).any())

    def of_each(self) -> NDArray[np.float64]:
        """Return the bound of each subset: its own, or the sum of its halves'; about."""
        bounds = self.proven.copy()
        for level in reversed(range(self.tree.depth)):
            at = slice(1 << level, 2 << level)
            halves = bounds[2 << level : 4 << level]
            bounds[at] = np.maximum(bounds[at], halves[::2] + halves[1::2])
        return bounds

    def total(self) -> float:
        """Return the bound of the whole, rounded down."""
        terms = self.proven[self.best_partition()].tolist()
        # The sum is rounded once, to the nearest.
        return max(math.nextafter(math.fsum(terms), -math.inf), 0.0)

    def best_partition(self) -> list[int]:
        """Return the subsets whose own bounds have the best sum."""
        of_each, found, subsets = self.of_each(), [], [1]
        while subsets:
            subset = subsets.pop()
            if self.proven[subset] >= of_each[subset]:
                found.append(subset)
            else:
                subsets += [2 * subset, 2 * subset + 1]
        return found

    def raise_to(self, subset: int, bound: float, proof: SubsetProof | None = None) -> None:
        """Take a bound of a subset if it is better, and the proof of it in a certified run."""
        if bound <= self.proven[subset]:
            return
        self.proven[subset] = bound
        if self.proofs is None:
            return
        assert proof is not None
        if bound < self.of_each()[subset]:
            return  # that of its halves is better
        self.proofs[str(subset)] = proof
        below = [2 * subset, 2 * subset + 1]
        while below and below[0] < len(self.proven):
            for half in below:
                self.proofs.pop(str(half), None)
            below = [half for other in below for half in (2 * other, 2 * other + 1)]

    def best_proofs(self) -> list[SubsetProof] | None:
        """Return the proofs of the best sum, or of a subset that has no clustering.

        None if the run is not certified.
        """
        if self.proofs is None:
            return None
        empty = np.flatnonzero(np.isinf(self.proven)).tolist()
        subsets = empty[:1] or [s for s in self.best_partition() if self.proven[s] > 0.0]
        return [self.proofs[str(subset)] for subset in subsets]

    def todo(self, level: int) -> list[int]:
        """Return the subsets of a level that are not done with."""
        return [subset for subset in subsets_at(level) if not self.is_done[subset]]

    def mean_seconds(self, level: int) -> float:
        """Return the mean time that the subsets of a level have taken which are done; else NaN."""
        at = slice(1 << level, 2 << level)
        done = self.seconds[at][self.is_done[at]]
        return float(done.mean()) if len(done) else math.nan


def restricted_costs(
    contraction: Contraction, labels: NDArray[np.intp], subset_of: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the costs of the restrictions of a clustering to the subsets of a level; about.

    They stand at the numbers of the subsets.

    labels, subset_of : (m,) of the blocks
    """
    k, n = int(labels.max()) + 1, 1 << int(subset_of.max()).bit_length()
    part, weights, means = subset_of * k + labels, contraction.weights, contraction.means
    weight = np.bincount(part, weights, n * k)
    sums = np.array([np.bincount(part, weights * column, n * k) for column in means.T])
    squares = contraction.scatter + weights * (means**2).sum(axis=1)
    of_means = (sums**2).sum(axis=0) / np.where(weight > 0.0, weight, 1.0)
    return np.asarray(np.bincount(subset_of, squares, n) - of_means.reshape(n, k).sum(axis=1))
