"""Instance of a subset: its points, with the constraints among them; constraints left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel.weights import TOLERANCE, WeightUnits
from sdpbb.problem import Contraction, Instance, SoftPairs, contract
from sdpbb.problem.cluster_constraints import ClusterConstraint
from sdpbb.problem.equal_points import equal_points, join_equal_points
from sdpbb.problem.graph import connected_components
from sdpbb.problem.quantities import WEIGHT
from sdpbb.run.certificates.recorder import SubsetProof
from sdpbb.run.decomposition.subsets import SubsetBounds
from sdpbb.runtime.values import counted

# Part of the greatest weight from which a subset has the limit: as far as rounding may matter.
NEARLY = 1.0 - 1e-6


class Restriction:
    """Restriction of an instance to subsets of the blocks of its contraction.

    Whatever clustering of the blocks keeps the constraints of the instance, its restriction to a
    subset keeps those of the subset's instance, but that it may have fewer than k clusters. Least
    sizes and weights and listed sizes are dropped.

    For the soft pairs inside of subsets it pays no more than for all. It may have to be divided
    into k clusters, which costs nothing: where must-links, soft ones included, leave fewer than k
    components of a subset's points, its soft must-links are dropped; else some cluster has points
    of several components as long as there are fewer than k clusters.
    """

    def __init__(self, instance: Instance, contraction: Contraction) -> None:
        self._instance = instance
        self._contraction = contraction
        limits = instance.size_limits
        # A cluster may have few points in a subset, or none, but not more than in all.
        self._most = None if limits is None else limits.most
        self._heaviest = _heaviest(instance)
        m = contraction.n_blocks
        # The points of block b are points[begins[b] : begins[b + 1]].
        self._points = np.argsort(contraction.block_of, kind="stable")
        self._begins = np.concatenate([[0], np.cumsum(np.bincount(contraction.block_of))])
        self._cannot_link = _Adjacency(m, contraction.cannot_link)
        n = instance.n_points
        self._stated = [
            _Adjacency(n, pairs) for pairs in (instance.must_link, instance.cannot_link)
        ]
        self._soft = [
            _SoftAdjacency(n, soft) for soft in (instance.soft_must_link, instance.soft_cannot_link)
        ]

    def rows(self, blocks: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the points of some blocks, in increasing order."""
        return np.sort(np.concatenate([self._points_of(block) for block in blocks]))

    def _points_of(self, block: int) -> NDArray[np.intp]:
        return self._points[self._begins[block] : self._begins[block + 1]]

    def instance(self, blocks: NDArray[np.intp], rows: NDArray[np.intp]) -> Instance:
        """Return the instance of a subset: the constraints that hold among its points.

        blocks, rows : its blocks and their points, k or more
        """
        whole = self._instance
        block_of = self._contraction.block_of[rows]
        first = np.unique(block_of, return_index=True)[1]  # of each block, as they are sorted
        place = np.searchsorted(blocks, block_of)
        must_link = np.column_stack([first[place], np.arange(len(rows))])
        must_link = must_link[must_link[:, 0] != must_link[:, 1]]
        soft_must_link, soft_cannot_link = self._soft_inside(rows, must_link)
        return Instance(
            whole.points[rows],
            whole.k,
            must_link=must_link,
            cannot_link=first[self._cannot_link.inside(blocks)],
            cluster_constraints=self._constraints(rows),
            weights=self._weights(rows),
            max_size=self._most,
            max_weight=self._max_weight(rows),
            soft_must_link=soft_must_link,
            soft_cannot_link=soft_cannot_link,
        )

    def _soft_inside(
        self, rows: NDArray[np.intp], must_link: NDArray[np.intp]
    ) -> tuple[SoftPairs, SoftPairs]:
        """Return the soft pairs among some points, by their places there.

        must_link : (p, 2) those among the points, by their places
        """
        together, apart = (soft.inside(rows) for soft in self._soft)
        if len(together):
            linked = np.concatenate([must_link, together.pairs])
            if int(connected_components(len(rows), linked).max()) + 1 < self._instance.k:
                together = SoftPairs()
        return together, apart

    def stated(self, rows: NDArray[np.intp]) -> Instance:
        """Return the instance of points, k or more, with what is stated of them alone.

        It is what a checker sees, who knows nothing of what follows from the constraints of others,
        nor of limits on weights: units of weight are those of all points.
        """
        must_link, cannot_link = (pairs.inside(rows) for pairs in self._stated)
        soft_must_link, soft_cannot_link = self._soft_inside(rows, must_link)
        return Instance(
            self._instance.points[rows],
            self._instance.k,
            must_link=must_link,
            cannot_link=cannot_link,
            cluster_constraints=self._constraints(rows),
            weights=self._weights(rows),
            max_size=self._most,
            soft_must_link=soft_must_link,
            soft_cannot_link=soft_cannot_link,
        )

    def _weights(self, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
        weights = self._instance.weights
        return None if weights is None else weights[rows]

    def _max_weight(self, rows: NDArray[np.intp]) -> float | None:
        """Return the greatest weight of a cluster of these points; None where all are lighter."""
        weights, heaviest = self._instance.weights, self._heaviest
        if weights is None or heaviest is None:
            return None
        return heaviest if weights[rows].sum() > heaviest * NEARLY else None

    def certified(self, rows: NDArray[np.intp]) -> tuple[Instance, SubsetProof]:
        """Return the instance as stated, its equal points joined, and the beginning of a proof."""
        stated = self.stated(rows)
        return join_equal_points(stated), SubsetProof(rows.astype(np.int32), equal_points(stated))

    def n_dropped(self, subset_of: NDArray[np.intp]) -> int:
        """Return how many cannot-links are across subsets.

        subset_of : (m,) the subset of each block
        """
        i, j = self._contraction.cannot_link.T
        return int((subset_of[i] != subset_of[j]).sum())

    def _constraints(self, rows: NDArray[np.intp]) -> tuple[ClusterConstraint, ...]:
        constraints = self._instance.cluster_constraints
        if not constraints:
            return ()
        row = np.full(self._instance.n_points, -1, dtype=np.intp)
        row[rows] = np.arange(len(rows))
        each = (constraint.restricted(row) for constraint in constraints)
        return tuple(constraint for constraint in each if constraint is not None)


def _heaviest(instance: Instance) -> float | None:
    """Return a little more than a cluster may weigh; None: no limit.

    Units of a subset are smaller than those of the whole, and weights rounded anew.
    """
    limits = [each.limits for each in instance.rules.quantities if each.name == WEIGHT]
    if not limits or limits[0].most >= limits[0].n:
        return None
    unit = WeightUnits.of(instance.weights, instance.n_points).unit
    return limits[0].most * unit * (1.0 + 2.0 * float(TOLERANCE))


class _Adjacency:
    """Pairs (q, 2) of n things, by their first."""

    def __init__(self, n: int, pairs: NDArray[np.intp]) -> None:
        order = np.argsort(pairs[:, 0], kind="stable")
        self._position, self._second = order, pairs[order, 1]
        # The seconds of i are second[begins[i] : begins[i + 1]].
        self._begins = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=n))])
        self._place = np.full(n, -1, dtype=np.intp)

    def inside(self, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the pairs (q, 2) among some of the things, by their places there."""
        return self.find(chosen)[0]

    def find(self, chosen: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return these pairs, and their positions (q,) among all."""
        begins = self._begins[chosen]
        counts = self._begins[chosen + 1] - begins
        i = np.repeat(np.arange(len(chosen)), counts)
        at = np.arange(len(i)) + np.repeat(begins - np.cumsum(counts) + counts, counts)
        self._place[chosen] = np.arange(len(chosen))
        j = self._place[self._second[at]]
        self._place[chosen] = -1
        inside = j >= 0
        return np.column_stack([i[inside], j[inside]]), self._position[at[inside]]


class _SoftAdjacency:
    """Soft pairs of n points, by their first."""

    def __init__(self, n: int, soft: SoftPairs) -> None:
        self._pairs, self._weights = _Adjacency(n, soft.pairs), soft.weights

    def inside(self, rows: NDArray[np.intp]) -> SoftPairs:
        """Return those among some points, by their places there."""
        pairs, positions = self._pairs.find(rows)
        return SoftPairs(pairs, self._weights[positions])


def left_out(instance: Instance, bounds: SubsetBounds) -> tuple[str, ...]:
    """Return a line for each kind of constraints of which the bounds of subsets know nothing.

    instance : as it was dealt out to the subsets
    bounds : whose best sum is the bound
    """
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)  # it has been dealt out
    restriction, best = Restriction(instance, contraction), bounds.best_partition()
    subset_of = np.empty(contraction.n_blocks, np.intp)
    parts = []
    for subset in best:
        blocks = bounds.tree.blocks(subset)
        subset_of[blocks] = subset
        if len(blocks) >= instance.k:
            parts.append(restriction.instance(blocks, restriction.rows(blocks)))
    told = []
    has_least = (instance.min_size or 1) > 1 or instance.min_weight is not None
    if has_least or instance.sizes is not None:
        told.append("bounds of subsets ignore minimum sizes, minimum weights and listed sizes")
    # Certificates state greatest weights in the units of the whole.
    is_certified = bounds.proofs is not None and instance.max_weight is not None
    if is_certified and any(part.max_weight is not None for part in parts):
        told.append("certified bounds of subsets ignore maximum weights")
    n_across = restriction.n_dropped(subset_of)
    if n_across and len(instance.cannot_link):
        told.append(f"bounds of subsets ignore {counted(n_across, 'cannot-link')} between subsets")
    if n_soft := _n_soft(instance) - sum(map(_n_soft, parts)):
        told.append(f"bounds of subsets ignore {counted(n_soft, 'soft constraint')}")
    return tuple(told)


def _n_soft(instance: Instance) -> int:
    return len(instance.soft_must_link) + len(instance.soft_cannot_link)
