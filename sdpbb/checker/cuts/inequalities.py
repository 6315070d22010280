"""Valid inequalities over the clustering matrix, and the weighted sums of them.

Z_ij = 1 / |C| for two blocks of a cluster C of weight |C|, and 0 for blocks of two clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import sum_up
from ..fields import ArrayKey
from ..rejection import Rejected
from ..sizes import SizeLimits
from ..soft import SoftPrices
from ..weight_bounds import WeightBounds

Reals = NDArray[np.float64]
Numbers = NDArray[np.integer]
Marks = NDArray[np.bool_]
ClusterLimits = SizeLimits | WeightBounds
"""Limits on the weights of clusters: numbers of points, or bounds on what they weigh."""

# Terms that are added at a time, to bound the memory that long cuts take.
TERMS_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """Facts about a node that cuts rest on.

    k : number of clusters
    weights : (m,) of the blocks
    adjacency : (m, m) symmetric, the cannot-linked pairs
    limits : on the weights of clusters; None: no limits
    soft : prices of soft pairs; None: no soft pairs
    """

    k: int
    weights: Reals
    adjacency: Marks
    limits: ClusterLimits | None = None
    soft: SoftPrices | None = None

    @property
    def m(self) -> int:
        """Number of blocks."""
        return len(self.weights)

    @property
    def has_whole_weights(self) -> bool:
        """True if all weights are whole numbers."""
        return bool((self.weights == np.rint(self.weights)).all())

    @property
    def heaviest(self) -> float:
        """Upper bound on the weight of a cluster.

        The other k - 1 clusters weigh at least as much as the k - 1 lightest blocks, and at least 1
        each where weights are whole numbers.
        """
        if self.has_whole_weights:
            most = float(int(self.weights.sum()) - self.k + 1)
        else:
            most = sum_up(np.sort(self.weights)[self.k - 1 :].tolist())
        return most if self.limits is None else min(float(self.limits.most), most)

    def limits_for(self, what: str) -> ClusterLimits:
        """Return the limits that cuts need; `Rejected` if there are none."""
        if self.limits is None or not self.limits.most > 0:
            raise Rejected(f"{what}; expected none where weights of clusters are not limited")
        return self.limits


class Terms(NamedTuple):
    """Terms coefficient Z_ij of inequalities, each unordered pair of blocks once.

    cut, i, j, coefficient : (number of terms,)
    """

    cut: Numbers
    i: Numbers
    j: Numbers
    coefficient: Reals


@dataclass(frozen=True, eq=False)
class Inequalities:
    """Valid inequalities of one family: sums of terms, and numbers that they are at least.

    sides : (number,) right-hand sides, rounded down
    terms : made while they are added up
    roundings : how often a coefficient times a multiplier is rounded, at most
    squares : (number, m) and (number,) vectors q and numbers f of terms - f q'Z q; None: no such
    caps : (number,) upper bounds on multipliers; None: no bounds
    n_products : pairs of blocks that the terms are products of; 0 where there are few
    """

    sides: Reals
    terms: Iterable[Terms] = ()
    roundings: float = 1.0
    squares: tuple[Reals, Reals] | None = None
    caps: Reals | None = None
    n_products: int = 0


class CutSums(NamedTuple):
    """Sums over cuts, weighted by their multipliers.

    matrix : (m, m) sum of t_c B_c
    absolute : (m, m) sum of the absolute values of the same terms
    roundings : (m, m) an entry of `matrix` is off by at most gamma_(roundings + 1) times that of
        `absolute`
    sides : numbers that add up to at most the sum of t_c b_c
    """

    matrix: Reals
    absolute: Reals
    roundings: Reals
    sides: list[float]

    @classmethod
    def zeros(cls, m: int) -> CutSums:
        return cls(np.zeros((m, m)), np.zeros((m, m)), np.zeros((m, m)), [])

    def add(self, cuts: Inequalities, t: Reals) -> None:
        """Add inequalities times t (number,), entries of the upper triangle only."""
        if cuts.caps is not None:
            t = np.minimum(t, cuts.caps)
        self.sides.extend(np.nextafter(t * cuts.sides, -np.inf)[cuts.sides != 0.0].tolist())
        m, matrices = len(self.matrix), self[:3]
        for cut, i, j, coefficient in cuts.terms:
            values = t[cut] * coefficient
            values[i != j] *= 0.5  # entries off the diagonal count twice
            position = np.minimum(i, j).astype(np.int64) * m + np.maximum(i, j)
            counts = cuts.roundings * (values != 0.0)
            for total, parts in zip(matrices, (values, np.abs(values), counts), strict=True):
                total += np.bincount(position, parts, m * m).reshape(m, m)
        if cuts.squares is not None:
            q, factor = cuts.squares
            values = -(q.T * (factor * t)) @ q
            # Each term is rounded four times at most, as sums of 3 terms are.
            counts = 3.0 * ((q > 0.0).T.astype(float) @ (q > 0.0))
            for total, parts in zip(matrices, (values, np.abs(values), counts), strict=True):
                total += parts

    def symmetric(self) -> CutSums:
        """Return the sums with both triangles."""
        full = [np.asarray(np.triu(A) + np.triu(A, 1).T) for A in self[:3]]
        return CutSums(full[0], full[1], full[2], self.sides)


Rule = Callable[..., Inequalities]
"""Function of a node and the arrays of a family: its inequalities, or `Rejected`."""


@dataclass(frozen=True, eq=False)
class Family:
    """Family of cuts in a file.

    name : one word, by which the engine knows it, too
    keys : arrays in a file: lists of blocks and their starts, or a row of blocks for each cut
    rule : proves the inequalities from these arrays
    proof : the section of docs/proof_rules.md that says why they are valid
    is_optional : whether a file without the keys has no such cuts
    """

    name: str
    keys: tuple[ArrayKey, ...]
    rule: Rule
    proof: str
    is_optional: bool = True

    @property
    def names(self) -> list[str]:
        """Names of the arrays."""
        return [key.name for key in self.keys]

    def empty(self, k: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of no cuts."""
        return {
            key.name: np.zeros(1, np.int64) if _has_starts(key) else key.empty(k)
            for key in self.keys
        }

    def count(self, shapes: Sequence[tuple[int, ...]]) -> int:
        """Return the number of cuts in arrays of these shapes."""
        length = shapes[0][0] if shapes[0] else 0
        return max(0, length - 1) if _has_starts(self.keys[0]) else length

    def inequalities(self, node: NodeFacts, arrays: Sequence[NDArray[Any]]) -> Inequalities:
        """Return the inequalities that the arrays stand for.

        Raises
        ------
        Rejected
            If the arrays are not such, or an inequality is not valid.
        """
        for key, array in zip(self.keys, arrays, strict=True):
            columns = key.columns_for(node.k)
            shape = array.shape[:1] if columns is None else (*array.shape[:1], columns)
            if array.ndim == 0 or array.shape != shape or array.dtype.kind != "i":
                raise Rejected(
                    f"{key.name} of shape {array.shape}; expected whole numbers of shape (number"
                    f"{',' if columns is None else f', {columns}'})"
                )
        return self.rule(node, *arrays)


def _has_starts(key: ArrayKey) -> bool:
    return key.name.endswith("_start")


def require_blocks(blocks: Numbers, m: int) -> None:
    """Raise `Rejected` unless these are numbers of m blocks."""
    if (blocks < 0).any() or (blocks >= m).any():
        raise Rejected(f"a cut has a block outside of 0..{m - 1}")


def require_lists(
    start: Numbers, shape: tuple[int, ...], what: str, count: int | None = None
) -> None:
    """Raise `Rejected` unless these are the starts of lists, and the end of the last one.

    shape : of the array that has the entries of all lists, one after the other
    what : the lists, in messages
    count : number of lists; None for any
    """
    if len(start) == 0 or start[0] != 0:
        raise Rejected(f"the starts of {what} are no list of whole numbers that begins with 0")
    if count is not None and len(start) != count + 1:
        raise Rejected(f"there are {len(start) - 1} lists of {what}, not one for each cut")
    length = math.prod(shape)
    if start.min() < 0 or start.max() > length:  # their differences could overflow
        raise Rejected(f"the starts of {what}: expected numbers in 0..{length}")
    if (np.diff(start) < 0).any() or shape != (start[-1],):
        raise Rejected(f"the starts of {what} do not fit their entries")


def owners(start: Numbers) -> NDArray[np.intp]:
    """Return the list of each entry."""
    return np.repeat(np.arange(len(start) - 1), np.diff(start))
