"""Columns: clusters with their costs, from which a master programme chooses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.bounds.bound import unions_of
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import Attached, stored

Membership = NDArray[np.bool_]

# From this many entries on, finding the marks that are set is faster than a product.
_LARGE = 100_000


@stored
@dataclass(frozen=True, eq=False)
class Columns(Attached):
    """Different non-empty clusters of the m blocks of a contraction.

    bits : (t, ceil(m / 8)) whether a block is in a cluster, as `numpy.packbits` has it
    n_blocks : m
    costs : (t,) c(X) = sum_{i in X} w_i + e_i ||c_i - mean_X||^2, and its share of soft pairs: the
        weight of each soft cannot-link inside, half the weight of each soft must-link with one end
        inside
    """

    bits: NDArray[np.uint8]
    n_blocks: int
    costs: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.costs)

    @classmethod
    def of(cls, contraction: Contraction, members: Membership) -> Columns:
        """Return the clusters among the rows of members (t, m), each once, in order of appearance.

        Empty sets are left out. The costs do not depend on the other rows, to the last bit.
        """
        members = np.asarray(members, bool).reshape(-1, contraction.n_blocks)
        members = members[members.any(axis=1)]
        bits = np.packbits(members, axis=1)
        if len(members) > 1:
            seen: dict[bytes, int] = {}
            for row, key in enumerate(bits):
                seen.setdefault(key.tobytes(), row)
            if len(seen) < len(members):
                rows = list(seen.values())
                members, bits = members[rows], bits[rows]
        return cls(bits, contraction.n_blocks, cluster_costs(contraction, members))._with(members)

    def _with(self, members: Membership) -> Columns:
        """Return these columns with their members, which need no unpacking then."""
        self.__dict__["members"] = members
        return self

    @cached_property
    def members(self) -> Membership:
        """Marks (t, m) of the blocks of each cluster."""
        return np.unpackbits(self.bits, axis=1, count=self.n_blocks).view(np.bool_)

    @classmethod
    def singletons(cls, contraction: Contraction) -> Columns:
        """Return one cluster for each block alone."""
        return cls.of(contraction, np.eye(contraction.n_blocks, dtype=bool))

    @cached_property
    def keys(self) -> tuple[bytes, ...]:
        """Keys (t,), a different one for each cluster."""
        return tuple(row.tobytes() for row in self.bits)

    def collected(self, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the prices (m,) of the blocks of each cluster, (t,)."""
        if self.members.size < _LARGE:
            return np.asarray(self.members @ prices)
        row, block = np.nonzero(self.members)
        return np.bincount(row, prices[block], len(self)).astype(np.float64)

    def select(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Columns:
        """Return some of the columns, by mark or position."""
        found = Columns(self.bits[which], self.n_blocks, self.costs[which])
        return found._with(self.members[which])

    def __add__(self, other: Columns) -> Columns:
        """Return the union with other columns; duplicates are dropped."""
        known = set(self.keys)
        new = np.array([key not in known for key in other.keys], bool)
        costs = np.concatenate([self.costs, other.costs[new]])
        union = Columns(np.concatenate([self.bits, other.bits[new]]), self.n_blocks, costs)
        return union._with(np.concatenate([self.members, other.members[new]]))


def cluster_costs(contraction: Contraction, members: Membership) -> NDArray[np.float64]:
    """Return the costs c(X) of clusters (t, m), as (t,).

    Deviations from the mean are squared, and nothing large is subtracted. A single block costs its
    own scatter, and its share of soft pairs. The part that all clusterings pay is left out.
    """
    row, block = np.nonzero(members)
    e, count = contraction.weights[block], len(members)
    points = np.bincount(row, e, count)
    squares = np.zeros(len(block))
    for coordinate in contraction.means.T[:, block]:
        centre = np.bincount(row, e * coordinate, count) / points
        deviation = coordinate - centre[row]
        # A second pass removes the rounding of sums over large clusters.
        deviation -= (np.bincount(row, e * deviation, count) / points)[row]
        squares += deviation**2
    squares *= e
    squares[np.bincount(row, minlength=count)[row] == 1] = 0.0
    squares += contraction.scatter[block]
    costs = np.bincount(row, squares, count).astype(np.float64)
    return costs + contraction.soft.shared_by(members) if contraction.soft else costs


def allowed(contraction: Contraction, members: Membership) -> NDArray[np.bool_]:
    """Return which sets (t, m) may be whole clusters, (t,): they satisfy all constraints."""
    sets, limits = members.astype(np.float64), contraction.upper_limits
    adjacent = csr_array(contraction.adjacency.astype(np.float64))
    keep = np.asarray(~((sets @ adjacent > 0.0) & members).any(axis=1))
    if len(limits):
        held = sets @ limits.linear.T
        for b, pairs in enumerate(limits.pairs):
            held[:, b] += ((sets @ pairs) * sets).sum(axis=1) / 2.0
        keep &= (held <= limits.most).all(axis=1)
    for quantity in contraction.two_sided_quantities:
        keep &= quantity.allows(members)
    if contraction.oracles:
        for row in np.flatnonzero(keep):
            keep[row] = contraction.allows(np.flatnonzero(members[row]))
    return keep


def merged(columns: Columns, block_of: NDArray[np.intp], child: Contraction) -> Columns:
    """Return clusters of a parent as columns of a child, whose blocks are unions of the parent's.

    Clusters that split a block of the child, or violate its constraints, are left out.

    Parameters
    ----------
    columns : t clusters of m blocks
    block_of : (n,) the parent's block, 0 to m - 1, of each point
    """
    to = unions_of(block_of, child)
    members = columns.members
    union = csr_array((np.ones(len(to)), (np.arange(len(to)), to)), (len(to), child.n_blocks))
    parts = members.astype(np.float64) @ union
    whole = parts == np.bincount(to, minlength=child.n_blocks)
    found = whole[((parts == 0.0) | whole).all(axis=1)]
    return Columns.of(child, found[allowed(child, found)])
